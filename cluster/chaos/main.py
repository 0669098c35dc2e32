"""chaos.sh: options.py has the options, run.py a run.

Exit status: 0 held, 1 violation, 2 the run proves nothing, 128 + n ended by signal n and held until
then. Failure modes: every ChaosError is one sentence on stderr and status 2; all processes are
ended in each case, even when a signal comes while nodes are starting.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from argparse import Namespace
from pathlib import Path

from backend import Backend
from clients import is_program
from compose import ComposeBackend
from faults import parse as parse_faults
from judge import judge, print_verdict
from local import LocalBackend
from netns import NetnsBackend
from options import LISTING, parse
from run import Run
from scenarios import SCENARIOS, Scenario, of_faults
from schedule import Plan, Step, plan
from server import ChaosError

UNUSABLE = 2
_BACKENDS: dict[str, type[Backend]] = {
    "local": LocalBackend,
    "netns": NetnsBackend,
    "compose": ComposeBackend,
}


def choose(asked: Namespace, backend: Backend) -> Scenario:
    """The requested scenario; "all" skips, with a message, what the backend cannot do."""
    if asked.faults:
        try:
            scenario = of_faults(parse_faults(asked.faults))
        except ValueError as wrong:
            raise ChaosError(f"--faults: {wrong}") from wrong
    else:
        scenario = SCENARIOS[asked.scenario or "all"]
    missing = [name for name in scenario.faults if name in backend.cannot]
    if missing and scenario.name == "all":
        for name in missing:
            print(f"left out: {name}: {backend.cannot[name]}", file=sys.stderr)
        kept = tuple(name for name in scenario.faults if name not in missing)
        return Scenario(scenario.name, scenario.text, kept)
    if missing:
        why = backend.cannot[missing[0]]
        raise ChaosError(f"backend {backend.name} cannot do {missing[0]}: {why}")
    return scenario


def make_plan(asked: Namespace) -> list[Step]:
    processes = asked.processes + asked.shells
    what = Plan(asked.seed, asked.seconds, asked.ttl_ms, asked.nodes, processes)
    try:
        return plan(what, asked.scenario)
    except ValueError as wrong:
        raise ChaosError(str(wrong)) from wrong


def complete(asked: Namespace, backend: Backend) -> None:
    """Adds the settings that follow from the options."""
    asked.scenario = choose(asked, backend)
    asked.workload = asked.workload or asked.scenario.workload
    backend.with_proxy = asked.scenario.needs_proxy
    if (asked.python or asked.node) and asked.workload == "permits":
        raise ChaosError("--python, --node: their clients know no permits")
    if asked.scenario.changes:
        if asked.tls:
            raise ChaosError("--tls: clients find new nodes by the set, without their certificate")
        backend.count *= 2
    asked.shells = asked.shells if asked.workload == "permits" else 0
    # Short enough to end a hold that is extended often; 0: no limit.
    asked.max_hold_ms = asked.ttl_ms * 9 // 5 if asked.workload == "edge" else 0
    asked.steps = make_plan(asked)


def find_file(given: str | None, variable: str, what: str) -> Path:
    """A file of the build: from the option, or from the environment that chaos.sh sets."""
    name = given or os.environ.get(variable)
    if not name:
        raise ChaosError(f"{what} is not built; run this as: sh cluster/chaos.sh, which builds it")
    path = Path(name).resolve()
    if not path.is_file():
        raise ChaosError(f"{path}: there is no such file; it is to be {what}")
    return path


def find_programs(asked: Namespace) -> None:
    asked.program = find_file(asked.client, "REDLOCK_CHAOS_CLIENT", "redlock-chaos-client")
    if not is_program(asked.program):
        raise ChaosError(f"{asked.program} cannot be executed")
    if asked.shells or asked.scenario.changes:
        asked.redlock = find_file(asked.redlock, "REDLOCK_CHAOS_REDLOCK", "redlock")
    # In the order of their slots.
    asked.programs = [[str(asked.program)]] * (asked.processes - asked.python - asked.node)
    asked.programs += [find_node()] * asked.node if asked.node else []
    asked.programs += [find_python()] * asked.python if asked.python else []


def find_python() -> list[str]:
    """A client in Python: with the build's package, and the python3 for which it was built."""
    if asked_for := os.environ.get("REDLOCK_CHAOS_PYTHON"):
        os.environ["PYTHONPATH"] = asked_for
    for python in (sys.executable, "/usr/bin/python3"):
        tried = subprocess.run([python, "-c", "import redlock._native"], capture_output=True, text=True)
        if tried.returncode == 0:
            return [python, str(Path(__file__).with_name("python_client.py"))]
    raise ChaosError(f"--python: no package: {tried.stderr.strip()[-200:]} (python3-cffi, python3-dev)")


def find_node() -> list[str]:
    """A client in Node.js: with the build's addon."""
    os.environ["REDLOCK_NODE_ADDON"] = str(find_file(None, "REDLOCK_CHAOS_NODE", "the addon (nodejs, libnode-dev)"))
    node = shutil.which("node")
    if not node:
        raise ChaosError("--node: there is no node (nodejs)")
    return [node, str(Path(__file__).with_name("node_client.js"))]


def report_folder(asked: Namespace, work: Path) -> Path:
    """The run's folder: new, or empty; inside the work folder unless it is to be kept."""
    if not asked.report:
        folder = work / "run"
        folder.mkdir()
        return folder
    folder = Path(asked.report).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ChaosError(f"--report {asked.report}: the folder is not empty; name a new one")
    return folder


def keep(folder: Path, work: Path) -> Path:
    """Keeps the folder of a failed run, even if that was not requested."""
    if folder.parent != work:
        return folder
    kept = Path(tempfile.mkdtemp(prefix="redlock-chaos-kept."))
    shutil.copytree(folder, kept, dirs_exist_ok=True)
    return kept


class Signals:
    """SIGINT and SIGTERM end the run in order; which one came first is remembered."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.first = 0
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, _frame: object) -> None:
        self.first = self.first or number
        self.stop.set()


def chaos(asked: Namespace, work: Path) -> int:
    clock_library = Path("/nonexistent")
    if not asked.plan:
        clock_library = find_file(asked.clock_library, "REDLOCK_CHAOS_CLOCK", "the clock library")
    backend = _BACKENDS[asked.backend](work, asked.nodes, clock_library)
    backend.with_tls = asked.tls
    if not asked.plan:
        backend.check()
    complete(asked, backend)
    if asked.plan:
        for step in asked.steps:
            print(json.dumps(step.as_json()))
        return 0
    signals = Signals()
    folder = report_folder(asked, work)
    find_programs(asked)
    run = Run(asked, backend, folder, signals.stop)
    print(
        f"seed {asked.seed}, scenario {asked.scenario.name}, backend {backend.name}, "
        f"{len(asked.steps)} faults; {asked.processes} processes of {asked.clients} clients, "
        f"ttl {asked.ttl_ms} ms",
        file=sys.stderr,
    )
    try:
        run.execute()
    finally:
        run.close()
    verdict = judge(folder, run.errors)
    status = int(str(verdict["status"]))
    if status != 0:
        folder = keep(folder, work)
    print_verdict(verdict, asked.json)
    if asked.report or status != 0:
        print(f"the run's history and report: {folder}", file=sys.stderr)
    return 128 + signals.first if status == 0 and signals.first else status


def main(arguments: list[str]) -> int:
    asked = parse(arguments)
    if asked.list:
        print(LISTING)
        return 0
    try:
        with tempfile.TemporaryDirectory(prefix="redlock-chaos.") as work:
            return chaos(asked, Path(work))
    except (ChaosError, OSError) as failed:
        print(f"chaos.sh: {failed}", file=sys.stderr)
        return UNUSABLE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
