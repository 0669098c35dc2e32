'use strict';
// The interface of node-redlock 5 on libredlock, for programs that must not change. docs/node.md,
// "From node-redlock", has the differences.

const { EventEmitter } = require('node:events');
const { Client, RedlockError } = require('./index.js');

const DEFAULTS = Object.freeze({
  driftFactor: 0.01,
  retryCount: 10,
  retryDelay: 200,
  retryJitter: 100,
  automaticExtensionThreshold: 500,
});

class ResourceLockedError extends Error {
  name = 'ResourceLockedError';
}

class ExecutionError extends Error {
  name = 'ExecutionError';

  constructor(message, attempts = [], options = undefined) {
    super(message, options);
    this.attempts = attempts;
  }
}

// The URL of an ioredis client; a URL is returned as it is.
function urlOf(client) {
  if (typeof client === 'string') return client;
  const { host, port, path, username, password, db, tls } = client.options ?? {};
  if (!host && !path) throw new TypeError('clients: each must be a URL, or an ioredis client of one server');
  const part = encodeURIComponent;
  const user = password ? `${part(username ?? '')}:${part(password)}@` : '';
  return path ? `unix://${user}${path.split('/').map(part).join('/')}?db=${db ?? 0}`
    : `redis${tls ? 's' : ''}://${user}${host.includes(':') ? `[${host}]` : host}:${port ?? 6379}/${db ?? 0}`;
}

class Lock {
  #lock;

  constructor(redlock, resources, lock) {
    this.redlock = redlock;
    this.resources = resources;
    this.value = lock.token;
    this.attempts = [];
    this.expiration = Date.now() + Math.floor(lock.remaining);
    this.#lock = lock;
  }

  static inner(lock) {
    return lock.#lock;
  }

  async release() {
    return this.redlock.release(this);
  }

  async extend(duration) {
    return this.redlock.extend(this, duration);
  }
}

class Redlock extends EventEmitter {
  #client;

  // options: Client's, in place of node-redlock's scripts.
  constructor(clients, settings = {}, options = {}) {
    super();
    this.on('error', () => {}); // an error without a listener must not end the process
    this.clients = new Set(clients);
    this.settings = { ...DEFAULTS, ...settings };
    this.#client = new Client([...this.clients].map(urlOf),
      { driftRatio: this.settings.driftFactor, ...options });
  }

  async quit() {
    await this.#client.close();
    await Promise.all([...this.clients].map((client) => client.quit?.()));
  }

  async acquire(resources, duration, settings) {
    return new Lock(this, resources, await this.#acquire(resources, duration, settings, false));
  }

  async release(lock) {
    lock.expiration = 0;
    await this.#run(Lock.inner(lock).release());
    return { attempts: [] };
  }

  async extend(lock, duration) {
    this.#check(duration);
    if (lock.expiration < Date.now()) throw new ExecutionError('the lock has expired, it cannot be extended');
    await this.#run(Lock.inner(lock).extend(duration));
    lock.expiration = 0;
    return new Lock(this, lock.resources, Lock.inner(lock));
  }

  async using(resources, duration, settings, routine = settings) {
    if (typeof routine !== 'function') throw new TypeError('routine: not a function');
    const lock = await this.#acquire(resources, duration, routine === settings ? undefined : settings, true);
    const { signal } = lock;
    signal.addEventListener('abort', () => (signal.error = signal.reason));
    try {
      return await routine(signal);
    } finally {
      await this.#run(lock.release());
    }
  }

  #check(duration) {
    if (!Number.isInteger(duration)) throw new Error('duration: not a whole number of milliseconds');
  }

  async #acquire(resources, duration, settings, autoExtend) {
    this.#check(duration);
    const { retryCount, retryDelay, retryJitter, automaticExtensionThreshold } = { ...this.settings, ...settings };
    const threshold = autoExtend && duration - automaticExtensionThreshold;
    if (autoExtend && threshold < 100) {
      throw new Error('duration: it must be 100 ms more than automaticExtensionThreshold');
    }
    return this.#run(this.#client.acquire(resources, {
      ttl: duration,
      autoExtend,
      // As in node-redlock, or by the library's own rule if that is earlier: an outage must not cost the lock.
      renew: autoExtend ? Math.min(threshold, Math.floor(duration / 3)) : undefined,
      wait: Infinity,
      tries: retryCount === -1 ? Infinity : retryCount + 1,
      delay: Math.max(0, retryDelay - retryJitter),
      jitter: Math.min(retryDelay, retryJitter) * 2,
    }));
  }

  // Replaces our errors by node-redlock's.
  async #run(operation) {
    try {
      return await operation;
    } catch (error) {
      if (!(error instanceof RedlockError) || error.code === 'ERR_INVALID') throw error;
      this.emit('error', error.code === 'ERR_HELD' ? new ResourceLockedError(error.message) : error);
      throw new ExecutionError(error.message, [], { cause: error });
    }
  }
}

module.exports = { default: Redlock, Redlock, Lock, ExecutionError, ResourceLockedError };
