"""One fault from beginning to end, on its own thread, and its record.

Happy path: begin (damage done), wait, heal, end. A stop of the run ends the wait early; the fault
is healed then as at its time. Failure modes: any error is written as an error event and passed to
the run, which ends: a half-done fault proves nothing.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

from clients import Clients
from faults import CATALOGUE
from inject import inject
from members import Members
from node import Node
from record import Record, now_ns
from resp import RedisError
from schedule import Step
from server import ChaosError

AGAIN_S = 0.03


class FaultThread(threading.Thread):
    """breaks: whether this fault may explain an overlap. on_error is called from this thread with
    one sentence."""

    def __init__(
        self,
        step: Step,
        target: Node | Clients | Members,
        breaks: bool,
        record: Record,
        stop: threading.Event,
        on_error: Callable[[str], None],
    ) -> None:
        super().__init__(name=f"{step.fault}-{step.target}", daemon=True)
        self.step = step
        self._target = target
        self._breaks = breaks
        self._record = record
        self._stop_run = stop
        self._on_error = on_error

    def run(self) -> None:
        try:
            if isinstance(self._target, Node):
                self._node_fault(self._target)
            elif isinstance(self._target, Members):
                self._set_fault(self._target)
            else:
                self._client_fault(self._target)
        except (ChaosError, RedisError, OSError) as failed:
            text = f"{self.step.fault} on {self.step.target}: {failed}"
            self._record.event(now_ns(), "error", detail=text)
            self._on_error(text)

    def _write(
        self,
        t_ns: int,
        what: str,
        node: str | None,
        client: str | None,
        detail: str,
        fault: str | None = None,
    ) -> None:
        self._record.event(
            t_ns,
            what,
            id=self.step.id,
            fault=fault or self.step.fault,
            node=node,
            client=client,
            breaks=self._breaks,
            detail=detail,
        )

    def _node_fault(self, node: Node) -> None:
        begun_ns = now_ns()
        state = CATALOGUE[self.step.fault].state
        injection = inject(self.step, node)
        damage = next(injection)
        self._write(begun_ns, "begin", node.name, None, damage.detail)
        self._record.state(begun_ns, node.name, state)
        end_ns = begun_ns + self.step.for_ms * 1_000_000
        while damage.again is not None and now_ns() < end_ns and not self._stop_run.is_set():
            damage.again()
            self._stop_run.wait(AGAIN_S)
        self._stop_run.wait(max(0.0, (end_ns - now_ns()) / 1e9))
        for healing in injection:
            self._record.state(now_ns(), node.name, healing.state)
        ended_ns = now_ns()
        self._record.state(ended_ns, node.name, "up")
        self._write(ended_ns, "end", node.name, None, "")

    def _set_fault(self, members: Members) -> None:
        self._write(now_ns(), "begin", None, None, "")
        draw = random.Random(self.step.seed)
        done = members.change(self.step.for_ms / 1000, draw, self._stop_run)
        self._write(now_ns(), "end", None, None, done)

    def _client_fault(self, clients: Clients) -> None:
        slot = self.step.target
        name = clients.name(slot)
        begun_ns = now_ns()
        fault = self.step.fault
        if fault == "turn-kill":
            # The record shows it as a kill, from the time of the kill on.
            at_turn = clients.kill_at_turn(slot, self.step.for_ms / 1000, self._stop_run)
            fault, begun_ns = "client-kill", now_ns()
            heal, detail = clients.replace, f"replaced by a new process; {at_turn}"
        elif fault == "client-kill":
            clients.kill(slot)
            heal, detail = clients.replace, "replaced by a new process"
        else:
            clients.stop(slot)
            heal, detail = clients.go_on, ""
        self._write(begun_ns, "begin", None, name, "", fault)
        self._stop_run.wait(self.step.for_ms / 1000)
        heal(slot)
        self._write(now_ns(), "end", None, name, detail, fault)
