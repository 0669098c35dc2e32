"""The measured rows, each the same work for all systems that can do it, and their tables.

A row has the options of redlock-bench for us, and for the others a Load (clients.py) without its system: so many processes,
so many clients in each. SETS names rows that belong together.
"""

# For each table: the heads of columns, and their figures.
TABLES = {
    "cycle": [("locks/s", "locks_per_s"), ("grant p50 / p99, ms", "grant_p50_ms grant_p99_ms"),
              ("CPU servers / clients, us/lock", "node_cpu_us_per_lock client_cpu_us_per_lock")],
    "contend": [
        ("hand-overs/s", "hand_overs_per_s"), ("grants/s", "grants_per_s"), ("least / most of one client", "fewest_most"),
        ("gap p50 / p99, ms", "gap_p50_ms gap_p99_ms"), ("wait p50 / p99 / max, ms", "wait_p50_ms wait_p99_ms wait_max_ms"),
        ("overtaken: per grant / worst", "overtakings_per_grant most_overtaken"), ("attempts/grant", "attempts_per_grant"),
        ("commands/grant", "commands_per_grant"), ("CPU servers / clients, us/grant", "node_cpu_us_per_lock client_cpu_us_per_lock"),
        ("distance too long by p50 / p99, ms", "late_p50_ms late_p99_ms"),
    ],
    "peers": [
        ("hand-overs/s", "hand_overs_per_s"), ("grants/s", "grants_per_s"), ("gap p50 / p99, ms", "gap_p50_ms gap_p99_ms"),
        ("wait p50 / p99, ms", "wait_p50_ms wait_p99_ms"), ("least / most of one client", "fewest_most"),
        ("overtaken per grant", "overtakings_per_grant"),
        ("CPU servers / clients, us/grant", "node_cpu_us_per_lock client_cpu_us_per_lock"),
    ],
    "kill": [("grants/s before", "before_per_s"), ("longest time without a grant, ms: median / worst", "pause_ms worst_pause_ms"),
             ("grants/s after", "after_per_s")],
    "shells": [
        ("tau", "tau"), ("gap p50 / p99, ms", "gap_p50_ms gap_p99_ms"), ("gap p50, times flock(1)", "gap_ratio"),
        ("overtaken: per grant / worst", "overtakings_per_grant most_overtaken"), ("commands executed/grant", "executed_per_grant"),
        ("CPU servers / clients, us/grant", "node_cpu_us_per_lock client_cpu_us_per_lock"),
    ],
    "idle": [("commands executed/s", "executed_per_s"), ("commands sent/s", "commands_per_s")],
    "bare": [("locks/s", "locks_per_s"), ("of the bare fan-out", "bare"), ("ratio", "ratio")],
}

FAIR = "least and most within 2, attempts <= 1.1, commands <= 12"


def row(name, table, *options, load=None, goals="", warmup=1.0, seconds=0.0):
    return {"name": name, "table": table, "options": options, "load": load, "goals": goals, "warmup": warmup, "seconds": seconds}


def contend(name, *options, load=None, **more):
    return row(name, more.pop("table", "contend"), "--workload", "contend", *options, load=load, **more)


def spread(clients):
    """So many clients: a process each up to eight, then eight processes: a Node.js needs its 40 MB."""
    processes = min(clients, 8)
    return {"processes": processes, "clients": clients // processes}


def greedy(clients):
    return contend(f"{clients} greedy clients, hold 5 ms", "--processes", str(clients), "--hold-ms", "5",
                   load={**spread(clients), "hold_ms": 5}, table="peers", warmup=0.7)


def polite(clients):
    return contend(f"{clients} polite clients: 50 ms of thought, hold 1 ms", "--processes", str(clients), "--think-ms", "50",
                   "--hold-ms", "1", load={**spread(clients), "hold_ms": 1, "think_ms": 50}, table="peers", warmup=0.7)


def cycle(in_flight):
    name = "one lock at a time" if in_flight == 1 else f"{in_flight} locks in flight"
    return row(name, "cycle", "--workload", "cycle", "--in-flight", str(in_flight),
               load={"processes": 1, "clients": in_flight, "apart": True, "is_shared": True}, warmup=1.5)


def shells(n, **more):
    return row(f"{n} shells, 200 ms of work", "shells", "--workload", "shells", "--shells", str(n),
               goals="tau >= 0.98, gap <= 2 times flock(1)", **more)


def bare(in_flight, goal):
    name = f"beside the bare fan-out, {in_flight} in flight"
    return row(name, "bare", "--baseline", "--in-flight", str(in_flight), goals=goal, warmup=0.5)


ROWS = {
    # In comparison with the peers.
    "cycle1": cycle(1),
    "cycle64": cycle(64),
    **{f"greedy{n}": greedy(n) for n in (2, 8, 32, 64)},
    **{f"polite{n}": polite(n) for n in (8, 64)},
    "far8": contend("8 greedy clients, 0 to 10 ms away, hold 1 ms", "--processes", "8", "--distance-ms", "10", "--hold-ms", "1",
                    load={"processes": 8, "hold_ms": 1, "distance_ms": 10}, table="peers", warmup=1.0, seconds=2.0),
    "apart8": contend("8 clients, 0 to 10 ms away, hold 1 ms, each a lock of its own", "--processes", "8", "--distance-ms", "10",
                      "--hold-ms", "1", "--apart", load={"processes": 8, "hold_ms": 1, "apart": True, "distance_ms": 10},
                      table="peers"),
    "kill": contend("8 greedy clients, hold 5 ms; one server after the other is killed", "--processes", "8", "--hold-ms", "5",
                    load={"processes": 8, "hold_ms": 5}, table="kill", seconds=9.0),
    "shells8": shells(8),
    # Waiting: the library, and etcd where the comparison is useful.
    "wait8": contend("8 greedy clients, hold 5 ms", "--processes", "8", "--hold-ms", "5", load={**spread(8), "hold_ms": 5},
                     goals=f"hand-overs >= 150, {FAIR}"),
    "wait64": contend("64 greedy clients, hold 5 ms", "--processes", "64", "--hold-ms", "5", load={**spread(64), "hold_ms": 5},
                      goals=f"hand-overs >= 150, {FAIR}"),
    "nohold8": contend("8 greedy clients, hold 0", "--processes", "8", "--hold-ms", "0", load={"processes": 8},
                       goals=f"hand-overs >= 2500, {FAIR}"),
    "early8": contend("... that ask again before the release is answered", "--processes", "8", "--hold-ms", "0", "--again", "at-once",
                      goals=FAIR),
    "waiters2": contend("2 greedy clients, hold 1 ms", "--processes", "2", "--hold-ms", "1", goals=FAIR),
    "waiters1000": contend("1000 greedy clients, hold 1 ms", "--processes", "1000", "--hold-ms", "1", goals=FAIR, warmup=4.0),
    "crowd": contend("1000 waiters of one client, 3 of others, hold 1 ms", "--processes", "4", "--waiters-per-process", "1000,1",
                     "--hold-ms", "1", goals=FAIR),
    "polite": contend("2 clients, 50 ms of thought, hold 1 ms", "--processes", "2", "--think-ms", "50", "--hold-ms", "1"),
    "far64": contend("64 greedy clients, 0 to 10 ms away, hold 1 ms", "--processes", "64", "--distance-ms", "10", "--hold-ms", "1",
                     warmup=2.5, seconds=3.0, goals="grants >= 42, wait p99 <= 1.1 p50"),
    "away8": contend("8 clients, 0 to 10 ms away, hold 1 ms, each a lock of its own", "--processes", "8", "--distance-ms", "10",
                     "--hold-ms", "1", "--apart"),
    "shells32": shells(32),
    "idle": contend("32 idle waiters", "--processes", "33", "--idle", goals="<= 20", table="idle", warmup=3.0, seconds=4.0),
    "bare64": bare(64, "ratio >= 1.40"),
    "bare1": bare(1, "ratio >= 1.58"),
}

NAMES = list(ROWS)
SETS = {"peers": NAMES[:NAMES.index("shells8") + 1], "waiting": NAMES[NAMES.index("wait8"):] + ["shells8"]}
