'use strict';
// The addon: from REDLOCK_NODE_ADDON, from prebuilds, or built here by build.sh.

const { existsSync, readFileSync } = require('node:fs');
const { join } = require('node:path');

const root = join(__dirname, '..');

function isMusl() {
  try {
    return readFileSync('/usr/bin/ldd', 'latin1').includes('musl');
  } catch {
    return existsSync('/etc/alpine-release');
  }
}

function load() {
  const libc = process.platform === 'linux' ? `.${isMusl() ? 'musl' : 'glibc'}` : '';
  const system = `${process.platform}-${process.arch}`;
  const paths = process.env.REDLOCK_NODE_ADDON
    ? [process.env.REDLOCK_NODE_ADDON]
    : [join(root, 'build', 'redlock.node'),
      join(root, 'prebuilds', system, `node.napi${libc}.node`)];
  const path = paths.find(existsSync);
  if (!path) {
    throw new Error(`libredlock has no binary for ${system}${libc}. To build it from source: ` +
      `sh ${join(root, 'build.sh')} (needs a C compiler, pkg-config and hiredis)`);
  }
  return require(path);
}

module.exports = load();
