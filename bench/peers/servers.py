"""The servers of the peers, as processes on loopback whose data is in memory.

    with Etcd(5) as servers:
        servers.urls, servers.cpu_us(), servers.kill(2), servers.restart(2)

Each has missing(), the reason why it cannot be measured on this machine, or None. Data lies in /dev/shm where there is such a
folder: etcd and ZooKeeper write to disk before they answer, which is not part of the comparison. PostgreSQL is one server without
fsync; its advisory locks are not written anyway. They end with this program, killed, and their data goes with them.
"""
import ctypes
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request

READY_S = 60


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def cpu_us(pid):
    """The process's CPU time (clock_getcpuclockid(3)); 0 if it is gone."""
    try:
        return time.clock_gettime_ns((~pid << 3) | 2) / 1e3
    except OSError:
        return 0.0


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def ask(port, line):
    """The server's answer to a line."""
    with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
        connection.sendall(line)
        return connection.recv(4096)


class Servers:
    """n processes: start(i) returns a process's command, ready(i) whether it serves."""

    user = None
    kind = ""

    def __init__(self, n):
        self.n = n
        self.processes = [None] * n
        self.ports = []
        self.urls = []

    def __enter__(self):
        parent = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix=f"redlock-{self.kind}.", dir=parent)
        try:
            self.ports = [free_port() for _ in range(self.n)]
            self.prepare()
            for i in range(self.n):
                self.start(i)
            self.wait_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for i in range(self.n):
            if self.processes[i]:
                self.kill(i)
        shutil.rmtree(self.folder, ignore_errors=True)

    def prepare(self):
        pass

    def start(self, i):
        with open(f"{self.folder}/log{i}", "a") as log:
            self.processes[i] = subprocess.Popen(self.command(i), stdin=subprocess.DEVNULL, stdout=log, stderr=log, user=self.user,
                                                 cwd=self.folder, preexec_fn=die_with_parent, env=self.environment())

    def environment(self):
        return os.environ

    def kill(self, i):
        self.processes[i].kill()
        self.processes[i].wait()

    def restart(self, i):
        self.start(i)
        self.wait_ready()

    def wait_ready(self):
        end = time.monotonic() + READY_S
        for i in range(self.n):
            while not self.is_ready(i):
                if time.monotonic() > end or self.processes[i].poll() is not None:
                    with open(f"{self.folder}/log{i}") as log:
                        raise RuntimeError(f"{self.kind} is not ready; it says: {log.read()[-500:]}")
                time.sleep(0.05)

    def is_ready(self, i):
        try:
            return self.answers(i)
        except OSError:
            return False

    def cpu_us(self):
        return sum(cpu_us(process.pid) for process in self.processes)


class Redis(Servers):
    """As redlock-bench starts them: independent, nothing on disk."""

    kind = "redis"

    @staticmethod
    def program():
        return os.environ.get("REDLOCK_SERVER") or shutil.which("redis-server") or shutil.which("valkey-server")

    @classmethod
    def missing(cls):
        return None if cls.program() else "redis-server is not installed"

    def prepare(self):
        self.urls = [f"redis://127.0.0.1:{port}" for port in self.ports]

    def command(self, i):
        return [self.program(), "--port", str(self.ports[i]), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]

    def answers(self, i):
        return ask(self.ports[i], b"PING\r\n").startswith(b"+PONG")


class Etcd(Servers):
    kind = "etcd"

    @staticmethod
    def missing():
        return None if shutil.which("etcd") else "etcd is not installed (etcd-server)"

    def prepare(self):
        self.urls = [f"http://127.0.0.1:{port}" for port in self.ports]
        self.peers = [f"http://127.0.0.1:{free_port()}" for _ in self.ports]

    def environment(self):
        return {**os.environ, "ETCD_UNSUPPORTED_ARCH": os.uname().machine}

    def command(self, i):
        members = ",".join(f"m{j}={url}" for j, url in enumerate(self.peers))
        return ["etcd", "--name", f"m{i}", "--data-dir", f"{self.folder}/m{i}", "--initial-cluster", members,
                "--listen-client-urls", self.urls[i], "--advertise-client-urls", self.urls[i],
                "--listen-peer-urls", self.peers[i], "--initial-advertise-peer-urls", self.peers[i], "--log-level", "error"]

    def answers(self, i):
        with urllib.request.urlopen(f"{self.urls[i]}/health", timeout=1) as answer:
            return json.loads(answer.read())["health"] == "true"


class Zookeeper(Servers):
    kind = "zookeeper"

    jar = "/usr/share/java/zookeeper.jar"  # its manifest names the others that it needs

    @classmethod
    def missing(cls):
        if not os.path.exists(cls.jar):
            return "ZooKeeper is not installed (zookeeper)"
        return None if shutil.which("java") else "java is not installed"

    def prepare(self):
        self.urls = [f"zookeeper://127.0.0.1:{port}" for port in self.ports]
        members = "".join(f"server.{i + 1}=127.0.0.1:{free_port()}:{free_port()}\n" for i in range(self.n))
        for i, port in enumerate(self.ports):
            os.mkdir(f"{self.folder}/data{i}")
            with open(f"{self.folder}/data{i}/myid", "w") as file:
                file.write(f"{i + 1}\n")
            with open(f"{self.folder}/zoo{i}.cfg", "w") as file:
                file.write(f"tickTime=1000\ninitLimit=10\nsyncLimit=5\ndataDir={self.folder}/data{i}\nclientPort={port}\n"
                           "clientPortAddress=127.0.0.1\nmaxClientCnxns=0\nadmin.enableServer=false\n"
                           f"4lw.commands.whitelist=srvr\n{members}")

    def command(self, i):
        return ["java", "-Xmx256m", "-cp", self.jar, "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                f"{self.folder}/zoo{i}.cfg"]

    def answers(self, i):
        return b"Mode:" in ask(self.ports[i], b"srvr")


class Postgres(Servers):
    kind = "postgres"

    @staticmethod
    def program(name):
        found = shutil.which(name) or (sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}")) or [None])[-1]
        return found and os.path.realpath(found)

    @classmethod
    def missing(cls):
        return None if cls.program("initdb") and cls.program("postgres") else "PostgreSQL is not installed (postgresql)"

    def prepare(self):
        self.user = "nobody" if os.geteuid() == 0 else None  # PostgreSQL does not run as root
        if self.user:
            shutil.chown(self.folder, self.user)
        data = f"{self.folder}/data"
        done = subprocess.run([self.program("initdb"), "-D", data, "-U", "bench", "-A", "trust", "-N"], user=self.user,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.folder)
        if done.returncode != 0:
            raise RuntimeError(f"initdb: {done.stdout[-500:]}")
        self.urls = [f"postgres://bench@127.0.0.1:{self.ports[0]}/postgres"]

    def command(self, i):
        return [self.program("postgres"), "-D", f"{self.folder}/data", "-p", str(self.ports[i]), "-c", "listen_addresses=127.0.0.1",
                "-c", "unix_socket_directories=", "-c", "max_connections=200", "-c", "fsync=off"]

    def answers(self, i):
        log = open(f"{self.folder}/log{i}").read()
        return "ready to accept connections" in log and self.processes[i].poll() is None

    def kill(self, i):
        self.processes[i].send_signal(signal.SIGQUIT)  # ends its children, too
        self.processes[i].wait()

    def cpu_us(self):
        """Each connection is a process. Ended ones count, too: their parent has reaped them."""
        parent = self.processes[0].pid
        with open(f"/proc/{parent}/task/{parent}/children") as file:
            children = [int(pid) for pid in file.read().split()]
        with open(f"/proc/{parent}/stat") as file:
            waited = sum(map(int, file.read().rsplit(")", 1)[1].split()[13:15]))
        return cpu_us(parent) + sum(map(cpu_us, children)) + waited * 1e6 / os.sysconf("SC_CLK_TCK")


KINDS = {kind.kind: kind for kind in (Redis, Etcd, Zookeeper, Postgres)}
