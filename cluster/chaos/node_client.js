'use strict';
// A client process of the chaos run that uses the package for Node.js. As python_client.py, which it
// follows: the options and records of redlock-chaos-client as far as it needs them, the workload
// "register".
//
// Happy path: each client waits for one of the locks, enters, writes and exits, or loses it.
// SIGTERM ends it after the current work, SIGUSR1 at once. Failure modes: as those of the C client;
// a record that cannot be written ends the program, with status 3.

const fs = require('node:fs');
const { join } = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { parseArgs } = require('node:util');
const { Client, RedlockError } = require('../../bindings/node/index.js');
const { now } = require('../../bindings/node/lib/native.js');

const UNUSABLE = 3;
const HOLDS_PER_CLIENT = 1_000_000;
const EXTENDED = 0.06; // share of works that are longer than a ttl, and extended
const OUTLAST = 0.03; // share that are longer, and not extended

const TEXTS = ['nodes', 'dir', 'guard'];
const NUMBERS = ['process', 'clients', 'resources', 'ttl-ms', 'wait-ms', 'work-ms', 'seed'];
const { values: asked } = parseArgs({
  strict: false,
  options: Object.fromEntries([...TEXTS, ...NUMBERS].map((name) => [name, { type: 'string' }])),
});
for (const name of NUMBERS) asked[name] = Number(asked[name]);

// -- The journal: each record is one write to a file that others append to, too --

fs.mkdirSync(join(asked.dir, 'clients'), { recursive: true });
const register = fs.openSync(join(asked.dir, 'register.log'), 'a');
const story = fs.openSync(join(asked.dir, 'clients', `${asked.process}.jsonl`), 'a');

function write(file, line) {
  const bytes = Buffer.from(`${line}\n`);
  if (fs.writeSync(file, bytes) !== bytes.length) process.exit(UNUSABLE);
}

const tell = (client, what, more) =>
  write(story, `{"t_ns": ${now()}, ${JSON.stringify({ client, what, ...more }).slice(1)}`);

// -- Clients --

const stop = new AbortController();
process.on('SIGTERM', () => stop.abort());
process.on('SIGUSR1', () => process.kill(process.pid, 'SIGKILL')); // or Node.js would start its debugger

// "OK", or the name of the error's status.
const statusOf = (operation) => operation.then(() => 'OK', (error) => {
  if (!(error instanceof RedlockError)) throw error;
  return error.code;
});

class Worker {
  #name;
  #client;
  #state; // of its random numbers
  #hold;
  #lock;
  #number;

  constructor(number) {
    this.#name = `c${asked.process}.${number}`;
    this.#number = (asked.process * 1000 + number) * HOLDS_PER_CLIENT;
    this.#state = BigInt(asked.seed * 1000 + number);
  }

  // splitmix64
  #random(from = 0, to = 1) {
    this.#state = BigInt.asUintN(64, this.#state + 0x9e3779b97f4a7c15n);
    let x = this.#state;
    x = BigInt.asUintN(64, (x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n);
    x = BigInt.asUintN(64, (x ^ (x >> 27n)) * 0x94d049bb133111ebn);
    return from + (to - from) * (Number((x ^ (x >> 31n)) >> 11n) / 2 ** 53);
  }

  async run() {
    this.#client = new Client(asked.nodes.split(','),
      { clientName: this.#name, guard: asked.guard, maxTtl: asked['ttl-ms'] });
    this.#client.on('lost', (lock, error) => this.#lost(error));
    await statusOf(this.#client.ready());
    tell(this.#name, 'open', { status: 'OK' });
    while (!stop.signal.aborted) {
      await this.#once(`chaos-${1 + Math.floor(this.#random(0, asked.resources))}`);
      await sleep(this.#random(1, asked['work-ms']));
    }
    await this.#client.close();
    tell(this.#name, 'close', { status: 'OK' });
  }

  async #once(resource) {
    const begin = now();
    const lot = this.#random();
    const plan = lot < EXTENDED ? 'extended' : lot < EXTENDED + OUTLAST ? 'outlast' : 'short';
    const about = () => ({ resource, wait_us: Number((now() - begin) / 1000n) });
    tell(this.#name, 'wait', { resource });
    try {
      this.#lock = await this.#client.acquire(resource,
        { ttl: asked['ttl-ms'], wait: asked['wait-ms'], autoExtend: false, signal: stop.signal });
    } catch (error) {
      if (!(error instanceof RedlockError) && error !== stop.signal.reason) throw error;
      const { code: status, message: why } = error instanceof RedlockError ? error : { code: 'ERR_CANCELED' };
      tell(this.#name, 'denied', { status, why, ...about() });
      return;
    }
    const { token } = this.#lock;
    this.#hold = { resource, plan, token, number: ++this.#number, until: 0n, isInside: false };
    tell(this.#name, 'grant', { status: 'OK', token, plan, ...about() });
    await this.#work();
    tell(this.#name, 'release', { resource, status: await statusOf(this.#lock.release()) });
  }

  // An act of a holder. False if it no longer holds: nothing is written.
  #act(what) {
    const t = now(); // before the check: no act is recorded later than its validity
    const left = this.#lock.remaining;
    if (left > 0) {
      this.#hold.until = t + BigInt(Math.floor(left * 1e6));
      this.#write(t, what);
    }
    return left > 0;
  }

  #write(t, what) {
    const hold = this.#hold;
    hold.isInside = what !== 'exit' && what !== 'lost';
    write(register, `${t} ${this.#name} ${what} ${hold.resource} ${hold.token} ${hold.until} ${hold.number}`);
  }

  // Its hold ends here: the keys are being released.
  #lost(error) {
    const { resource, plan, isInside } = this.#hold;
    if (isInside) this.#write(now(), 'lost');
    tell(this.#name, 'lost', { resource, plan, status: error.code });
  }

  async #work() {
    const { plan } = this.#hold;
    const work = plan === 'short' ? this.#random(0.5, 1.5) * asked['work-ms']
      : this.#random(0.6, 1.6) * asked['ttl-ms'];
    const acts = ['enter', 'write', 'write'];
    while (acts.length > 0 && this.#act(acts.shift())) {
      await sleep(work / 3);
      if (plan === 'extended' && this.#lock.isValid) await this.#extend();
      if (acts.length === 0) this.#act('exit');
    }
    if (this.#hold.isInside) this.#write(now(), 'lost');
  }

  async #extend() {
    const status = await statusOf(this.#lock.extend());
    tell(this.#name, 'extend', { resource: this.#hold.resource, status });
    if (status === 'OK') this.#act('extend');
  }
}

(async () => {
  const name = `c${asked.process}`;
  tell(name, 'begin', { control: 'none' });
  await Promise.all(Array.from({ length: asked.clients }, (_, i) => new Worker(i + 1).run()));
  tell(name, 'end', { leaked: 0 });
})();
