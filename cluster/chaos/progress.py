"""The progress of a run on the terminal.

Happy path: on a terminal one line that is rewritten each second; otherwise a line now and then, so
that a log stays short. Counts come from the client processes' own records, read as they grow; the
verdict does not use them. Failure modes: none of its own; a missing record counts as empty.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TextIO

SPARSE_S = 15.0


class Counter:
    """How often an outcome was recorded so far, over all client processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, int] = {}
        self.grants = 0
        self.others = 0

    def update(self) -> None:
        for path in self._folder.glob("*.jsonl"):
            with path.open("rb") as records:
                records.seek(self._read.get(path, 0))
                fresh = records.read()
            # An incomplete line is left for the next time.
            whole = fresh[: fresh.rfind(b"\n") + 1]
            self._read[path] = self._read.get(path, 0) + len(whole)
            self.grants += whole.count(b'"grant"')
            self.others += whole.count(b'"denied"')


class Progress:
    """states: node name to state, kept by the caller."""

    def __init__(self, seconds: float, counter: Counter, out: TextIO = sys.stderr) -> None:
        self._seconds = seconds
        self._counter = counter
        self._out = out
        self._tty = out.isatty()
        self._next_s = 0.0
        self._grants = 0
        self._at_s = 0.0

    def say(self, text: str) -> None:
        """A line of its own."""
        self._erase()
        print(text, file=self._out, flush=True)

    def show(self, elapsed_s: float, active: list[str]) -> None:
        """active: the current faults, as "sigstop n3"."""
        if not self._tty and elapsed_s < self._next_s:
            return
        self._next_s = elapsed_s + SPARSE_S
        self._counter.update()
        span_s = elapsed_s - self._at_s
        rate = (self._counter.grants - self._grants) / span_s if span_s > 0.5 else 0.0
        self._grants, self._at_s = self._counter.grants, elapsed_s
        now = ", ".join(active) or "all nodes whole"
        line = (
            f"{elapsed_s:5.0f} of {self._seconds:g} s  {self._counter.grants} grants "
            f"({rate:.0f}/s), {self._counter.others} denied  {now}"
        )
        if self._tty:
            width = shutil.get_terminal_size().columns - 1
            self._erase()
            print(line[:width], end="", file=self._out, flush=True)
        else:
            print(line, file=self._out, flush=True)

    def _erase(self) -> None:
        if self._tty:
            print("\r\033[K", end="", file=self._out)
