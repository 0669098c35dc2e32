"""The client processes: redlock-chaos-client, started, stopped, killed, replaced and ended; and, for
permits, shells: "redlock run --permits", again and again, with redlock-chaos-client as the command.

Happy path: Clients(...).start(), then faults by slot ("c2" is the second one), then finish(). A
slot's process has a number of its own; the successor of a killed process has the next unused
number, so that no name is used twice in a history.

Failure modes: a process that ends by itself, or does not end on request, raises ChaosError with its
output. A process that gets the signal before it handles it, such as one that has just replaced a
killed one, dies of it, and has done nothing.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from argparse import Namespace
from dataclasses import dataclass, field
from pathlib import Path

from server import ChaosError

# Longer than the longest wait and work: a client that is asked to end finishes its work first.
FINISH_TIMEOUT_S = 20.0
TURN_POLL_S = 0.001
SHELL_TTL_MS = 1000  # a shorter one leaves no time to end the command
NOT_READY = "cannot start a guard process: it does not become ready"
# Exit statuses of a shell that is told to end: its command's, or that of a lock lost meanwhile.
SHELL_ENDED = (0, 128 + signal.SIGTERM, 75)
SHELL_BEGINS_S = 1.0  # its command writes no journal
NOT_OF_CLIENTS = ("reversed-line", "unseen-readers")  # controls that sabotage the nodes


@dataclass
class _Process:
    number: int
    popen: subprocess.Popen[bytes]
    is_shell: bool = False
    expected_end: bool = False
    started_s: float = field(default_factory=time.monotonic)


class Clients:
    """One thread per slot at a time; the sampler reads running() concurrently."""

    def __init__(self, asked: Namespace, urls: list[str], folder: Path) -> None:
        self._asked = asked
        self._urls = ",".join(urls)
        self._folder = folder
        self._lock = threading.Lock()
        self._count = asked.processes + asked.shells
        self._shells = {f"c{asked.processes + 1 + shell}" for shell in range(asked.shells)}
        self._started = 0
        self._slots: dict[str, _Process] = {}

    def _command(self, process: int, slot: str) -> list[str]:
        """See redlock-chaos-client --help."""
        asked = self._asked
        control = [] if asked.control in (None, *NOT_OF_CLIENTS) else ["--control", asked.control]
        return self._asked.programs[int(slot[1:]) - 1] + _options(
            nodes=self._urls,
            dir=self._folder,
            process=process,
            clients=asked.clients,
            resources=asked.resources,
            ttl_ms=asked.ttl_ms,
            wait_ms=asked.wait_ms,
            work_ms=asked.work_ms,
            max_hold_ms=asked.max_hold_ms,
            seed=asked.seed * 1000 + process,
            workload=asked.workload,
            permits=asked.permits,
            guard=asked.guard,
            # A signal ends it; this limit is only in case none is sent.
            seconds=int(asked.seconds) + 600,
        ) + control

    def _shell_command(self, process: int) -> list[str]:
        asked = self._asked
        ttl = f"{max(asked.ttl_ms, SHELL_TTL_MS)}ms"
        words = [str(asked.redlock), "run", "--repeat=20ms", "--quiet"]
        words += _options(nodes=self._urls, guard=asked.guard, ttl=ttl, max_ttl=ttl,
                          permits=asked.permits, take=1 + process % 2)
        words += ["chaos-1", "--", str(asked.program), "--under"]
        return words + _options(dir=self._folder, process=process, ttl_ms=asked.ttl_ms,
                                work_ms=asked.work_ms, permits=asked.permits)

    def start(self) -> None:
        for slot in range(1, self._count + 1):
            self._spawn(f"c{slot}")

    def _spawn(self, slot: str) -> None:
        with self._lock:
            self._started += 1
            number = self._started
            is_shell = slot in self._shells
            command = self._shell_command(number) if is_shell else self._command(number, slot)
            output = self._folder / "clients" / f"{number}.log"
            with output.open("wb") as log:
                popen = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,  # the terminal's SIGINT must reach only the script
                )
            self._slots[slot] = _Process(number, popen, is_shell)

    def name(self, slot: str) -> str:
        """The name of the slot's process in the history."""
        return f"c{self._slots[slot].number}"

    def running(self) -> list[tuple[str, int]]:
        """Name and pid of each process that runs."""
        with self._lock:
            slots = list(self._slots.values())
        return [(f"c{one.number}", one.popen.pid) for one in slots if one.popen.poll() is None]

    def stop(self, slot: str) -> None:
        self._slots[slot].popen.send_signal(signal.SIGSTOP)

    def go_on(self, slot: str) -> None:
        self._slots[slot].popen.send_signal(signal.SIGCONT)

    def kill(self, slot: str) -> None:
        process = self._slots[slot]
        process.expected_end = True
        process.popen.kill()
        process.popen.wait()

    def kill_at_turn(self, slot: str, within_s: float, stop: threading.Event) -> str:
        """The process kills itself when it has the turn. It is killed if it gets none in time; so
        is a shell, at once, since it does not report its turn."""
        process = self._slots[slot]
        if process.is_shell:
            self.kill(slot)
            return "a shell, at any time"
        process.expected_end = True
        process.popen.send_signal(signal.SIGUSR1)
        until = time.monotonic() + within_s
        while process.popen.poll() is None and time.monotonic() < until and not stop.is_set():
            time.sleep(TURN_POLL_S)
        if process.popen.poll() is None:
            process.popen.kill()
            process.popen.wait()
            return "it had no turn"
        return "it had the turn"

    def replace(self, slot: str) -> None:
        """Starts a new process in place of a killed one."""
        assert self._slots[slot].popen.poll() is not None
        self._spawn(slot)

    def check(self) -> None:
        """Raises ChaosError if a process ended unexpectedly. A shell that reports that the machine
        is too busy is replaced."""
        with self._lock:
            slots = list(self._slots.items())
        for slot, process in slots:
            status = process.popen.poll()
            if status is None or process.expected_end:
                continue
            if not process.is_shell or NOT_READY not in self._said(process):
                raise self._failed(process, _ended(status))
            self._spawn(slot)

    def finish(self) -> None:
        """Tells all to end after their current work, and waits for it."""
        running = [one for one in self._slots.values() if one.popen.poll() is None]
        told_s = time.monotonic()
        for process in running:
            process.expected_end = True
            process.popen.send_signal(signal.SIGCONT)
            process.popen.terminate()
        until = time.monotonic() + FINISH_TIMEOUT_S + self._asked.wait_ms / 1000
        for process in running:
            try:
                status = process.popen.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise self._failed(process, "does not end after SIGTERM") from None
            if status == -signal.SIGTERM and not self._has_begun(process, told_s):
                continue
            if status not in (SHELL_ENDED if process.is_shell else (0,)):
                raise self._failed(process, _ended(status))

    def close(self) -> None:
        """Ends all processes that still run."""
        for process in self._slots.values():
            if process.popen.poll() is None:
                process.popen.kill()
                process.popen.wait()

    def _has_begun(self, process: _Process, told_s: float) -> bool:
        """Whether it handled signals by then: a client writes its first record when it does."""
        if process.is_shell:
            return told_s - process.started_s > SHELL_BEGINS_S
        journal = self._folder / "clients" / f"{process.number}.jsonl"
        return journal.exists() and journal.stat().st_size > 0

    def _said(self, process: _Process) -> str:
        log = self._folder / "clients" / f"{process.number}.log"
        return log.read_text(errors="replace")[-2000:].rstrip()

    def _failed(self, process: _Process, what: str) -> ChaosError:
        said = self._said(process) or "(it wrote nothing)"
        return ChaosError(f"client process {process.number} {what}:\n{said}")


def _options(**values: object) -> list[str]:
    """ttl_ms=5 is --ttl-ms 5."""
    words = []
    for name, value in values.items():
        words += ["--" + name.replace("_", "-"), str(value)]
    return words


def _ended(status: int) -> str:
    if status < 0:
        return f"ended by {signal.Signals(-status).name}"
    return f"ended with status {status}"


def is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
