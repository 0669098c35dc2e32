"""One redis-server as a process of this machine, maybe inside a network namespace.

Happy path: a folder with its configuration, data, log and socket; AOF on, noeviction, no snapshots,
the clock preloaded. A crash (SIGKILL) loses no acknowledged write: the AOF is written before the
answer is sent; only a crash of the whole machine could lose its last second.

Failure modes: a missing redis-server raises ChaosError with the package's name. A port that another
process took meanwhile is left to the caller (Server.wait_up shows the log).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from backend import Backend
from server import GONE_TIMEOUT_S, ChaosError, Server

# The size of a unix socket's address, with the terminating zero.
SOCKET_PATH_MAX = 107

_CONF = """\
bind {host}
port {port}
protected-mode no
unixsocket {socket}
unixsocketperm 700
daemonize no
logfile {log}
dir {data}
save ""
appendonly yes
appendfsync everysec
maxmemory-policy noeviction
repl-diskless-sync yes
repl-diskless-sync-delay 0
"""

_TLS = """\
tls-port {port}
tls-cert-file {folder}/node.crt
tls-key-file {folder}/node.key
tls-ca-cert-file {folder}/ca.crt
tls-auth-clients no
"""


def find_redis_server() -> str:
    """The server's program: REDLOCK_SERVER, or redis-server or valkey-server from the PATH."""
    program = (
        os.environ.get("REDLOCK_SERVER")
        or shutil.which("redis-server")
        or shutil.which("valkey-server")
    )
    if not program:
        raise ChaosError("redis-server is not installed; as root: sh cluster/setup.sh chaos")
    return program


class RedisProcess(Server):
    """prefix: put before the command, to run it inside a namespace. It must exec, not fork.

    tls: a port, and the folder with the certificates: clients are sent there then."""

    def __init__(
        self,
        name: str,
        folder: Path,
        address: tuple[str, int],
        prefix: list[str],
        env: dict[str, str],
        tls: tuple[int, Path] | None = None,
    ) -> None:
        super().__init__(name, folder / "redis.sock", folder / "redis.log")
        if len(str(self.socket)) > SOCKET_PATH_MAX:
            raise ChaosError(f"{self.socket} is too long for a socket; set TMPDIR to a shorter one")
        self.folder = folder
        self.address = address
        self._tls = tls
        self._data = folder / "data"
        self._data.mkdir(parents=True)
        self._command = prefix + [find_redis_server(), str(folder / "redis.conf")]
        self._env = {**os.environ, **env}
        self._process: subprocess.Popen[bytes] | None = None

    def launch(self) -> None:
        assert self.pid() is None
        conf = _CONF.format(
            host=self.address[0],
            port=self.address[1],
            socket=self.socket,
            log=self.log,
            data=self._data,
        )
        if self._tls is not None:
            conf += _TLS.format(port=self._tls[0], folder=self._tls[1])
        (self.folder / "redis.conf").write_text(conf)
        self.socket.unlink(missing_ok=True)
        with (self.folder / "output").open("ab") as output:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.folder,
                env=self._env,
                start_new_session=True,  # the terminal's SIGINT must reach only the script
            )

    def wipe(self) -> None:
        assert self.pid() is None
        shutil.rmtree(self._data)
        self._data.mkdir()

    def pid(self) -> int | None:
        if self._process is None or self._process.poll() is not None:
            return None
        return self._process.pid

    def reap(self) -> None:
        if self._process is None:
            return
        try:
            self._process.wait(GONE_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise ChaosError(f"{self.name}: process {self._process.pid} cannot be ended") from None
        self._process = None

    def replication_address(self) -> tuple[str, int]:
        return self.address

    def client_address(self) -> tuple[str, int]:
        """The clients' port; replication uses the plain port."""
        return self.address if self._tls is None else (self.address[0], self._tls[0])

    def serve_clients_on(self, port: int) -> None:
        """Clients reach it there from now on, even after it is launched again."""
        if self._tls is None:
            self.call("CONFIG", "SET", "port", port)
            self.address = (self.address[0], port)
        else:
            self.call("CONFIG", "SET", "tls-port", port)
            self._tls = (port, self._tls[1])

    def log_end(self) -> str:
        text = super().log_end()
        output = self.folder / "output"
        return text + "\n" + output.read_text(errors="replace") if output.exists() else text


class ProcessBackend(Backend):
    """Servers of one node live in work/n1/1, work/n1/2 ...: one more with each failover."""

    def __init__(self, work: Path, count: int, clock_library: Path) -> None:
        super().__init__(work, count, clock_library)
        self._servers: list[RedisProcess] = []  # all that may run
        self._launched = 0

    def add(
        self, name: str, host: str, port: int, plain_port: int | None, prefix: list[str]
    ) -> RedisProcess:
        """Starts a new server of this node, which clients reach on port; does not wait for it.

        plain_port: with TLS, the port for replication."""
        self._launched += 1
        clock = self.work / name / "clock"
        server = RedisProcess(
            name,
            self.work / name / str(self._launched),
            (host, plain_port or port),
            prefix,
            {"LD_PRELOAD": str(self.clock_library), "REDLOCK_CLOCK_FILE": str(clock)},
            (port, self.certificates) if plain_port else None,
        )
        self._servers.append(server)
        server.launch()
        return server

    def forget(self, server: Server) -> None:
        """Ends a server that is no longer needed."""
        assert isinstance(server, RedisProcess)
        server.kill()
        self._servers.remove(server)
        shutil.rmtree(server.folder)

    def close(self) -> None:
        for server in self._servers:
            server.kill()
