"""The client for threads."""

import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import pytest

import redlock
from redlock import errors
from redlock._native import ffi, lib


def open_client(nodes, **options):
    return redlock.Client(nodes.urls, **nodes.options, **options)


@pytest.fixture
def client(five):
    with open_client(five) as client:
        yield client
    five.assert_free()


def test_a_hold(five, client):
    with client.lock("orders") as lock:
        assert lock.is_valid() and 0 < lock.remaining < 10 and len(lock.token) == 40
        assert lock.fence is None and not lock.lost.is_set()
        assert five.keys()["orders"] >= 3
    assert not lock.is_valid() and lock.remaining == 0 and lock.token == ""
    five.assert_free()


def test_a_hold_of_several_resources_and_of_bytes(five, client):
    with client.lock("a", b"b\xff", holder="worker-7"):
        with pytest.raises(redlock.HeldError, match="a: held by another"):
            client.lock("a").acquire(0)
    with pytest.raises(redlock.HeldError):
        with client.lock("c"), client.lock("c", timeout=0):
            pass


def test_timeouts(client):
    with client.lock("orders"):
        begin = time.monotonic()
        with pytest.raises(redlock.DeadlineError) as caught:
            client.lock("orders").acquire(2)
        assert time.monotonic() - begin > 1.5
        assert caught.value.attempt is redlock.HeldError
        assert isinstance(caught.value, TimeoutError) and caught.value.name == "ERR_DEADLINE"
        with pytest.raises(redlock.DeadlineError), client.lock("orders", timeout=0.01):
            pass
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (type(copy), copy.status, str(copy)) == (redlock.DeadlineError, -23, str(caught.value))
    assert copy.attempt is redlock.HeldError


def test_one_of_several(five, client):
    jobs = [client.lock(f"job {i}") for i in range(4)]
    with pytest.raises(redlock.InvalidError):
        client.acquire_any([])
    taken = [client.acquire_any(jobs, 0) for _ in range(4)]
    assert {lock.resources for lock in taken} == {(f"job {i}",) for i in range(4)}
    with pytest.raises(redlock.AlreadyHeldError):
        client.acquire_any(jobs, 60)
    with open_client(five) as other:
        theirs = [other.lock(f"job {i}") for i in range(4)]
        with pytest.raises(redlock.HeldError):
            other.acquire_any(theirs, 0)
        with pytest.raises(redlock.DeadlineError) as caught:
            other.acquire_any(theirs, 0.1)
        assert caught.value.attempt is redlock.HeldError
        threading.Timer(0.2, jobs[2].release).start()
        assert other.acquire_any(theirs) is theirs[2]
        other.close()
        with pytest.raises(redlock.ClosedError):
            other.acquire_any(theirs)
    for lock in taken:
        if lock is not jobs[2]:
            lock.release()


def test_extend(client):
    lock = client.lock("orders", ttl=20, renew=False)
    with lock:
        lock.extend(30)
        assert 20 < lock.remaining < 30
        lock.extend(10)
        assert lock.remaining < 10
        lock.extend()
        assert 10 < lock.remaining < 20


def test_without_a_sign_of_life_it_is_lost(client):
    with pytest.raises(redlock.SilentError):
        with client.lock("quiet", ttl=6, max_silence=0.001) as lock:
            lock.alive()
            assert lock.lost.wait(60)
            with pytest.raises(redlock.SilentError):
                lock.alive()
    with pytest.raises(redlock.NotHeldError):
        lock.alive()


def test_it_lingers(client):
    lock = client.lock("again", ttl=30, linger=15)
    tokens = [""]
    while not tokens[-1] or tokens[-1] not in tokens[:-1]:
        with lock:
            tokens.append(lock.token)
    assert not lock.is_valid()
    with client.lock("again", timeout=60) as other:
        assert other.token != tokens[-1]


def test_fences_grow(client):
    fences = []
    for i in range(20):
        with client.lock("fenced", fencing=True) as lock:
            fences.append(lock.fence)
    assert all(a < b for a, b in zip(fences, fences[1:]))


def test_renewal(client):
    with client.lock("orders", ttl=6) as lock:
        left = lock.remaining
        while lock.remaining <= left:
            left = lock.remaining
            assert left > 0
            time.sleep(0.01)


def test_wrong_calls(five, client):
    lock = client.lock("orders")
    for call in (lock.release, lock.extend, lock.upgrade, lock.downgrade):
        with pytest.raises(redlock.NotHeldError, match="orders"):
            call()
    with lock, pytest.raises(redlock.AlreadyHeldError):
        lock.acquire()
    with pytest.raises(redlock.InvalidError):
        client.lock("").acquire()
    with pytest.raises(redlock.InvalidError, match="ttl_ms"):
        client.lock("orders", ttl=-1).acquire()
    with pytest.raises(redlock.InvalidError, match="timeout"):
        client.acquire_any([lock], -0.001)
    for seconds in (-1, -0.001, -0.0001, float("nan"), float("inf"), 1e300):
        with pytest.raises(redlock.InvalidError):
            lock.acquire(seconds)
        with pytest.raises(redlock.InvalidError):
            client.lock("orders", max_hold=seconds).acquire()
        with lock, pytest.raises(redlock.InvalidError):
            lock.extend(seconds)
    with pytest.raises(redlock.InvalidError, match="tries"):
        lock.acquire(tries=-1)
    with lock, pytest.raises(redlock.InvalidError, match="ttl_ms is 1"):
        lock.extend(0.0001)
    with pytest.raises(redlock.InvalidError, match="zero byte"):
        client.lock("orders", holder="a\0b")
    with pytest.raises(redlock.InvalidError, match="zero byte"):
        redlock.Client(["redis://a\0b"])
    with pytest.raises(redlock.InvalidError, match="nonsense"):
        redlock.Client(["nonsense"])
    with pytest.raises(redlock.DuplicateError):
        redlock.Client(five.urls[:1] * 2)
    with pytest.raises(redlock.InvalidError, match="observed"):
        redlock.Client(five.urls, guard="none")


def test_each_status_has_an_exception():
    names = {status: ffi.string(lib.redlock_err_name(status)).decode() for status in range(-39, 0)}
    assert {status for status, name in names.items() if name != "ERR_?"} == set(errors._CLASSES)
    assert "held by another" in str(redlock.HeldError())


def test_threads_exclude_each_other(five, client):
    seen, fences = 0, []

    def work():
        nonlocal seen
        lock = client.lock("counter", fencing=True)
        for _ in range(20):
            with lock:
                before = seen
                time.sleep(0.0005)
                seen = before + 1
                fences.append(lock.fence)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == 160 and fences == sorted(set(fences))


def test_readers(client):
    readers = [client.lock("settings", shared=True) for _ in range(3)]
    for reader in readers:
        reader.acquire(60)
    with pytest.raises(redlock.HeldError):
        client.lock("settings").acquire(0)
    with pytest.raises(redlock.HeldError):
        readers[0].upgrade()
    readers[1].release()
    readers[2].release()
    while True:
        try:
            readers[0].upgrade()
            break
        except redlock.HeldError:
            pass  # a node may not have executed a release yet
    with pytest.raises(redlock.HeldError):
        readers[1].acquire(0)
    readers[0].downgrade()
    readers[1].acquire(60)
    readers[0].release()
    readers[1].release()


def test_semaphore(client):
    held = [client.lock("uploads", permits=3) for _ in range(3)]
    for one in held:
        one.acquire(60)
    assert sorted(one.slots[0] for one in held) == [0, 1, 2]
    with pytest.raises(redlock.HeldError):
        client.lock("uploads", permits=3).acquire(0)
    with pytest.raises(redlock.PermitsError, match="3"):
        client.lock("uploads", permits=5).acquire(60)
    for one in held:
        one.release()
        assert one.slots == ()
    with client.lock("uploads", permits=3, take=2) as two:
        assert len(two.slots) == 2


def test_election(five, client):
    leaders = []
    with open_client(five) as other:
        first = client.election("scheduler", candidate="first", fencing=True, on_leader=leaders.append)
        second = other.election("scheduler", candidate="second", fencing=True)
        with first:
            first.wait(60)
            first.wait(0)
            fence = first.fence
            with second:
                with pytest.raises(redlock.DeadlineError):
                    second.wait(0.2)
                assert other.message() and not second._campaign.waiting
                assert first.is_leader() and not second.is_leader() and first.leader == "first"
                first.resign()
                assert not first.is_leader() and not first.elected.is_set()
                second.wait(60)
                assert second.is_leader() and second.fence > fence
            first.campaign()
            first.wait(60)
        assert leaders[0] == "first"
        with pytest.raises(redlock.NotHeldError):
            first.wait()


def wait_lost(lock):
    """Waits for the loss, and returns when validity would have ended."""
    until_ns = 0
    while not lock.lost.is_set():
        now_ns, left_s = lib.redlock_now_ns(), lock.remaining
        until_ns = max(until_ns, now_ns + int(left_s * 1e9)) if left_s else until_ns
        time.sleep(0.002)
    return until_ns


def test_a_loss_is_seen_before_validity_ends(three):
    told = []

    def on_lost(lock):
        told.append(lib.redlock_now_ns())
        gc.collect()
        for call in (lock.release, client.close):
            with pytest.raises(redlock.WrongThreadError):
                call()
        told.append(lock)

    with open_client(three, lost_margin=2) as client:
        lock = client.lock("orders", ttl=4, fencing=True, on_lost=on_lost)
        lock.acquire(60)
        fence = lock.fence
        three.kill(1, 2)
        until_ns = wait_lost(lock)
        assert not lock.is_valid() and lock.fence == fence
        assert isinstance(lock.lost_error, redlock.LostError)
        with pytest.raises(redlock.LostError, match="orders"):
            lock.release()
        assert told[0] < until_ns and told[1:] == [lock]
        with pytest.raises(redlock.NoQuorumError, match="(?s)127.0.0.1.*127.0.0.1.*refused"):
            lock.acquire(0)
        assert not lock.lost.is_set()
        with pytest.raises(redlock.DeadlineError) as caught:
            lock.acquire(2)
        assert caught.value.attempt is redlock.NoQuorumError
        assert "1 of 3 nodes up" in client.message()


def test_no_lock_is_valid_that_another_client_has(five):
    """Even if the thread that reports the loss does not get the GIL."""
    ends = threading.Event()

    def spin():
        while not ends.is_set():
            pass

    spinning = [threading.Thread(target=spin) for _ in range(2)]
    for thread in spinning:
        thread.start()
    try:
        with open_client(five) as one, open_client(five) as other:
            for _ in range(20):
                holder = one.lock("orders", max_hold=0.05)
                holder.acquire(60)
                other_lock = other.lock("orders")
                other_lock.acquire(60)
                assert not holder.is_valid()
                other_lock.release()
                with pytest.raises(redlock.MaxHoldError):
                    holder.release()
    finally:
        ends.set()
        for thread in spinning:
            thread.join()


def test_a_block_ends_with_the_loss_or_with_its_own_exception(three):
    with open_client(three) as client:
        with pytest.raises(KeyError):
            with client.lock("a", ttl=0.5), client.lock("b", ttl=0.5) as lock:
                three.kill(1, 2)
                wait_lost(lock)
                raise KeyError
        with pytest.raises(redlock.NoQuorumError):
            client.lock("a", timeout=0).acquire()


def test_a_leader_without_a_sign_of_life(client):
    with client.election("scheduler", ttl=6, max_silence=0.001) as election:
        with pytest.raises(redlock.NotHeldError):
            client.election("other").alive()
        election.wait(60)
        election.alive()
        assert election.lost.wait(60)


def test_an_election_is_lost(three):
    with open_client(three) as client, client.election("scheduler", ttl=3) as election:
        election.wait(60)
        three.kill(2, 3)
        assert election.lost.wait(60)
        assert not election.elected.is_set() and not election.is_leader()


def test_a_candidacy_ends_where_the_nodes_have_a_shorter_max_ttl(three):
    with open_client(three) as client:
        election = client.election("scheduler", ttl=6)
        election.campaign()
        election.wait(60)
        for url in three.urls:
            text = ["libredlock-config 1", "id 6f1c02d7a9b34e55", "epoch 1", "change 00000001", "max_ttl 3000",
                    f"nodes {' '.join(three.urls)}", f"self {url}", ""]
            three.ask(url, "SET", "libredlock:config", '"' + "\\n".join(text) + '"')
            three.ask(url, "CLIENT", "KILL", "TYPE", "normal")
        while True:
            try:
                with client.lock("orders", ttl=6):
                    pass
            except redlock.InvalidError:
                break
        for url in three.urls:
            three.ask(url, "DEL", "scheduler")
        assert election.lost.wait(60)
        for call in (election.wait, election.resign, election.alive):
            with pytest.raises(redlock.NotHeldError):
                call()


def test_exceptions_in_callbacks_are_reported_and_end_nothing(three, capsys, monkeypatch):
    hook = sys.excepthook

    def fail(_):
        gc.collect()
        raise RuntimeError("thrown in a callback")

    def fail_too(*error):
        hook(*error)
        raise RuntimeError("thrown in sys.excepthook")

    monkeypatch.setattr(sys, "excepthook", fail_too)

    with open_client(three) as client:
        election = client.election("scheduler", on_leader=fail)
        election.campaign()
        election.wait(60)
        election.resign()
        lock = client.lock("orders", ttl=0.5, on_lost=fail)
        lock.acquire()
        three.kill(1, 2)
        assert lock.lost.wait(60)
        with pytest.raises(redlock.LostError):
            lock.release()
    assert capsys.readouterr().err.count("RuntimeError: thrown in a callback") >= 2


def test_a_lock_that_is_collected_is_released(five, client):
    with pytest.warns(ResourceWarning, match="orders"):
        client.lock("orders").acquire()
        gc.collect()
        five.assert_free()  # the client's thread may have been the last to refer to it


def test_closing_ends_calls_that_wait(five):
    client = open_client(five)
    holder = client.lock("orders")
    holder.acquire()
    leader, election = client.election("scheduler"), client.election("scheduler")
    leader.campaign()
    leader.wait(60)
    election.campaign()
    ended = []

    def wait(call):
        try:
            call()
        except redlock.Error as error:
            ended.append(type(error))

    threads = [threading.Thread(target=wait, args=(call,), daemon=True) for call in (client.lock("orders").acquire, election.wait)]
    for thread in threads:
        thread.start()
    while len(client._items) < 5 or not election._campaign.waiting:  # its own, both acquires and candidates
        time.sleep(0.01)
    client.close()
    for thread in threads:
        thread.join(60)
    assert ended == [redlock.CanceledError] * 2 and not holder.is_valid()
    for call in (holder.release, client.lock("orders").acquire, client.message, election.wait):
        with pytest.raises(redlock.ClosedError):
            call()
    client.close()
    five.assert_free()


def test_closing_while_threads_call(five):
    """Each call ends, and in one of three ways."""
    ended = []

    def work(client, i):
        lock = client.lock(f"own{i % 3}")
        while True:
            try:
                lock.acquire()
                lock.release()
            except redlock.Error as error:
                ended.append(type(error))
                if type(error) is redlock.ClosedError:
                    return

    for _ in range(5):
        client = open_client(five)
        threads = [threading.Thread(target=work, args=(client, i), daemon=True) for i in range(6)]
        for thread in threads:
            thread.start()
        time.sleep(0.05)
        closing = [threading.Thread(target=client.close) for _ in range(2)]
        for thread in closing:
            thread.start()
        for thread in closing + threads:
            thread.join(60)
            assert not thread.is_alive()
    assert set(ended) <= {redlock.ClosedError, redlock.CanceledError, redlock.NotHeldError}
    assert ended.count(redlock.ClosedError) == 30
    five.assert_free()


@pytest.fixture
def ctrl_c():
    """SIGINT works even if a shell has started this in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_ends_a_wait(five, client, ctrl_c):
    with client.lock("orders"):
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            client.lock("orders").acquire()
        timer.join()
    with client.lock("orders", timeout=60):
        pass
    five.assert_free()


def test_ctrl_c_at_any_moment_leaves_nothing_locked(five, client, seed, ctrl_c):
    interrupted = 0
    for _ in range(60):
        timer = threading.Timer(seed.uniform(0, 0.02), os.kill, (os.getpid(), signal.SIGINT))
        try:
            timer.start()
            while True:
                with client.lock("orders", timeout=60):
                    pass
        except KeyboardInterrupt:
            interrupted += 1
        timer.join()
    gc.collect()
    assert interrupted == 60
    five.assert_free()


def test_ctrl_c_ends_opening():
    code = "import os, redlock, signal, socket, threading\n" \
           "signal.signal(signal.SIGINT, signal.default_int_handler)\n" \
           "silent = socket.create_server(('127.0.0.1', 0))\n" \
           "threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()\n" \
           "try:\n" \
           "    redlock.Client(f'redis://127.0.0.1:{silent.getsockname()[1]}', connect_timeout=60)\n" \
           "except KeyboardInterrupt:\n" \
           "    print(threading.active_count())\n"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, timeout=30)
    assert (done.returncode, done.stdout) == (0, b"1\n")


def test_metrics(five):
    with open_client(five, metrics=True) as client:
        with client.lock("orders"):
            assert "redlock_" in client.metrics()


def test_the_end_of_the_program_closes_it(five):
    code = "import redlock, sys\nclient = redlock.Client(sys.argv[1:], guard='observed')\n" \
           "lock = client.lock('left')\nlock.acquire()\nprint('held')\n"
    done = subprocess.run([sys.executable, "-c", code, *five.urls], stdout=subprocess.PIPE, timeout=120)
    assert (done.returncode, done.stdout) == (0, b"held\n")
    five.assert_free()
