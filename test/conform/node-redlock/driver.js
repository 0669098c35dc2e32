// node-redlock, from npm, behind the lines of `redlock conform` (docs/protocol.md). By hand; CI does
// not run it:
//
//     mkdir /tmp/node-redlock && cd /tmp/node-redlock
//     npm install redlock@5.0.0-beta.2 redlock4@npm:redlock@4.2.0 ioredis
//     NODE_PATH=node_modules redlock conform -- node .../test/conform/node-redlock/driver.js redlock
//     NODE_PATH=node_modules redlock conform -- node .../test/conform/node-redlock/driver.js redlock4
//
// Its settings, and ioredis's, are the defaults, but for the number of attempts. docs/protocol.md
// has the results.
"use strict";

const readline = require("readline");
const Redis = require("ioredis");

const name = process.argv[2] || "redlock";
const module_ = require(name);
const Redlock = module_.default || module_;
const clients = process.env.REDLOCK_NODES.split(",").map((url) => {
    const client = new Redis(url);
    client.on("error", () => {}); // it connects again by itself
    return client;
});
const redlock = new Redlock(clients, {});
redlock.on("clientError", () => {});
const isOld = name === "redlock4"; // another interface
const locks = new Map();

async function acquire(key, ttlMs, tries) {
    const lock = isOld
        ? await new Redlock(clients, { retryCount: tries - 1 }).acquire(key, ttlMs)
        : await redlock.acquire([key], ttlMs, { retryCount: tries - 1 });
    locks.set(key, lock);
    return `granted ${lock.value} ${lock.expiration - Date.now()}`;
}

async function extend(key, ttlMs) {
    const lock = await locks.get(key).extend(ttlMs);
    locks.set(key, lock);
    return `extended ${lock.expiration - Date.now()}`;
}

async function release(key) {
    const lock = locks.get(key);
    await (isOld ? lock.unlock() : lock.release());
    return "released";
}

const requests = { acquire, extend, release };
const refusals = { acquire: "refused", extend: "failed", release: "failed" };

async function answer(line) {
    const [what, key, ttlMs, tries] = line.split(" ");
    try {
        return await requests[what](key, Number(ttlMs), Number(tries));
    } catch (error) {
        return `${refusals[what]} ${error.message}`.split("\n")[0];
    }
}

async function main() {
    console.log("ready");
    for await (const line of readline.createInterface({ input: process.stdin })) {
        console.log(await answer(line));
    }
    process.exit(0);
}

main();
