"""Liveness: while a quorum of nodes was up and a client waited, were locks granted?

Only time in which a quorum was up without interruption counts, so a fault that breaks the quorum
starts the watch anew. A client is not waiting while its process is stopped.
"""
from bisect import bisect_left, bisect_right

import spans
from findings import NOTE, VIOLATION, Finding
from history import process_of


def default_limits_s(history):
    """Limits in seconds (nobody gets a lock, one client gets none). Generous: orphans of one ttl,
    new connections,
    guards that keep a restarted node out for a ttl; and a waiting client has no place in a
    queue."""
    ttl_s = history.ttl_ns / 1e9
    return 10 + 3 * ttl_s, max(60, 30 * ttl_s)


def idle_limit_s(history):
    """The limit in scenarios about the line: the key of a killed holder, a home that hangs and is
    dropped, and then the next client."""
    return 3 + 2 * history.ttl_ns / 1e9


def running_spans(history):
    """When each process could run."""
    result = {}
    for process, told in history.processes.items():
        end = history.killed_ns(process) or told["last"]
        result[process] = spans.without(spans.union([(told["first"], end)]),
                                        history.stops(process))
    return result


def longest_dry(times, watched):
    """The longest stretch of the watched spans without any of the times, or None."""
    times = sorted(times)
    best = None
    for begin, end in watched:
        if best is not None and end - begin <= best[1] - best[0]:
            continue
        inside = times[bisect_right(times, begin):bisect_left(times, end)]
        edges = [begin] + inside + [end]
        best = spans.longest(list(zip(edges, edges[1:])) + ([best] if best else []))
    return best


def longest_idle(history, running, quorum):
    """The longest time for which a lock was wanted and not held while a quorum was up, or None.
    The key of a holder that was killed lives on for a ttl."""
    wanted, held = {}, {}
    for client, story in history.clients.items():
        by_resource = {}
        for begin, end, _, resource in story.waits:
            by_resource.setdefault(resource, []).append((begin, end))
        for resource, waits in by_resource.items():
            wanted.setdefault(resource, []).extend(
                spans.intersect(spans.union(waits), running[process_of(client)]))
    for hold in history.holds:
        held.setdefault(hold.resource, []).append((hold.enter_ns, hold.window_end_ns))
    return spans.longest([
        span for resource, waits in wanted.items()
        for span in spans.without(spans.intersect(spans.union(waits), quorum),
                                  spans.union(held.get(resource, [])))])


class Liveness:
    def __init__(self, history):
        quorum = history.quorum_spans()
        self.quorum_ns = spans.total(quorum)
        running = running_spans(history)
        self.clients = {}  # client -> longest dry span, or None
        grants, waits = [], []
        for client, story in history.clients.items():
            granted = [t_ns for t_ns, _, _ in story.grants]
            # From the first wait after a grant to the next grant: refusals and the pauses after
            # them are part of it.
            waiting, since = [], None
            for begin, end, was_granted, _ in story.waits:
                since = begin if since is None else since
                if was_granted:
                    waiting.append((since, end))
                    since = None
            if since is not None:
                waiting.append((since, story.waits[-1][1]))
            waiting = spans.intersect(spans.union(waiting), running[process_of(client)])
            self.clients[client] = longest_dry(granted, spans.intersect(waiting, quorum))
            grants += granted
            waits += waiting
        self.overall = longest_dry(grants, spans.intersect(spans.union(waits), quorum))
        self.idle = longest_idle(history, running, quorum)


def find_lost(history):
    """Losses while the set is changed and no node is faulty. plan: work that outlasts its lock must
    lose it."""
    found = Finding("lost", VIOLATION, "A lock was lost while the set was changed")
    if not history.run.get("changes"):
        found.skipped = "the set of this run was not changed"
    elif any(fault.node for fault in history.faults):
        found.skipped = "nodes were broken as well"
    else:
        for client, story in sorted(history.clients.items()):
            stops = history.stops(process_of(client))
            for t_ns, status, plan in story.lost:
                if plan != "outlast" and not spans.intersect([(t_ns - history.ttl_ns, t_ns)], stops):
                    found.add(f"{client}: {status} at {history.seconds(t_ns):.3f} s", t_ns, client)
    return found


def find_stalls(history, liveness, stall_s, starved_s):
    judged = history.run.get("liveness", True) is not False
    weight = VIOLATION if judged else NOTE
    more = "" if judged else " (not judged: this scenario takes the quorum away at times)"
    stalled = Finding("stall", weight, "Nobody was granted a lock though a quorum was up",
                      f"limit {stall_s:g} s{more}")
    starved = Finding("starved", weight, "A client was granted no lock though a quorum was up",
                      f"limit {starved_s:g} s{more}")
    dry = liveness.overall
    if dry and dry[1] - dry[0] > stall_s * 1e9:
        stalled.add(f"{(dry[1] - dry[0]) / 1e9:.1f} s from {history.seconds(dry[0]):.1f} s on",
                    dry[0], None, dry[1])
    for client, dry in sorted(liveness.clients.items()):
        if dry and dry[1] - dry[0] > starved_s * 1e9:
            starved.add(f"{client}: {(dry[1] - dry[0]) / 1e9:.1f} s from "
                        f"{history.seconds(dry[0]):.1f} s on", dry[0], client, dry[1])
    idle = Finding("idle", weight, "A lock that was wanted and free was granted to nobody",
                   f"limit {idle_limit_s(history):g} s{more}")
    dry = liveness.idle
    if history.run.get("order") and dry and dry[1] - dry[0] > idle_limit_s(history) * 1e9:
        idle.add(f"{(dry[1] - dry[0]) / 1e9:.1f} s from {history.seconds(dry[0]):.1f} s on",
                 dry[0], None, dry[1])
    return stalled, starved, idle
