"""The table of waiting: each work several times, in turn with what does the same beside it; medians, as markdown.

    python3 bench/figures.py                          all rows, about seven minutes
    python3 bench/figures.py --rows greedy8,far       some of them
    python3 bench/figures.py --repetitions 1          quick
    python3 bench/figures.py --build build/release    whose redlock-bench and redlock

Quiet machine, or else: a column is fair to its neighbours, since they are measured in turn, but not to yesterday's.
etcd is beside where it is installed (Debian: etcd-server, etcd-client), flock(1) everywhere; what is missing is said.
"""
import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers"))
import etcd  # noqa: E402

# Of each table: the head of a column, and the figures in it.
TABLES = {
    "contend": [
        ("hand-overs/s", "hand_overs_per_s"), ("grants/s", "grants_per_s"), ("least / most of one client", "fewest_most"),
        ("gap p50 / p99, ms", "gap_p50_ms gap_p99_ms"), ("wait p50 / p99 / max, ms", "wait_p50_ms wait_p99_ms wait_max_ms"),
        ("overtaken: per grant / worst", "overtakings_per_grant most_overtaken"), ("attempts/grant", "attempts_per_grant"),
        ("commands/grant", "commands_per_grant"), ("CPU nodes / clients, us/grant", "node_cpu_us_per_lock client_cpu_us_per_lock"),
        ("distance too long by p50 / p99, ms", "late_p50_ms late_p99_ms"),
    ],
    "shells": [
        ("tau", "tau"), ("gap p50 / p99, ms", "gap_p50_ms gap_p99_ms"), ("gap p50, times flock(1)", "gap_ratio"),
        ("overtaken: per grant / worst", "overtakings_per_grant most_overtaken"), ("commands executed/grant", "executed_per_grant"),
        ("CPU nodes / clients, us/grant", "node_cpu_us_per_lock client_cpu_us_per_lock"),
    ],
    "idle": [("commands executed/s", "executed_per_s"), ("commands sent/s", "commands_per_s")],
    "cycle": [("locks/s", "locks_per_s"), ("of the bare fan-out", "bare"), ("ratio", "ratio")],
}


def contend(*options, peer=None, goals="", table="contend", warmup=1.0, seconds=0.0):
    """peer: clients and hold_ms of etcd's."""
    return {"table": table, "options": ("--workload", "contend", *options), "peer": peer, "goals": goals, "warmup": warmup,
            "seconds": seconds}


def shells(n, etcdctl):
    return {"table": "shells", "options": ("--workload", "shells", "--shells", str(n)), "peer": etcdctl,
            "goals": "tau >= 0.98, gap <= 2 times flock(1)"}


def cycle(n, goal):
    return {"table": "cycle", "options": ("--baseline", "--in-flight", str(n)), "peer": None, "goals": goal}


FAIR = "least and most within 2, attempts <= 1.1, commands <= 12"
ROWS = {
    "greedy8": ("8 greedy clients, hold 5 ms",
                contend("--processes", "8", "--hold-ms", "5", peer=(8, 5), goals=f"hand-overs >= 150, {FAIR}")),
    "greedy64": ("64 greedy clients, hold 5 ms",
                 contend("--processes", "64", "--hold-ms", "5", peer=(64, 5), goals=f"hand-overs >= 150, {FAIR}")),
    "nohold8": ("8 greedy clients, hold 0",
                contend("--processes", "8", "--hold-ms", "0", peer=(8, 0), goals=f"hand-overs >= 2500, {FAIR}")),
    "early8": ("... that ask again before the release is answered",
               contend("--processes", "8", "--hold-ms", "0", "--again", "at-once", goals=FAIR)),
    "waiters2": ("2 greedy clients, hold 1 ms", contend("--processes", "2", "--hold-ms", "1", goals=FAIR)),
    "waiters1000": ("1000 greedy clients, hold 1 ms", contend("--processes", "1000", "--hold-ms", "1", goals=FAIR, warmup=4.0)),
    "crowd": ("1000 waiters of one client, 3 of others, hold 1 ms",
              contend("--processes", "4", "--waiters-per-process", "1000,1", "--hold-ms", "1", goals=FAIR)),
    "polite": ("2 clients, 50 ms of thought, hold 1 ms", contend("--processes", "2", "--think-ms", "50", "--hold-ms", "1")),
    "far": ("64 greedy clients, 0 to 10 ms away, hold 1 ms",
            contend("--processes", "64", "--distance-ms", "10", "--hold-ms", "1", warmup=2.5, seconds=3.0,
                    goals="grants >= 42, wait p99 <= 1.1 p50")),
    "apart": ("8 clients, 0 to 10 ms away, hold 1 ms, each a lock of its own",
              contend("--processes", "8", "--distance-ms", "10", "--hold-ms", "1", "--apart")),
    "shells8": ("8 shells, 200 ms of work", shells(8, True)),
    "shells32": ("32 shells, 200 ms of work", shells(32, False)),
    "idle": ("32 idle waiters", contend("--processes", "33", "--idle", goals="<= 20", table="idle", warmup=3.0, seconds=4.0)),
    "cycle64": ("uncontended, 64 in flight", cycle(64, "ratio >= 1.40")),
    "cycle1": ("uncontended, 1 in flight", cycle(1, "ratio >= 1.58")),
}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default=",".join(ROWS), help="of " + ",".join(ROWS))
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of a slice")
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--bench", help="the program, in place of the build's")
    parser.add_argument("--redlock")
    parser.add_argument("--before", help="another build, beside it: the same bench/ with another library")
    parser.add_argument("--no-etcd", action="store_true")
    options = parser.parse_args()
    options.bench = options.bench or f"{options.build}/bench/redlock-bench"
    options.redlock = options.redlock or f"{options.build}/cli/redlock"
    for row in options.rows.split(","):
        if row not in ROWS:
            parser.error(f"no row {row}")
    return options


def bench(options, *arguments):
    """The report's sides, with what is not of a side in the first one."""
    done = subprocess.run([options.bench, "--json", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"redlock-bench {' '.join(arguments)}: status {done.returncode}: {done.stderr}")
    report = json.loads(done.stdout)
    sides = report["sides"]
    sides[0].update({name: report.get(name) for name in ("late_p50_ms", "late_p99_ms")})
    for side in sides:
        if "least_grants_of_a_waiter" in side:
            side["fewest_most"] = (side["least_grants_of_a_waiter"], side["most_grants_of_a_waiter"])
    if len(sides) == 2:
        sides[0]["ratio"] = report["ratios"].get("locks_per_s")
        sides[0]["gap_ratio"] = report["ratios"].get("gap_p50_ms")
        sides[0]["bare"] = sides[1].get("locks_per_s")
    return sides


def measure(options, work, cluster):
    """One repetition: {system: figures}."""
    before = {}
    if options.before:
        other = argparse.Namespace(**vars(options))
        other.bench, other.redlock = f"{options.before}/bench/redlock-bench", f"{options.before}/cli/redlock"
        other.before = None
        before = {"before": measure(other, work, None)["ours"]}
    return {**measure_now(options, work, cluster), **before}


def measure_now(options, work, cluster):
    if work["table"] == "cycle":
        return {"ours": bench(options, "--slices", "1", "--seconds", "1", "--warmup", "0.5", *work["options"])[0]}
    if work["table"] == "shells":
        arguments = ["--slices", "1", "--redlock", options.redlock, *work["options"]]
        ours, flock = (bench(options, *arguments) + [{}])[:2]
        got = {"ours": ours, "flock(1)": flock}
        if cluster and work["peer"] and shutil.which("etcdctl"):
            got["etcd"] = bench(options, *arguments, "--beside", f"etcdctl --endpoints={cluster.endpoints()} lock bench --")[1]
        return got
    seconds = max(options.seconds, work["seconds"])
    got = {"ours": bench(options, "--slices", "1", "--seconds", str(seconds),
                         "--warmup", str(work["warmup"]), *work["options"])[0]}
    if cluster and work["peer"]:
        with tempfile.NamedTemporaryFile() as records:
            processes, hold_ms = work["peer"]
            cluster.contend(processes, hold_ms, seconds, work["warmup"], records.name)
            got["etcd"] = bench(options, "--workload", "contend", "--records", records.name)[0]
    return got


def text(values):
    values = [value for value in values if value is not None]
    if not values:
        return "-"
    if isinstance(values[0], tuple):
        low, high = max(values, key=lambda value: value[1] - value[0])  # the least fair repetition
        return f"{low} / {high}"
    middle = statistics.median(values)
    return f"{middle:.0f}" if middle >= 100 else f"{middle:.3g}"


def show(name, work, runs):
    for system in ("ours", "before", "etcd", "flock(1)"):
        figures = [run[system] for run in runs if system in run]
        if figures:
            cells = [" / ".join(text([figure.get(key) for figure in figures]) for key in keys.split())
                     for _, keys in TABLES[work["table"]]]
            print("|", " | ".join([name if system == "ours" else "", system, *cells,
                                   work["goals"] if system == "ours" else ""]), "|", flush=True)


def main():
    options = parse()
    with contextlib.ExitStack() as stack:
        cluster = None
        if not options.no_etcd and etcd.is_installed():
            cluster = stack.enter_context(etcd.Cluster(5))
        elif not options.no_etcd:
            print("etcd is not installed (etcd-server, etcd-client): it is not beside", file=sys.stderr)
        table = None
        for row in options.rows.split(","):
            name, work = ROWS[row]
            if work["table"] != table:
                table = work["table"]
                heads = ["work", "", *(head for head, _ in TABLES[table]), "goal"]
                print("\n|", " | ".join(heads), "|\n" + "|---" * len(heads) + "|", flush=True)
            show(name, work, [measure(options, work, cluster) for _ in range(options.repetitions)])


main()
