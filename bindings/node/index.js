'use strict';
const { Client, Lock, Election } = require('./lib/client.js');
const { RedlockError, classes } = require('./lib/errors.js');
const { version } = require('./lib/native.js');

module.exports = { Client, Lock, Election, RedlockError, ...classes, version };
