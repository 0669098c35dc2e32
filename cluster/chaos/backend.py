"""A backend: where the nodes run, and which faults it can inject.

Happy path: check() raises nothing, start() brings up the nodes, close() removes everything that
start() made, even if it failed half way. Failure modes: check() and start() raise ChaosError that
names what is missing and the remedy.
"""

from __future__ import annotations

import os
import subprocess
from abc import ABC, abstractmethod
from pathlib import Path
from urllib.parse import quote

from node import Node
from server import ChaosError


CERTIFICATES_SH = Path(__file__).resolve().parent.parent / "certificates.sh"


class Backend(ABC):
    """cannot: unsupported faults, and why. with_tls: clients speak TLS to the nodes. with_proxy:
    local nodes are behind one, which is slower than they are: on a busy machine its delay counts."""

    name = ""
    cannot: dict[str, str] = {}
    with_tls = False
    with_proxy = True

    def __init__(self, work: Path, count: int, clock_library: Path) -> None:
        self.work = work
        self.count = count
        self.clock_library = clock_library
        self.nodes: list[Node] = []
        self.certificates = work / "tls"

    @abstractmethod
    def check(self) -> None:
        """Raises ChaosError if it cannot run here."""

    @abstractmethod
    def start(self) -> None:
        """Brings up all nodes."""

    @abstractmethod
    def close(self) -> None:
        """Removes what start() has made. Never raises for things that are already gone."""

    def make_certificates(self, hosts: list[str]) -> None:
        """A certificate for all nodes, with the addresses that clients know."""
        names = ",".join(f"IP:{host}" for host in hosts)
        for words in (["authority"], ["make", "node", names]):
            command = ["sh", str(CERTIFICATES_SH), words[0], str(self.certificates), *words[1:]]
            made = subprocess.run(command, capture_output=True, text=True, check=False)
            if made.returncode != 0:
                raise ChaosError(f"no certificates: {made.stderr.strip()}")

    def url(self, host: str, port: int) -> str:
        """The URLs that clients get."""
        if not self.with_tls:
            return f"redis://{host}:{port}"
        return f"rediss://{host}:{port}?tls_ca={quote(str(self.certificates / 'ca.crt'))}"


def need_root(backend: str) -> None:
    if os.geteuid() != 0:
        raise ChaosError(
            f"--backend {backend} must be root, to make network namespaces and packet filters. "
            "Run it by sudo, or use --backend local, which needs no rights."
        )
