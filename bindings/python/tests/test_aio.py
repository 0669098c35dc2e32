"""The client for asyncio."""

import asyncio
import gc
import os
import socket

import pytest

import redlock
from redlock import aio
from redlock._native import lib


def run(nodes, story, **options):
    async def main():
        async with aio.Client(nodes.urls, **nodes.options, **options) as client:
            await story(client)

    asyncio.run(asyncio.wait_for(main(), 300))


def test_a_hold(five):
    async def story(client):
        async with client.lock("orders", fencing=True) as lock:
            assert lock.is_valid() and lock.fence and five.keys()["orders"] >= 3
            await lock.extend(20)
            assert lock.remaining > 10
            with pytest.raises(redlock.HeldError):
                await client.lock("orders").acquire(0)
            with pytest.raises(redlock.DeadlineError) as caught:
                async with client.lock("orders", timeout=2):
                    pass
            assert caught.value.attempt is redlock.HeldError
        assert not lock.is_valid()
        with pytest.raises(redlock.NotHeldError):
            await lock.release()
        with pytest.raises(redlock.InvalidError):
            await client.lock("").acquire()
        while "5 of 5" not in client.message():
            await asyncio.sleep(0.01)

    run(five, story)
    five.assert_free()


def test_one_of_several(five):
    async def story(client):
        jobs = [client.lock("a"), client.lock("b")]
        taken = await client.acquire_any(jobs), await client.acquire_any(jobs, 0)
        assert set(taken) == set(jobs)
        theirs = [client.lock("a"), client.lock("b")]
        with pytest.raises(redlock.HeldError):
            await client.acquire_any(theirs, 0)
        for seconds in (0, 0.02):  # during an attempt, or during a pause
            waiting = asyncio.ensure_future(client.acquire_any(theirs))
            await asyncio.sleep(seconds)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        waiting = asyncio.ensure_future(client.acquire_any(theirs))
        await jobs[0].release()
        assert await waiting is theirs[0]
        await asyncio.gather(theirs[0].release(), jobs[1].release())

    run(five, story)
    five.assert_free()


def test_tasks_exclude_each_other(five):
    async def story(client):
        seen, fences = 0, []

        async def work():
            nonlocal seen
            lock = client.lock("counter", fencing=True)
            for _ in range(5):
                async with lock:
                    before = seen
                    await asyncio.sleep(0.0005)
                    seen = before + 1
                    fences.append(lock.fence)

        await asyncio.gather(*(work() for _ in range(16)))
        assert seen == 80 and fences == sorted(set(fences))

    run(five, story)


def test_readers_and_permits(five):
    async def story(client):
        readers = [client.lock("settings", shared=True) for _ in range(3)]
        await asyncio.gather(*(reader.acquire(60) for reader in readers))
        writer = asyncio.create_task(client.lock("settings", timeout=60).acquire())
        for reader in readers:
            assert not writer.done()
            await reader.release()
        await writer
        permits = [client.lock("uploads", permits=4, take=2) for _ in range(2)]
        await asyncio.gather(*(one.acquire(60) for one in permits))
        assert sorted(permits[0].slots + permits[1].slots) == [0, 1, 2, 3]

    run(five, story)
    five.assert_free()


def test_a_lock_that_is_used_again(five):
    """It shows nothing of the previous hold, and an interruption of that does not end the new
    one."""
    async def story(client):
        lock, other = client.lock("orders", fencing=True), client.lock("orders")
        granted = asyncio.get_running_loop().create_future()
        give_up = lock._acquire(None, None)(granted.set_result)
        client._kick()
        assert await granted is None and lock.fence and lock.token
        c = lock._hold.lock
        await lock.release()
        async with other:
            acquire = asyncio.create_task(lock.acquire())
            while lock._hold is None:
                await asyncio.sleep(0)
            assert (lock.fence, lock.token, lock.is_valid()) == (None, "", False)
        await acquire
        give_up()
        assert lock.is_valid() and lock._hold.lock == c
        await lock.release()
        del lock, acquire
        gc.collect()
        client._dispatch()
        assert len(client._items) == 2  # the client's own, and other's

    run(five, story)


def test_cancelling_leaves_nothing_locked(five, seed):
    async def story(client):
        async def work(key, lock):
            while True:
                async with lock:
                    if key == "shared":
                        await asyncio.sleep(0.001)

        ended = []
        for _ in range(8):
            keys = [seed.choice(("shared", f"own{i}")) for i in range(32)]
            tasks = [asyncio.create_task(work(key, client.lock(key))) for key in keys]
            moments = sorted(seed.uniform(0, 0.1) for _ in tasks)
            for task, before, now in zip(tasks, [0] + moments, moments):
                await asyncio.sleep(now - before)
                task.cancel()
            ended += await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(end) for end in ended} == {asyncio.CancelledError}
        await asyncio.get_running_loop().run_in_executor(None, five.assert_free)
        while not all(item.is_idle() for item in client._items.values()):  # releases that were cancelled
            await asyncio.sleep(0.01)

    run(five, story)


def test_a_wait_that_times_out_leaves_nothing_locked(five, seed):
    async def story(client):
        got = 0
        for _ in range(200):
            lock = client.lock("orders")
            try:
                await asyncio.wait_for(lock.acquire(), seed.uniform(0, 0.004))
                got += 1
                await lock.release()
            except asyncio.TimeoutError:
                assert not lock.is_valid()
        await asyncio.get_running_loop().run_in_executor(None, five.assert_free)

    run(five, story)


def test_a_loss_is_seen_before_validity_ends(three):
    async def story(client):
        told = []

        def on_lost(lock):
            told.append(lib.redlock_now_ns())
            gc.collect()
            raise RuntimeError("thrown in a callback")

        reported = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))
        lock = client.lock("orders", ttl=4, on_lost=on_lost)
        with pytest.raises(redlock.LostError):
            async with lock:
                three.kill(1, 3)
                until_ns = 0
                while not lock.lost.is_set():
                    now_ns, left_s = lib.redlock_now_ns(), lock.remaining
                    until_ns = max(until_ns, now_ns + int(left_s * 1e9)) if left_s else until_ns
                    await asyncio.sleep(0.001)
                assert not lock.is_valid()
        assert told[0] < until_ns and len(told) == 1
        assert [str(error) for error in reported] == ["thrown in a callback"]
        with pytest.raises(redlock.NoQuorumError, match="refused"):
            await lock.acquire(0)

    run(three, story, lost_margin=2)


def test_election(five):
    async def story(client):
        leaders = []
        async with aio.Client(five.urls, **five.options) as other:
            first = client.election("scheduler", candidate="first", fencing=True, on_leader=leaders.append)
            second = other.election("scheduler", candidate="second", fencing=True)
            async with second:
                await second.wait(60)
                fence = second.fence
                async with first:
                    with pytest.raises(redlock.DeadlineError):
                        await first.wait(0.1)
                    waiting = asyncio.create_task(first.wait())
                    await asyncio.sleep(0)
                    await first.resign()
                    with pytest.raises(redlock.CanceledError):
                        await asyncio.wait_for(waiting, 60)
                    await first.campaign()
                    await second.resign()
                    await first.wait(60)
                    assert first.is_leader() and first.fence > fence and not second.is_leader()
                await second.campaign()
                await second.wait(60)
        assert leaders[-1] in ("first", "second")

    run(five, story)
    five.assert_free()


def test_closing_ends_what_waits(five):
    async def main():
        client = aio.Client(five.urls, **five.options)
        with pytest.raises(redlock.ClosedError):
            await client.lock("orders").acquire()
        await client.open()
        holder = client.lock("orders")
        await holder.acquire()
        waiter = asyncio.create_task(client.lock("orders").acquire())
        await asyncio.sleep(0.05)
        await client.close()
        with pytest.raises(redlock.CanceledError):
            await waiter
        with pytest.raises(redlock.ClosedError):
            await holder.release()
        assert not holder.is_valid()
        await client.close()

    asyncio.run(main())
    five.assert_free()


def test_opening_that_is_cancelled_leaves_nothing_open():
    async def main():
        with socket.create_server(("127.0.0.1", 0)) as silent:
            open_files = []
            for _ in range(2):  # libuv keeps a pipe from the first loop on
                client = aio.Client(f"redis://127.0.0.1:{silent.getsockname()[1]}", connect_timeout=60)
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(client.open(), 0.2)
                open_files.append(len(os.listdir("/proc/self/fd")))
            assert open_files[0] == open_files[1]

    asyncio.run(main())


def test_closing_beside_pending_calls(five):
    """The library frees locks in the turn that ends them and the client: nothing reads them
    later."""
    async def main():
        for i in range(20):
            async with aio.Client(five.urls, **five.options) as client:
                locks = [client.lock(f"own{i}") for i in range(16)]
                await asyncio.gather(*(lock.acquire() for lock in locks))
                election = client.election("scheduler")
                await election.campaign()
                tasks = [asyncio.create_task(call()) for lock in locks[i % 4:] for call in (lock.release, lock.extend)]
                tasks += [asyncio.create_task(client.lock("own0").acquire()), asyncio.create_task(election.resign())]
                await asyncio.sleep(0)
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            assert {type(end) for end in ended} <= {type(None), redlock.CanceledError, redlock.NotHeldError}
            assert not any(lock.is_valid() for lock in locks)

    asyncio.run(main())
    five.assert_free()


def test_the_ends_of_a_release_and_of_the_client_in_one_turn(five):
    """Nothing of a lock is used after the library has freed it with its client."""
    async def main():
        async with aio.Client(five.urls, **five.options) as client:
            lock = client.lock("orders")
            await lock.acquire()
            hold = lock._hold
            client._dispatch = lambda: None  # a turn that lasts until both have ended
            release, closing = asyncio.create_task(lock.release()), asyncio.create_task(client.close())
            while not (hold.c.events and client._item.c.events):
                await asyncio.sleep(0.001)
            del client._dispatch
            client._dispatch()
            ended = await asyncio.gather(release, closing, return_exceptions=True)
            assert type(ended[0]) in (type(None), redlock.CanceledError) and ended[1] is None

    asyncio.run(main())
    five.assert_free()


def test_a_lock_that_is_collected_is_released(five):
    async def story(client):
        with pytest.warns(ResourceWarning, match="orders"):
            await client.lock("orders").acquire()
            gc.collect()
        await client.lock("orders", timeout=60).acquire()

    run(five, story)
    five.assert_free()


def test_another_event_loop_is_refused(five):
    async def story(client):
        lock, election = client.lock("orders"), client.election("scheduler")
        await lock.acquire()
        await election.campaign()

        def other():
            for call in (lock.acquire, client.close):
                with pytest.raises(redlock.WrongThreadError):
                    asyncio.run(call())
            for ask in (lock.alive, client.message, election.is_leader):
                with pytest.raises(redlock.WrongThreadError):
                    ask()

        await asyncio.get_running_loop().run_in_executor(None, other)
        assert lock.is_valid()
        await lock.release()

    run(five, story)
