// Clients of the peers, several in one process, which want one lock or each a lock of its own.
//
//     node client.mjs '{"system": "etcd", "urls": [...], "modules": DIR, "name": ..., "clients": 1, "first": 0, "process": 0,
//                       "hold_ms": 5, "think_ms": 0, "apart": false, "is_shared": false, "records": FILE}'
//
// It says "ready" when it is connected, begins when a line comes on its standard input, and when that is closed it writes
// who asked, was granted and released when, as bench/records.h has it, and ends at once: locks that are still held are of
// no use to the next run, which has names of its own.
//
// Each system is asked as its users do: our binding by acquire() and release(), with a client for each lock unless they are shared;
// node-redlock by its class on ioredis, all options as they are by default, but an attempt that
// gave up begins again, as the others wait for as long as it takes; etcd by Lock and Unlock of its lock service; ZooKeeper by the
// recipe of its documents, each lock a sequential ephemeral node with a guid that watches the one before it; PostgreSQL by
// session-level advisory locks. With is_shared all clients of the process share its connections where the system can do that.
import { createRequire } from "node:module";
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import http from "node:http";

const ours = JSON.parse(process.argv[2]);
const load = createRequire(`${ours.modules}/`);
const TTL_MS = 10000;
const RETRY_MS = 20;
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const now = () => process.hrtime.bigint();

// Uses no processor time, and is more precise than a timer. Blocking is fine: while one client of this process holds, none of its others can be granted.
const nothing = new Int32Array(new SharedArrayBuffer(4));
const hold = (ms) => Atomics.wait(nothing, 0, 0, ms);

// Rotated: client i begins at server i.
const rotated = (list, i) => [...list.slice(i % list.length), ...list.slice(0, i % list.length)];

// -- libredlock --

async function openOurs() {
    const { Client } = createRequire(import.meta.url)("../../bindings/node");
    const client = new Client(ours.urls, { guard: "observed" }); // the nodes are new
    return client.ready();
}

const oursLock = (client, name) => ({
    acquire: () => client.acquire(name, { ttl: TTL_MS, wait: Infinity }),
    release: (lock) => lock.release(),
});

// -- node-redlock --

// The package's version 4, and 5, which is the beta that its documents are about.
async function openRedlock() {
    const Redis = load("ioredis");
    const Redlock = load(ours.system === "node-redlock" ? "redlock" : "redlock5");
    const clients = ours.urls.map((url) => new Redis(url));
    clients.forEach((client) => client.on("error", () => {})); // a node that is down
    await Promise.all(clients.map((client) => client.ping()));
    const redlock = new (Redlock.default ?? Redlock)(clients);
    redlock.on("error", () => {});
    return redlock;
}

async function redlockLock(redlock, name) {
    return {
        acquire: async () => {
            for (;;) {
                try {
                    return await (redlock.acquire ? redlock.acquire([name], TTL_MS) : redlock.lock(name, TTL_MS));
                } catch (error) {
                    if (error.name !== "ExecutionError" && error.name !== "LockError") throw error;
                }
            }
        },
        // One that is over was not released by a majority, which is no reason to stop.
        release: (lock) => (lock.release ?? lock.unlock).call(lock).catch(() => {}),
    };
}

// -- etcd --

const agent = new http.Agent({ keepAlive: true });

function post(url, path, body, timeout) {
    return new Promise((resolve, reject) => {
        const request = http.request(`${url}/v3/${path}`, { method: "POST", agent, timeout }, (answer) => {
            let text = "";
            answer.setEncoding("utf8");
            answer.on("data", (some) => (text += some));
            answer.on("error", reject);
            answer.on("end", () => {
                const got = JSON.parse(text);
                got.error ? reject(new Error(got.error)) : resolve(got);
            });
        });
        request.on("error", reject);
        request.on("timeout", () => request.destroy(new Error("timeout")));
        request.end(JSON.stringify(body));
    });
}

async function etcdLock(_, name, number) {
    const urls = rotated(ours.urls, number);
    // If a member is down, or has no leader, the next one is tried; a repeated request with the
    // same lease is the same lock. A proposal to a leader that died is not answered for seconds:
    // only a lock may take that long.
    const call = async (path, body, timeout = 1000) => {
        for (let tries = 0; ; tries++) {
            try {
                return await post(urls[0], path, body, timeout);
            } catch (error) {
                if (tries > 200) throw error;
                urls.push(urls.shift());
                await later(RETRY_MS);
            }
        }
    };
    const lease = (await call("lease/grant", { TTL: 600 })).ID;
    const encoded = Buffer.from(name).toString("base64");
    return {
        acquire: async () => (await call("lock/lock", { name: encoded, lease }, 0)).key,
        release: (key) => call("lock/unlock", { key }),
    };
}

// -- ZooKeeper --

async function openZookeeper(number) {
    const zookeeper = load("node-zookeeper-client");
    const servers = rotated(ours.urls, number).map((url) => url.replace("zookeeper://", ""));
    const client = zookeeper.createClient(servers.join(","), { sessionTimeout: TTL_MS, spinDelay: RETRY_MS });
    await new Promise((resolve) => {
        client.once("connected", resolve);
        client.connect();
    });
    // A request whose connection was lost is repeated; an error may then mean that it was already done.
    const call = async (what, ...words) => {
        for (let again = false; ; again = true) {
            try {
                return await new Promise((resolve, reject) => {
                    client[what](...words, (error, value) => (error ? reject(error) : resolve(value)));
                });
            } catch (error) {
                if (error.name !== "CONNECTION_LOSS") {
                    if (again) error.again = true;
                    throw error;
                }
                await later(RETRY_MS);
            }
        }
    };
    const create = (path) =>
        new Promise((resolve, reject) => {
            const mode = zookeeper.CreateMode.EPHEMERAL_SEQUENTIAL;
            client.create(path, null, mode, (error, made) => (error ? reject(error) : resolve(made)));
        });
    // Waiting clients check again when a lost connection is back.
    const waiting = new Set();
    client.on("connected", () => waiting.forEach((wake) => wake()));
    return { call, create, waiting };
}

async function zookeeperLock({ call, create, waiting }, name) {
    const folder = `/${name}`;
    await call("mkdirp", folder);
    const order = (child) => Number(child.slice(-10));
    // The client's own node comes first; if the answer to the first create was lost, there may be two: delete one.
    const look = async (guid) => {
        const children = (await call("getChildren", folder)).sort((a, b) => order(a) - order(b));
        const [own, ...more] = children.filter((child) => child.startsWith(guid));
        await Promise.all(more.map((child) => remove(`${folder}/${child}`)));
        return { own, before: children[children.indexOf(own) - 1] };
    };
    const remove = (path) =>
        call("remove", path).catch((error) => {
            if (!error.again || error.name !== "NO_NODE") throw error;
        });
    const enter = async (guid) => {
        for (;;) {
            try {
                await create(`${folder}/${guid}-`);
                return;
            } catch (error) {
                if (error.name !== "CONNECTION_LOSS") throw error;
                await later(RETRY_MS);
                if ((await look(guid)).own) return;
            }
        }
    };
    const change = async (path) => {
        let wake;
        const changed = new Promise((resolve) => waiting.add((wake = resolve)));
        if (await call("exists", path, wake)) await changed;
        waiting.delete(wake);
    };
    return {
        acquire: async () => {
            const guid = randomUUID();
            await enter(guid);
            for (;;) {
                const { own, before } = await look(guid);
                if (!own) throw new Error("the session is over");
                if (!before) return `${folder}/${own}`;
                await change(`${folder}/${before}`);
            }
        },
        release: remove,
    };
}

// -- PostgreSQL --

async function postgresLock(_, name, number) {
    const client = new (load("pg").Client)(ours.urls[0]);
    await client.connect();
    const key = ours.apart ? number + 1 : 0;
    const query = (what) => client.query({ name: what, text: `select ${what}($1)`, values: [key] });
    return { acquire: () => query("pg_advisory_lock"), release: () => query("pg_advisory_unlock") };
}

// -- All --

const systems = {
    "ours-node": { open: openOurs, lock: oursLock },
    "node-redlock": { open: openRedlock, lock: redlockLock },
    "node-redlock-5": { open: openRedlock, lock: redlockLock },
    etcd: { open: () => null, lock: etcdLock },
    zookeeper: { open: openZookeeper, lock: zookeeperLock },
    postgres: { open: () => null, lock: postgresLock },
};

const waits = [];
let going = true;

async function run(lock, number) {
    while (going) {
        const wait = { number, asked: now(), granted: 0n, ended: 0n };
        waits.push(wait);
        const held = await lock.acquire();
        wait.granted = now();
        if (ours.hold_ms > 0) hold(ours.hold_ms);
        wait.ended = now();
        await lock.release(held);
        if (ours.think_ms > 0) await later(ours.think_ms);
    }
}

function end() {
    going = false;
    const lines = waits.map((wait) => `wait ${wait.asked} ${wait.granted} ${wait.ended} ${wait.number} ${ours.process}\n`);
    writeFileSync(ours.records, lines.join(""));
    process.exit(0);
}

const system = systems[ours.system];
const shared = ours.is_shared ? await system.open(ours.first) : null;
const locks = await Promise.all(Array.from({ length: ours.clients }, async (_, i) => {
    const number = ours.first + i;
    const name = ours.apart ? `${ours.name}-${number}` : ours.name;
    return system.lock(ours.is_shared ? shared : await system.open(number), name, number);
}));
process.stdin.once("data", () => locks.forEach((lock, i) => run(lock, ours.first + i).catch((error) => {
    process.stderr.write(`${ours.system}: ${error.stack ?? error}\n`);
    process.exit(1);
})));
process.stdin.on("end", end);
process.stdout.write("ready\n");
