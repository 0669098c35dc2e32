"""What a run must not leave behind: keys past their ttl, processes that ended by themselves, memory
and file descriptors that grow."""
from findings import EXPLAINED, NOTE, VIOLATION, Finding

JUDGED_AFTER_S = 60  # a process's growth is significant only after this time
GROWTH_KB = 8192
GROWTH_SHARE = 0.25
GROWTH_FDS = 16


def find_orphans(history):
    found = Finding("orphan", VIOLATION, "A key was still there when its ttl was over")
    explained = Finding("orphan-explained", EXPLAINED,
                        "... on a node whose clock had been set back")
    for event in history.orphans:
        why = event.get("explained")
        (explained if why else found).add(
            f"{event.get('node')}: {event.get('resource')}, to live for {event.get('pttl_ms')} ms"
            + (f"; explained by {why}" if why else ""), event["t_ns"], event.get("node"))
    return found, explained


def find_crashes(history):
    found = Finding("crash", VIOLATION, "A client process ended by itself or leaked a handle")
    if history.run.get("interrupted") or history.odd.get("run.json without an end"):
        return found
    for process, told in sorted(history.processes.items()):
        if told["leaked"]:
            found.add(f"{process}: handles were left on its loop", told["last"], process)
        elif not told["ended"] and history.killed_ns(process) is None:
            found.add(f"{process}: its last word is at {history.seconds(told['last']):.1f} s",
                      told["last"], process)
    return found


def growth(samples):
    """(seconds, first kB, last kB, first fds, last fds): medians of the second tenth of the time,
    when it has warmed up, and of the last tenth. None for less than 20 samples."""
    samples = sorted(sample for sample in samples if None not in sample)
    if len(samples) < 20:
        return None
    tenth = len(samples) // 10
    early, late = samples[tenth:2 * tenth], samples[-tenth:]

    def median(part, field):
        values = sorted(sample[field] for sample in part)
        return values[len(values) // 2]

    return ((samples[-1][0] - samples[0][0]) / 1e9, median(early, 1), median(late, 1),
            median(early, 2), median(late, 2))


def find_growth(history):
    """Client processes are judged. Nodes are only reported: their memory is Redis's."""
    found = Finding("growth", VIOLATION, "The memory or descriptors of a client process grew",
                    f"limit {GROWTH_KB // 1024} MiB and {GROWTH_SHARE:.0%}, or {GROWTH_FDS} "
                    f"descriptors, of processes that ran for {JUDGED_AFTER_S} s")
    table = {}
    for who, samples in sorted(history.samples.items(), key=lambda item: str(item[0])):
        grown = growth(samples)
        if who is None or grown is None:
            continue
        seconds, kb, kb_late, fds, fds_late = grown
        table[who] = {"seconds": seconds, "rss_kb": [kb, kb_late], "fds": [fds, fds_late]}
        if who in history.run["nodes"] or seconds < JUDGED_AFTER_S:
            continue
        if kb_late - kb > max(GROWTH_KB, kb * GROWTH_SHARE) or fds_late - fds > GROWTH_FDS:
            found.add(f"{who}: {kb} to {kb_late} kB, {fds} to {fds_late} descriptors",
                      samples[-1][0], who)
    if not any(row["seconds"] >= JUDGED_AFTER_S for who, row in table.items()
               if who not in history.run["nodes"]):
        found.skipped = f"no client process was sampled for {JUDGED_AFTER_S} s"
    return found, table


def find_odd(history):
    found = Finding("odd", NOTE, "Things in the files that were left out",
                    "torn lines are usual where processes are killed")
    for what, number in sorted(history.odd.items()):
        found.count += number - 1
        found.add(f"{number} {what}")
    return found
