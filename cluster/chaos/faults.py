"""The catalogue of faults: of a node, of a client process, or of the set of nodes.

Each fault has a description in one line (shown by --list), says whether it breaks an assumption of
Redlock (and whether the clients' guard compensates), the state of the node while it lasts, and its
duration in units of the ttl. inject.py implements it; each backend says which faults it supports.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """One entry of the catalogue. state: as in events.jsonl; for_ttl: shortest and longest.
    needs_proxy: for local nodes: the fault is in the path; or nobody listens on the node's port, so
    that a client could by chance connect to itself."""

    name: str
    text: str
    state: str = "up"
    breaks: bool = False
    for_ttl: tuple[float, float] = (0.5, 3.0)
    target: str = "node"
    guarded: bool = False
    needs_proxy: bool = False

    def excuses(self, guard: str, faults: tuple[str, ...]) -> bool:
        """Whether this fault may explain an overlap in a run of these faults. A client that was
        started in the middle of the run cannot know of a failover: its guard has seen nothing."""
        if not self.breaks or not self.guarded or guard != "strict":
            return self.breaks
        return self.name == "failover" and not {"client-kill", "turn-kill"}.isdisjoint(faults)


_ALL = (
    Fault("sigkill", "SIGKILL; the node comes back with its data (AOF)", "down", needs_proxy=True),
    Fault(
        "sigkill-empty",
        "SIGKILL; the node comes back at once, without its data",
        "down",
        breaks=True,
        guarded=True,
        for_ttl=(0.05, 0.3),
        needs_proxy=True,
    ),
    Fault(
        "sigkill-late",
        "SIGKILL; the node comes back without its data, but not before the ttl is over",
        "down",
        for_ttl=(1.2, 2.0),
        needs_proxy=True,
    ),
    Fault("sigstop", "SIGSTOP for longer than the ttl, then SIGCONT", "paused", for_ttl=(1.2, 3.0)),
    Fault("partition", "nothing passes between the clients and the node", "cut", needs_proxy=True),
    Fault(
        "partition-in", "requests to the node are lost, its answers are not", "cut", needs_proxy=True
    ),
    Fault(
        "partition-out", "answers of the node are lost, requests are not", "cut", needs_proxy=True
    ),
    Fault(
        "reset",
        "connections to the node are reset, again and again",
        "slow",
        for_ttl=(0.1, 0.6),
        needs_proxy=True,
    ),
    Fault("delay", "the node's answers come late", "slow", needs_proxy=True),
    Fault("loss", "packets to and from the node are lost at random", "slow", needs_proxy=True),
    Fault("client-pause", "CLIENT PAUSE ALL: commands wait in the node", "paused"),
    Fault("script-flush", "SCRIPT FLUSH: the node forgets the release script", for_ttl=(0.1, 0.2)),
    Fault("flushall", "FLUSHALL: the node forgets its keys", breaks=True, for_ttl=(0.1, 0.2)),
    Fault("demote", "the node becomes a replica (READONLY), then a primary again", "down"),
    Fault(
        "failover",
        "the primary dies, a replica that has not got the last locks yet takes its address",
        "down",
        breaks=True,
        guarded=True,
        for_ttl=(0.1, 0.3),
        needs_proxy=True,
    ),
    Fault("clock-step", "the node's clock jumps ahead by more than the ttl", "up", breaks=True),
    Fault("clock-back", "the node's clock jumps back, and ahead again later", "up", breaks=True),
    Fault("clock-drift", "the node's clock is 0.4 % fast or slow: within the allowance"),
    Fault("evict", "the node's memory is full and its policy evicts keys", "down", breaks=True),
    Fault("oom", "the node's memory is full and it refuses writes (noeviction)", "down"),
    Fault(
        "client-stop",
        "a client process is stopped for up to twice the ttl",
        "up",
        for_ttl=(0.3, 2.0),
        target="client",
    ),
    Fault(
        "client-kill",
        "a client process is killed; another one takes its place",
        "up",
        for_ttl=(0.1, 1.0),
        target="client",
    ),
    Fault(
        "turn-kill",
        "a client process is killed as soon as it is its turn; another one takes its place",
        "up",
        for_ttl=(0.1, 1.0),
        target="client",
    ),
    Fault(
        "change",
        "the set gets other nodes, or is one of several; its administrators are killed, others resume or abort",
        for_ttl=(1.0, 4.0),
        target="set",
    ),
)

CATALOGUE: dict[str, Fault] = {fault.name: fault for fault in _ALL}
# Faults for any nodes; a change needs a set, and as many nodes again.
COMMON = tuple(fault.name for fault in _ALL if fault.target != "set")


def parse(names: str) -> list[str]:
    """A list as given to --faults; "all" is every fault but those of a set. Unknown names raise ValueError."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if wanted == ["all"]:
        return list(COMMON)
    for name in wanted:
        if name not in CATALOGUE:
            raise ValueError(f"there is no fault {name!r}; they are: {', '.join(CATALOGUE)}")
    if not wanted:
        raise ValueError("an empty list of faults; for a run without any: --scenario calm")
    return list(dict.fromkeys(wanted))
