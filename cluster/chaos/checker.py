#!/usr/bin/env python3
"""Judges a chaos run by its clients' records. It shares no code with the library.

    checker.py DIR [--json] [--quiet]

reads the folder of a run and writes DIR/verdict.json and DIR/verdict.txt. The exit status:

    0  the lock held
    1  it did not: at least one violation
    2  the run cannot be judged: no grants, no contention, a broken record. That is not a pass.

A negative control (a run with a lock that is wrong on purpose) must end with 1.
"""
import argparse
import json
import sys
from bisect import bisect_left
from pathlib import Path

import leftovers
import liveness as liveness_of
import order as order_of
import reading
import spans
import updates
import windows
from findings import APART, CAUGHT, EXPLAINED, NOTE, VIOLATION
from history import Unusable, count
from lanes import name_key
from verdict import as_text, said

HELD, VIOLATED, UNUSABLE = 0, 1, 2
WORDS = {HELD: "held", VIOLATED: "violated", UNUSABLE: "unusable"}


def percentile(values, share):
    """Nearest rank; values are sorted."""
    return values[min(len(values) - 1, int(len(values) * share))] if values else 0


def wait_summary(history):
    waits = sorted(wait for story in history.clients.values() for _, wait, _ in story.grants)
    return {name: percentile(waits, share) for name, share in
            (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999), ("max", 1))}


def broken_ns(history):
    """The time in which a fault that breaks an assumption may have affected a grant."""
    told = spans.union((fault.begin_ns, (fault.end_ns or history.end_ns) + history.ttl_ns)
                       for fault in history.faults if fault.breaks)
    return spans.total(spans.intersect(told, [(history.begin_ns, history.end_ns)]))


def client_table(history, liveness):
    table = {}
    held = {}
    for hold in history.holds:
        held[hold.client] = held.get(hold.client, 0) + hold.window_end_ns - hold.enter_ns
    for client, story in sorted(history.clients.items(), key=lambda item: name_key(item[0])):
        dry = liveness.clients[client]
        waits = sorted(wait for _, wait, _ in story.grants)
        table[client] = {
            "grants": len(story.grants), "denied": sum(story.denied.values()),
            "lost": len(story.lost), "attempts": story.attempts,
            "wait_us_p50": percentile(waits, 0.5), "wait_us_max": percentile(waits, 1),
            "held_ms": round(held.get(client, 0) / 1e6),
            "starved_ms": round((dry[1] - dry[0]) / 1e6) if dry else 0,
        }
    return table


def node_table(history):
    return {node: {state: round(spans.total(history.node_spans(node, state)) / 1e6)
                   for state in ("up", "slow", "paused", "cut", "down", "loading")}
            for node in history.run["nodes"]}


def fault_table(history):
    table = {}
    for fault in history.faults:
        row = table.setdefault(fault.name, {"count": 0, "breaks": fault.breaks})
        row["count"] += 1
        row["breaks"] |= fault.breaks
    return table


def causes(history):
    """Status of a refusal, or "open" -> (how often the library gave a message, the most frequent one, how
    often that one)."""
    total = {}
    for story in history.clients.values():
        for (failed, why), number in story.why.items():
            messages = total.setdefault(failed, {})
            messages[why] = messages.get(why, 0) + number
    most = {failed: max(messages, key=messages.get) for failed, messages in total.items()}
    return {failed: (sum(total[failed].values()), why, total[failed][why])
            for failed, why in sorted(most.items())}


def unusable_reasons(history, grants, handovers, order):
    reasons = list(history.problems)
    if history.run.get("order") and not order.judged:
        reasons.append("nobody stood in a line while no node was broken")
    if not grants or not history.holds:
        reasons.append("no lock was ever granted")
        reasons += [said(failed, cause) for failed, cause in causes(history).items()]
    elif not handovers:
        reasons.append("no lock ever went from one client to another: nothing was put to the test")
    if history.odd.get("records of a hold that was never entered"):
        reasons.append("the register has records of holds that were never entered")
    if history.odd.get("records of one client whose time goes back"):
        reasons.append("the clock of the register goes back")
    torn = history.odd.get("torn lines in register.log", 0)
    if torn > max(10, history.lines // 100):
        reasons.append(f"{torn} of {history.lines} lines of the register cannot be read")
    if history.run.get("schedule") and not history.faults and not history.run.get("interrupted"):
        reasons.append("no fault of the schedule happened")
    if history.run.get("changes") and not any(fault.name == "change" for fault in history.faults):
        reasons.append("the set was never changed")
    if history.acks and not history.sets:
        reasons.append("updates were acknowledged, and the folder set/ is gone")
    return reasons


def judge(history, stall_s=None, starved_s=None):
    """The verdict on a history, as a dict."""
    limits = liveness_of.default_limits_s(history)
    liveness = liveness_of.Liveness(history)
    overlaps, explained, by_paused, known = windows.find_overlaps(history)
    order = order_of.Order(history)
    orphans = leftovers.find_orphans(history)
    lost_updates = updates.find_lost_updates(history, known)
    growth, growth_table = leftovers.find_growth(history)
    findings = [overlaps, explained, by_paused, *windows.find_permits(history, known), *windows.find_late_acts(history),
                windows.find_late_landings(history), windows.find_wrong_validity(history),
                windows.find_shared_tokens(history), *lost_updates, *orphans,
                *liveness_of.find_stalls(history, liveness, stall_s or limits[0],
                                         starved_s or limits[1]),
                order_of.find_overtaken(history, order),
                liveness_of.find_lost(history), leftovers.find_crashes(history), growth, leftovers.find_odd(history)]
    grants = sum(len(story.grants) for story in history.clients.values())
    handovers = windows.count_handovers(history)
    by_weight = {weight: sum(finding.count for finding in findings if finding.weight == weight)
                 for weight in (VIOLATION, EXPLAINED, APART, NOTE)}
    reasons = unusable_reasons(history, grants, handovers, order)
    status = VIOLATED if by_weight[VIOLATION] else UNUSABLE if reasons else HELD
    control = history.run.get("control")
    is_caught = any(finding.count for finding in findings if finding.kind in CAUGHT)
    dry = [span[1] - span[0] for span in liveness.clients.values() if span]
    verdict = {
        "verdict": WORDS[status], "status": status, "reasons": reasons,
        "violations": by_weight[VIOLATION], "explained": explained.count,
        "apart": by_weight[APART], "overlaps": overlaps.count,
        "lost_updates": lost_updates[0].count, "orphans": orphans[0].count,
        "control": control, "control_caught": is_caught if control else None,
        "grants": grants, "handovers": handovers, "holds": len(history.holds),
        "attempts": sum(story.attempts for story in history.clients.values()),
        "denied": merged(story.denied for story in history.clients.values()),
        "causes": causes(history),
        "released": merged(story.released for story in history.clients.values()),
        "permits_changed": merged(story.changes for story in history.clients.values()),
        "changes": change_table(history),
        "lost": merged(plans(story) for story in history.clients.values()),
        "extended": sum(len(hold.renewals) - 1 for hold in history.holds if hold.renewals),
        "acks": sum(len(acks) for acks in history.acks.values()),
        "wait_us": wait_summary(history),
        "stall_ms": round((liveness.overall[1] - liveness.overall[0]) / 1e6)
        if liveness.overall else 0,
        "idle_ms": round((liveness.idle[1] - liveness.idle[0]) / 1e6) if liveness.idle else 0,
        "waits": order.waits, "waits_in_line": order.judged, "overtaken": order.total,
        "overtaken_most": order.most, "overtaken_apart": order.apart,
        "starved_ms": round(max(dry, default=0) / 1e6),
        "seconds": round((history.end_ns - history.begin_ns) / 1e9, 3),
        "quorum_ms": round(liveness.quorum_ns / 1e6),
        "broken_ms": round(broken_ns(history) / 1e6),
        "faults": fault_table(history), "clients": client_table(history, liveness),
        "nodes": node_table(history), "growth": growth_table,
        "findings": [finding.as_dict() for finding in findings], "run": history.run,
    }
    verdict["summary"] = as_text(verdict)
    return verdict


def plans(story):
    """The cause of each loss."""
    losses = {}
    for _, status, plan in story.lost:
        on_purpose = plan == "outlast" and status in ("ERR_EXPIRED", "ERR_MAX_HOLD")
        count(losses, "on purpose" if on_purpose else status)
    return losses


def change_table(history):
    """For each kind of change of the set, how many were done and taken back; and the grants per
    second during them, and in the rest of the time. None if the run does not change the set."""
    if not history.run.get("changes"):
        return None
    told = spans.union((fault.begin_ns, fault.end_ns or history.end_ns)
                       for fault in history.faults if fault.name == "change")
    whole = [(history.begin_ns, history.end_ns)]
    grants = sorted(t_ns for story in history.clients.values() for t_ns, _, _ in story.grants)
    rates = []
    for part in (spans.intersect(whole, told), spans.without(whole, told)):
        number = sum(bisect_left(grants, end) - bisect_left(grants, begin) for begin, end in part)
        rates.append(round(number / max(1e-9, spans.total(part) / 1e9), 1))
    kinds = {}
    for kind, done in history.changes:
        kinds.setdefault(kind, {"done": 0, "taken back": 0})["done" if done else "taken back"] += 1
    return {"kinds": kinds, "grants_s": rates[0], "grants_s_otherwise": rates[1]}


def merged(counts):
    result = {}
    for part in counts:
        for key, number in part.items():
            result[str(key)] = result.get(str(key), 0) + number
    return dict(sorted(result.items()))


def unusable(folder, error):
    verdict = {"verdict": WORDS[UNUSABLE], "status": UNUSABLE, "reasons": [str(error)],
               "violations": 0, "explained": 0, "apart": 0, "overlaps": 0, "lost_updates": 0,
               "orphans": 0, "grants": 0, "attempts": 0, "starved_ms": 0, "findings": [],
               "control": None, "control_caught": None, "run": {}}
    verdict["summary"] = ["THE RUN CANNOT BE JUDGED.", f"  {error}", f"  folder: {folder}"]
    return verdict


def check(folder, stall_s=None, starved_s=None):
    """Judges the run in this folder, writes verdict.json and verdict.txt there, returns the
    verdict."""
    try:
        verdict = judge(reading.read(folder), stall_s, starved_s)
    except Unusable as error:
        verdict = unusable(folder, error)
    if Path(folder).is_dir():
        (Path(folder) / "verdict.json").write_text(json.dumps(verdict, indent=1) + "\n")
        (Path(folder) / "verdict.txt").write_text("\n".join(verdict["summary"]) + "\n",
                                                  encoding="utf-8")
    return verdict


def main():
    parser = argparse.ArgumentParser(
        description="Judges a chaos run. Exit status: 0 the lock held, 1 it did not, 2 the run "
        "cannot be judged.")
    parser.add_argument("folder", metavar="DIR", help="the folder of the run")
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON")
    parser.add_argument("--quiet", action="store_true", help="print nothing")
    parser.add_argument("--stall-s", type=float, metavar="S",
                        help="longest time without any grant while a quorum is up (10 + 3 ttl)")
    parser.add_argument("--starved-s", type=float, metavar="S",
                        help="longest wait of one client meanwhile (30 ttl, at least 60)")
    arguments = parser.parse_args()
    verdict = check(arguments.folder, arguments.stall_s, arguments.starved_s)
    if arguments.json:
        print(json.dumps(verdict, indent=1))
    elif not arguments.quiet:
        print("\n".join(verdict["summary"]))
    return verdict["status"]


if __name__ == "__main__":
    sys.exit(main())
