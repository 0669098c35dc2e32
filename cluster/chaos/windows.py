"""Safety: did two clients ever hold one lock, and did a holder act outside its validity?

A window is the time from a hold's enter to its end: while it was valid and not over, and in any
case until it last acted as a holder. Windows of one resource must not overlap, except those of two
readers, and of two holders of permits that have no slot in common.

An overlap is explained if a fault that breaks an assumption of Redlock can have cost the earlier
hold a vote: it was active between the request for that hold's validity (at the latest a ttl before
the validity ends) and the enter of the other one. The damage of such a fault may appear up to one
ttl after its end.
"""
from findings import APART, EXPLAINED, VIOLATION, Finding
from history import process_of


def describe(history, hold):
    extended = f", extended {len(hold.renewals) - 1} times" if hold.renewals else ""
    reads = ", a reader," if hold.reads else ""
    if hold.slots:
        reads = (f", {'slots' if len(hold.slots) > 1 else 'slot'} "
                 f"{' '.join(map(str, hold.slots))} of {hold.permits},")
    return (f"{hold.client}{reads} from {history.seconds(hold.enter_ns):.4f} s to "
            f"{history.seconds(hold.window_end_ns):.4f} s (ended: {hold.ended}, valid until "
            f"{history.seconds(hold.valid_until_ns):.4f} s{extended}, token {hold.token[:8]})")


def pairs(holds):
    """All pairs (earlier, later) of one resource whose windows overlap, and may not."""
    by_resource = {}
    for hold in holds:
        by_resource.setdefault(hold.resource, []).append(hold)
    for resource in sorted(by_resource):
        open_holds = []
        for hold in sorted(by_resource[resource], key=lambda hold: hold.enter_ns):
            open_holds = [other for other in open_holds if other.window_end_ns > hold.enter_ns]
            for other in open_holds:
                if other.client != hold.client and hold.conflicts(other):
                    yield other, hold
            open_holds.append(hold)


def explanation(history, earlier, later):
    """The fault that can have let later in while earlier held, or None."""
    begin = earlier.valid_until_at(later.enter_ns) - history.ttl_ns
    for fault in history.faults:
        end = (fault.end_ns or history.end_ns) + history.ttl_ns
        if fault.breaks and fault.begin_ns <= later.enter_ns and end >= begin:
            return fault
    return None


def was_stopped(history, hold, t_ns, valid_until_ns):
    """Was the holder's process stopped when its validity ended, until it acted late at t_ns?"""
    return any(begin <= t_ns and end >= valid_until_ns
               for begin, end in history.stops(process_of(hold.client)))


def find_overlaps(history):
    """Also returns {(earlier, later): fault or None} for callers that check the consequences."""
    title = "Two clients held one lock at once"
    if any(hold.reads for hold in history.holds):
        title = "A writer and another client held one lock at once"
    elif any(hold.slots for hold in history.holds):
        title = "Two clients held one slot at once"
    found = Finding("overlap", VIOLATION, title)
    explained = Finding(
        "overlap-explained", EXPLAINED, "... while a node had lost keys or its clock had jumped",
        "a fault had just taken away what Redlock assumes of its nodes: Redlock's own limit")
    paused = Finding("overlap-paused", APART, "... by a stopped process that acted when it went on",
                     "no lock can stop a holder that is paused between its look and its act")
    known = {}
    for earlier, later in pairs(history.holds):
        fault = None
        where = found
        if later.enter_ns >= min(earlier.valid_until_ns, earlier.end_ns):
            # It overlaps only because the earlier holder worked on: no fault of a node explains
            # that.
            if all(was_stopped(history, earlier, *late) for late in earlier.late_acts or [(0, 0)]):
                where = paused
        else:
            fault = explanation(history, earlier, later)
            where = explained if fault else found
        known[earlier, later] = fault
        overlap_ns = min(earlier.window_end_ns, later.window_end_ns) - later.enter_ns
        why = ""
        if fault:
            why = (f"; explained by {fault.name} on {fault.node or 'all nodes'} at "
                   f"{history.seconds(fault.begin_ns):.3f} s")
        where.add(f"{later.resource}, {overlap_ns / 1e6:.3f} ms: {describe(history, earlier)} and "
                  f"{describe(history, later)}{why}", later.enter_ns, later.client,
                  later.enter_ns + overlap_ns)
    return found, explained, paused, known


def find_late_acts(history):
    """Acts after the end of validity. Acts of a process that was stopped in that time are counted
    separately."""
    found = Finding("late-act", VIOLATION, "A holder acted after its validity had ended")
    paused = Finding("late-act-paused", APART, "A stopped process acted late when it went on",
                     "no lock can stop a holder that is paused between its look and its act")
    for hold in history.holds:
        for t_ns, valid_until_ns in hold.late_acts or []:
            is_excused = was_stopped(history, hold, t_ns, valid_until_ns)
            where = paused if is_excused else found
            where.add(f"{hold.resource}: {hold.client} acted at {history.seconds(t_ns):.4f} s, "
                      f"{(t_ns - valid_until_ns) / 1e6:.3f} ms after the end of validity",
                      t_ns, hold.client)
    return found, paused


def find_late_landings(history):
    """The order of the register's lines is the order in which the writes took place. A write may
    land behind the enter of the next holder although its writer had checked before that: the writer
    stalled between its check and its write."""
    found = Finding("late-landing", APART, "A write landed after the next holder had begun",
                    "its process stood still between its look at the validity and its write")
    for hold, t_ns, other in history.late_landings:
        found.add(f"{hold.resource}: {hold.client} looked at {history.seconds(t_ns):.4f} s, and "
                  f"its write is behind that of {other.client}, which entered at "
                  f"{history.seconds(other.enter_ns):.4f} s", t_ns, hold.client)
    return found


def find_wrong_validity(history):
    """Validity runs from the time of sending, for the ttl less the allowance for clock drift, and
    at most to the maximum hold."""
    found = Finding("validity", VIOLATION, "A lock was said to be valid for longer than its votes")
    validity_ns = history.ttl_ns - history.ttl_ns // 100 - 2_000_000
    hold_ns = history.run.get("max_hold_ms", 0) * 1_000_000 or float("inf")
    for client, story in history.clients.items():
        for t_ns, won_ns, asked_ns, until in story.validities:
            if until > min(asked_ns + validity_ns, won_ns + hold_ns):
                found.add(f"{client} at {history.seconds(t_ns):.4f} s is granted "
                          f"{(until - asked_ns) / 1e6:.3f} ms from the sending, and "
                          f"{(until - won_ns) / 1e6:.3f} ms in all", t_ns, client)
    return found


def find_shared_tokens(history):
    found = Finding("token", VIOLATION, "Two holds had the same token")
    first = {}
    for hold in history.holds:
        other = first.setdefault(hold.token, hold)
        if other.sequence != hold.sequence:
            found.add(f"{hold.token}: {describe(history, other)} and {describe(history, hold)}",
                      hold.enter_ns, hold.client)
    return found


def most_in_use(holds, overlaps):
    """[(when, how many, how many may be, who)] of one resource: whenever more permits of it are in
    use than the largest number that one of their holders knows; k may have changed meanwhile. Where
    two have one slot that is an overlap, and judged as one."""
    edges = sorted(((when, begins, hold) for hold in holds
                    for when, begins in ((hold.enter_ns, 1), (hold.window_end_ns, 0))),
                   key=lambda edge: edge[:2])
    present, found = {}, []
    for when, begins, hold in edges:
        if not begins:
            present.pop(hold.sequence, None)
        elif hold.window_end_ns > when:
            present[hold.sequence] = hold
            others = present.values()
            in_use, limit = sum(len(o.slots) for o in others), max(o.permits for o in others)
            if in_use > limit and not any((one, other) in overlaps
                                          for one in others for other in others):
                found.append((when, in_use, limit, hold))
    return found


def find_permits(history, overlaps):
    """Too many permits at once, counted as such; and invalid slots. overlaps: of
    find_overlaps()."""
    many = Finding("permits", VIOLATION, "More permits were in use than there are")
    bad = Finding("slots", VIOLATION, "A holder had a slot that is none, or one slot twice")
    by_resource = {}
    for hold in history.holds:
        if not hold.slots:
            continue
        by_resource.setdefault(hold.resource, []).append(hold)
        if len(set(hold.slots)) < len(hold.slots) or max(hold.slots) >= hold.permits:
            bad.add(f"{hold.resource}: {describe(history, hold)}", hold.enter_ns, hold.client)
    for resource, holds in sorted(by_resource.items()):
        for when, in_use, limit, hold in most_in_use(holds, overlaps):
            many.add(f"{resource}, {in_use} of {limit} from {history.seconds(when):.4f} s on: "
                     f"{describe(history, hold)}", when, hold.client)
    if not by_resource:
        many.skipped = bad.skipped = "this run had no semaphores"
    return many, bad


def count_handovers(history):
    """How often a resource went from one client to another, which is what tests a lock."""
    last, number = {}, 0
    for hold in history.holds:
        number += last.get(hold.resource, hold.client) != hold.client
        last[hold.resource] = hold.client
    return number
