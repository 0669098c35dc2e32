'use strict';
// Client, Lock and Election, based on the addon's functions (src/addon.h).
//
// An entry is what the addon knows by its number: {client, id, resources, resolve, reject} and, once
// it was granted, its lock. `over` is the error that ended it: a loss, or the client's closing.

const { EventEmitter } = require('node:events');
const { setTimeout } = require('node:timers/promises');
const native = require('./native.js');
const { RedlockError, errorOf, call } = require('./errors.js');

const DOWNGRADE = -1; // in place of a ttl
const UPGRADE = -2;

// The row of each option in the addon's tables; options that the addon does not get have none.
const rowsOf = (names, ...own) =>
  new Map([...own.map((name) => [name, -1]), ...names.map((name, row) => [name, row])]);
const CLIENT_ROWS = rowsOf(native.clientOptions);
const LOCK_ROWS = rowsOf(native.lockOptions, 'signal');
const ELECTION_ROWS = rowsOf(native.electionOptions);

function pairsOf(rows, options) {
  const pairs = [];
  for (const name in options) {
    const row = rows.get(name);
    if (row === undefined) throw new RedlockError('ERR_INVALID', `there is no option "${name}"`);
    if (row >= 0 && options[name] !== undefined) pairs.push(row, options[name]);
  }
  return pairs;
}

const isTime = (ms) => Number.isSafeInteger(ms) && ms >= 0;

const closedError = () => new RedlockError('ERR_CLOSED', 'the client is closing or closed');

class Lock {
  #entry;
  #releasing;

  constructor(entry) {
    this.#entry = entry;
  }

  get resources() {
    return [this.#entry.resources].flat();
  }

  // undefined without `fencing`.
  get fence() {
    return this.#entry.fence || undefined;
  }

  get slots() {
    return this.#entry.slots;
  }

  get #isLive() {
    return !this.#entry.over && !this.#releasing;
  }

  get remaining() {
    return this.#isLive ? native.remaining(this.#entry.client, this.#entry.id) : 0;
  }

  get isValid() {
    return this.remaining > 0;
  }

  get token() {
    return this.#isLive ? native.token(this.#entry.client, this.#entry.id) : '';
  }

  get signal() {
    const entry = this.#entry;
    entry.controller ??= new AbortController();
    if (entry.over) entry.controller.abort(entry.over);
    return entry.controller.signal;
  }

  async extend(ttl = 0) {
    if (!isTime(ttl)) throw new RedlockError('ERR_INVALID', `ttl: ${ttl}, not a whole number from 0 on`);
    return this.#change(ttl);
  }

  alive() {
    this.#check();
    call(native.alive, this.#entry.client, this.#entry.id);
  }

  upgrade() {
    return this.#change(UPGRADE);
  }

  downgrade() {
    return this.#change(DOWNGRADE);
  }

  #check() {
    if (this.#entry.over) throw this.#entry.over;
    if (this.#releasing) throw new RedlockError('ERR_NOT_HELD', 'the lock was released');
  }

  #change(ttl) {
    const entry = this.#entry;
    return new Promise((resolve, reject) => {
      this.#check();
      call(native.extend, entry.client, entry.id, ttl);
      entry.change = { resolve, reject };
    });
  }

  release() {
    const entry = this.#entry;
    if (entry.closing) return entry.closing;
    if (entry.over) return Promise.reject(entry.over);
    return (this.#releasing ??= new Promise((resolve, reject) => {
      call(native.release, entry.client, entry.id);
      entry.resolve = resolve;
      entry.reject = reject;
    }));
  }

  // If too few nodes have answered a release, the library retries it: nothing was lost.
  async [Symbol.asyncDispose]() {
    try {
      await this.release();
    } catch (error) {
      if (error.code !== 'ERR_NO_QUORUM') throw error;
    }
  }
}

class Election extends EventEmitter {
  #entry;
  #resigning;

  constructor(entry) {
    super();
    this.#entry = entry;
  }

  get isLeader() {
    const entry = this.#entry;
    return !entry.over && !this.#resigning && native.isLeader(entry.client, entry.id);
  }

  get leader() {
    return this.#entry.leader;
  }

  get fence() {
    return this.#entry.fence || undefined;
  }

  alive() {
    if (this.#entry.over || this.#resigning) throw new RedlockError('ERR_NOT_HELD', 'it does not lead');
    call(native.leadAlive, this.#entry.client, this.#entry.id);
  }

  resign() {
    const entry = this.#entry;
    if (entry.closing) return entry.closing;
    if (entry.over && !this.#resigning) return Promise.resolve();
    return (this.#resigning ??= new Promise((resolve, reject) => {
      call(native.resign, entry.client, entry.id);
      entry.controller?.abort(new RedlockError('ERR_CANCELED', 'it has resigned'));
      entry.resolve = resolve;
      entry.reject = reject;
    }));
  }

  [Symbol.asyncDispose]() {
    return this.resign();
  }
}

class Client extends EventEmitter {
  #client;
  #entries = [];
  #opening;
  #isOpen = false;
  #closing;
  #settle; // resolves #opening, later #closing

  constructor(nodes, options) {
    super();
    const events = native.events.map((name) => this.#events[name]);
    this.#client = call(native.open, nodes, pairsOf(CLIENT_ROWS, options),
      (type, id, ...what) => events[type](this.#entries[id], ...what));
    this.#opening = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
    this.#opening.catch(() => {}); // a caller that does not await it gets the error from its first lock
  }

  ready() {
    return this.#opening;
  }

  get message() {
    return native.message(this.#client);
  }

  setCredentials(user, password) {
    call(native.setCredentials, this.#client, user, password);
  }

  acquire(resources, options) {
    if (!this.#isOpen) {
      const again = () => this.acquire(resources, options);
      return this.#closing ? Promise.reject(closedError()) : this.#opening.then(again, again);
    }
    return new Promise((resolve, reject) => {
      const signal = options?.signal;
      signal?.throwIfAborted();
      const entry = { client: this.#client, id: 0, resources, resolve, reject, signal };
      entry.id = call(native.acquire, this.#client, resources, pairsOf(LOCK_ROWS, options));
      entry.permits = options?.permits;
      this.#entries[entry.id] = entry;
      entry.cancel = signal && (() => native.cancel(entry.client, entry.id));
      signal?.addEventListener('abort', entry.cancel);
    });
  }

  // A round ends when the nodes fail: the next one would wait for the same nodes.
  async acquireAny(list, options = {}) {
    const { wait = 10000, tries = Infinity, delay = 50, jitter = 100, signal } = options;
    const until = performance.now() + wait;
    if (!isTime(wait) && wait !== Infinity) {
      throw new RedlockError('ERR_INVALID', `wait: ${wait}, not a whole number from 0 on`);
    }
    if (list.length === 0) throw new RedlockError('ERR_INVALID', 'there is nothing in the list');
    for (let round = 1; ; round++) {
      const left = [...list];
      let why;
      while (left.length > 0 && (!why || why.code === 'ERR_HELD')) {
        const [resources] = left.splice(Math.floor(Math.random() * left.length), 1);
        try {
          return await this.acquire(resources, { ...options, wait: 0 });
        } catch (error) {
          why = error;
        }
      }
      if (!['ERR_HELD', 'ERR_NO_QUORUM', 'ERR_EXPIRED'].includes(why.code)) throw why;
      if (wait === 0 || round >= tries) throw why;
      if (performance.now() >= until) throw errorOf('ERR_DEADLINE', why.message, why.code);
      await setTimeout(delay + Math.random() * jitter, undefined, { signal }).catch(() => {});
      signal?.throwIfAborted();
    }
  }

  async using(resources, options, work = options) {
    const lock = await this.acquire(resources, work === options ? undefined : options);
    let result;
    try {
      result = await work(lock);
    } catch (error) {
      await lock.release().catch(() => {}); // the first error is the one to know
      throw error;
    }
    await lock[Symbol.asyncDispose]();
    return result;
  }

  elect(name, options) {
    const entry = { client: this.#client, id: 0, resources: name };
    entry.id = call(native.elect, this.#client, name, pairsOf(ELECTION_ROWS, options));
    this.#entries[entry.id] = entry;
    return (entry.election = new Election(entry));
  }

  close() {
    if (!this.#closing) {
      this.#isOpen = false;
      this.#closing = new Promise((resolve) => (this.#settle.resolveClosing = resolve));
      native.close(this.#client);
      const held = this.#entries.filter((entry) => entry?.lock || entry?.election);
      for (const entry of held) this.#end(entry, closedError(), this.#closing);
    }
    return this.#closing;
  }

  [Symbol.asyncDispose]() {
    return this.close();
  }

  // Frees the entry's number.
  #forget(entry) {
    this.#entries[entry.id] = undefined;
    entry.signal?.removeEventListener('abort', entry.cancel);
  }

  #end(entry, error, closing) {
    entry.over = error;
    entry.closing = closing;
    entry.controller?.abort(error);
  }

  // What the addon reports, see NODE_EVENTS in src/addon.h. code: undefined is success.
  #events = {
    opened: (_, code, text) => {
      this.#isOpen = !this.#closing;
      if (code) this.#settle.reject(errorOf(code, text));
      else this.#settle.resolve(this);
    },

    closed: () => this.#settle.resolveClosing(),

    acquired: (entry, code, text, detail) => {
      if (code) {
        this.#forget(entry);
        entry.reject(code === 'ERR_CANCELED' && entry.signal?.aborted ? entry.signal.reason
          : errorOf(code, `acquire ${entry.resources}: ${text}`, detail));
        return;
      }
      entry.signal?.removeEventListener('abort', entry.cancel);
      entry.fence = detail;
      if (entry.permits) entry.slots = native.slots(entry.client, entry.id);
      entry.resolve((entry.lock = new Lock(entry)));
    },

    extended: (entry, code, text, fence) => {
      const { resolve, reject } = entry.change;
      entry.change = undefined;
      entry.fence = fence;
      if (code) reject(errorOf(code, `extend ${entry.resources}: ${text}`));
      else resolve(entry.lock.remaining);
    },

    released: (entry, code, text) => {
      this.#forget(entry);
      if (code && !entry.closing) {
        entry.reject(errorOf(code, `release ${entry.resources}: ${text}`));
      } else {
        entry.resolve();
      }
    },

    lost: (entry, code, text) => {
      this.#forget(entry);
      this.#end(entry, errorOf(code, `lost ${entry.resources}: ${text}`));
      entry.change?.reject(entry.over);
      this.emit('lost', entry.lock, entry.over);
    },

    elected: (entry, _code, _text, fence) => {
      entry.fence = fence;
      entry.controller = new AbortController();
      entry.election.emit('elected', entry.controller.signal);
    },

    deposed: (entry, code, text, isOver) => {
      const error = errorOf(code, `lost ${entry.resources}: ${text}`);
      if (isOver) {
        this.#forget(entry);
        entry.over = error;
      }
      entry.controller?.abort(error);
      entry.election.emit('lost', error);
    },

    leader: (entry, _code, _text, leader) => {
      entry.leader = leader || undefined;
      entry.election.emit('leader', entry.leader);
    },

    resigned: (entry, code, text) => {
      this.#forget(entry);
      entry.over = new RedlockError('ERR_IDLE', 'it has resigned');
      if (code && code !== 'ERR_NO_QUORUM' && !entry.closing) {
        entry.reject(errorOf(code, `resign ${entry.resources}: ${text}`));
      } else {
        entry.resolve();
      }
    },
  };
}

module.exports = { Client, Lock, Election };
