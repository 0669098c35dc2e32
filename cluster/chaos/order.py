"""The order of service: clients that came later and were granted first.

A wait *stands in the line* of a node from STANDS_NS after the first JOIN there that it recorded
until it left. A wait that began after another first stood in a line, and was granted before it, has
overtaken it, unless one of the following was or had just been true:
  - a node was faulty, or had just been: the line may have been on it, and the record does not show
    who knew of it;
  - the waiting process, or the other one, was stopped.
Each of these excuses one place, as the library documents it (docs/waiting.md): the first release of
contention that no client had detected yet; each missed turn of any client that was not granted the
lock within the grace (a busy machine is enough); and each turn that may have been missed, and each
hold whose end no client saw, while it waited: a process that was killed, stopped or continued, a
lock that was lost. A writer is overtaken by writers; a client that waits for permits, by clients
that were granted some before it had its turn. A reader, which holds beside others, is overtaken by
each writer that was granted while it stood in line, except for two: the one that the lock was being
passed to, and the one named after that. Order is guaranteed in the line of the other clients. A
client that gets no answer from a node in time, for which a busy machine is enough, stands in
another node's line for a while. The clients that stayed do not overtake it. It may itself be first
BY_THE_WAY times before it is back, and any number of times if it got no answer from the node twice
within a moment. That is reported, but is no violation; anything beyond is.
"""
from bisect import bisect_left, bisect_right
from itertools import groupby
from operator import itemgetter

import spans
from findings import NOTE, VIOLATION, Finding
from history import process_of

STANDS_NS = 100_000_000  # a JOIN has been answered by then
AFTER_NS = 1_500_000_000  # for this long after a node's fault clients still return to it
GRACE_NS = 250_000_000  # a turn that is taken later may have cost a place
READER_WAITS_FOR = 2  # writers
BY_THE_WAY = 2  # it is back after an answer to the first, or at the latest to the second
AGAIN_NS = 1_500_000_000  # a node that was silent twice in a second is passed over for one


class Moves:
    """The stays of one client, line by line."""
    __slots__ = ("times", "nodes", "stays", "again", "grants")

    def __init__(self, story):
        moves = sorted(story.moves, key=itemgetter(0))
        self.times = [t_ns for t_ns, _ in moves]
        self.nodes = [node for _, node in moves]
        self.stays = []  # when a stay with one node began, wait for wait
        self.again = []  # whether the stay before was short
        last = None
        for t_ns, node in moves:
            if node not in (None, last):
                self.again.append(bool(self.stays) and t_ns - self.stays[-1] < AGAIN_NS)
                self.stays.append(t_ns)
                last = node
        self.grants = sorted(end for _, end, granted, _ in story.waits if granted)

    def within(self, begin_ns, end_ns):
        """[(t_ns, node)], the first of each run of equal nodes."""
        some = slice(bisect_left(self.times, begin_ns), bisect_right(self.times, end_ns))
        return [next(same) for _, same in
                groupby(zip(self.times[some], self.nodes[some]), key=itemgetter(1))]

    def stay_at(self, t_ns):
        return bisect_right(self.stays, t_ns) - 1

    def is_by_the_way(self, t_ns, other):
        """Whether its grant at that time is excused towards the other client, which stood in
        another line."""
        stay = self.stay_at(t_ns)
        begin_ns = self.stays[stay]
        return begin_ns <= other.stays[other.stay_at(t_ns)] or self.again[stay] or \
            between(self.grants, begin_ns, t_ns) <= BY_THE_WAY


class Wait:
    __slots__ = ("client", "begin_ns", "end_ns", "granted", "reads", "moves", "lines", "overtaken",
                 "paid", "turn_ns")

    def __init__(self, client, begin_ns, end_ns, granted, reads, story, moves):
        self.client = client
        self.reads = reads
        self.begin_ns = begin_ns
        self.end_ns = end_ns
        self.granted = granted
        self.moves = moves
        self.lines = moves.within(begin_ns, end_ns)
        self.overtaken = 0
        self.paid = 1
        # Permits that become free together are reserved for several clients at once: which of them
        # takes its own first is chance.
        self.turn_ns = end_ns
        if begin_ns in story.permits:
            self.turn_ns = next((t_ns for t_ns in story.turns if begin_ns <= t_ns <= end_ns), end_ns)

    @property
    def stands_ns(self):
        return self.lines[0][0] + STANDS_NS  # it cannot leave a line before it has joined

    def line_at(self, t_ns):
        """The node with the line that it stands in, or None."""
        before = [line for line in self.lines if line[0] <= t_ns]
        return before[-1][1] if before and before[-1][0] + STANDS_NS < t_ns else None

    @property
    def last_line(self):
        """The last line before it was granted the lock; None: no line."""
        return next((node for _, node in reversed(self.lines) if node is not None), None)


def disturbed(history):
    """The times without a guarantee of order."""
    return spans.union((fault.begin_ns, (fault.end_ns or history.end_ns) + AFTER_NS)
                       for fault in history.faults if fault.node)


def payments(history):
    """The times of all events that excuse a place."""
    times = []
    for fault in history.faults:
        if fault.client:
            times += [fault.begin_ns, fault.end_ns or history.end_ns]
    for story in history.clients.values():
        times += [t_ns for t_ns, _, _ in story.lost]
        times += missed(story)
    times += [hold.valid_until_ns for hold in history.holds if hold.ended in ("killed", "lost")]
    return sorted(times)


def missed(story):
    """The times at which an unused turn ended."""
    granted = sorted(end for _, end, is_granted, _ in story.waits if is_granted)
    return [t_ns + GRACE_NS for t_ns in story.turns
            if not between(granted, t_ns, t_ns + GRACE_NS)]


def between(times, begin_ns, end_ns):
    return bisect_right(times, end_ns) - bisect_left(times, begin_ns)


def of_resource(history, moves, resource):
    waits = []
    for client, story in history.clients.items():
        waits += [Wait(client, begin, end, granted, begin in story.reads, story, moves[client])
                  for begin, end, granted, name in story.waits if name == resource]
    return sorted(waits, key=lambda wait: wait.begin_ns)


class Order:
    """Counts over all resources: waits, judged waits, and those of them that were overtaken."""

    def __init__(self, history):
        self.waits = 0
        self.judged = 0
        self.overtaken = []
        self.apart = 0  # how often a client in another line was first
        quiet = spans.without([(history.begin_ns, history.end_ns)], disturbed(history))
        stops = {process: history.stops(process) for process in history.processes}
        times = payments(history)
        moves = {client: Moves(story) for client, story in history.clients.items()}
        resources = {name for story in history.clients.values() for _, _, _, name in story.waits}
        for resource in sorted(resources, key=str):
            waits = of_resource(history, moves, resource)
            self.waits += len(waits)
            begins = [wait.begin_ns for wait in waits]
            for wait in waits:
                if not wait.lines or not covered(quiet, wait.begin_ns, wait.end_ns) or \
                        touched(stops.get(process_of(wait.client), []), wait):
                    continue
                self.judged += 1
                # A reader counts all writers during its wait, a writer those that came later.
                first = 0 if wait.reads else bisect_right(begins, wait.stands_ns)
                others = waits[first:bisect_left(begins, wait.end_ns)]
                before = self.of_its_line(
                    wait, [other for other in others if other.granted and not other.reads
                           and wait.stands_ns < other.end_ns < wait.turn_ns])
                wait.overtaken = max(0, before - READER_WAITS_FOR) if wait.reads else before
                # A hold that ended unseen before the wait began is noticed within a ttl.
                wait.paid += between(times, wait.begin_ns - history.ttl_ns, wait.end_ns)
                if wait.overtaken:
                    self.overtaken.append(wait)

    def of_its_line(self, wait, others):
        """How many of the clients that were granted the lock while it stood in line should not have
        been first."""
        mine = 0
        for other in others:
            line = wait.line_at(other.end_ns)
            if line is None:
                continue
            if other.last_line in (None, line) or \
                    not other.moves.is_by_the_way(other.end_ns, wait.moves):
                mine += 1
            else:
                self.apart += 1
        return mine

    @property
    def most(self):
        return max((wait.overtaken for wait in self.overtaken), default=0)

    @property
    def total(self):
        return sum(wait.overtaken for wait in self.overtaken)


def covered(quiet, begin_ns, end_ns):
    return any(begin <= begin_ns and end_ns <= end for begin, end in quiet)


def touched(stopped, wait):
    return any(begin <= wait.end_ns and end >= wait.begin_ns for begin, end in stopped)


def find_overtaken(history, order):
    """More than is excused: a violation if the scenario is about order."""
    weight = VIOLATION if history.run.get("order") else NOTE
    finding = Finding("overtaken", weight, "Who came later was granted the lock first",
                      "more often than missed turns and releases that nobody knew of pay for")
    for wait in order.overtaken:
        if wait.overtaken > wait.paid:
            finding.add(f"{wait.client} waited from {history.seconds(wait.begin_ns):.3f} s to "
                        f"{history.seconds(wait.end_ns):.3f} s: {wait.overtaken} who came later "
                        f"were first, {wait.paid} may be", wait.begin_ns, wait.client, wait.end_ns)
    return finding
