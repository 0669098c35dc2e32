import { Client, HeldError, Lock, RedlockError, version } from '../index.js';
import Redlock, { ExecutionError } from '../node-redlock.js';

export async function all(): Promise<number> {
  await using client = new Client(['redis://a', 'unix:///b'], { guard: 'observed', driftRatio: 0.01 });
  client.on('lost', (lock: Lock, error: RedlockError) => console.log(lock.resources.length, error.code));
  await using lock = await client.acquire(['a', 'b'], { ttl: 5, wait: Infinity, signal: AbortSignal.timeout(5) });
  const fence: number = lock.fence ?? 0;
  const left: number = await lock.extend();
  const text: string = await client.using('a', async (held) => held.token + version);
  await (await client.acquireAny(['a', ['b', 'c']], { wait: 0 })).release();
  const election = client.elect('a', { candidate: 'b' });
  election.on('elected', (signal) => signal.aborted);
  await election.resign();
  try {
    await client.acquire('a', { permits: 3, take: 2, shared: false });
  } catch (error) {
    if (error instanceof HeldError) console.log(error.code, error.attempt, text);
  }
  return fence + left;
}

export async function adapter(): Promise<void> {
  const redlock = new Redlock(['redis://a'], { retryCount: 3 });
  const lock = await redlock.acquire(['a'], 1000);
  await (await lock.extend(1000)).release();
  await redlock.using(['a'], 1000, { retryCount: 1 }, async (signal) => signal.error?.message);
  redlock.on('error', (error) => error instanceof ExecutionError);
}
