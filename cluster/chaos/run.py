"""One run: nodes up, clients up, faults by the schedule, everything ended, keys counted.

Happy path: execute() returns when the history is complete in the run's folder; judge.py judges it.
Failure modes: ChaosError, OSError and RedisError end the run early and are recorded as an "error"
event; a signal ends it early, with all faults healed. In each case close() ends all started
processes: the caller calls it in a finally.
"""

from __future__ import annotations

import threading
import time
from argparse import Namespace
from dataclasses import dataclass, field, replace
from pathlib import Path

import home
import orphans
from backend import Backend
from clients import Clients
from fault_thread import FaultThread
from faults import CATALOGUE
from members import Members
from node import Node
from progress import Counter, Progress
from record import Record, now_ns
from resp import RedisError
from sampler import sample
from schedule import Step
from server import ChaosError

TICK_S = 0.02
SAMPLES_MAX = 720  # per process: a long run is sampled less often
HEAL_TIMEOUT_S = 60.0


@dataclass
class Run:
    """asked: the options, with main.py's additions."""

    asked: Namespace
    backend: Backend
    folder: Path
    stop: threading.Event
    errors: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.record = Record(self.folder)
        self.interrupted = False
        self._threads: list[FaultThread] = []
        self._clients: Clients | None = None
        self._progress = Progress(self.asked.seconds, Counter(self.folder / "clients"))
        self._started_ns = 0

    def execute(self) -> None:
        try:
            self._execute()
        except (ChaosError, RedisError, OSError) as failed:
            self.record.event(now_ns(), "error", detail=str(failed))
            self.errors.append(str(failed))
        finally:
            self.stop.set()
            self._join()
            self._write_settings(now_ns())

    def close(self) -> None:
        """Ends all that was started. Also after a failed start."""
        self.stop.set()
        self._join()
        if self._clients is not None:
            self._clients.close()
        self.backend.close()
        self.record.close()

    def _execute(self) -> None:
        say = self._progress.say
        say(f"starting {self.backend.count} nodes ({self.backend.name}) ...")
        self.backend.start()
        for node in self.backend.nodes:
            self.record.state(now_ns(), node.name, "up")
        self._started_ns = now_ns()
        self._write_settings(None)
        urls = [node.url for node in self.backend.nodes]
        self._members = Members(self.asked, self.backend.nodes, self.record)
        if self.asked.scenario.changes:
            self._members.make()
        self._clients = Clients(self.asked, urls[: self.asked.nodes], self.folder)
        self._clients.start()
        self._timeline(self._clients)
        say("healing, ending the clients, counting keys ...")
        self._join()
        if self.errors:
            return
        self._clients.finish()
        for node in self.backend.nodes:
            node.heal()
        orphans.settle(self.asked.ttl_ms, urls)
        orphans.scan(self.record, self.backend.nodes)

    def _timeline(self, clients: Clients) -> None:
        """Runs from the clients' start to the run's end, or until it is stopped."""
        asked = self.asked
        begun = time.monotonic()
        waiting = list(asked.steps)
        sample_every_s = max(1.0, self.asked.seconds / SAMPLES_MAX)
        next_sample_s = next_show_s = 0.0
        while not self.stop.is_set():
            elapsed_s = time.monotonic() - begun
            if elapsed_s >= self.asked.seconds:
                break
            while waiting and waiting[0].at_ms <= elapsed_s * 1000:
                self._begin(waiting.pop(0), clients)
            if asked.control == "reversed-line":
                home.reverse(self.backend.nodes, "chaos-1")
            elif asked.control == "unseen-readers":
                home.forget_readers(self.backend.nodes, "chaos-1")
            if elapsed_s >= next_sample_s:
                clients.check()
                sample(self.record, self.backend.nodes, clients)
                next_sample_s = elapsed_s + sample_every_s
            if elapsed_s >= next_show_s:
                self._threads = [one for one in self._threads if one.is_alive()]
                active = [f"{one.step.fault} {one.step.target}" for one in self._threads]
                self._progress.show(elapsed_s, active)
                next_show_s = elapsed_s + 1.0
            self.stop.wait(TICK_S)
        else:
            self.interrupted = not self.errors
        self.stop.set()

    def _begin(self, step: Step, clients: Clients) -> None:
        if step.target == "home":
            step = replace(step, target=home.find(self.backend.nodes, "chaos-1"))
        target = (self._members if step.target == "set"
                  else clients if step.target[0] == "c" else self._node(step.target))
        for other in self._threads:
            # The machine was too slow for the schedule: faults that are still healing go first.
            if other.step.target == step.target and other.is_alive():
                other.join(HEAL_TIMEOUT_S)
        asked = self.asked
        breaks = CATALOGUE[step.fault].excuses(asked.guard, asked.scenario.faults)
        thread = FaultThread(step, target, breaks, self.record, self.stop, self._on_error)
        self._threads.append(thread)
        thread.start()

    def _node(self, name: str) -> Node:
        return self.backend.nodes[int(name[1:]) - 1]

    def _on_error(self, text: str) -> None:
        self.errors.append(text)
        self.stop.set()

    def _join(self) -> None:
        for thread in self._threads:
            thread.join(HEAL_TIMEOUT_S)

    def _write_settings(self, ended_ns: int | None) -> None:
        asked = self.asked
        names = ("seed", "seconds", "ttl_ms", "wait_ms", "work_ms", "max_hold_ms", "clients",
                 "processes", "resources", "workload", "shells", "control", "guard")
        self.record.run(
            {
                **{name: getattr(asked, name) for name in names},
                "backend": self.backend.name,
                "faults": list(asked.scenario.faults),
                "scenario": asked.scenario.name,
                "liveness": asked.scenario.liveness,
                "order": asked.scenario.order,
                "changes": asked.scenario.changes,
                "breaks": asked.scenario.breaks(asked.guard),
                "nodes": [node.name for node in self.backend.nodes],
                "quorum": self.backend.count // 2 + 1,
                "urls": [node.url for node in self.backend.nodes],
                "permits": asked.permits if asked.workload == "permits" else None,
                "started_ns": self._started_ns,
                "ended_ns": ended_ns,
                "schedule": [step.as_json() for step in asked.steps],
                "interrupted": self.interrupted,
            }
        )
