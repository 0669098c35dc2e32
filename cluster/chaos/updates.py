"""The lock-set workload: numbers that were acknowledged and are not in the set.

Which write overwrote a number? One whose file was read before the number was added and written
after it: a hold that had entered before the acknowledgement and acknowledged, or vanished, after
it.
"""
from findings import APART, EXPLAINED, VIOLATION, Finding
from history import process_of


def culprits(history, resource, t_ns, holds):
    """Holds of the resource that can have read before t_ns and written after it."""
    acks = history.acks[resource]
    for hold in holds:
        if hold.enter_ns < t_ns:
            written = acks.get(hold.sequence)
            if (written is not None and written[0] > t_ns) or (
                    written is None and hold.ended not in ("exit", "lost")):
                yield hold


def stood_still(history, hold, t_ns):
    """Was its process stopped between its enter and t_ns, or later?"""
    return any(begin >= hold.enter_ns and end >= t_ns
               for begin, end in history.stops(process_of(hold.client)))


def landed_late(history, hold):
    """Was its number in the set only after its validity had ended? It checked before (late acts are
    a separate violation): it stalled between its check and its rename."""
    written = history.acks[hold.resource].get(hold.sequence)
    return written is not None and written[0] > hold.valid_until_ns


def find_lost_updates(history, overlaps):
    """overlaps: as find_overlaps() knows them."""
    found = Finding("lost-update", VIOLATION, "An update that was acknowledged is lost")
    explained = Finding("lost-update-explained", EXPLAINED,
                        "... by two holders at once that a fault explains")
    paused = Finding("lost-update-paused", APART, "... by a process that stood still in mid-write",
                     "no lock can stop a holder that is paused between its look and its act")
    if not history.acks:
        found.skipped = "this run had no lock-set workload"
    faults = {}
    for (earlier, later), fault in overlaps.items():
        faults[earlier.sequence, later.sequence] = fault
        faults[later.sequence, earlier.sequence] = fault
    by_resource = {}
    for hold in history.holds:
        by_resource.setdefault(hold.resource, []).append(hold)
    for resource, acks in sorted(history.acks.items()):
        present = history.sets.get(resource, set())
        for number in sorted(set(acks) - present, key=lambda number: acks[number]):
            t_ns, client = acks[number]
            holds = by_resource.get(resource, [])
            own = [hold for hold in holds if hold.sequence == number]
            suspects = [hold for hold in culprits(history, resource, t_ns, holds)
                        if hold.sequence != number]
            fault = next(filter(None, (faults.get((number, hold.sequence)) for hold in suspects)),
                         None)
            where, why = found, ""
            if fault is not None:
                where, why = explained, f"; explained by {fault.name}"
            elif (any(stood_still(history, hold, t_ns) for hold in suspects)
                  or any(landed_late(history, hold) for hold in own + suspects)):
                where = paused
            names = ", ".join(sorted({hold.client for hold in suspects})[:3]) or "an unknown client"
            where.add(f"{resource}: {number} of {client}, acknowledged at "
                      f"{history.seconds(t_ns):.4f} s; written over by {names}{why}", t_ns, client)
    return found, explained, paused
