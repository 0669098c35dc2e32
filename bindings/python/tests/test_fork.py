"""fork(): the child gets ForkedError, and opens its own client."""

import asyncio
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

import redlock
from redlock import aio


def in_child(story):
    """Runs story() in a child; it must return True."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if story() else 1)
        finally:
            os._exit(2)
    assert os.waitpid(pid, 0)[1] == 0


def test_fork(five):
    with redlock.Client(five.urls, **five.options) as client, client.lock("orders", ttl=30) as lock:
        def story():
            for call in (client.lock("x").acquire, lock.release, client.message):
                with pytest.raises(redlock.ForkedError, match="open a new one in this process"):
                    call()
            assert not lock.is_valid()
            client.close()
            with redlock.Client(five.urls, **five.options) as own:
                with pytest.raises(redlock.HeldError):
                    own.lock("orders").acquire(0)
                with own.lock("own"):
                    return True

        in_child(story)
        assert lock.is_valid()
        lock.extend()
    five.assert_free()


def test_fork_with_asyncio(five):
    async def main():
        async with aio.Client(five.urls, **five.options) as client, client.lock("orders", ttl=30) as lock:
            def story():
                async def child():
                    with pytest.raises(redlock.ForkedError):
                        await lock.release()
                    await client.close()
                    async with aio.Client(five.urls, **five.options) as own, own.lock("own"):
                        return True

                asyncio.events._set_running_loop(None)
                return asyncio.run(child())

            in_child(story)
            await lock.extend()

    asyncio.run(main())
    five.assert_free()


def work(client, urls, answers):
    try:
        client.lock("orders").acquire()
    except redlock.ForkedError as error:
        with redlock.Client(urls, guard="observed") as own, own.lock("orders"):
            answers.put(str(error))


def test_multiprocessing(five):
    context = multiprocessing.get_context("fork")
    with redlock.Client(five.urls, **five.options) as client:
        answers = context.Queue()
        children = [context.Process(target=work, args=(client, five.urls, answers)) for _ in range(3)]
        for child in children:
            child.start()
        for child in children:
            assert "before fork()" in answers.get(timeout=60)
            child.join()
        with client.lock("orders"):
            pass
    five.assert_free()


PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(redlock.__file__)))
APPLICATION = """
import os, redlock
urls = os.environ["REDLOCK_NODES"]
inherited = redlock.Client(urls, guard="observed")
own = None

def application(environ, start_response):
    global own
    try:
        inherited.lock("orders").acquire()
        text = "not noticed"
    except redlock.ForkedError as error:
        own = own or redlock.Client(urls, guard="observed")
        with own.lock("orders"):
            text = f"{os.getpid()} {error}"
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [text.encode()]
"""


def test_gunicorn(five, tmp_path):
    pytest.importorskip("gunicorn")
    (tmp_path / "application.py").write_text(APPLICATION)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        os.set_inheritable(listener.fileno(), True)
        server = subprocess.Popen([sys.executable, "-m", "gunicorn", "--preload", "--workers", "2", "--log-level", "warning",
                                   "--bind", f"fd://{listener.fileno()}", "application:application"], cwd=tmp_path,
                                  env={**os.environ, "REDLOCK_NODES": ",".join(five.urls), "PYTHONPATH": PACKAGES}, close_fds=False)
    try:
        workers = set()
        end = time.monotonic() + 60
        while len(workers) < 2 and time.monotonic() < end:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as answer:
                pid, text = answer.read().decode().split(" ", 1)
            assert "open a new one in this process" in text
            workers.add(pid)
        assert workers and str(server.pid) not in workers
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
    five.assert_free()
