"""Memory: REDLOCK_CYCLES acquires and releases (default 2000), after which a process is no larger."""

import asyncio
import gc
import os

import pytest

import redlock
from redlock import aio

CYCLES = int(os.environ.get("REDLOCK_CYCLES", "2000"))
GROWTH_KB = 128 + CYCLES // 2000  # of a quarter; malloc's arenas may grow by two bytes for each cycle


def rss_kb():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def judge(sizes, capsys):
    with capsys.disabled():
        print(f"\n{CYCLES} cycles: {sizes} KB ", end="")
    # The first half warms up. A leak is in both of the other quarters, a new arena in one of them.
    assert min(sizes[3] - sizes[2], sizes[4] - sizes[3]) < GROWTH_KB


def test_threads(five, capsys):
    with redlock.Client(five.urls, **five.options) as client:
        sizes = [rss_kb()]
        lock = client.lock("orders", fencing=True)
        for _ in range(4):
            for _ in range(CYCLES // 4):
                with lock:
                    pass
            sizes.append(rss_kb())
        assert len(client._items) == 2  # its own and the lock's
    judge(sizes, capsys)


def test_asyncio(five, capsys):
    async def main():
        sizes = [rss_kb()]
        async with aio.Client(five.urls, **five.options) as client:
            async def work(i, n):
                for _ in range(n):
                    async with client.lock(f"key{i}"):
                        pass
                    with pytest.raises(redlock.HeldError):
                        async with client.lock(f"one{i}"):
                            await client.lock(f"one{i}").acquire(0)

            for _ in range(4):
                await asyncio.gather(*(work(i, CYCLES // 4 // 64 // 2 + 1) for i in range(64)))
                sizes.append(rss_kb())
            client._dispatch()
            assert len(client._items) == 1
        return sizes

    judge(asyncio.run(main()), capsys)
