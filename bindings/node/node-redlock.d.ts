/// <reference types="node" />
import { EventEmitter } from 'node:events';
import type { ClientOptions } from './index.js';

/** The URL of a node, or an ioredis client of one, whose options are taken. */
export type NodeClient = string | { readonly options: object; quit(): Promise<unknown> };

export interface Settings {
  readonly driftFactor: number;
  readonly retryCount: number;
  readonly retryDelay: number;
  readonly retryJitter: number;
  readonly automaticExtensionThreshold: number;
}

/** `attempts` is always empty; the message has the reasons of the nodes. */
export interface ExecutionResult {
  attempts: readonly never[];
}
export class ResourceLockedError extends Error {}
export class ExecutionError extends Error {
  readonly attempts: readonly never[];
}
export class Lock {
  private constructor();
  readonly redlock: Redlock;
  readonly resources: string[];
  readonly value: string;
  readonly attempts: readonly never[];
  expiration: number;
  release(): Promise<ExecutionResult>;
  extend(duration: number): Promise<Lock>;
}
export type RedlockAbortSignal = AbortSignal & { error?: Error };

export class Redlock extends EventEmitter {
  readonly clients: Set<NodeClient>;
  readonly settings: Settings;
  constructor(clients: Iterable<NodeClient>, settings?: Partial<Settings>, options?: ClientOptions);
  quit(): Promise<void>;
  acquire(resources: string[], duration: number, settings?: Partial<Settings>): Promise<Lock>;
  release(lock: Lock, settings?: Partial<Settings>): Promise<ExecutionResult>;
  extend(existing: Lock, duration: number, settings?: Partial<Settings>): Promise<Lock>;
  using<T>(resources: string[], duration: number, settings: Partial<Settings>, routine?: (signal: RedlockAbortSignal) => Promise<T>): Promise<T>;
  using<T>(resources: string[], duration: number, routine: (signal: RedlockAbortSignal) => Promise<T>): Promise<T>;
}
export default Redlock;
