'use strict';
// Checks the types with tsc --strict, from REDLOCK_NODE_MODULES or the system, if installed.

const { test } = require('node:test');
const assert = require('node:assert');
const { spawnSync } = require('node:child_process');
const { existsSync } = require('node:fs');
const { join } = require('node:path');

const modules = process.env.REDLOCK_NODE_MODULES;
const own = modules && join(modules, 'node_modules/typescript/bin/tsc');
const types = modules && join(modules, 'node_modules/@types');
const skip = own && existsSync(own) && existsSync(join(types, 'node')) ? false
  : 'REDLOCK_NODE_MODULES names no folder with typescript and @types/node';

// types.ts is accepted, and each mistake in types-wrong.ts is found.
test('programs are checked', { skip }, () => {
  const { stdout } = spawnSync(process.execPath, [own, '--strict', '--noEmit', '--target', 'es2022',
    '--lib', 'es2022,esnext.disposable', '--module', 'node16', '--moduleResolution', 'node16',
    '--typeRoots', types, '--types', 'node', 'types.ts', 'types-wrong.ts'], { encoding: 'utf8', cwd: __dirname });
  const found = stdout.match(/^\S+(?=\(\d+,\d+\): error TS)/gm);
  assert.deepStrictEqual(found, Array(4).fill('types-wrong.ts'), stdout);
});
