"""The command line of chaos.sh, with a help text that teaches.

Happy path: parse() gives the namespace. Failure modes: argparse ends the program with status 2 and
a sentence that names the option; check_numbers() does the same for values that make no sense.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence

from faults import CATALOGUE
from scenarios import SCENARIOS

_ABOUT = """\
Breaks real Redis nodes while many clients in several processes take locks on them and do guarded
work, and says afterwards whether two clients ever held one lock. The judge reads the history
that the clients wrote to a file outside Redis; it shares no code with the library.
"""

_MORE = """\
A first run, half a minute, five redis-server processes, all faults in random order:

    sh cluster/chaos.sh --report /tmp/run      and look at /tmp/run/report.html

What one fault does, and what it looks like when an assumption of Redlock is broken:

    sh cluster/chaos.sh --scenario failover --seconds 20
    sh cluster/chaos.sh --faults sigstop,partition --seed 7

Whether the judge can say no: each of these must end in a violation. The clients ask one node of
five each; release by a plain DEL; work on after the end of validity; count that from the answer,
not from the sending; nodes whose lines are turned round all the time, so that who came last is
served first; nodes that forget that others read; holders of permits that go by the slots that they
were given first.

    sh cluster/chaos.sh --control quorum1
    sh cluster/chaos.sh --control blind-release
    sh cluster/chaos.sh --control ignore-validity --scenario pause
    sh cluster/chaos.sh --control from-reply --scenario split
    sh cluster/chaos.sh --control reversed-line --scenario line --processes 8 --resources 1
    sh cluster/chaos.sh --control unseen-readers --scenario readers --resources 1
    sh cluster/chaos.sh --control kept-slot --scenario permits

The same seed gives the same faults at the same times on every machine; --plan prints them and ends.
What the clients do in between depends on the machine's timing.

Backends: local needs redis-server and no rights; partitions, resets, delay and loss are made by a
proxy. netns needs root: each node has a network namespace of its own, and packets are dropped by
the kernel. compose needs root and a Docker engine: the containers of cluster/docker-compose.yml.

Exit status: 0 held, 1 violation, 2 the run proves nothing (the reason is printed), 128 + n: ended
by signal n, and what there was until then held.
"""


def _listing() -> str:
    lines = ["Scenarios (--scenario):"]
    for scenario in SCENARIOS.values():
        promise = "" if scenario.liveness else " [no liveness: a majority is broken at times]"
        lines.append(f"  {scenario.name:14} {scenario.text}{promise}")
    lines += ["", "Faults (--faults); * breaks an assumption that Redlock stands on:"]
    for fault in CATALOGUE.values():
        lines.append(f"{'*' if fault.breaks else ' ':>2}{fault.name:15} {fault.text}")
    return "\n".join(lines)


LISTING = _listing()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="chaos.sh",
        description=_ABOUT,
        epilog=_MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    backends = ("local", "netns", "compose")
    add("--backend", choices=backends, default="local", help="where nodes run (local)")
    add("--scenario", choices=tuple(SCENARIOS), help="what happens, see --list (all)")
    add("--faults", metavar="LIST", help="instead of a scenario: these faults, or all; see --list")
    add("--list", action="store_true", help="print the scenarios and the faults, and end")
    add("--plan", action="store_true", help="print which fault would happen when, and end")
    add("--seed", type=int, help="of the schedule and of the clients (drawn and printed)")
    add("--seconds", type=float, default=30, help="how long the clients run (30)")
    add("--processes", type=int, default=3, help="client processes (3)")
    add(
        "--python",
        type=int,
        default=0,
        help="so many of them use the package for Python, with the workload register (0)",
    )
    add("--node", type=int, default=0, help="... and so many the one for Node.js (0)")
    add("--clients", type=int, default=4, help="clients in each process (4)")
    add("--resources", type=int, default=3, help="locks that they compete for (3)")
    add("--ttl-ms", type=int, default=1500, help="ttl of a lock; faults last in proportion (1500)")
    add("--wait-ms", type=int, default=5000, help="how long a client waits for a lock (5000)")
    add("--work-ms", type=int, default=30, help="guarded work under a lock, roughly (30)")
    add("--nodes", type=int, default=5, help="how many nodes; compose has 5 (5)")
    add(
        "--workload",
        choices=("register", "lock-set", "rwlock", "permits", "edge"),
        help="the guarded work (register; of the scenario \"readers\" rwlock: four of five read; of "
        "\"permits\" permits: up to three of a semaphore's at once; of "
        "\"split\" and \"drift\" edge: holders that act until their validity ends)",
    )
    add("--permits", type=int, default=5, help="of the workload permits: of each resource (5)")
    add(
        "--shells",
        type=int,
        default=2,
        help="of the workload permits: so many clients more are each a redlock run --permits (2)",
    )
    add(
        "--control",
        choices=(
            "quorum1",
            "blind-release",
            "ignore-validity",
            "from-reply",
            "reversed-line",
            "unseen-readers",
            "kept-slot",
        ),
        help="clients, or lines, that are wrong on purpose: the run must end in a violation",
    )
    add(
        "--guard",
        choices=("off", "observed", "strict"),
        default="off",
        help="of the clients, with the ttl as the longest ttl (off: what a broken assumption does "
        "is to be seen; strict grants nothing until the new nodes are as old as the ttl)",
    )
    add("--tls", action="store_true", help="the clients speak TLS to the nodes; not with compose")
    add("--report", metavar="DIR", help="keep the run's folder here, with report.html in it")
    add("--json", action="store_true", help="print the verdict as JSON instead of text")
    add("--client", metavar="FILE", help=argparse.SUPPRESS)
    add("--redlock", metavar="FILE", help=argparse.SUPPRESS)
    add("--clock-library", metavar="FILE", help=argparse.SUPPRESS)
    return parser


_RANGES = {
    "seconds": (1, 86400),
    "processes": (1, 64),
    "python": (0, 64),
    "node": (0, 64),
    "clients": (1, 256),
    "resources": (1, 1000),
    "ttl_ms": (200, 60000),
    "wait_ms": (1, 600000),
    "work_ms": (1, 60000),
    "nodes": (1, 15),
    "permits": (5, 1024),
    "shells": (0, 16),
    "seed": (0, 2**31),
}


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = _parser()
    asked = parser.parse_args(arguments)
    if asked.seed is None:
        # Small enough to be typed again.
        asked.seed = random.SystemRandom().randrange(1, 1_000_000)
    for name, (least, most) in _RANGES.items():
        if not least <= getattr(asked, name) <= most:
            option = "--" + name.replace("_", "-")
            parser.error(f"{option} {getattr(asked, name)}: it is {least} to {most}")
    if asked.scenario and asked.faults:
        parser.error("--scenario and --faults exclude each other: a scenario is a list of faults")
    if asked.python + asked.node > asked.processes:
        parser.error("--python, --node: together no more than --processes")
    if asked.backend == "compose" and asked.nodes != 5:
        parser.error("--nodes: cluster/docker-compose.yml has 5")
    if asked.tls and asked.backend == "compose":
        parser.error("--tls: it is for --backend local and netns")
    if asked.tls and asked.control == "blind-release":
        parser.error("--tls: the control blind-release speaks without")
    return asked
