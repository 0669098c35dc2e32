"""The named scenarios: which faults, on how many nodes at once, and what must hold meanwhile.

A scenario is a set of faults and a number; schedule.py makes a run out of it. If at_once is below a
quorum, locks must still be granted (liveness). A scenario that breaks a majority says so, and is
judged for safety only.
"""

from __future__ import annotations

from dataclasses import dataclass

from faults import CATALOGUE, COMMON

MINORITY = "minority"  # at most N - quorum nodes are broken at the same time
MAJORITY = "majority"  # a quorum of nodes is broken at the same instant, then all are healed


@dataclass(frozen=True)
class Scenario:
    """pace: longest pause between two faults, in units of the ttl. at_home: faults strike the node
    with the longest line at that time, one at a time. order: overtaking is counted and judged
    (order.py); for this, faults leave calm stretches. workload: the clients' default workload."""

    name: str
    text: str
    faults: tuple[str, ...]
    at_once: str = MINORITY
    pace: float = 0.8
    at_home: bool = False
    order: bool = False
    workload: str = "register"

    @property
    def liveness(self) -> bool:
        return self.at_once == MINORITY

    @property
    def changes(self) -> bool:
        """Whether the nodes are a set, with as many again to replace them."""
        return any(CATALOGUE[name].target == "set" for name in self.faults)

    @property
    def needs_proxy(self) -> bool:
        return any(CATALOGUE[name].needs_proxy for name in self.faults)

    def breaks(self, guard: str) -> list[str]:
        return [name for name in self.faults if CATALOGUE[name].excuses(guard, self.faults)]


_NETWORK = ("partition", "partition-in", "partition-out", "reset", "delay", "loss")
_ALL = (
    Scenario("all", "every fault that the backend can do, in random order", COMMON),
    Scenario(
        "sound",
        "every fault that breaks no assumption: any overlap is a violation",
        tuple(name for name in COMMON if not CATALOGUE[name].breaks),
    ),
    Scenario("calm", "no fault at all: what the figures are without", ()),
    Scenario("kill", "nodes crash and come back with their data", ("sigkill",)),
    Scenario("pause", "nodes hang for longer than the ttl", ("sigstop", "client-pause")),
    Scenario("partition", "nodes are cut off, in one direction or both", _NETWORK[:3]),
    Scenario("flaky", "resets, delay and loss", _NETWORK[3:]),
    Scenario(
        "split",
        "a majority is cut off, then healed; holders act until their validity ends",
        _NETWORK[:3],
        MAJORITY,
        2.0,
        workload="edge",
    ),
    Scenario(
        "blackout",
        "a majority dies or hangs at once, then comes back with its data",
        ("sigkill", "sigstop"),
        MAJORITY,
        2.0,
    ),
    Scenario(
        "scripts", "nodes forget scripts and refuse writes", ("script-flush", "oom", "demote")
    ),
    Scenario(
        "drift",
        "a majority's clocks drift within the allowance; holders act until their validity ends",
        ("clock-drift",),
        MAJORITY,
        workload="edge",
    ),
    Scenario("clients", "client processes are stopped and killed", ("client-stop", "client-kill")),
    Scenario(
        "line",
        "the node with the line dies, hangs or is cut off; waiters die, some when it is their turn",
        ("sigkill", "sigstop", "partition", "reset", "client-stop", "client-kill", "turn-kill"),
        pace=1.5,
        at_home=True,
        order=True,
    ),
    Scenario(
        "readers",
        "readers and writers; nodes die, hang and are cut off, clients are stopped and killed",
        ("sigkill", "sigstop", "partition", "reset", "client-stop", "client-kill"),
        workload="rwlock",
    ),
    Scenario(
        "permits",
        "permits of a semaphore; nodes die, hang and are cut off, clients are stopped and killed",
        ("sigkill", "sigstop", "partition", "reset", "client-stop", "client-kill", "turn-kill"),
        workload="permits",
    ),
    Scenario(
        "members",
        "the set gets other nodes, and more sets; its administrators and clients are killed",
        ("change", "client-kill"),
    ),
    # Faults that Redlock does not claim to survive, on enough nodes to show that.
    Scenario(
        "amnesia", "a majority crashes and comes back empty", ("sigkill-empty",), MAJORITY, 2.0
    ),
    Scenario(
        "late", "the same, but back only when the ttl is over", ("sigkill-late",), MAJORITY, 2.0
    ),
    Scenario("flush", "FLUSHALL runs on a majority", ("flushall",), MAJORITY, 2.0),
    Scenario("failover", "stale replicas take over from a majority", ("failover",), MAJORITY, 2.0),
    Scenario(
        "clock", "the clocks of a majority jump ahead past the ttl", ("clock-step",), MAJORITY, 2.0
    ),
    Scenario("evict", "a majority evicts keys under memory pressure", ("evict",), MAJORITY, 2.0),
)

SCENARIOS: dict[str, Scenario] = {scenario.name: scenario for scenario in _ALL}


def of_faults(names: list[str]) -> Scenario:
    """The scenario of --faults: these, on a minority of the nodes at once."""
    return Scenario("faults", "the faults that were named, in random order", tuple(names))
