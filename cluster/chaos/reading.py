"""Reads a chaos run from its folder: see journal.h for what the clients write.

The files are read as killed processes left them: a last line may be torn, an enter may have no
exit, an event no end. Unreadable lines are counted, not guessed.
"""
import json
import re

from history import ACTS, ENTERS, Fault, History, Hold, Story, Unusable, count, process_of

RECORD = re.compile(r"(\d+) (c\d+\.\d+) (enter|enter-reader|write|read|exit|extend|downgrade|upgrade|lost|ack) (\S+) (\S+) "
                    r"(\d+) (\d+)(?: (\d+(?:,\d+)*)/(\d+))?$")


def objects(history, path):
    """The objects of a file with one to a line."""
    try:
        data = path.read_bytes()
    except OSError as error:
        history.problems.append(f"{path.name} cannot be read: {error.strerror}")
        return
    for line in data.split(b"\n"):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError:
            history.odd_one(f"unreadable lines in {path.name}")
            continue
        if isinstance(value, dict) and isinstance(value.get("t_ns"), int):
            yield value
        else:
            history.odd_one(f"unreadable lines in {path.name}")


def read_run(history):
    path = history.folder / "run.json"
    try:
        run = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise Unusable(f"{path} cannot be read: {error}") from error
    for field in ("nodes", "quorum", "ttl_ms", "started_ns"):
        if not isinstance(run, dict) or not run.get(field):
            raise Unusable(f"{path} does not say \"{field}\"")
    history.run = run


def read_events(history):
    begun = {}
    for event in objects(history, history.folder / "events.jsonl"):
        what = event.get("what")
        key = event.get("id", (event.get("fault"), event.get("node"), event.get("client")))
        if what == "begin":
            fault = Fault(event)
            history.faults.append(fault)
            begun[key] = fault
        elif what == "end":
            if key in begun:
                begun.pop(key).end_ns = event["t_ns"]
        elif what == "state":
            history.states.setdefault(event.get("node"), []).append(
                (event["t_ns"], event.get("state")))
        elif what == "sample":
            history.samples.setdefault(event.get("node") or event.get("client"), []).append(
                (event["t_ns"], event.get("rss_kb"), event.get("fds")))
        elif what == "members":
            history.members.append((event["t_ns"], event.get("sets") or []))
            if event.get("kind"):
                history.changes.append((str(event["kind"]), bool(event.get("done"))))
        elif what == "orphan":
            history.orphans.append(event)
        elif what == "error":
            history.problems.append(f"chaos.sh reported: {event.get('detail')}")


def records(history, path):
    """Seven fields of each record; a record glued to the rest of a torn line is recovered."""
    try:
        file = path.open(encoding="ascii", errors="replace")
    except OSError as error:
        history.problems.append(f"{path.name} cannot be read: {error.strerror}")
        return
    with file:
        for line in file:
            history.lines += 1
            match = RECORD.match(line) if line.endswith("\n") else None
            if match is None:
                history.odd_one(f"torn lines in {path.name}")
                match = RECORD.search(line) if line.endswith("\n") else None
            if match is not None:
                (t_ns, client, what, resource, token, valid_until_ns, sequence, slots,
                 permits) = match.groups()
                yield (int(t_ns), client, what, resource, token, int(valid_until_ns),
                       int(sequence),
                       (tuple(map(int, slots.split(","))), int(permits)) if slots else None)


def read_register(history):
    present = {}  # client -> its current hold
    newest = {}  # (resource, does it read, slot) -> the hold with the latest enter
    clocks = {}
    for t_ns, client, what, resource, token, valid, sequence, permits in records(
            history, history.folder / "register.log"):
        if t_ns < clocks.get(client, 0):
            history.odd_one("records of one client whose time goes back")
        clocks[client] = t_ns
        hold = present.get(client)
        if what in ENTERS:
            if hold is not None:
                hold.end_ns, hold.ended = t_ns, "next"
            hold = present[client] = Hold(t_ns, client, resource, token, valid, sequence,
                                          what != "enter", permits)
            history.holds.append(hold)
        elif hold is None or hold.sequence != sequence:
            history.odd_one("records of a hold that was never entered")
            continue
        if what in ("downgrade", "upgrade"):
            hold = present[client] = converted(hold, what, t_ns, valid)
            history.holds.append(hold)
        follow(hold, what, t_ns, valid)
        if what in ACTS:
            last = newest_other(newest, hold)
            if last is not None and t_ns < last.enter_ns:
                history.late_landings.append((hold, t_ns, last))
        for place in places(hold, hold.reads) if what in ENTERS else ():
            if place not in newest or t_ns >= newest[place].enter_ns:
                newest[place] = hold
        if what in ("exit", "lost"):
            hold.end_ns, hold.ended = t_ns, what
            del present[client]


def places(hold, *kinds):
    """The keys under which its resource's holds of these kinds, readers or not, are found, slot by
    slot."""
    return [(hold.resource, kind, slot) for kind in kinds for slot in hold.slots or (None,)]


def newest_other(newest, hold):
    """Among the holds that exclude this one, the one that entered last; None if that is itself."""
    kinds = (False,) if hold.reads else (False, True)
    found = [newest[place] for place in places(hold, *kinds) if place in newest]
    last = max(found, key=lambda other: other.enter_ns, default=None)
    return None if last is hold else last


def converted(hold, what, t_ns, valid_until_ns):
    """Converts a hold: from then on it is another hold, of the other kind."""
    hold.end_ns, hold.ended = t_ns, what
    return Hold(t_ns, hold.client, hold.resource, hold.token, valid_until_ns, hold.sequence,
                what == "downgrade")


def follow(hold, what, t_ns, valid_until_ns):
    """Takes one record into its hold."""
    if what == "extend":
        if hold.renewals is None:
            hold.renewals = [(hold.enter_ns, hold.granted_until_ns)]
        hold.renewals.append((t_ns, valid_until_ns))
        hold.valid_until_ns = max(hold.valid_until_ns, valid_until_ns)
    elif what in ACTS:
        hold.valid_until_ns = max(hold.valid_until_ns, valid_until_ns)
        hold.last_act_ns = max(hold.last_act_ns, t_ns)
        if t_ns >= hold.valid_until_ns:
            hold.late_acts = (hold.late_acts or []) + [(t_ns, hold.valid_until_ns)]


def close_windows(history):
    """The end of each hold: see window_end()."""
    kills, stopped = {}, {}
    for hold in history.holds:
        process = process_of(hold.client)
        if process not in kills:
            kills[process] = history.killed_ns(process)
            last_stop = (history.stops(process) or [(None, None)])[-1]
            stopped[process] = last_stop[0] if last_stop[1] == history.end_ns else None
        if hold.end_ns is None:
            for when, ended in ((kills[process], "killed"), (stopped[process], "stopped")):
                if when is not None and when >= hold.enter_ns:
                    hold.end_ns, hold.ended = when, ended
                    break
            else:
                hold.end_ns, hold.ended = hold.valid_until_ns, "unknown"
        # It held while it was valid and not over, and in any case until it last acted as a holder.
        hold.window_end_ns = max(hold.last_act_ns, min(hold.valid_until_ns, hold.end_ns))
    for hold, _, other in history.late_landings:
        # Its line comes after the other's enter, and it releases the lock only after its last line:
        # if it was valid, it still held when the other entered.
        hold.window_end_ns = max(hold.window_end_ns,
                                 min(hold.valid_until_ns, other.enter_ns + 1))


def read_story(history, path):
    waiting = {}  # client -> since when
    won = {}  # client -> when the attempt was sent that won its hold
    attempts = {}
    for event in objects(history, path):
        t_ns, what, client = event["t_ns"], event.get("what"), str(event.get("client"))
        process = history.processes.setdefault(
            process_of(client), {"first": t_ns, "last": t_ns, "ended": False, "leaked": False})
        process["last"] = t_ns
        if "." not in client:
            process["ended"] |= what == "end"
            process["leaked"] |= what == "end" and bool(event.get("leaked"))
            continue
        story = history.clients.setdefault(client, Story())
        if event.get("why"):
            failed = "open" if what == "open" else event.get("status")
            count(story.why, (str(failed), str(event["why"])))
        if event.get("asked_ns"):
            if what == "grant" or client not in won:
                won[client] = event["asked_ns"]
            story.validities.append(
                (t_ns, won[client], event["asked_ns"], event["valid_until_ns"]))
        if what == "wait":
            waiting[client] = (t_ns, event.get("resource"))
            if event.get("reads"):
                story.reads.add(t_ns)
            if event.get("permits"):
                story.permits.add(t_ns)
        elif what in ("grant", "denied"):
            since = waiting.pop(client, None)
            if since is not None:
                story.waits.append((since[0], t_ns, what == "grant", since[1]))
            if what == "grant":
                story.grants.append((t_ns, int(event.get("wait_us") or 0), event.get("plan")))
            else:
                count(story.denied, event.get("status"))
        elif what == "join":
            story.moves.append((t_ns, event["node"]))
        elif what == "leave":
            story.moves.append((t_ns, None))
        elif what == "turn":
            story.turns.append(t_ns)
        elif what == "lost":
            story.lost.append((t_ns, event.get("status"), event.get("plan")))
        elif what == "release":
            count(story.released, event.get("status"))
        elif what == "set-permits":
            count(story.changes, event.get("status"))
        elif what == "count":
            attempts[client] = int(event.get("attempts") or 0)
    for client, since in waiting.items():
        process = history.processes[process_of(client)]
        history.clients[client].waits.append(
            (since[0], max(since[0], process["last"]), False, since[1]))
    for client, number in attempts.items():
        history.clients[client].attempts += number


def read_sets(history):
    """The lock-set workload: the acknowledged numbers, and those in the files. RESOURCE.NUMBER is a
    renamed part of RESOURCE."""
    if not (history.folder / "set-acks.log").exists():
        return
    for t_ns, client, _, resource, _, _, number, _ in records(history,
                                                           history.folder / "set-acks.log"):
        history.acks.setdefault(resource, {})[number] = (t_ns, client)
    folder = history.folder / "set"
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        resource = re.sub(r"\.\d+$", "", path.name)
        if path.name.startswith("."):
            continue  # the unfinished file of a client that was killed
        numbers = history.sets.setdefault(resource, set())
        for line in path.read_text(encoding="ascii", errors="replace").split():
            if line.isdigit():
                numbers.add(int(line))
            else:
                history.odd_one("unreadable lines in set/")


def read(folder):
    """The history in this folder. Raises Unusable if there is nothing to judge."""
    history = History(folder)
    if not history.folder.is_dir():
        raise Unusable(f"{folder} is no folder")
    read_run(history)
    read_events(history)
    read_register(history)
    for path in sorted((history.folder / "clients").glob("*.jsonl")):
        read_story(history, path)
    read_sets(history)
    if not history.run.get("ended_ns"):
        # Interrupted: it ended with its last known event.
        times = [hold.last_act_ns for hold in history.holds[-1000:]]
        times += [process["last"] for process in history.processes.values()]
        times += [told[-1][0] for told in history.states.values()]
        history.run["ended_ns"] = max(times, default=history.begin_ns + 1)
        history.odd_one("run.json without an end")
    close_windows(history)
    return history
