"""The schedule of faults: a pure function of the seed and the run's settings.

Happy path: plan() gives steps in order of time. The same arguments give the same steps on every
machine and with every Python 3 (random.Random's generator and its randrange are stable), so a run
is repeated by its seed. Times are in milliseconds since the clients were started.

If the order of the clients is judged, which needs some time without faults, faults come in bouts,
each after a calm: ORDER_CALM_MS, in a short run a quarter of it.

Invariants: never two faults on one node or one client process at the same time; in a scenario for a
minority, at most N - quorum nodes are broken or still recovering (one, if the nodes are changed: of
three, two must be left); the last fault ends early enough
for the cluster to be whole at the end. Failure modes: a run too short for any fault raises
ValueError.
"""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass

from faults import CATALOGUE
from scenarios import MAJORITY, Scenario

WARM_UP_MS = 500  # without faults, at the start
CALM_MS = 500  # without faults, at the end
ORDER_CALM_MS = 5000  # without faults before each bout of them, where the order is judged
RECOVER_MS = 1200  # a healed node may need this long until it is connected again


@dataclass(frozen=True)
class Step:
    """One fault. target: "n3"; or "c2" for a client process (numbered as at the start); "set"; or
    "home", the node with the longest line when the time comes."""

    id: int
    at_ms: int
    fault: str
    target: str
    for_ms: int
    seed: int  # seed for the fault's own random numbers, such as a delay

    def as_json(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True)
class Plan:
    """The input of plan()."""

    seed: int
    seconds: float
    ttl_ms: int
    nodes: int
    processes: int


class _Planner:
    def __init__(self, what: Plan, scenario: Scenario) -> None:
        self.what = what
        self.scenario = scenario
        self.random = random.Random(f"{what.seed}/{scenario.name}/{','.join(scenario.faults)}")
        self.end_ms = int(what.seconds * 1000) - CALM_MS
        self.free_ms: dict[str, int] = {}  # when a target may be broken again
        self.steps: list[Step] = []

    def add(self, at_ms: int, name: str, target: str, seed: int | None = None) -> bool:
        """One fault from at_ms on; False if it would outlast the run."""
        shortest, longest = CATALOGUE[name].for_ttl
        ttl_ms = self.what.ttl_ms
        for_ms = self.random.randint(int(shortest * ttl_ms), int(longest * ttl_ms))
        for_ms = min(for_ms, max(int(shortest * ttl_ms), self.end_ms - at_ms))
        if at_ms + for_ms > self.end_ms:
            return False
        seed = self.random.randrange(2**31) if seed is None else seed
        self.steps.append(Step(len(self.steps) + 1, at_ms, name, target, for_ms, seed))
        self.free_ms[target] = at_ms + for_ms + RECOVER_MS
        return True

    def pick(self, at_ms: int, name: str) -> str | None:
        """The target: a healthy one, if one more may be broken."""
        if CATALOGUE[name].target == "client":
            targets = [f"c{number + 1}" for number in range(self.what.processes)]
            most = max(1, self.what.processes - 1)
        elif CATALOGUE[name].target == "set":
            targets, most = ["set"], 1
        elif self.scenario.at_home:
            targets, most = ["home"], 1
        else:
            changes = self.scenario.changes
            targets = [f"n{number + 1}" for number in range(self.what.nodes * (1 + changes))]
            most = 1 if changes else (self.what.nodes - 1) // 2
        whole = [target for target in targets if self.free_ms.get(target, 0) <= at_ms]
        if len(targets) - len(whole) >= most:
            return None
        return self.random.choice(whole)

    def minority(self) -> None:
        calm_ms = min(ORDER_CALM_MS, self.end_ms // 4) if self.scenario.order else 0
        at_ms = WARM_UP_MS + calm_ms
        bout_end_ms = at_ms + calm_ms
        bag: list[str] = []
        pace_ms = int(self.scenario.pace * self.what.ttl_ms)
        while at_ms < self.end_ms:
            # Each fault once in random order, then again: a short run misses none for long.
            bag = bag or self.random.sample(self.scenario.faults, len(self.scenario.faults))
            target = self.pick(at_ms, bag[-1])
            if target is not None and not self.add(at_ms, bag[-1], target):
                return
            if target is not None:
                bag.pop()
            at_ms += self.random.randint(pace_ms // 4, pace_ms)
            if calm_ms and at_ms >= bout_end_ms:
                at_ms = max(at_ms, *(step.at_ms + step.for_ms for step in self.steps)) + calm_ms
                bout_end_ms = at_ms + calm_ms

    def majority(self) -> None:
        at_ms = WARM_UP_MS
        pace_ms = int(self.scenario.pace * self.what.ttl_ms)
        quorum = self.what.nodes // 2 + 1
        while at_ms < self.end_ms:
            nodes = self.random.sample(range(1, self.what.nodes + 1), quorum)
            seed = self.random.randrange(2**31)  # so clocks drift, or are replicas late, together
            for node in nodes:
                fault = self.random.choice(self.scenario.faults)
                if not self.add(at_ms, fault, f"n{node}", seed):
                    return
            at_ms = max(self.free_ms.values()) + self.random.randint(pace_ms // 2, pace_ms)


def plan(what: Plan, scenario: Scenario) -> list[Step]:
    """The steps of a run, in order of time; see above."""
    if not scenario.faults:
        return []
    planner = _Planner(what, scenario)
    if scenario.at_once == MAJORITY:
        planner.majority()
    else:
        planner.minority()
    if not planner.steps:
        raise ValueError(
            f"{what.seconds:g} seconds are too short for a fault at a ttl of {what.ttl_ms} ms; "
            "give --seconds more or --ttl-ms less"
        )
    return planner.steps
