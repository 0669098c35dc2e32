'use strict';
// A client for `redlock conform`: one request a line, each answered by a line (docs/protocol.md).
//
//     redlock conform -- node bindings/node/test/conform.js

const { createInterface } = require('node:readline');
const { Client } = require('../index.js');

const client = new Client(process.env.REDLOCK_NODES.split(','));
const locks = new Map();

const requests = {
  async acquire(key, ttl, tries) {
    const lock = await client.acquire(key,
      { ttl: Number(ttl), tries: Number(tries), wait: Infinity, autoExtend: false });
    locks.set(key, lock);
    return `granted ${lock.token} ${Math.floor(lock.remaining)}`;
  },
  extend: async (key, ttl) => `extended ${Math.floor(await locks.get(key).extend(Number(ttl)))}`,
  async release(key) {
    await locks.get(key).release();
    return 'released';
  },
};

(async () => {
  await client.ready().catch(() => {});
  console.log('ready');
  for await (const line of createInterface(process.stdin)) {
    const [what, ...words] = line.split(' ');
    console.log(await requests[what](...words).catch((error) =>
      `${what === 'acquire' ? 'refused' : 'failed'} ${error.message}`));
  }
  await client.close();
})();
