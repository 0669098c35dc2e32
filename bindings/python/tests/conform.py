"""A client for `redlock conform`, on this package (docs/protocol.md).

    redlock conform -- python3 conform.py threads|asyncio [fencing]
"""

import asyncio
import os
import sys

import redlock
from redlock import aio


class Threads:
    """The client for threads, with the interface that the coroutine below uses."""

    def __init__(self, nodes, **options):
        self.client = redlock.Client(nodes, **options)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        self.client.close()

    def lock(self, key, **options):
        return Lock(self.client.lock(key, **options))


class Lock:
    def __init__(self, lock):
        self.lock = lock

    def __getattr__(self, name):
        if name in ("token", "remaining"):
            return getattr(self.lock, name)

        async def call(*arguments, **options):
            return getattr(self.lock, name)(*arguments, **options)

        return call


async def answer(client, locks, request, key, ttl_ms="0", tries="0"):
    if request == "release":
        await locks[key].release()
        return "released"
    if request == "extend":
        await locks[key].extend(int(ttl_ms) / 1000)
        return f"extended {int(locks[key].remaining * 1000)}"
    lock = locks[key] = client.lock(key, ttl=int(ttl_ms) / 1000, renew=False, fencing="fencing" in sys.argv)
    await lock.acquire(tries=int(tries))
    return f"granted {lock.token} {int(lock.remaining * 1000)}"


async def main():
    kind = Threads if "threads" in sys.argv else aio.Client
    async with kind(os.environ["REDLOCK_NODES"]) as client:
        locks = {}
        print("ready", flush=True)
        while line := await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline):
            try:
                said = await answer(client, locks, *line.split())
            except redlock.Error as error:
                said = f"{'refused' if line.startswith('acquire') else 'failed'} {error}"
            print(said, flush=True)


asyncio.run(main())
