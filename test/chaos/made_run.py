"""Makes the folder of a chaos run by hand, so that a test knows what the checker must find.

Times are milliseconds since the run began; ttl and drift are those of the run.
"""
import json
import tempfile
from pathlib import Path

BEGIN_NS = 5_000_000_000_000
TTL_MS = 1000
VALID_MS = 988  # ttl less drift


def ns(ms):
    return BEGIN_NS + round(ms * 1_000_000)


class Run:
    """A run that is built call by call and then written."""

    def __init__(self, seconds=10, **run):
        self.temporary = tempfile.TemporaryDirectory(prefix="redlock-chaos-")
        self.folder = Path(self.temporary.name)
        self.run = {"seed": 1, "backend": "local", "seconds": seconds, "scenario": "made",
                    "nodes": ["n1", "n2", "n3", "n4", "n5"], "quorum": 3, "ttl_ms": TTL_MS,
                    "started_ns": ns(0), "ended_ns": ns(seconds * 1000), "clients": 2,
                    "processes": 2, "control": None, "liveness": True, **run}
        self.lines = []  # (time, line) of the register
        self.events = []
        self.stories = {}  # process -> [(time, object)]
        self.acks = []
        self.sets = {}
        self.sequence = 0

    # -- what happened --

    def record(self, ms, client, what, resource, token, until_ms, sequence, permits=""):
        self.lines.append((ms, f"{ns(ms)} {client} {what} {resource} {token} {ns(until_ms)} "
                           f"{sequence}{permits and ' ' + permits}"))

    def story(self, ms, client, what, **fields):
        self.stories.setdefault(client.split(".")[0], []).append(
            (ms, {"t_ns": ns(ms), "client": client, "what": what, **fields}))

    def hold(self, client, begin_ms, end_ms, resource="chaos-1", ended="exit", valid_ms=VALID_MS,
             token=None, extends=(), writes=(), waited_ms=5, sent_ms=None, grant=True, reads=False,
             permits="", answer_ms=0):
        """One hold. ended: exit, lost or None (no such record). permits: "0,3/5", slots 0 and 3 of
        five. answer_ms: how long before its time each extension was sent. Returns its sequence."""
        self.sequence += 1
        sequence = self.sequence
        token = token or f"{sequence:040x}"
        until_ms = (begin_ms - 1 if sent_ms is None else sent_ms) + valid_ms
        if grant:
            kind = {"reads": True} if reads else {"permits": 5} if permits else {}
            self.story(begin_ms - waited_ms, client, "wait", resource=resource, **kind)
            self.story(begin_ms, client, "grant", resource=resource, status="OK", token=token,
                       wait_us=round(waited_ms * 1000), plan="short",
                       asked_ns=ns(until_ms - valid_ms), valid_until_ns=ns(until_ms))
        enter, act = ("enter-reader", "read") if reads else ("enter", "write")
        self.record(begin_ms, client, enter, resource, token, until_ms, sequence, permits)
        steps = [(ms, "extend") for ms in extends] + [(ms, act) for ms in writes]
        for ms, what in sorted(steps):
            if what == "extend":
                until_ms = ms + valid_ms
                self.story(ms, client, "extend", resource=resource, status="OK",
                           asked_ns=ns(ms - answer_ms), valid_until_ns=ns(until_ms))
            self.record(ms, client, what, resource, token, until_ms, sequence, permits)
        if ended:
            self.record(end_ms, client, ended, resource, token, until_ms, sequence, permits)
        return sequence

    def usual(self, begin_ms=0, end_ms=10000, every_ms=100, clients=("c1.1", "c2.1"),
              resource="chaos-1"):
        """Clients that take turns, each for half of the time."""
        turn = 0
        ms = begin_ms + 10
        while ms + every_ms <= end_ms:
            self.hold(clients[turn % len(clients)], ms, ms + every_ms / 2, resource,
                      waited_ms=min(5, ms))
            turn += 1
            ms += every_ms

    def fault(self, name, begin_ms, end_ms=None, node=None, client=None, **fields):
        key = len(self.events)
        self.event(begin_ms, "begin", fault=name, node=node, client=client, id=key, **fields)
        if end_ms is not None:
            self.event(end_ms, "end", fault=name, node=node, client=client, id=key)

    def state(self, ms, node, state):
        self.event(ms, "state", node=node, state=state)

    def event(self, ms, what, **fields):
        self.events.append((ms, {"t_ns": ns(ms), "what": what, **fields}))

    def add_to_set(self, sequence, ms, client, resource="chaos-1", is_there=True):
        self.acks.append((ms, f"{ns(ms)} {client} ack {resource} {'a' * 40} {ns(ms + 500)} "
                          f"{sequence}"))
        numbers = self.sets.setdefault(resource, [])
        if is_there:
            numbers.append(sequence)

    # -- the files --

    def write(self):
        (self.folder / "clients").mkdir(exist_ok=True)
        (self.folder / "run.json").write_text(json.dumps(self.run))
        self.put("register.log", [line for _, line in sorted(self.lines, key=lambda x: x[0])])
        self.put("events.jsonl", [json.dumps(event) for _, event in
                                  sorted(self.events, key=lambda x: x[0])])
        for process, told in self.stories.items():
            told.sort(key=lambda x: x[0])
            lines = [json.dumps(event) for _, event in told]
            if not any(event["what"] == "end" for _, event in told) and not self.is_killed(process):
                lines.append(json.dumps({"t_ns": self.run["ended_ns"] or ns(10000),
                                         "client": process, "what": "end", "leaked": 0}))
            self.put(f"clients/{process[1:]}.jsonl", lines)
        if self.acks:
            self.put("set-acks.log", [line for _, line in sorted(self.acks)])
            (self.folder / "set").mkdir(exist_ok=True)
            for resource, numbers in self.sets.items():
                self.put(f"set/{resource}", [str(number) for number in numbers])
        return self.folder

    def is_killed(self, process):
        return any(event.get("fault") == "client-kill" and event.get("client") == process
                   for _, event in self.events)

    def put(self, name, lines):
        (self.folder / name).write_text("".join(line + "\n" for line in lines))
