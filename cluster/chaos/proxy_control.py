"""The script's side of proxy.py: starts it, changes its links, ends it.

Happy path: Proxy({"n1": "127.0.0.1:6379"}) knows the ports; ProxyNetwork is one node's link.
Failure modes: a proxy that does not start or has ended raises ChaosError with its output.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

from network import Network
from server import GONE_TIMEOUT_S, ChaosError

WHOLE = {"to_node": True, "from_node": True, "reset": False, "delay_ms": 0, "loss": 0.0}


class Proxy:
    """One process for all nodes. Changes may come from several threads."""

    def __init__(self, upstreams: dict[str, str], log: Path) -> None:
        self._lock = threading.Lock()
        self._log = log
        arguments = [f"{name}={upstream}" for name, upstream in upstreams.items()]
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("proxy.py")), *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
        self.ports: dict[str, int] = json.loads(self._answer())

    def change(self, node: str, **settings: object) -> None:
        with self._lock:
            assert self._process.stdin is not None
            try:
                self._process.stdin.write(json.dumps({"node": node, **settings}) + "\n")
                self._process.stdin.flush()
            except OSError:
                raise self._ended() from None
            self._answer()

    def close(self) -> None:
        """Ends it; safe to repeat."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self._process.wait(GONE_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise self._ended()
        return line

    def _ended(self) -> ChaosError:
        return ChaosError(f"the proxy ended:\n{self._log.read_text(errors='replace')[-2000:]}")


class NoProxy:
    """Clients connect to the servers directly: there is no path for faults."""

    def __init__(self, upstreams: dict[str, str]) -> None:
        self.ports = {name: int(address.rsplit(":", 1)[1]) for name, address in upstreams.items()}

    def change(self, node: str, **settings: object) -> None:
        if settings != WHOLE:
            raise ChaosError(f"{node} is behind no proxy: needs_proxy in faults.py is wrong")

    def close(self) -> None:
        pass


class ProxyNetwork(Network):
    """One node's link of a Proxy."""

    def __init__(self, proxy: Proxy | NoProxy, node: str) -> None:
        self._proxy = proxy
        self._node = node

    def cut(self, to_node: bool, from_node: bool) -> str:
        self._proxy.change(self._node, to_node=not to_node, from_node=not from_node)
        return "held back by the proxy"

    def reset(self) -> str:
        self._proxy.change(self._node, reset=True)
        return "reset by the proxy"

    def delay(self, delay_ms: int) -> str:
        self._proxy.change(self._node, delay_ms=delay_ms)
        return f"up to {delay_ms} ms each way"

    def loss(self, share: float) -> str:
        self._proxy.change(self._node, loss=share)
        return f"{share:.0%} of pieces, both ways"

    def heal(self) -> None:
        self._proxy.change(self._node, **WHOLE)

    def lead_to(self, address: tuple[str, int]) -> None:
        """New connections go to another server."""
        self._proxy.change(self._node, upstream=f"{address[0]}:{address[1]}")
