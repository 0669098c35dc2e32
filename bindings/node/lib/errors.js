'use strict';
// One class for each way in which an operation can fail, and RedlockError, their parent, for the rest.
// `code` is the name of the status in include/redlock/status.h.

class RedlockError extends Error {
  constructor(code, message, attempt) {
    super(message);
    this.code = code;
    // For an acquire: why its last attempt failed, which ERR_DEADLINE does not say.
    if (attempt) this.attempt = attempt;
  }
}
Object.defineProperty(RedlockError.prototype, 'name', { value: 'RedlockError', writable: true });

const classes = {};
const byCode = {};
for (const code of ['ERR_HELD', 'ERR_NO_QUORUM', 'ERR_EXPIRED', 'ERR_DEADLINE', 'ERR_CANCELED',
  'ERR_LOST', 'ERR_UNKNOWN', 'ERR_MAX_HOLD', 'ERR_PERMITS', 'ERR_SILENT']) {
  // ERR_NO_QUORUM is NoQuorumError.
  const words = code.slice('ERR_'.length).toLowerCase().split('_');
  const name = `${words.map((word) => word[0].toUpperCase() + word.slice(1)).join('')}Error`;
  classes[name] = { [name]: class extends RedlockError {} }[name];
  Object.defineProperty(classes[name].prototype, 'name', { value: name, writable: true });
  byCode[code] = classes[name];
}

const errorOf = (code, message, attempt) =>
  new (byCode[code] ?? RedlockError)(code, message, attempt);

// What the addon throws has only a code.
function call(fn, ...values) {
  try {
    return fn(...values);
  } catch (error) {
    throw error.code?.startsWith('ERR_') ? errorOf(error.code, error.message) : error;
  }
}

module.exports = { RedlockError, classes, errorOf, call };
