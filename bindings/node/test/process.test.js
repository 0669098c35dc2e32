'use strict';
// The process: what keeps it alive, how it ends, worker threads, other module systems, leaks.

const { test, before, after } = require('node:test');
const assert = require('node:assert');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { Worker } = require('node:worker_threads');
const { Client, SilentError } = require('../index.js');
const { startNodes, urlsOf, options } = require('./nodes.js');

const root = join(__dirname, '..');
let nodes, urls, client;

before(async () => {
  nodes = await startNodes(3);
  urls = urlsOf(nodes);
  client = new Client(urls, options);
  await client.ready();
});

after(async () => {
  await client.close();
  await Promise.all(nodes.map((node) => node.kill()));
});

const PROLOGUE = `
  const { Client } = require(${JSON.stringify(root)});
  const client = new Client(${'URLS'}, { ...${JSON.stringify(options)}, clientName: 'child' });
  const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms).unref());
`;

// Runs a program in a separate process; returns {status, signal, text}.
async function run(program, ...flags) {
  const text = PROLOGUE.replace('URLS', JSON.stringify(urls)) + program;
  const child = spawn(process.execPath, [...flags, '-e', `(async () => {${text}})()`]);
  let output = '';
  child.stdout.on('data', (some) => (output += some));
  child.stderr.on('data', (some) => (output += some));
  const [status, signal] = await once(child, 'close');
  return { status, signal, output };
}

// Whether a lock is free before its ttl of 30 s has ended.
const isFree = async (key) => (await client.acquire(key, { wait: 20000 })).release();

test('an open client lets the process end, and releases', async () => {
  assert.deepStrictEqual(await run(`
    const lock = await client.acquire('a');
    await lock.release();
    console.log('over');
  `), { status: 0, signal: null, output: 'over\n' });
  await isFree('a');
});

test('a client that nobody uses lets it end', async () => {
  assert.strictEqual((await run('')).status, 0);
  assert.strictEqual((await run('await client.ready(); client.close();')).status, 0);
});

test('a held lock keeps it alive, until it is released or lost', async () => {
  const { status, output } = await run(`
    const lock = await client.acquire('b', { ttl: 30000, maxHold: 400 });
    process.on('exit', () => console.log(lock.isValid, lock.signal.reason.code));
  `);
  assert.deepStrictEqual({ status, output }, { status: 0, output: 'false ERR_MAX_HOLD\n' });
});

test('without a sign of life it is lost', async () => {
  const lock = await client.acquire('quiet', { ttl: 6000, maxSilence: 1 });
  lock.alive();
  await once(lock.signal, 'abort');
  assert.strictEqual(lock.signal.reason.code, 'ERR_SILENT');
  assert.ok(lock.signal.reason instanceof SilentError);
  assert.throws(() => lock.alive(), { code: 'ERR_SILENT' });
  await assert.rejects(lock.release(), { code: 'ERR_SILENT' });
  const brief = await client.acquire('quiet');
  await brief.release();
  assert.throws(() => brief.alive(), { code: 'ERR_NOT_HELD' });
});

test('process.exit() with a held lock ends at once', async () => {
  const { status } = await run(`
    await client.acquire('c', { ttl: 1000 });
    client.acquire('c');
    process.exit(7);
  `);
  assert.strictEqual(status, 7);
  await (await client.acquire('c', { wait: 60000 })).release(); // at the latest when its ttl has ended
});

test('an exception ends it as always', async () => {
  const { status, output } = await run(`
    client.on('lost', () => { throw new Error('mine'); });
    await client.acquire('d', { ttl: 1000, maxHold: 50 });
  `);
  assert.notStrictEqual(status, 0);
  assert.match(output, /Error: mine/);
});

test('ES modules have the same names', async () => {
  const { status, output } = await run(`
    const module = await import(${JSON.stringify(join(root, 'index.mjs'))});
    const names = Object.keys(require(${JSON.stringify(root)}));
    console.log(names.filter((name) => module[name] === undefined), names.length > 10);
  `);
  assert.deepStrictEqual({ status, output }, { status: 0, output: '[] true\n' });
});

test('nothing of libuv or OpenSSL is brought along', async () => {
  const { output } = await run(`
    const lock = await client.acquire('e');
    console.log(require('fs').readFileSync('/proc/self/maps', 'utf8').match(/lib(uv|ssl|crypto)\\.so.*/g));
    await lock.release();
  `);
  // Debian's node links them dynamically: then they are loaded already.
  if (!process.report.getReport().sharedObjects.some((name) => /libuv/.test(name))) {
    assert.strictEqual(output, 'null\n');
  }
});

const WORKER = `
  const { workerData, parentPort } = require('node:worker_threads');
  const { Client } = require(workerData.root);
  const client = new Client(workerData.urls, workerData.options);
  let n = 0;
  (async () => {
    for (; n < workerData.rounds; n++) await client.using('shared', { ttl: 30000 }, (lock) => {
      const counter = new Int32Array(workerData.counter);
      if (counter[0]++ !== 0) throw new Error('two hold it');
      counter[1]++;
      counter[0]--;
    });
    if (workerData.holds) await client.acquire(workerData.holds, { ttl: 30000 });
    parentPort.postMessage(n);
  })();
`;
const startWorker = (data) => new Worker(WORKER, { eval: true, workerData: { root, urls, options, ...data } });

test('worker threads exclude each other, and end', async () => {
  const counter = new SharedArrayBuffer(8);
  const workers = [1, 2, 3].map(() => startWorker({ rounds: 50, counter }));
  await Promise.all(workers.map((worker) => once(worker, 'exit')));
  assert.deepStrictEqual([...new Int32Array(counter)], [0, 150]);
});

test('a worker that is terminated has released', async () => {
  const worker = startWorker({ rounds: 0, holds: 'f' });
  await once(worker, 'message');
  await assert.rejects(client.acquire('f', { wait: 0 }), { code: 'ERR_HELD' });
  await worker.terminate();
  await isFree('f');
  for (let i = 0; i < 5; i++) { // at any moment
    const other = startWorker({ rounds: 1000, counter: new SharedArrayBuffer(8) });
    await once(other, 'online');
    await new Promise((resolve) => setTimeout(resolve, i * 7));
    await other.terminate();
  }
  await isFree('shared');
});

// REDLOCK_NODE_ROUNDS: more rounds, for a long run by hand.
test('no memory is lost', async () => {
  const rounds = Number(process.env.REDLOCK_NODE_ROUNDS ?? 20000);
  const { status, output } = await run(`
    const half = ${rounds} / 2, lanes = 32;
    let done = 0;
    const some = (n) => Promise.all(Array.from({ length: lanes }, async (_, i) => {
      for (let k = 0; k < n / lanes; k++) {
        const signal = k % 4 ? undefined : new AbortController().signal;
        const lock = await client.acquire('lane' + i, { signal, ttl: 30000 });
        if (k % 8 === 0) await lock.extend();
        await lock.release();
        if (k % 16 === 0) await client.acquire(['x', 'x']).catch(() => {});
      }
    }));
    const size = () => { gc(); return process.memoryUsage().rss; };
    await some(half);
    const before = size();
    await some(half);
    console.log((size() - before) / half);
  `, '--expose-gc');
  assert.strictEqual(status, 0, output);
  // The heap may still grow by some megabytes, whatever the rounds.
  assert.ok(Number(output) < 16e6 / (rounds / 2) + 20, `${output.trim()} bytes for each lock`);
});

// The program of docs/start.md, unchanged.
test('the first program runs', async () => {
  const page = readFileSync(join(root, '../../docs/start.md'), 'utf8');
  const folder = mkdtempSync(join(tmpdir(), 'redlock-node.'));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(root, join(folder, 'node_modules/libredlock'));
  writeFileSync(join(folder, 'first.js'), page.match(/```js\n([^]*?)```/)[1]);
  const child = spawn(process.execPath, ['--preserve-symlinks', join(folder, 'first.js'), ...urls]);
  let output = '';
  child.stdout.on('data', (some) => (output += some));
  child.stderr.on('data', (some) => (output += some));
  const [status] = await once(child, 'close');
  rmSync(folder, { recursive: true });
  assert.deepStrictEqual({ status, output }, { status: 0, output: 'step 1\nstep 2\nstep 3\n' });
});
