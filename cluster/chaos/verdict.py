"""The verdict as a text for a reader who was not there."""
from findings import APART, EXPLAINED, NOTE, SAFETY, VIOLATION

EXAMPLES = 3


def plural(number, one, many=None):
    return f"{number} {one if number == 1 else many or one + 's'}"


def milliseconds(us):
    return f"{us / 1000:.1f} ms" if us < 1_000_000 else f"{us / 1e6:.1f} s"


def headline(verdict):
    """One line, and a second one that says what it means."""
    control = verdict["control"]
    if verdict["status"] == 2:
        return "THE RUN CANNOT BE JUDGED.", "It is not a pass."
    if control and not verdict["control_caught"]:
        return ("THE CONTROL WAS NOT CAUGHT.",
                f"The lock is wrong on purpose (\"{control}\"), and nothing shows it: the run was "
                "too short, or the checker is blind.")
    if verdict["status"] == 1:
        first = f"THE LOCK DID NOT HOLD: {plural(verdict['violations'], 'violation')}."
        if not any(finding["count"] for finding in verdict["findings"]
                   if finding["kind"] in SAFETY):
            first = (f"FAILED: {plural(verdict['violations'], 'violation')}, though no two clients "
                     "held one lock at once.")
        if control:
            return first, (f"That is right: this is the negative control \"{control}\", a lock "
                           "that is wrong on purpose.")
        return first, "What was violated is listed below."
    if verdict["explained"]:
        return ("The lock held wherever Redlock promises it.",
                f"{plural(verdict['explained'], 'overlap')} where a fault broke what it assumes.")
    if verdict["run"].get("workload") == "rwlock":
        return "The lock held.", "At no time did a writer hold a lock beside anybody else."
    if verdict["run"].get("workload") == "permits":
        return ("The lock held.", "At no time did two clients hold one slot, or more permits than "
                "there are.")
    return "The lock held.", "At no time did two clients hold one lock."


def about_run(verdict):
    run = verdict["run"]
    processes = {client.split(".")[0] for client in verdict["clients"]}
    clients = (f"{plural(len(verdict['clients']), 'client')} in "
               f"{plural(len(processes), 'process', 'processes')}")
    quorum = "of each set a quorum" if run.get("changes") else f"quorum {run['quorum']}"
    scenario = f", scenario {run['scenario']}" if run.get("scenario") else ""
    yield (f"{verdict['seconds']:.0f} s on {len(run['nodes'])} nodes ({quorum}, "
           f"backend {run.get('backend', '?')}), {clients}, ttl {run['ttl_ms']} ms, seed "
           f"{run.get('seed', '?')}{scenario}")
    faults = ", ".join(f"{name} {row['count']}{'*' if row['breaks'] else ''}"
                       for name, row in sorted(verdict["faults"].items()))
    yield f"faults: {faults or 'none'}"
    if any(row["breaks"] for row in verdict["faults"].values()):
        share = verdict["broken_ms"] / max(1, verdict["seconds"] * 1000)
        yield (f"        * breaks an assumption of Redlock; {share:.0%} of the time was under one, "
               "up to a ttl afterwards included")


def said(failed, cause):
    """Why acquires or opens failed, in the library's words."""
    number, why, of_them = cause
    return f"{failed}, {of_them} times of {number}: {why}"


def about_work(verdict):
    waits = verdict["wait_us"]
    yield (f"{plural(verdict['grants'], 'grant')} ({verdict['attempts']} attempts, "
           f"{verdict['grants'] / max(1e-9, verdict['seconds']):.1f} a second), "
           f"{plural(verdict['handovers'], 'handover')} from one client to another, "
           f"{plural(verdict['extended'], 'extension')}")
    yield (f"wait for a lock: median {milliseconds(waits['p50'])}, 99 of 100 within "
           f"{milliseconds(waits['p99'])}, longest {milliseconds(waits['max'])}")
    titles = [("refused", verdict["denied"]), ("lost while held", verdict["lost"])]
    if verdict["permits_changed"]:
        titles.append(("number of permits changed", verdict["permits_changed"]))
    for title, counts in titles:
        told = ", ".join(f"{what} {number}" for what, number in counts.items())
        yield f"{title}: {told or 'never'}"
        if title == "refused":
            yield from (f"  {said(*cause)}" for cause in verdict["causes"].items())
    share = verdict["quorum_ms"] / max(1, verdict["seconds"] * 1000)
    yield f"a quorum was up {min(1, share):.1%} of the time; meanwhile, at the longest,"
    yield f"  a lock that was wanted and free was not granted for {verdict['idle_ms'] / 1000:.2f} s"
    yield f"  no client was granted any lock for {verdict['stall_ms'] / 1000:.2f} s"
    yield f"  a client that waited was granted none for {verdict['starved_ms'] / 1000:.2f} s"
    if verdict["waits_in_line"]:
        yield (f"order: of {plural(verdict['waits_in_line'], 'wait')} in a line, no node being "
               f"broken ({verdict['waits_in_line'] / verdict['waits']:.0%} of all), "
               f"{verdict['overtaken']} times somebody who came later was served first, "
               f"at most {verdict['overtaken_most']} before one of them; "
               f"{plural(verdict['overtaken_apart'], 'time')} somebody in the line of another node")


def about_changes(verdict):
    changes = verdict["changes"]
    if changes is None:
        return
    kinds = [f"{kind} {row['done']}" + (f" (and {row['taken back']} taken back)" if row["taken back"] else "")
             for kind, row in changes["kinds"].items()]
    yield f"changes of the set: {', '.join(kinds) or 'none'}"
    yield (f"  {changes['grants_s']} grants a second during them, {changes['grants_s_otherwise']} in the rest "
           "of the time")


def about_findings(verdict):
    signs = {VIOLATION: "!", EXPLAINED: "~", APART: "~", NOTE: " "}
    for finding in verdict["findings"]:
        if finding["weight"] != VIOLATION and not finding["count"]:
            continue
        sign = signs[finding["weight"]] if finding["count"] else " "
        skipped = finding["skipped"] if not finding["count"] else ""
        yield f"{sign} {'-' if skipped else finding['count']:>7}  {finding['title']}"
        if skipped:
            yield f"           (not looked for: {skipped})"
        if finding["count"] and finding["text"]:
            yield f"           ({finding['text']})"
        for example in finding["examples"][:EXAMPLES]:
            yield f"           - {example}"
        if finding["count"] > EXAMPLES:
            yield f"           - and {finding['count'] - EXAMPLES} more, see verdict.json"


def as_text(verdict):
    """Lines."""
    first, second = headline(verdict)
    lines = [first, f"  {second}"]
    lines += [f"  {reason}" for reason in verdict["reasons"]]
    lines += ["", *about_run(verdict), "", *about_work(verdict), *about_changes(verdict), "", "What was looked for:"]
    lines += about_findings(verdict)
    return lines
