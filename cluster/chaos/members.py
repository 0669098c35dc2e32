"""The set of nodes, which `redlock set` changes under load, while its processes (the
administrators) are killed.

Happy path: make() gives the first nodes a configuration; change() is one change, from the members
that the nodes name to the next of STEPS: all other nodes, a second set and back, 5 to 3 nodes, three
sets and back, 3 to 5. While the fault lasts, administrators are killed at random moments, and
others resume or abort; then one may work undisturbed until all nodes agree. Events named "members"
record the nodes of each set, of the old and of the new ones during a change. Failure modes: an
administrator that was not killed fails for another reason than too few nodes, or the nodes do not
agree at the end: ChaosError.
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
from record import Record, now_ns
from server import ChaosError

AGREE_TIMEOUT_S = 30.0
HELD, NO_QUORUM = 1, 75  # exit statuses: another change was decided; too few nodes answered
ABORTS = 5  # one in so many successors of a killed one aborts
NEW_SET = 3  # nodes
ALL, FEWER, MORE = "all nodes", "fewer nodes", "more nodes"
SET_MORE, SET_LESS = "one set more", "one set less"
STEPS = (ALL, SET_MORE, SET_LESS, FEWER, SET_MORE, SET_MORE, SET_LESS, SET_LESS, MORE)

Sets = dict[str, list[str]]  # by name; the name of a single set is not shown


class Members:
    """One change at a time uses it."""

    def __init__(self, asked: Namespace, nodes: Sequence[Node], record: Record) -> None:
        self._asked = asked
        self._nodes = nodes
        self._record = record
        self._log = record.folder / "set.log"
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
        self._record_sets([node.name for node in self._nodes[: self._asked.nodes]])

    def _record_sets(self, *sets: list[str], **more: object) -> None:
        self._record.event(now_ns(), "members", sets=sets, **more)

    def _show(self) -> tuple[int, Sets]:
        """Its exit status, and the members by name."""
        shown = subprocess.run(self._command(["show", "--json"]), capture_output=True, check=False)
        try:
            said = json.loads(shown.stdout)
        except ValueError:
            said = {}
        sets = said.get("sets") or [{"name": "", "nodes": said.get("nodes", [])}]
        return shown.returncode, {one["name"]: self._names(one["nodes"]) for one in sets}

    def _names(self, members: list[str]) -> list[str]:
        """Sorts URLs or names in the order of the nodes."""
        return [node.name for node in self._nodes if node.name in members or node.url in members]

    def _next(self, now: Sets, draw: random.Random) -> tuple[str, Sets, list[str]]:
        """The next possible step: its kind, the sets after it, the arguments for it."""
        spare = self._names([node.name for node in self._nodes if node.name not in sum(now.values(), [])])
        count = self._asked.nodes
        first = next(iter(now.values()))
        while True:
            kind = STEPS[self._turn % len(STEPS)]
            wanted = first
            if kind == SET_MORE and len(spare) >= min(NEW_SET, count):
                name = f"s{self._turn}"
                wanted = self._names(draw.sample(spare, min(NEW_SET, count)))
                return kind, {**now, name: wanted}, ["add-set", "--yes", name, *self._urls(wanted)]
            if kind == SET_LESS and len(now) > 1:
                least = min(len(nodes) for nodes in now.values())
                name = draw.choice(sorted(name for name in now if len(now[name]) == least))
                left = {other: nodes for other, nodes in now.items() if other != name}
                return kind, left, ["remove-set", "--yes", name]
            if kind == ALL and len(spare) >= count:
                wanted = self._names(draw.sample(spare, count))
            elif kind == FEWER and len(first) == count:
                wanted = self._names(draw.sample(first, max(1, count - 2)))
            elif kind == MORE and len(first) < count:
                wanted = self._names(first + draw.sample(spare, count - len(first)))
            if wanted != first and len(now) == 1:
                return kind, {"": wanted}, ["resize", "--yes", *self._urls(wanted)]
            self._turn += 1

    def _urls(self, names: list[str]) -> list[str]:
        return [node.url for node in self._nodes if node.name in names]

    def change(self, for_s: float, draw: random.Random, stop: threading.Event) -> str:
        """Makes one change; returns a description for the record."""
        _, before = self._show()
        kind, wanted, words = self._next(before, draw)
        self._record_sets(*before.values(), *wanted.values())
        killed, aborts = 0, 0
        until_s = time.monotonic() + for_s
        while time.monotonic() < until_s and not stop.is_set():
            alive_s = draw.uniform(0, 3 * self._asked.ttl_ms / 1000)
            if not self._dies(words, min(alive_s, until_s - time.monotonic())):
                break
            killed += 1
            is_aborted = draw.randrange(ABORTS) == 0
            aborts += is_aborted
            words = ["abort"] if is_aborted else ["resume"]
        after = self._settle(stop)
        is_done = sorted(after.values()) == sorted(wanted.values())
        if not is_done and sorted(after.values()) != sorted(before.values()):
            raise self._failed(words, f"the members are {after}")
        self._turn += is_done
        self._record_sets(*after.values(), kind=kind, done=is_done)
        return (f"{kind}: {told(before)} to {told(wanted)}: {killed} administrators killed, "
                f"{aborts} who aborted; {'done' if is_done else 'taken back'}")

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

    def _settle(self, stop: threading.Event) -> Sets:
        """Resumes until all nodes agree; returns the members."""
        until_s = time.monotonic() + AGREE_TIMEOUT_S
        while time.monotonic() < until_s:
            self._start(["resume"]).wait()
            status, members = self._show()
            if status == 0:
                return members
            stop.wait(0.1)
        raise self._failed(["show"], "the nodes do not agree")


def told(sets: Sets) -> str:
    return " and ".join(" ".join(nodes) for nodes in sets.values())
