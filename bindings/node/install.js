'use strict';
// Runs when npm installs the package: if no binary fits, build.sh makes one.

const { spawnSync } = require('node:child_process');
const { join } = require('node:path');

try {
  require('./lib/native.js');
} catch (error) {
  console.log(`libredlock: ${error.message}`);
  const built = spawnSync('sh', [join(__dirname, 'build.sh')], {
    stdio: 'inherit',
    env: { ...process.env, NODE: process.execPath },
  });
  process.exitCode = built.status ?? 1;
}
