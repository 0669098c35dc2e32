'use strict';
// The same cases for the adapter and for node-redlock itself, if REDLOCK_NODE_MODULES names a
// folder that has redlock@5 and ioredis. Their locks must exclude each other.

const { test, before, after } = require('node:test');
const assert = require('node:assert');
const { createRequire } = require('node:module');
const adapter = require('../node-redlock.js');
const { startNodes, urlsOf, options, until } = require('./nodes.js');

const modules = process.env.REDLOCK_NODE_MODULES;
const load = modules && createRequire(`${modules}/`);
const kinds = { adapter };
if (load) kinds['node-redlock'] = load('redlock');
const open = {
  adapter: (settings) => new adapter.default(urlsOf(nodes), settings, options),
  'node-redlock': (settings) => {
    const clients = urlsOf(nodes).map((url) => new (load('ioredis').default)(url));
    clients.forEach((client) => client.on('error', () => {}));
    return new kinds['node-redlock'].default(clients, settings);
  },
};
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
let nodes;
let last = 0;
const fresh = () => `{r}${++last}`;
const isGone = (key) => until(async () => await nodes[0].ask('EXISTS', key) === ':0');
const leftOf = async (key) => Number((await nodes[0].ask('PTTL', key)).slice(1));

before(async () => {
  nodes = await startNodes(3);
});
after(() => Promise.all(nodes.map((node) => node.kill())));

for (const [name, { ExecutionError, ResourceLockedError, Lock }] of Object.entries(kinds)) {
  const cases = {
    'acquires, extends and releases': async (redlock) => {
      const key = fresh();
      const began = Date.now();
      const lock = await redlock.acquire([key], 9000);
      assert.ok(lock instanceof Lock && lock.redlock === redlock);
      assert.deepStrictEqual(lock.resources, [key]);
      assert.ok(lock.expiration > began && lock.expiration <= Date.now() + 9000);
      await until(async () => /^:[1-9]$/.test(await nodes[0].ask('TTL', key)));
      const longer = await lock.extend(30000);
      assert.strictEqual(lock.expiration, 0);
      assert.strictEqual(longer.value, lock.value);
      assert.ok(longer.expiration > Date.now() + 10000);
      assert.ok(Array.isArray((await longer.release()).attempts));
      assert.strictEqual(longer.expiration, 0);
      await isGone(key);
    },

    'takes whole numbers only': async (redlock) => {
      await assert.rejects(redlock.acquire([fresh()], 10.5));
      const lock = await redlock.acquire([fresh()], 30000);
      await assert.rejects(lock.extend(10.5));
      await assert.rejects(redlock.using([fresh()], 1000.5, async () => {}));
      await lock.release();
    },

    'refuses a lock that is held, after its retries': async (redlock) => {
      const key = fresh();
      const errors = [];
      redlock.on('error', (error) => errors.push(error));
      const lock = await redlock.acquire([key], 30000);
      const began = Date.now();
      await assert.rejects(redlock.acquire([key], 5000, { retryCount: 2, retryDelay: 50, retryJitter: 0 }),
        (error) => error instanceof ExecutionError && error.name === 'ExecutionError');
      assert.ok(Date.now() - began >= 99);
      assert.ok(errors.some((error) => error instanceof ResourceLockedError));
      await assert.rejects(redlock.acquire([fresh(), key], 5000, { retryCount: 0 }), ExecutionError);
      await lock.release();
    },

    'waits without a limit': async (redlock) => {
      const key = fresh();
      const lock = await redlock.acquire([key], 30000);
      const waiting = redlock.acquire([key], 5000, { retryCount: -1, retryDelay: 20, retryJitter: 10 });
      await later(150);
      await lock.release();
      await (await waiting).release();
    },

    'extends nothing that has expired': async (redlock) => {
      const lock = await redlock.acquire([fresh()], 1000);
      await later(1100);
      await assert.rejects(lock.extend(1000), ExecutionError);
    },

    'using holds as long as the routine runs': async (redlock) => {
      const key = fresh();
      const result = await redlock.using([key], 6000, { automaticExtensionThreshold: 4000 }, async (signal) => {
        await later(1000);
        const left = await leftOf(key);
        await until(async () => await leftOf(key) > left); // it was extended
        assert.ok(!signal.aborted);
        return 'result';
      });
      assert.strictEqual(result, 'result');
      await isGone(key);
      await assert.rejects(redlock.using([key], 30000, async () => { throw new TypeError('mine'); }), TypeError);
      await (await redlock.acquire([key], 30000, { retryCount: 0 })).release();
    },

    'using tells of a loss': async (redlock) => {
      const key = fresh();
      const lost = redlock.using([key], 700, { automaticExtensionThreshold: 500, retryCount: 0 }, async (signal) => {
        await Promise.all(nodes.map((node) => node.ask('DEL', key)));
        while (!signal.aborted) await later(5);
        throw signal.error;
      });
      await assert.rejects(lost, Error);
    },
  };
  for (const [what, body] of Object.entries(cases)) {
    test(`${name}: ${what}`, async () => {
      const redlock = open[name]();
      await body(redlock).finally(() => redlock.quit());
    });
  }
}

test('a node that is down: an ExecutionError with the reason', async () => {
  const socket = '/nowhere/a?b%20c';
  for (const [node, name] of [['redis://127.0.0.1:1', '127.0.0.1:1'], [{ options: { path: socket } }, socket]]) {
    const redlock = new adapter.default([node], { retryCount: 0 });
    await assert.rejects(redlock.acquire(['a'], 1000), (error) =>
      error instanceof adapter.ExecutionError && error.cause.code === 'ERR_NO_QUORUM' && error.message.includes(name));
    await redlock.quit();
  }
  assert.throws(() => new adapter.default([{ nodes: [] }]), TypeError);
});

test('both exclude each other', { skip: !load }, async () => {
  const [ours, theirs] = [open.adapter(), open['node-redlock']()];
  for (const [a, b] of [[ours, theirs], [theirs, ours]]) {
    const key = fresh();
    const lock = await a.acquire([key], 30000);
    await assert.rejects(b.acquire([key], 5000, { retryCount: 0 }));
    await lock.release();
    await (await b.acquire([key], 5000, { retryCount: 20 })).release();
  }
  await Promise.all([ours.quit(), theirs.quit()]);
});

test('takes the address of an ioredis client', { skip: !load }, async () => {
  const clients = urlsOf(nodes).map((url) => new (load('ioredis').default)(url));
  const redlock = new adapter.default(clients, {}, options);
  await (await redlock.acquire([fresh()], 30000)).release();
  await redlock.quit();
  assert.ok(clients.every((client) => client.status !== 'ready'));
});
