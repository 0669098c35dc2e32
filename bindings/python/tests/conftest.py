"""Nodes for the tests: real redis-servers on free ports."""

import ctypes
import os
import random
import shutil
import signal
import socket
import subprocess
import time

import pytest

SERVER = os.environ.get("REDLOCK_SERVER") or shutil.which("redis-server") or shutil.which("valkey-server")


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Nodes:
    # The clients' options: slow answers of a busy machine are no fault.
    options = {"guard": "observed", "connect_timeout": 60, "node_timeout": 30}

    def __init__(self, folder, n):
        self.folder = str(folder)
        self.servers, self.urls = zip(*(self._up(*launched) for launched in [self._launch() for _ in range(n)]))

    def _launch(self):
        """Starts on a port that was free a moment ago; if it no longer is, the server ends."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        words = [SERVER, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", self.folder]
        return subprocess.Popen(words, stdout=subprocess.DEVNULL, preexec_fn=die_with_parent), f"redis://127.0.0.1:{port}"

    def _up(self, server, url):
        while server.poll() is None:
            try:
                if f"process_id:{server.pid}" in self.ask(url, "INFO", "server"):
                    return server, url
            except OSError:
                time.sleep(0.01)
        return self._up(*self._launch())

    def kill(self, *numbers):
        for number in numbers:
            self.servers[number - 1].kill()
            self.servers[number - 1].wait()

    def stop(self):
        self.kill(*range(1, len(self.servers) + 1))

    def ask(self, url, *words):
        """The lines of one node's answer."""
        host, port = url[len("redis://"):].split(":")
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            connection.sendall(" ".join(words).encode() + b"\r\nQUIT\r\n")
            answer = b""
            while chunk := connection.recv(65536):
                answer += chunk
        return answer.decode(errors="replace").split("\r\n")

    def keys(self):
        """(key, on how many nodes) of each lock."""
        found = {}
        for url in self.urls:
            for line in self.ask(url, "KEYS", "*"):
                if line and line[0] not in "*$+" and not line.startswith("libredlock:"):
                    found[line] = found.get(line, 0) + 1
        return found

    def slots(self):
        return [line for url in self.urls for line in self.ask(url, "KEYS", "libredlock:slot:*") if line.startswith("libredlock")]

    def assert_free(self):
        """Releases are answered in the background, so it waits until no lock is left."""
        end = time.monotonic() + 60
        while self.keys() or self.slots():
            assert time.monotonic() < end, f"left behind: {self.keys()} {self.slots()}"
            time.sleep(0.01)


@pytest.fixture(scope="session")
def five(tmp_path_factory):
    nodes = Nodes(tmp_path_factory.mktemp("five"), 5)
    yield nodes
    nodes.stop()


@pytest.fixture
def three(tmp_path):
    """Three nodes, for a test that breaks them: closing a client waits for node_timeout."""
    nodes = Nodes(tmp_path, 3)
    nodes.options = {**nodes.options, "node_timeout": 1}
    yield nodes
    nodes.stop()


@pytest.fixture
def seed(capsys):
    """The seed of random.Random: REDLOCK_SEED, or a random one."""
    number = int(os.environ.get("REDLOCK_SEED") or random.SystemRandom().randrange(1, 1_000_000))
    with capsys.disabled():
        print(f"\nREDLOCK_SEED={number} ", end="")
    return random.Random(number)
