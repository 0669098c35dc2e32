'use strict';
// Locks on real nodes: granted, refused, extended, released, lost, cancelled; readers, permits, leaders.

const { test, before, after } = require('node:test');
const assert = require('node:assert');
const { once } = require('node:events');
const redlock = require('../index.js');
const { startNodes, urlsOf, options, until } = require('./nodes.js');

const { Client } = redlock;
let nodes, client, other;
let last = 0;
const fresh = () => `key${++last}`;

before(async () => {
  nodes = await startNodes(3);
  client = new Client(urlsOf(nodes), options);
  other = new Client(urlsOf(nodes), options);
  await Promise.all([client.ready(), other.ready()]);
});

after(async () => {
  await Promise.all([client.close(), other.close()]);
  await Promise.all(nodes.map((node) => node.kill()));
});

// The number of nodes that have the key.
async function votes(key) {
  const answers = await Promise.all(nodes.map((node) => node.ask('EXISTS', key)));
  return answers.filter((answer) => answer === ':1').length;
}

test('acquires, excludes and releases', async () => {
  const key = fresh();
  const lock = await client.acquire(key);
  assert.ok(lock.isValid);
  assert.ok(lock.remaining > 0 && lock.remaining <= 10000);
  assert.match(lock.token, /^[0-9a-f]{40}$/);
  assert.deepStrictEqual(lock.resources, [key]);
  assert.strictEqual(lock.fence, undefined);
  assert.ok(await votes(key) >= 2);
  await assert.rejects(other.acquire(key, { wait: 0 }), (error) => {
    assert.ok(error instanceof redlock.HeldError && error instanceof redlock.RedlockError);
    assert.strictEqual(error.code, 'ERR_HELD');
    assert.match(error.message, new RegExp(`acquire ${key}: .*127\\.0\\.0\\.1:\\d+: held by another`));
    return true;
  });
  await assert.rejects(other.acquire(key, { wait: 2000 }),
    { name: 'DeadlineError', code: 'ERR_DEADLINE', attempt: 'ERR_HELD' });
  await lock.release();
  await lock.release(); // a second release succeeds, too
  assert.ok(!lock.isValid && lock.remaining === 0 && lock.token === '');
  await assert.rejects(lock.extend(), { code: 'ERR_NOT_HELD' });
  const next = await other.acquire(key, { wait: 0 });
  await next.release();
});

test('locks one of several, whichever is free', async () => {
  const keys = [fresh(), fresh(), [fresh(), fresh()]];
  const locks = [];
  for (let i = 0; i < 3; i++) locks.push(await client.acquireAny(keys, { fencing: true }));
  assert.deepStrictEqual(locks.map((lock) => lock.resources).sort(), keys.map((key) => [key].flat()).sort());
  assert.ok(locks.every((lock) => lock.fence > 0));
  await assert.rejects(other.acquireAny(keys, { wait: 0 }), { code: 'ERR_HELD' });
  await assert.rejects(other.acquireAny(keys, { tries: 2 }), { code: 'ERR_HELD' });
  await assert.rejects(other.acquireAny(keys, { wait: 1 }), { code: 'ERR_DEADLINE', attempt: 'ERR_HELD' });
  await assert.rejects(other.acquireAny([]), { code: 'ERR_INVALID' });
  for (const wrong of [{ ttl: 0 }, { wait: NaN }, { wait: -1 }, { wait: '5' }]) {
    await assert.rejects(other.acquireAny(keys, wrong), { code: 'ERR_INVALID' });
  }
  await assert.rejects(other.acquireAny(keys, { wait: Infinity, delay: 1e6, signal: AbortSignal.timeout(100) }),
    { name: 'TimeoutError' });
  const pending = other.acquireAny(keys, { wait: Infinity });
  await locks[1].release();
  const next = await pending;
  assert.deepStrictEqual(next.resources, locks[1].resources);
  await Promise.all([next, locks[0], locks[2]].map((lock) => lock.release()));
});

test('locks several resources at once', async () => {
  const [a, b] = [fresh(), fresh()];
  const lock = await client.acquire([a, b]);
  assert.deepStrictEqual(lock.resources, [a, b]);
  await assert.rejects(other.acquire(b, { wait: 0 }), redlock.HeldError);
  await lock.release();
});

test('waits in turn', async () => {
  const key = fresh();
  const order = [];
  const first = await client.acquire(key);
  const waiting = [client, client, client].map((one, i) =>
    one.using(key, () => order.push(i)));
  await first.release();
  await Promise.all(waiting);
  assert.deepStrictEqual(order, [0, 1, 2]);
});

test('extends, by hand and by itself', async () => {
  const lock = await client.acquire(fresh(), { ttl: 10000, autoExtend: false });
  assert.ok(await lock.extend(30000) > 10000);
  await assert.rejects(lock.extend(1e9), { code: 'ERR_INVALID', message: /ttl_ms/ });
  for (const ttl of [-1, -2, 0.5, NaN, Infinity, '5']) {
    await assert.rejects(lock.extend(ttl), { code: 'ERR_INVALID', message: /ttl/ });
  }
  await lock.release();
  const kept = await client.acquire(fresh(), { ttl: 6000 });
  let left;
  do {
    left = kept.remaining;
    assert.ok(left > 0);
    await new Promise((resolve) => setTimeout(resolve, 10));
  } while (kept.remaining <= left);
  await kept.release();
});

test('refuses what is wrong, and says what', async () => {
  const wrong = [[{ tll: 5 }, /no option "tll"/], [{ ttl: -1 }, /ttl/], [{ ttl: 0.5 }, /ttl/],
    [{ ttl: '5' }, /ttl: not a number/], [{ ttl: 3600000 }, /ttl_ms/], [{ take: 2, permits: 1 }, /take/],
    [{ renew: Infinity }, /renew/], [{ owner: Infinity }, /owner/],
    [{ shared: 1 }, /shared: neither/], [{ holder: 'two words' }, /holder/], [{ holder: 'a\0b' }, /zero/]];
  for (const [options, message] of wrong) {
    await assert.rejects(client.acquire(fresh(), options), { code: 'ERR_INVALID', message });
  }
  for (const resources of ['', [], 5, ['a', 5], 'x'.repeat(1025), ['a', 'a'], 'libredlock:x', undefined]) {
    await assert.rejects(client.acquire(resources), { code: 'ERR_INVALID' });
  }
  assert.throws(() => new Client(['redis://']), { code: 'ERR_URL' });
  assert.throws(() => new Client(['redis://a\0b']), { code: 'ERR_INVALID', message: /zero/ });
  assert.throws(() => new Client([]), { code: 'ERR_INVALID' });
  assert.throws(() => new Client(['redis://a', 'redis://a']), { code: 'ERR_DUPLICATE' });
  assert.throws(() => new Client(['redis://a'], { guard: 'none' }), { code: 'ERR_INVALID', message: /guard/ });
  assert.throws(() => client.elect('', {}), { code: 'ERR_INVALID' });
});

test('an abort leaves nothing locked', async () => {
  const key = fresh();
  const lock = await client.acquire(key);
  const reason = new Error('enough');
  for (const one of [client, other]) {
    const controller = new AbortController();
    const waiting = one.acquire(key, { signal: controller.signal, wait: Infinity });
    setImmediate(() => controller.abort(reason));
    await assert.rejects(waiting, (error) => error === reason);
    await assert.rejects(one.acquire(key, { signal: controller.signal }), (error) => error === reason);
  }
  await lock.release();
  await until(async () => await votes(key) === 0);
  // Aborts at each moment between the call and the grant.
  for (let turns = 0; turns < 10; turns++) {
    const controller = new AbortController();
    const racing = client.acquire(key, { signal: controller.signal });
    for (let i = 0; i < turns; i++) await new Promise(setImmediate);
    controller.abort();
    await racing.then((granted) => granted.release(), (error) => assert.strictEqual(error.name, 'AbortError'));
    await (await other.acquire(key, { wait: 60000 })).release();
  }
});

test('fences grow', async () => {
  const key = fresh();
  let fence = 0;
  for (let i = 0; i < 20; i++) {
    const lock = await (i % 2 ? client : other).acquire(key, { fencing: true });
    assert.ok(Number.isSafeInteger(lock.fence) && lock.fence > fence);
    fence = lock.fence;
    await lock.release();
    assert.strictEqual(lock.fence, fence);
  }
});

test('readers hold side by side', async () => {
  const key = fresh();
  const readers = await Promise.all([client, other].map((one) => one.acquire(key, { shared: true })));
  await assert.rejects(client.acquire(key, { wait: 0 }), redlock.HeldError);
  await assert.rejects(readers[0].upgrade(), redlock.HeldError);
  await readers[1].release();
  await until(() => readers[0].upgrade().then((left) => left > 0, (error) => {
    assert.strictEqual(error.code, 'ERR_HELD'); // a node may not have executed the release yet
  }));
  await assert.rejects(other.acquire(key, { shared: true, wait: 0 }), redlock.HeldError);
  await readers[0].downgrade();
  await (await other.acquire(key, { shared: true })).release();
  await readers[0].release();
});

test('a semaphore has its permits', async () => {
  const key = fresh();
  const holders = await Promise.all([client, other].map((one) => one.acquire(key, { permits: 3 })));
  const pair = client.acquire(key, { permits: 3, take: 2, wait: Infinity });
  const slots = holders.map((lock) => lock.slots[0]);
  assert.strictEqual(new Set(slots).size, 2);
  await holders[0].release();
  const both = await pair;
  assert.deepStrictEqual([...both.slots, slots[1]].sort(), [0, 1, 2]);
  await assert.rejects(other.acquire(key, { permits: 2, wait: 0 }), redlock.PermitsError);
  await holders[1].release();
  await both.release();
});

test('one owner shares a hold', async () => {
  const key = fresh();
  const [a, b] = [await client.acquire(key, { owner: 7 }), await client.acquire(key, { owner: 7 })];
  assert.strictEqual(a.token, b.token);
  await a.release();
  await assert.rejects(other.acquire(key, { wait: 0 }), redlock.HeldError);
  await b.release();
});

test('using releases, whatever happens', async () => {
  const key = fresh();
  assert.strictEqual(await client.using(key, { ttl: 2000 }, async (lock) => {
    assert.ok(lock.isValid);
    return 'result';
  }), 'result');
  await assert.rejects(client.using(key, () => { throw new TypeError('mine'); }), TypeError);
  await client.using(key, { wait: 0 }, (lock) => lock.release());
  const lock = await client.acquire(key, { wait: 0 });
  await lock[Symbol.asyncDispose]();
  await (await other.acquire(key, { wait: 0 })).release();
});

test('elects one leader, and the next one', async () => {
  const name = fresh();
  const a = client.elect(name, { candidate: 'a', fencing: true });
  const [signal] = await once(a, 'elected');
  assert.ok(a.isLeader && !signal.aborted && a.fence > 0);
  const b = other.elect(name, { candidate: 'b', fencing: true, poll: 50 });
  const [leader] = await once(b, 'leader');
  assert.strictEqual(leader, 'a');
  assert.ok(!b.isLeader);
  const elected = once(b, 'elected');
  await a.resign();
  assert.ok(signal.aborted && !a.isLeader);
  await elected;
  assert.ok(b.isLeader && b.fence > a.fence);
  await b.resign();
  await a.resign();
});

test('a candidacy ends where the nodes have a shorter maxTtl', async () => {
  const own = await startNodes(3);
  const one = new Client(urlsOf(own), options);
  const name = fresh();
  const election = one.elect(name, { ttl: 6000 });
  await once(election, 'elected');
  const all = urlsOf(own).join(' ');
  await Promise.all(own.map(async (node) => {
    const text = `libredlock-config 1\\nid 6f1c02d7a9b34e55\\nepoch 1\\nchange 00000001\\nmax_ttl 3000\\nnodes ${all}\\nself ${node.url}\\n`;
    await node.ask('SET', 'libredlock:config', `"${text}"`);
    await node.ask('CLIENT', 'KILL', 'TYPE', 'normal');
  }));
  await until(() => one.using('x', { ttl: 6000 }, () => false).catch((error) => error.code === 'ERR_INVALID'));
  const codes = [];
  election.on('lost', ({ code }) => codes.push(code));
  await Promise.all(own.map((node) => node.ask('DEL', name)));
  await until(() => codes.includes('ERR_INVALID'));
  assert.ok(!election.isLeader && codes.length === 2);
  assert.throws(() => election.alive(), { code: 'ERR_NOT_HELD' });
  await election.resign();
  await one.close();
  await Promise.all(own.map((node) => node.kill()));
});

test('exceptions of listeners are the process\'s, and harm no lock', async () => {
  const key = fresh();
  const caught = [];
  const listeners = process.rawListeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', (error) => caught.push(error.message));
  const one = new Client(urlsOf(nodes), options);
  const lost = once(one, 'lost');
  one.on('lost', () => { throw new Error('in lost'); });
  const lock = await one.acquire(key, { ttl: 30000, maxHold: 100 });
  lock.signal.addEventListener('abort', () => { throw new Error('in abort'); });
  await lost;
  await assert.rejects(lock.release(), redlock.MaxHoldError);
  await (await one.acquire(key)).release();
  process.removeAllListeners('uncaughtException');
  listeners.forEach((listener) => process.on('uncaughtException', listener));
  await one.close();
  assert.deepStrictEqual(caught.sort(), ['in abort', 'in lost']);
});

test('garbage collection in callbacks takes nothing away', { skip: !global.gc }, async () => {
  const keys = Array.from({ length: 50 }, fresh);
  await Promise.all(keys.map(async (key, i) => {
    for (let round = 0; round < 4; round++) {
      let lock = await client.acquire(key, { signal: new AbortController().signal });
      if (i % 5 === 0) global.gc();
      await lock.extend();
      const released = lock.release();
      lock = undefined;
      if (i % 5 === 1) global.gc();
      await released;
    }
  }));
  await client.acquire(keys[0]); // forgotten, but held
  global.gc();
  await assert.rejects(other.acquire(keys[0], { wait: 300 }), redlock.DeadlineError);
});

test('closing ends what is under way', async () => {
  const [key, held] = [fresh(), fresh()];
  const blocker = await other.acquire(key);
  const one = new Client(urlsOf(nodes), options);
  const lock = await one.acquire(held);
  const election = one.elect(fresh());
  const waiting = one.acquire(key, { wait: Infinity });
  const extending = lock.extend().catch(() => {});
  const closing = one.close();
  assert.strictEqual(one.close(), closing);
  await assert.rejects(waiting, redlock.CanceledError);
  await extending;
  assert.ok(lock.signal.aborted && !lock.isValid && !election.isLeader);
  await lock.release();
  await election.resign();
  await closing;
  await assert.rejects(one.acquire(key), { code: 'ERR_CLOSED' });
  assert.throws(() => one.elect(key), { code: 'ERR_CLOSED' });
  assert.match(one.message, /closed/);
  await until(async () => await votes(held) === 0);
  await blocker.release();
});

test('a client that is closed before it is open', async () => {
  const one = new Client(urlsOf(nodes));
  await Promise.all([
    assert.rejects(one.acquire(fresh()), { code: 'ERR_CLOSED' }),
    assert.rejects(one.ready(), redlock.CanceledError),
    one.close(),
  ]);
});

// Must be the last test: it kills nodes.
test('a loss is reported before the lock can be another\'s', async () => {
  const lost = [];
  const one = new Client(urlsOf(nodes), { ...options, lostMargin: 2000, nodeTimeout: 1000 });
  const lock = await one.acquire(fresh(), { ttl: 4000 });
  one.on('lost', (...what) => lost.push(what));
  let [told, validUntil] = [0, 0];
  lock.signal.addEventListener('abort', () => (told = performance.now()));
  await Promise.all(nodes.slice(1).map((node) => node.kill()));
  await until(() => {
    const now = performance.now();
    if (lock.isValid) validUntil = Math.max(validUntil, now + lock.remaining);
    return lock.signal.aborted;
  });
  assert.ok(told < validUntil);
  assert.ok(lock.signal.reason instanceof redlock.ExpiredError);
  assert.strictEqual(lost.length, 1);
  assert.ok(lost[0][0] === lock && lost[0][1] === lock.signal.reason);
  assert.ok(!lock.isValid);
  await assert.rejects(lock.release(), redlock.ExpiredError);
  await assert.rejects(lock.extend(), redlock.ExpiredError);
  await assert.rejects(one.acquire(fresh(), { wait: 0 }), (error) => {
    assert.ok(error instanceof redlock.NoQuorumError);
    assert.match(error.message, /of 3 granted, 2 needed; .*127\.0\.0\.1:\d+: (not connected|conn)/);
    return true;
  });
  await one.close();
  const down = new Client(urlsOf(nodes), options);
  await assert.rejects(down.ready(), { code: 'ERR_NO_QUORUM', message: /1 of 3 nodes up/ });
  await down.close();
});
