"""etcd beside redlock-bench: members on loopback, clients that want one lock, records of both.

    with Cluster(5) as cluster:
        cluster.contend(processes=8, hold_ms=5, seconds=2, warmup=1, records="FILE")

Each client is a process with one connection to one of the members and a lease of its own that lives long. It asks for
etcd's own lock (Lock and Unlock of v3lock, by the JSON gateway): the member puts a key with the lease, and waits until all
keys that were created before it are deleted. So a hand-over is what etcd makes of it, and one answer to the client; what
etcdctl would do in the client is done in the member. Clients are greedy: they ask again as soon as Unlock is answered.

The data lies in memory (/dev/shm), where there is such a folder: etcd writes to disk before it answers, and that is not
what is compared. redlock-bench --records FILE judges the records, by the same arithmetic as its own (bench/records.h).
"""
import base64
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request


def is_installed():
    return shutil.which("etcd") is not None


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def cpu_us(pid):
    """What the process has used so far (clock_getcpuclockid(3))."""
    return time.clock_gettime_ns((~pid << 3) | 2) / 1e3


def text64(text):
    return base64.b64encode(text.encode()).decode()


class Cluster:
    def __init__(self, members):
        self.members = members
        self.processes = []
        self.ports = []
        self.number = 0

    def __enter__(self):
        parent = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix="redlock-etcd.", dir=parent)
        self.ports = [free_port() for _ in range(self.members)]
        peers = [f"http://127.0.0.1:{free_port()}" for _ in range(self.members)]
        names = ",".join(f"m{i}={url}" for i, url in enumerate(peers))
        for i, peer in enumerate(peers):
            client = f"http://127.0.0.1:{self.ports[i]}"
            with open(f"{self.folder}/m{i}.log", "w") as log:
                self.processes.append(subprocess.Popen(
                    ["etcd", "--name", f"m{i}", "--data-dir", f"{self.folder}/m{i}", "--initial-cluster", names,
                     "--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
                     "--initial-advertise-peer-urls", peer, "--log-level", "error"],
                    stdout=log, stderr=log, env={**os.environ, "ETCD_UNSUPPORTED_ARCH": os.uname().machine}))
        try:
            self.wait_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def wait_ready(self):
        end = time.monotonic() + 30
        for port in self.ports:
            while True:
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1) as answer:
                        if b"true" in answer.read():
                            break
                except OSError:
                    pass
                if time.monotonic() > end:
                    raise RuntimeError(f"etcd is not ready; see what it says: {self.log()}")
                time.sleep(0.05)

    def log(self):
        with open(f"{self.folder}/m0.log") as log:
            return log.read()[-500:]

    def endpoints(self):
        return ",".join(f"http://127.0.0.1:{port}" for port in self.ports)

    def contend(self, processes, hold_ms, seconds, warmup, records):
        """One slice, after the warm-up, into the file."""
        self.number += 1
        children = []
        ready, is_ready = os.pipe()
        waits, go = os.pipe()
        for number in range(processes):
            pid = os.fork()
            if pid == 0:
                os.close(go)
                client = Client(self, number, hold_ms, f"{self.folder}/waits{number}")
                client.run(is_ready, waits)
            children.append(pid)
        os.close(is_ready)
        os.close(waits)
        got = 0
        while got < processes:
            some = os.read(ready, processes)
            if not some:
                raise RuntimeError("a client of etcd ended before it began")
            got += len(some)
        os.close(go)
        time.sleep(warmup)
        begin = (time.monotonic_ns(), sum(map(cpu_us, children)), sum(cpu_us(p.pid) for p in self.processes))
        time.sleep(seconds)
        end = (time.monotonic_ns(), sum(map(cpu_us, children)), sum(cpu_us(p.pid) for p in self.processes))
        for pid in children:
            os.kill(pid, signal.SIGTERM)
        for pid in children:
            os.waitpid(pid, 0)
        os.close(ready)
        with open(records, "w") as file:
            file.write(f"slice {begin[0]} {end[0]} {end[1] - begin[1]:.0f} {end[2] - begin[2]:.0f} 0 0 0\n")
            for number in range(processes):
                with open(f"{self.folder}/waits{number}") as waits_file:
                    file.write(waits_file.read())


class Client:
    """In a process of its own."""

    def __init__(self, cluster, number, hold_ms, path):
        self.number = number
        self.hold_s = hold_ms / 1e3
        self.path = path
        self.waits = []
        self.connection = http.client.HTTPConnection("127.0.0.1", cluster.ports[number % len(cluster.ports)])
        self.name = text64(f"bench{cluster.number}")

    def call(self, what, **body):
        self.connection.request("POST", f"/v3/{what}", json.dumps(body).encode())
        answer = json.loads(self.connection.getresponse().read())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def run(self, is_ready, waits):
        signal.signal(signal.SIGTERM, self.end)
        status = 1
        try:
            lease = self.call("lease/grant", TTL=600)["ID"]
            os.write(is_ready, b".")
            os.close(is_ready)
            os.read(waits, 1)
            while True:
                wait = [time.monotonic_ns(), 0, 0]
                self.waits.append(wait)
                key = self.call("lock/lock", name=self.name, lease=lease)["key"]
                wait[1] = time.monotonic_ns()
                if self.hold_s:
                    time.sleep(self.hold_s)
                wait[2] = time.monotonic_ns()
                self.call("lock/unlock", key=key)
        except SystemExit:
            status = 0
        finally:
            with open(self.path, "w") as file:
                for asked, granted, ended in self.waits:
                    file.write(f"wait {asked} {granted} {ended} {self.number} {self.number}\n")
            os._exit(status)

    def end(self, *_):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise SystemExit
