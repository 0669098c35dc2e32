"""Clients of a peer: started, measured between two moments, judged by redlock-bench.

    load = Load(system="etcd", urls=servers.urls, processes=8, clients=1, hold_ms=5, think_ms=0, apart=False, distance_ms=0)
    measure(load, servers, modules, seconds=2, warmup=1, records=FILE, during=None)
    judge(bench, FILE, apart=False)

Each process has `clients` clients (client.mjs). Their CPU time, and the servers', is read at the borders of the slice; starting
and warming up are in no figure.
"""
import dataclasses
import functools
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import time

from servers import cpu_us, die_with_parent

START_S = 60
numbers = iter(range(1, 1 << 30))


@dataclasses.dataclass
class Load:
    system: str
    urls: list
    processes: int
    clients: int = 1  # of each process
    hold_ms: float = 0
    think_ms: float = 0
    apart: bool = False
    is_shared: bool = False
    distance_ms: int = 0


# The peers in Python: the module that each needs.
PYTHON = {"python": "redlock", "python-threads": "redlock", "redis-py": "redis", "pottery": "pottery"}


@functools.lru_cache(maxsize=None)
def python_with(module):
    """The python3 that has the module: the system's packages are for the system's python3."""
    for python in ("/usr/bin/python3", "python3"):
        if subprocess.run([python, "-c", f"import {module}"], stderr=subprocess.DEVNULL).returncode == 0:
            return python
    return None


def program_of(system):
    folder = os.path.dirname(os.path.abspath(__file__))
    return [python_with(PYTHON[system]), f"{folder}/client.py"] if system in PYTHON else ["node", f"{folder}/client.mjs"]


class Process:
    def __init__(self, load, i, urls, modules, name, folder):
        self.records = f"{folder}/records{i}"
        options = {"system": load.system, "urls": urls, "modules": modules, "name": name, "clients": load.clients,
                   "first": i * load.clients, "process": i, "hold_ms": load.hold_ms, "think_ms": load.think_ms,
                   "apart": load.apart, "is_shared": load.is_shared, "records": self.records}
        self.process = subprocess.Popen([*program_of(load.system), json.dumps(options)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, preexec_fn=die_with_parent)

    def wait_ready(self, end):
        while time.monotonic() < end and self.process.poll() is None:
            if select.select([self.process.stdout], [], [], 0.2)[0]:
                if self.process.stdout.readline() == b"ready\n":
                    return
                break
        self.fail("did not connect")

    def go(self):
        self.process.stdin.write(b"go\n")
        self.process.stdin.flush()

    def end(self):
        self.process.stdin.close()

    def wait(self):
        if self.process.wait(timeout=20) != 0:
            self.fail("ended before its time")

    def fail(self, what):
        self.process.kill()
        raise RuntimeError(f"a client {what}: {self.process.stderr.read().decode()[-500:]}")


def measure(load, servers, modules, seconds, warmup, records, during=None):
    """Measures one slice into the file. during(): called when the slice has begun, must return
    before its end. Returns its result."""
    name = f"bench{next(numbers)}"
    result = None
    with tempfile.TemporaryDirectory(prefix="redlock-peers.") as folder:
        relays = [Relay(load.urls, load.distance_ms, i) for i in range(load.processes)] if load.distance_ms else []
        processes = []
        try:
            for i in range(load.processes):
                urls = relays[i].urls if relays else load.urls
                processes.append(Process(load, i, urls, modules, name, folder))
            for process in processes:
                process.wait_ready(time.monotonic() + START_S)
            for process in processes:
                process.go()
            time.sleep(warmup)
            begin = border(processes, servers)
            if during:
                result = during()
            time.sleep(max(0, seconds - (time.monotonic_ns() - begin[0]) / 1e9))
            end = border(processes, servers)
            for process in processes:
                process.end()
            for process in processes:
                process.wait()
            gather(processes, begin, end, records)
        finally:
            for process in processes:
                process.process.kill()
                process.process.wait()
            for relay in relays:
                relay.close()
    return result


def border(processes, servers):
    return (time.monotonic_ns(), sum(cpu_us(process.process.pid) for process in processes), servers.cpu_us())


def gather(processes, begin, end, records):
    with open(records, "w") as file:
        # A killed server's counters are lost.
        file.write(f"slice {begin[0]} {end[0]} {end[1] - begin[1]:.0f} {max(0, end[2] - begin[2]):.0f} 0 0 0\n")
        for process in processes:
            with open(process.records) as part:
                file.write(part.read())


def judge(bench, records, apart=False):
    """The figures of the records. Two holders at the same time (status 3) are reported as a figure,
    too."""
    done = subprocess.run([bench, "--json", "--workload", "contend", "--records", records, *(["--apart"] if apart else [])],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode not in (0, 3):
        raise RuntimeError(f"redlock-bench --records: status {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["sides"][0]


# -- Distance --

MASK = (1 << 64) - 1


def delay_s(client, node, max_ms):
    """The distance of a client to a node, as bench/relay.c draws it, so that all systems have the
    same near and far nodes."""
    x = 0x9e3779b97f4a7c15 * (client * 64 + node + 1) & MASK
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 & MASK
    x = (x ^ x >> 27) * 0x94d049bb133111eb & MASK
    return ((x ^ x >> 31) % (max_ms * 1000000 + 1)) / 1e9


class Relay:
    """A separate process that passes on the traffic between a client and its servers, with a delay. Its CPU time is in no figure.
    It waits by select(2), which is more precise than a millisecond."""

    def __init__(self, urls, max_ms, client):
        self.doors = []
        self.urls = []
        for node, url in enumerate(urls):
            head, _, rest = url.rpartition(":")
            port, slash, path = rest.partition("/")
            door = socket.create_server(("127.0.0.1", 0), backlog=512)
            self.doors.append((door, int(port), delay_s(client, node, max_ms)))
            self.urls.append(f"{head}:{door.getsockname()[1]}{slash}{path}")
        self.pid = os.fork()
        if self.pid == 0:
            die_with_parent()
            try:
                self.run()
            except BaseException as error:
                print(f"the relay ended: {error!r}", file=sys.stderr)
            os._exit(1)
        for door, _, _ in self.doors:
            door.close()

    def close(self):
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)

    def run(self):
        doors = {door: (port, delay) for door, port, delay in self.doors}
        others, delays = {}, {}
        pieces = []  # (due, to, bytes); of one connection in order, since its delay is always the same
        while True:
            rest = max(0, min(piece[0] for piece in pieces) - time.monotonic()) if pieces else None
            for some in select.select([*doors, *others], [], [], rest)[0]:
                if some in doors:
                    near, _ = some.accept()
                    far = socket.create_connection(("127.0.0.1", doors[some][0]))
                    for one, other in ((near, far), (far, near)):
                        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                        others[one], delays[one] = other, doors[some][1]
                elif some in others:
                    self.read(some, others, delays, pieces)
            now = time.monotonic()
            for _, to, data in [piece for piece in pieces if piece[0] <= now]:
                if to in others:
                    to.sendall(data)
            pieces = [piece for piece in pieces if piece[0] > now]

    @staticmethod
    def read(some, others, delays, pieces):
        try:
            data = some.recv(65536)
        except ConnectionError:
            data = b""
        if data:
            pieces.append((time.monotonic() + delays[some], others[some], data))
            return
        other = others.pop(some)
        others.pop(other, None)
        some.close()
        other.close()
