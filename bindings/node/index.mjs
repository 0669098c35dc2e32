import redlock from './index.js';

export const {
  Client, Lock, Election, version, RedlockError, HeldError, NoQuorumError, ExpiredError,
  DeadlineError, CanceledError, LostError, UnknownError, MaxHoldError, PermitsError,
  SilentError,
} = redlock;
