"""One redis-server in a container of the compose cluster.

Happy path: as in Server. The container's data and socket are in folders of this machine, so that
the script reaches the socket without the container's network, and can remove data; its process is
visible on this machine, too, and gets signals directly, as in a crash.

Failure modes: docker's errors, as ChaosError.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from network import run
from server import Server

PORT = 6379


class Container(Server):
    """ident: the id. host: its address in the cluster's network, moved by a failover."""

    def __init__(self, name: str, ident: str, folder: Path, host: str) -> None:
        super().__init__(name, folder / "run" / "redis.sock", folder / "data" / "redis.log")
        self.ident = ident
        self.host = host
        self._data = folder / "data"
        self._pid: int | None = None
        self._started = ""
        self._look()

    def launch(self) -> None:
        assert self.pid() is None
        self.socket.unlink(missing_ok=True)
        run("docker", "start", self.ident)
        self._look()

    def wipe(self) -> None:
        assert self.pid() is None
        shutil.rmtree(self._data / "appendonlydir", ignore_errors=True)
        for left in self._data.iterdir():
            if left != self.log:
                left.unlink()

    def pid(self) -> int | None:
        if self._pid is None or _started(self._pid) != self._started:
            return None
        return self._pid

    def reap(self) -> None:
        run("docker", "wait", self.ident)
        self._pid = None

    def replication_address(self) -> tuple[str, int]:
        return self.host, PORT

    def inside(self) -> list[str]:
        """The prefix that runs a command in the container's network namespace."""
        return ["nsenter", "-t", str(self._pid), "-n"]

    def move(self, network: str, host: str) -> None:
        """Changes the address in the cluster's network; the container need not run."""
        run("docker", "network", "disconnect", network, self.ident)
        self.host = host
        run("docker", "network", "connect", "--ip", host, network, self.ident)

    def _look(self) -> None:
        pid = int(run("docker", "inspect", "-f", "{{.State.Pid}}", self.ident))
        self._pid = pid or None
        self._started = _started(pid)


def _started(pid: int) -> str:
    """When a process began, which with its pid identifies it for ever. Empty if there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]
