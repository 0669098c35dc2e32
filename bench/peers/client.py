"""Clients of a peer in Python, as client.mjs: the same options, lines and records.

The systems: "python", our package on asyncio; "python-threads", the same with a thread for each client; "redis-py", its asyncio
lock, which is of one server and no quorum; "pottery", a Redlock on redis-py. Each is asked as its users do, and for as long as it
takes.
"""
import asyncio
import json
import os
import sys
import threading
import time

ours = json.loads(sys.argv[1])
TTL_S = 10
waits = []
going = True


class Threads:
    """Has a thread for each client."""

    def __init__(self, lock, number):
        self.lock, self.number = lock, number

    def run(self):
        while going:
            wait = [time.monotonic_ns(), 0, 0, self.number]
            waits.append(wait)
            self.lock.acquire()
            wait[1] = time.monotonic_ns()
            if ours["hold_ms"]:
                time.sleep(ours["hold_ms"] / 1000)
            wait[2] = time.monotonic_ns()
            self.lock.release()
            if ours["think_ms"]:
                time.sleep(ours["think_ms"] / 1000)


async def run(lock, number):
    while going:
        wait = [time.monotonic_ns(), 0, 0, number]
        waits.append(wait)
        await lock.acquire()
        wait[1] = time.monotonic_ns()
        if ours["hold_ms"]:
            time.sleep(ours["hold_ms"] / 1000)  # nothing of this process can be granted meanwhile, as one of it holds
        wait[2] = time.monotonic_ns()
        await lock.release()
        if ours["think_ms"]:
            await asyncio.sleep(ours["think_ms"] / 1000)


def end():
    with open(ours["records"], "w") as file:
        for asked, granted, ended, number in list(waits):
            file.write(f"wait {asked} {granted} {ended} {number} {ours['process']}\n")
    os._exit(0)


def names():
    for number in range(ours["first"], ours["first"] + ours["clients"]):
        yield number, f"{ours['name']}-{number}" if ours["apart"] else ours["name"]


async def opener():
    if ours["system"] == "redis-py":
        import redis.asyncio
        client = redis.asyncio.Redis.from_url(ours["urls"][0])
        await client.ping()
        return lambda name: client.lock(name, timeout=TTL_S)
    from redlock import aio
    client = aio.Client(ours["urls"], guard="observed")
    await client.open()
    return lambda name: client.lock(name, ttl=TTL_S)


def thread_opener():
    if ours["system"] == "pottery":
        import pottery
        import redis
        masters = {redis.Redis.from_url(url) for url in ours["urls"]}
        return lambda name: pottery.Redlock(key=name, masters=masters, auto_release_time=TTL_S)
    import redlock
    client = redlock.Client(ours["urls"], guard="observed")
    return lambda name: client.lock(name, ttl=TTL_S)


def with_threads():
    make = thread_opener()
    threads = [threading.Thread(target=Threads((make if ours["is_shared"] else thread_opener())(name), number).run, daemon=True)
               for number, name in names()]
    print("ready", flush=True)
    sys.stdin.readline()
    for thread in threads:
        thread.start()
    sys.stdin.readline()
    end()


async def with_asyncio():
    make = await opener()
    locks = [((make if ours["is_shared"] else await opener())(name), number) for number, name in names()]
    print("ready", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    tasks = [asyncio.ensure_future(run(*lock)) for lock in locks]
    ended = asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    done, _ = await asyncio.wait([*tasks, ended], return_when=asyncio.FIRST_COMPLETED)
    if ended not in done:
        done.pop().result()  # raises
    end()


with_threads() if ours["system"] in ("python-threads", "pottery") else asyncio.run(with_asyncio())
