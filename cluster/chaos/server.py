"""One Redis server: the common part of process and container.

Happy path: launch(), wait_up(), signals and kill(), launch() again. A server is identified by its
process id; it is looked up again before each signal, so that a reused id is never signalled.

Failure modes: a server that does not come up or does not end raises ChaosError with the end of its
log.
"""

from __future__ import annotations

import os
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

from resp import Connection, RedisError

UP_TIMEOUT_S = 30.0
GONE_TIMEOUT_S = 15.0
SYNC_TIMEOUT_S = 30.0
POLL_S = 0.02


class ChaosError(Exception):
    """A requirement of the script failed; the run proves nothing."""


class Server(ABC):
    """socket: where the script itself reaches the server, past the network."""

    def __init__(self, name: str, socket: Path, log: Path) -> None:
        self.name = name
        self.socket = socket
        self.log = log

    @abstractmethod
    def launch(self) -> None:
        """Starts it, with the data that it has. wait_up() waits."""

    @abstractmethod
    def wipe(self) -> None:
        """Removes its data. It must not run."""

    @abstractmethod
    def pid(self) -> int | None:
        """Its process id on this machine, None if it does not run."""

    @abstractmethod
    def reap(self) -> None:
        """Reaps it after a kill: when it returns, launch() works again."""

    @abstractmethod
    def replication_address(self) -> tuple[str, int]:
        """The address for replicas."""

    def connect(self, timeout_s: float = 2.0) -> Connection:
        return Connection(self.socket, timeout_s)

    def call(self, *words: str | int) -> object:
        with self.connect() as connection:
            return connection.call(*words)

    def signal(self, number: signal.Signals) -> None:
        pid = self.pid()
        if pid is None:
            raise ChaosError(f"{self.name} is not running, and {number.name} was to be sent to it")
        os.kill(pid, number)

    def kill(self) -> None:
        """SIGKILL; returns when it is gone. Nothing happens if it does not run."""
        pid = self.pid()
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
        self.reap()

    def wait_up(self) -> None:
        """Waits until it answers with PONG: no longer loading its data."""

        def answers() -> bool:
            if self.pid() is None:
                raise ChaosError(f"{self.name} ended while starting:\n{self.log_end()}")
            return self.call("PING") == "PONG"

        self._wait(answers, UP_TIMEOUT_S, "does not answer")
        self._check_clock()

    def _check_clock(self) -> None:
        """The loader only warns of a library that it cannot preload; here that is an error."""
        pid = self.pid()
        if pid is not None and "/clock\n" not in Path(f"/proc/{pid}/maps").read_text():
            raise ChaosError(f"{self.name} does not use the clock that is to be preloaded into it")

    def wait_synced(self) -> None:
        """Waits until a replica has got its primary's data."""

        def synced() -> bool:
            with self.connect() as connection:
                return connection.info("replication").get("master_link_status") == "up"

        self._wait(synced, SYNC_TIMEOUT_S, "does not get in step with its primary")

    def log_end(self) -> str:
        try:
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-8:])
        except OSError as missing:
            return str(missing)

    def _wait(self, done: Callable[[], bool], timeout_s: float, what: str) -> None:
        until = time.monotonic() + timeout_s
        while True:
            try:
                if done():
                    return
            except (OSError, RedisError):
                pass  # not listening yet, or LOADING
            if time.monotonic() > until:
                raise ChaosError(f"{self.name} {what} after {timeout_s:g} s:\n{self.log_end()}")
            time.sleep(POLL_S)
