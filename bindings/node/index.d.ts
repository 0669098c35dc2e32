/// <reference types="node" />
import { EventEmitter } from 'node:events';

/** Times are whole milliseconds. */
export interface ClientOptions {
  /** Resolving, connecting and each handshake end after this. Default 1000. */
  connectTimeout?: number;
  /** A vote that has not arrived by then counts as failed. Default 250. */
  nodeTimeout?: number;
  /** The pause before a node is connected again grows from one to the other. Default 50, 2000. */
  reconnectMin?: number;
  reconnectMax?: number;
  /** The allowance for clocks: ttl * driftRatio + drift. Default 0.01 and 2. */
  driftRatio?: number;
  drift?: number;
  /** A loss is reported this long before validity ends. Default 10. */
  lostMargin?: number;
  /** CLIENT SETNAME. Default "redlock". */
  clientName?: string;
  /** How long nodes keep the counter of a resource's fences. Default a day. */
  fenceRetention?: number;
  /** May a node vote that may have forgotten locks? Default "strict". */
  guard?: 'off' | 'observed' | 'strict';
  /** The longest ttl of any client of these nodes, the same in all. Default 30000. */
  maxTtl?: number;
  /** Files in PEM, for rediss:// URLs. Node.js's own OpenSSL may not know the system's authorities: name them. */
  tlsCa?: string;
  tlsCert?: string;
  tlsKey?: string;
  tlsServerName?: string;
  tlsInsecureSkipVerify?: boolean;
  /** The id of the nodes' set, 16 hex digits. */
  configId?: string;
}

export interface AcquireOptions {
  /** The life of the keys, and of the lock if it is not extended. Default 10000. */
  ttl?: number;
  /** Give up after so much time; 0: one attempt, Infinity: no limit. Default 10000. */
  wait?: number;
  /** ... or after so many attempts. Default Infinity. */
  tries?: number;
  /** The pause between two attempts is `delay` and a random part of `jitter`. Default 50, 100. */
  delay?: number;
  jitter?: number;
  /** A lock with less validity left is not granted. Default 1. */
  minValidity?: number;
  /** Renew the lock until it is released or lost. Default true. */
  autoExtend?: boolean;
  /** ... whenever so much of its validity is used up. Default a third of the ttl. */
  renew?: number;
  /** The lock ends after so much time, however often it is extended. Default Infinity. */
  maxHold?: number;
  /** Renewing stops when `lock.alive()` was not called for this long. Default 0, no limit. */
  maxSilence?: number;
  /** Locks of one owner (a number above 0) share a hold. */
  owner?: number;
  /** The grant has a fence: `lock.fence`. Default false. */
  fencing?: boolean;
  /** A name for operators, who see it in `redlock status`. */
  holder?: string;
  /** A reader's: readers hold side by side. Default false. */
  shared?: boolean;
  /** A semaphore of so many permits, of which this takes `take`. */
  permits?: number;
  take?: number;
  /** Ends the waiting. The promise rejects with its reason, and nothing stays locked. */
  signal?: AbortSignal;
}

export interface ElectionOptions {
  /** This candidate's name. Default host and process id. */
  candidate?: string;
  /** The longest time until a dead leader is replaced. Default 10000. */
  ttl?: number;
  renew?: number;
  /** The pause between two queries for the leader. Default 500. */
  poll?: number;
  fencing?: boolean;
  /** Renewing stops when `election.alive()` was not called for this long. Default 0, no limit. */
  maxSilence?: number;
}

/** A lock that was granted. */
export class Lock implements AsyncDisposable {
  private constructor();
  readonly resources: string[];
  /** Larger than those of all earlier fenced grants; undefined without `fencing`. */
  readonly fence: number | undefined;
  /** The numbers of the permits that it holds, from 0; undefined without `permits`. */
  readonly slots: number[] | undefined;
  /** Any party that knows it can release the lock. "" when the lock is over. */
  readonly token: string;
  /** How much validity is left now, with a fraction; 0 if none. */
  readonly remaining: number;
  /** Ask right before each step that must not be done twice. */
  readonly isValid: boolean;
  /** Aborts when the lock is lost, before its validity ends; the reason is the error. */
  readonly signal: AbortSignal;
  /** Extends it to `ttl` from now, default the ttl that it was acquired with. The validity left. */
  extend(ttl?: number): Promise<number>;
  /** A sign of life, for `maxSilence`: call it where the work makes progress. Throws the loss's error. */
  alive(): void;
  /** Makes a reader the writer if nobody else reads; tries once, and may fail right after another's release. */
  upgrade(): Promise<number>;
  /** Makes the writer a reader, without a gap. */
  downgrade(): Promise<number>;
  /** Rejects with the loss's error if the lock was lost before. Any later call does the same. */
  release(): Promise<void>;
  /** As release(), but does not mind that too few nodes have answered. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** A candidate. */
export class Election extends EventEmitter implements AsyncDisposable {
  private constructor();
  /** Ask right before each action of the leader. */
  readonly isLeader: boolean;
  /** The leader's name as last reported; never act because of it. */
  readonly leader: string | undefined;
  readonly fence: number | undefined;
  /** A sign of life of the leader, for `maxSilence`. Throws if it does not lead. */
  alive(): void;
  /** Ends the candidacy; the next candidate can lead when it resolves. */
  resign(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
  /** It leads, until the signal aborts. */
  on(event: 'elected', listener: (signal: AbortSignal) => void): this;
  /** It no longer leads, and campaigns again; not after ERR_INVALID (the nodes have a shorter maxTtl now) and ERR_SYSTEM. */
  on(event: 'lost', listener: (error: RedlockError) => void): this;
  on(event: 'leader', listener: (leader: string | undefined) => void): this;
  on(event: string | symbol, listener: (...args: any[]) => void): this;
}

/** N independent nodes. Its locks, and what is under way, keep the process alive; it does not. */
export class Client extends EventEmitter implements AsyncDisposable {
  /** Throws if a URL or an option is wrong. Connects in the background. */
  constructor(nodes: readonly string[], options?: ClientOptions);
  /** Rejects if a quorum is not up when each node was tried once. The client goes on connecting, and can be used. */
  ready(): Promise<this>;
  /** How the nodes are now, as a sentence. */
  readonly message: string;
  acquire(resources: string | readonly string[], options?: AcquireOptions): Promise<Lock>;
  /**
   * Acquires one of several locks, whichever is free: for workers that take any job. They are tried in a
   * random order; `tries` are rounds, between two of which is the pause of `delay` and `jitter`.
   */
  acquireAny(list: readonly (string | readonly string[])[], options?: AcquireOptions): Promise<Lock>;
  /** Acquires, works, releases. */
  using<T>(resources: string | readonly string[], work: (lock: Lock) => T | PromiseLike<T>): Promise<T>;
  using<T>(resources: string | readonly string[], options: AcquireOptions, work: (lock: Lock) => T | PromiseLike<T>): Promise<T>;
  elect(name: string, options?: ElectionOptions): Election;
  /** New ones for all nodes; connections stay. */
  setCredentials(user: string, password: string): void;
  /** Releases what is held. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
  /** A lock was lost, before its validity ended. */
  on(event: 'lost', listener: (lock: Lock, error: RedlockError) => void): this;
  on(event: string | symbol, listener: (...args: any[]) => void): this;
}

/** Any error of this package. */
export class RedlockError extends Error {
  protected constructor();
  /** The name of a status, as in redlock/status.h: "ERR_HELD". */
  readonly code: string;
  /** Of an acquire: what stood in the way in its last attempt, "ERR_HELD" or "ERR_NO_QUORUM". */
  readonly attempt?: string;
}
/** Held by another. */
export class HeldError extends RedlockError {}
/** Too few nodes answer, or may vote; the message says why, node by node. */
export class NoQuorumError extends RedlockError {}
/** Validity ran out. */
export class ExpiredError extends RedlockError {}
/** `wait` is over. */
export class DeadlineError extends RedlockError {}
export class CanceledError extends RedlockError {}
/** Too many nodes no longer have the lock. */
export class LostError extends RedlockError {}
/** Too few nodes have answered an extension; validity is what it was. */
export class UnknownError extends RedlockError {}
/** `maxHold` is over. */
export class MaxHoldError extends RedlockError {}
export class SilentError extends RedlockError {}
/** The semaphore has another number of permits. */
export class PermitsError extends RedlockError {}

/** Of the library inside. */
export const version: string;
