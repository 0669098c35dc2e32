"""The set of the nodes, changed under load by `redlock set`, whose administrators are killed.

Happy path: make() gives the first nodes a configuration; change() is one change, from the members
that the nodes name to others, of all nodes and of one more and one less in turn. As long as the
fault lasts, administrators are killed at a random moment and others resume or abort; then one is
left alone until all nodes agree. Failure modes: an administrator who was not killed fails with a
status that too few nodes do not explain, or the nodes do not agree in the end: ChaosError.
"""

from __future__ import annotations

import json
import random
import subprocess
import threading
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from node import Node
from server import ChaosError

AGREE_TIMEOUT_S = 30.0
HELD, NO_QUORUM = 1, 75  # exit statuses: another change was decided; too few nodes answered
ABORTS = 5  # one in so many that follow a killed one


class Members:
    """One change at a time uses it."""

    def __init__(self, asked: Namespace, nodes: Sequence[Node], folder: Path) -> None:
        self._asked = asked
        self._nodes = nodes
        self._log = folder / "set.log"
        self._turn = 0

    def _command(self, words: Sequence[str]) -> list[str]:
        first = ",".join(node.url for node in self._nodes[: self._asked.nodes])
        ttl = f"{self._asked.ttl_ms}ms"
        return [str(self._asked.redlock), "set", *words, "--nodes", first, "--max-ttl", ttl,
                "--guard", self._asked.guard]

    def _start(self, words: Sequence[str]) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            log.write(f"\n$ redlock set {' '.join(words)}\n".encode())
            log.flush()
            return subprocess.Popen(self._command(words), stdin=subprocess.DEVNULL, stdout=log,
                                    stderr=log, start_new_session=True)

    def _failed(self, words: Sequence[str], what: str) -> ChaosError:
        said = self._log.read_text(errors="replace")[-2000:]
        return ChaosError(f"redlock set {' '.join(words)}: {what}:\n{said}")

    def make(self) -> None:
        words = ["init", "--yes"]
        if self._start(words).wait(AGREE_TIMEOUT_S) != 0:
            raise self._failed(words, "failed")

    def _show(self) -> tuple[int, list[str]]:
        """Its exit status, and the members by name."""
        shown = subprocess.run(self._command(["show", "--json"]), capture_output=True, check=False)
        try:
            urls = json.loads(shown.stdout).get("nodes", [])
        except ValueError:
            urls = []
        return shown.returncode, [node.name for node in self._nodes if node.url in urls]

    def _wanted(self, now: list[str], draw: random.Random) -> list[str]:
        """All others; then two less; then two more."""
        others = [node.name for node in self._nodes if node.name not in now]
        count = self._asked.nodes
        if self._turn % 3 == 0:
            wanted = draw.sample(others, count)
        elif self._turn % 3 == 1:
            wanted = draw.sample(now, max(1, count - 2))
        else:
            wanted = now + draw.sample(others, min(len(others), count - len(now)))
        return [node.name for node in self._nodes if node.name in wanted]

    def change(self, for_s: float, draw: random.Random, stop: threading.Event) -> str:
        """What was done, for the record."""
        _, before = self._show()
        wanted = self._wanted(before, draw)
        urls = [node.url for node in self._nodes if node.name in wanted]
        until_s = time.monotonic() + for_s
        words, killed, aborts = ["resize", "--yes", *urls], 0, 0
        while time.monotonic() < until_s and not stop.is_set():
            alive_s = draw.uniform(0, 3 * self._asked.ttl_ms / 1000)
            if not self._dies(words, min(alive_s, until_s - time.monotonic())):
                break
            killed += 1
            is_aborted = draw.randrange(ABORTS) == 0
            aborts += is_aborted
            words = ["abort"] if is_aborted else ["resume"]
        after = self._settle(stop)
        if after not in (before, wanted):
            raise self._failed(words, f"the members are {after}")
        self._turn += after == wanted
        return (f"{', '.join(before)} to {', '.join(wanted)}: {killed} administrators killed, "
                f"{aborts} who aborted; {'done' if after == wanted else 'taken back'}")

    def _dies(self, words: list[str], alive_s: float) -> bool:
        """False: it had ended before."""
        process = self._start(words)
        try:
            status = process.wait(alive_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return True
        if status not in (0, HELD, NO_QUORUM):
            raise self._failed(words, f"status {status}")
        return False

    def _settle(self, stop: threading.Event) -> list[str]:
        """Resumes until all nodes agree, and says on whom."""
        until_s = time.monotonic() + AGREE_TIMEOUT_S
        while time.monotonic() < until_s:
            self._start(["resume"]).wait()
            status, members = self._show()
            if status == 0:
                return members
            stop.wait(0.1)
        raise self._failed(["show"], "the nodes do not agree")
