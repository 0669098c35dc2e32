"""A client process of the chaos run that uses the package for Python, redlock.aio, with the options and
records of redlock-chaos-client (journal.h) as far as it needs them: the workload "register", and no
lines of waiting clients, which Python does not see.

Happy path: each client waits for one of the locks, enters, writes and exits, or loses it. SIGTERM
ends it after the current work. Failure modes: as those of the C client; a record that cannot be
written ends the program, with status 3.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
from pathlib import Path
from typing import Any

import redlock
from redlock import aio
from redlock._native import lib

UNUSABLE = 3
HOLDS_PER_CLIENT = 1_000_000
EXTENDED = 0.06  # share of works that are longer than a ttl, and extended
OUTLAST = 0.03  # share that are longer, and not extended


class Journal:
    """Each record is one write to a file that others append to, too."""

    def __init__(self, folder: Path, process: int) -> None:
        (folder / "clients").mkdir(exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._register = os.open(folder / "register.log", flags, 0o666)
        self._story = os.open(folder / "clients" / f"{process}.jsonl", flags, 0o666)

    def act(self, record: str) -> None:
        self._write(self._register, record + "\n")

    def tell(self, client: str, what: str, **more: Any) -> None:
        record = {"t_ns": lib.redlock_now_ns(), "client": client, "what": what, **more}
        self._write(self._story, json.dumps(record) + "\n")

    def _write(self, file: int, line: str) -> None:
        if os.write(file, line.encode()) != len(line):
            os._exit(UNUSABLE)


class Worker:
    def __init__(self, asked: argparse.Namespace, journal: Journal, stop: asyncio.Event, number: int) -> None:
        self.asked, self.journal, self.stop = asked, journal, stop
        self.name = f"c{asked.process}.{number}"
        self.random = random.Random(asked.seed * 1000 + number)
        self.resource, self.until_ns, self.is_inside = "", 0, False
        self.hold = (asked.process * 1000 + number) * HOLDS_PER_CLIENT

    async def run(self) -> None:
        asked = self.asked
        async with aio.Client(asked.nodes, client_name=self.name, guard=asked.guard, max_ttl=asked.ttl_ms / 1000) as client:
            self.journal.tell(self.name, "open", status="OK")
            while not self.stop.is_set():
                await self.once(client, f"chaos-{self.random.randrange(asked.resources) + 1}")
                await asyncio.sleep(self.random.uniform(0.001, asked.work_ms / 1000))
        self.journal.tell(self.name, "close", status="OK")

    async def once(self, client: aio.Client, resource: str) -> None:
        begin_ns = lib.redlock_now_ns()
        lot = self.random.random()
        plan = "extended" if lot < EXTENDED else "outlast" if lot < EXTENDED + OUTLAST else "short"
        lock = client.lock(resource, ttl=self.asked.ttl_ms / 1000, renew=False, on_lost=lambda lock: self.lost(lock, plan))
        self.journal.tell(self.name, "wait", resource=resource)
        acquire = asyncio.ensure_future(lock.acquire(self.asked.wait_ms / 1000))
        stop = asyncio.ensure_future(self.stop.wait())
        await asyncio.wait((acquire, stop), return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        acquire.cancel()  # if it still waits
        about = {"resource": resource, "wait_us": (lib.redlock_now_ns() - begin_ns) // 1000}
        try:
            await acquire
        except asyncio.CancelledError:
            self.journal.tell(self.name, "denied", status="ERR_CANCELED", **about)
            return
        except redlock.Error as error:
            self.journal.tell(self.name, "denied", status=error.name, why=str(error), **about)
            return
        self.hold += 1
        self.resource, self.until_ns, self.is_inside = resource, 0, False
        self.journal.tell(self.name, "grant", status="OK", token=lock.token, plan=plan, **about)
        await self.work(lock, plan)
        status = "OK"
        try:
            await lock.release()
        except redlock.Error as error:
            status = error.name
        self.journal.tell(self.name, "release", resource=resource, status=status)

    def act(self, lock: aio.Lock, what: str) -> bool:
        """An act of a holder. False if it no longer holds: nothing is written."""
        t_ns = lib.redlock_now_ns()  # before the check: no act is recorded later than its validity
        left_ns = int(lock.remaining * 1e9)
        if left_ns > 0:
            self.until_ns = t_ns + left_ns
            self.write(t_ns, lock, what)
        return left_ns > 0

    def write(self, t_ns: int, lock: aio.Lock, what: str) -> None:
        self.is_inside = what not in ("exit", "lost")
        self.journal.act(f"{t_ns} {self.name} {what} {self.resource} {lock.token} {self.until_ns} {self.hold}")

    def lost(self, lock: aio.Lock, plan: str) -> None:
        """Its hold ends here: the keys are being released."""
        if self.is_inside:
            self.write(lib.redlock_now_ns(), lock, "lost")
        status = lock.lost_error.name if lock.lost_error else ""
        self.journal.tell(self.name, "lost", resource=self.resource, plan=plan, status=status)

    async def work(self, lock: aio.Lock, plan: str) -> None:
        work_s = self.random.uniform(0.5, 1.5) * self.asked.work_ms / 1000
        if plan != "short":
            work_s = self.random.uniform(0.6, 1.6) * self.asked.ttl_ms / 1000
        for what in ("enter", "write", "write"):
            if not self.act(lock, what):
                break
            await asyncio.sleep(work_s / 3)
            if plan == "extended" and lock.is_valid():
                await self.extend(lock)
        else:
            self.act(lock, "exit")
        if self.is_inside:
            self.write(lib.redlock_now_ns(), lock, "lost")

    async def extend(self, lock: aio.Lock) -> None:
        status = "OK"
        try:
            await lock.extend()
        except redlock.Error as error:
            status = error.name
        self.journal.tell(self.name, "extend", resource=self.resource, status=status)
        if status == "OK":
            self.act(lock, "extend")


async def run(asked: argparse.Namespace) -> None:
    journal = Journal(asked.dir, asked.process)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    journal.tell(f"c{asked.process}", "begin", control="none")
    await asyncio.gather(*(Worker(asked, journal, stop, i + 1).run() for i in range(asked.clients)))
    journal.tell(f"c{asked.process}", "end", leaked=0)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python_client.py")
    for name in ("process", "clients", "resources", "ttl-ms", "wait-ms", "work-ms", "seed"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--nodes", required=True)
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--guard", required=True)
    asked, _ = parser.parse_known_args()
    asyncio.run(run(asked))


main()
