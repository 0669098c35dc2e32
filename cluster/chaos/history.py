"""The history of a chaos run: the faults of nodes and clients, and the records of the clients. See
journal.h for their records; reading.py fills a History.
"""
from pathlib import Path

import spans

ENTERS = ("enter", "enter-reader")
ACTS = (*ENTERS, "write", "read", "exit")


class Unusable(Exception):
    """The run cannot be judged."""


class Hold:
    """One hold of one lock by one client, as the client recorded it."""
    __slots__ = ("client", "resource", "token", "sequence", "enter_ns", "valid_until_ns",
                 "renewals", "last_act_ns", "end_ns", "ended", "late_acts", "window_end_ns",
                 "reads", "slots", "permits", "granted_until_ns")

    def __init__(self, t_ns, client, resource, token, valid_until_ns, sequence, reads=False,
                 permits=None):
        self.client = client
        self.resource = resource
        self.token = token
        self.sequence = sequence
        self.enter_ns = t_ns
        self.granted_until_ns = valid_until_ns
        self.valid_until_ns = valid_until_ns  # the latest that was recorded
        self.renewals = None  # [(when it was recorded, valid until)]
        self.last_act_ns = t_ns
        self.end_ns = None
        self.ended = None  # "exit", "lost", "killed", "stopped", "next" or "unknown"
        self.late_acts = None  # [(when, valid until)] of acts outside the validity
        self.window_end_ns = t_ns
        self.reads = reads  # together with other readers
        # For a semaphore: its slots, and the number of permits that it knew.
        self.slots, self.permits = permits or ((), 0)

    def conflicts(self, other):
        """May these two not hold at the same time? Readers may; a writer is alone. So may holders
        of permits, each under slots of its own."""
        if self.slots and other.slots:
            return not set(self.slots).isdisjoint(other.slots)
        return not (self.reads and other.reads)

    def valid_until_at(self, t_ns):
        """The end of its validity as known at that time."""
        if not self.renewals:
            return self.valid_until_ns
        known = self.renewals[0][1]
        for when, until in self.renewals:
            if when <= t_ns:
                known = max(known, until)
        return known


class Fault:
    """A fault that was injected into a node or a client process."""
    __slots__ = ("name", "node", "client", "begin_ns", "end_ns", "breaks", "detail")

    def __init__(self, event):
        self.name = str(event.get("fault", "?"))
        self.node = event.get("node")
        self.client = event.get("client")
        self.begin_ns = event["t_ns"]
        self.end_ns = None
        self.detail = str(event.get("detail") or "")
        breaks = event.get("breaks")
        self.breaks = breaks_by_name(self.name) if breaks is None else bool(breaks)


BREAKING = ("sigkill-empty", "flushall", "failover", "evict", "clock-step", "clock-back")


def breaks_by_name(name):
    """Does a fault of this name break an assumption of Redlock about its nodes?"""
    return any(part in name for part in BREAKING)


def process_of(client):
    """c2 for c2.1."""
    return client.split(".", 1)[0]


class History:
    """All of a run."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.run = {}
        self.holds = []  # in the order of the register
        self.late_landings = []  # (hold, when it looked, the other hold)
        self.odd = {}  # defect of the files -> how often
        self.problems = []  # sentences: why the run cannot be judged
        self.lines = 0
        self.faults = []
        self.states = {}  # node -> [(t_ns, state)]
        self.samples = {}  # node or process -> [(t_ns, rss_kb, fds)]
        self.orphans = []
        self.members = []  # [(t_ns, the nodes of each set from then on)], where they are changed
        self.changes = []  # [(kind, was it done)]
        self.clients = {}  # client -> Story
        self.processes = {}  # process -> {"first", "last", "ended", "leaked"}
        self.acks = {}  # resource -> {number: (t_ns, client)}
        self.sets = {}  # resource -> numbers

    # -- results --

    @property
    def ttl_ns(self):
        return int(self.run["ttl_ms"]) * 1_000_000

    @property
    def begin_ns(self):
        return self.run["started_ns"]

    @property
    def end_ns(self):
        return self.run["ended_ns"]

    def seconds(self, t_ns):
        """Time since the run began, human-readable."""
        return (t_ns - self.begin_ns) / 1e9

    def client_faults(self, process, *names):
        return [fault for fault in self.faults
                if fault.client and process_of(fault.client) == process and fault.name in names]

    def stops(self, process):
        """When the process was stopped by SIGSTOP."""
        return spans.union((fault.begin_ns, fault.end_ns or self.end_ns)
                           for fault in self.client_faults(process, "client-stop"))

    def killed_ns(self, process):
        """When the process was killed, or None."""
        return min((fault.begin_ns for fault in self.client_faults(process, "client-kill")),
                   default=None)

    def node_spans(self, node, *states):
        """When the node was in one of these states; a node without records is up."""
        told = sorted(self.states.get(node, []))
        if not told or told[0][0] > self.begin_ns:
            told.insert(0, (self.begin_ns, "up"))
        ends = [t_ns for t_ns, _ in told[1:]] + [self.end_ns]
        return spans.union((max(begin, self.begin_ns), min(end, self.end_ns))
                           for (begin, state), end in zip(told, ends) if state in states)

    def quorum_spans(self):
        """When a quorum of the nodes was up; with sets, a quorum of each, during a change of the
        old and the new ones. So in the rest of the time some resources may have had a quorum."""
        up = {node: self.node_spans(node, "up") for node in self.run["nodes"]}
        if not self.members:
            return spans.at_least(list(up.values()), int(self.run["quorum"]))
        begins = [self.begin_ns, *(t_ns for t_ns, _ in self.members[1:]), self.end_ns]
        result = []
        for begin, end, (_, sets) in zip(begins, begins[1:], self.members):
            whole = [(begin, end)]
            for members in sets:
                whole = spans.intersect(whole, spans.at_least(
                    [up[node] for node in members], len(members) // 2 + 1))
            result += whole
        return spans.union(result)

    def odd_one(self, what):
        self.odd[what] = self.odd.get(what, 0) + 1


class Story:
    """The records of one client."""
    __slots__ = ("waits", "reads", "permits", "moves", "turns", "grants", "denied", "why", "lost",
                 "attempts", "released", "changes", "validities")

    def __init__(self):
        self.waits = []  # [(begin, end, granted, resource)]
        self.reads = set()  # the begins of the waits for reading
        self.permits = set()  # the begins of the waits for permits
        self.moves = []  # [(t_ns, node)]: it requested a place in that line; None: it left
        self.turns = []  # when it was notified of its turn
        self.grants = []  # [(t_ns, wait_us, plan)]
        self.validities = []  # [(t_ns, when the hold's request and when this one was sent, until)]
        self.denied = {}  # status -> how often
        self.why = {}  # (status, the library's message) of a refusal or a failed open -> how often
        self.lost = []  # [(t_ns, status, plan)]
        self.attempts = 0
        self.released = {}  # status -> how often
        self.changes = {}  # of a number of permits: status -> how often


def count(counts, key):
    counts[key] = counts.get(key, 0) + 1
