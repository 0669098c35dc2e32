"""The output of a run: run.json, and events.jsonl with one object per line.

Happy path: Record(folder) opens the events; each is written whole and at once, so that an
interrupted run can still be read. Times are nanoseconds of CLOCK_BOOTTIME, the clock that the
library measures validity on. Events are written when they end, with the time of their beginning:
the file is not strictly in order of time. Failure modes: a full disk raises OSError and ends the
run.
"""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path


def now_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Record:
    """Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "clients").mkdir()
        (folder / "set").mkdir()
        self._lock = threading.Lock()
        self._events = (folder / "events.jsonl").open("w", encoding="utf-8")

    def event(self, t_ns: int, what: str, **fields: object) -> None:
        line = json.dumps({"t_ns": t_ns, "what": what, **fields}) + "\n"
        with self._lock:
            self._events.write(line)
            self._events.flush()

    def state(self, t_ns: int, node: str, state: str) -> None:
        self.event(t_ns, "state", node=node, state=state)

    def run(self, settings: dict[str, object]) -> None:
        """Writes run.json, at the beginning and again at the end."""
        text = json.dumps(settings, indent=1) + "\n"
        fresh = self.folder / "run.json.new"
        fresh.write_text(text)
        fresh.replace(self.folder / "run.json")

    def close(self) -> None:
        with self._lock:
            self._events.close()
