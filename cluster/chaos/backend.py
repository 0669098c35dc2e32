"""A backend: where the nodes run, and which faults can be done to them there.

Happy path: check() says nothing, start() brings up the nodes, close() removes everything that
start() made, also after a start that failed half way. Failure modes: check() and start() raise
ChaosError that names what is missing and the remedy.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path

from node import Node
from server import ChaosError


class Backend(ABC):
    """cannot: faults that it cannot do, and why."""

    name = ""
    cannot: dict[str, str] = {}

    def __init__(self, work: Path, count: int, clock_library: Path) -> None:
        self.work = work
        self.count = count
        self.clock_library = clock_library
        self.nodes: list[Node] = []

    @abstractmethod
    def check(self) -> None:
        """Raises ChaosError if it cannot run here."""

    @abstractmethod
    def start(self) -> None:
        """Brings up all nodes."""

    @abstractmethod
    def close(self) -> None:
        """Removes what start() has made. Never raises for what is gone already."""

    def clock_environment(self, clock_file: Path) -> dict[str, str]:
        """What makes a server look at this file for the time."""
        return {"LD_PRELOAD": str(self.clock_library), "REDLOCK_CLOCK_FILE": str(clock_file)}


def need_root(backend: str) -> None:
    if os.geteuid() != 0:
        raise ChaosError(
            f"--backend {backend} must be root, to make network namespaces and packet filters. "
            "Run it by sudo, or use --backend local, which needs no rights."
        )
