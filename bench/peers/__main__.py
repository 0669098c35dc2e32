"""libredlock beside the others: the same work for each, in turn, as tables and plots.

    python3 bench/peers                              all peers that this machine has, about a quarter of an hour
    python3 bench/peers --install                    ... with the packages of npm, into BUILD/peers, first
    python3 bench/peers --rows cycle1,greedy8        some of the rows
    python3 bench/peers --rows waiting               the rows about waiting: us, and flock(1) for shells, in detail
    python3 bench/peers --before build/then          another build of us beside it: the same bench/ with another library
    python3 bench/peers --save FILE --plots DIR      the results as JSON; the plots as SVG
    python3 bench/peers --update FILE --rows kill    some anew, in place of those in such a file
    python3 bench/peers --from FILE --plots DIR      tables and plots of such a file; nothing is measured

The peers: our own packages for Node.js and for Python, redis-py's lock on one server and pottery; node-redlock (Node.js, on the same kind of Redis nodes as us), etcd and ZooKeeper with five members each,
PostgreSQL's advisory locks on one server, and flock(1) for shells. Debian has etcd-server, etcd-client, zookeeper and
postgresql; npm the clients. What is not there is in the tables, with the reason.

All run on this machine, servers and clients, with their data in memory. A figure is the median of the repetitions, and a column is
fair to its neighbours, since they are measured in turn, but not to yesterday's. Quiet machine, or else.
"""
import argparse
import contextlib
import json
import os
import platform
import shutil
import subprocess
import sys
import time

import measure
import plot
import show
from rows import ROWS, SETS, TABLES

KEPT = ("bins", "overlaps", "pause_ms_is_open", "worst_pause_ms_is_open")


def parse():
    parser = argparse.ArgumentParser(prog="bench/peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", help=f"of {','.join(ROWS)}; or a set: {', '.join(SETS)} (default peers; with --from, all)")
    parser.add_argument("--systems", default=",".join(measure.SYSTEMS), help="default all: %(default)s")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.5, help="of a slice; default %(default)s")
    parser.add_argument("--stretch", type=float, default=1.0, help="times the rows' own warm-ups and seconds; default 1")
    parser.add_argument("--kills", type=int, default=measure.MEMBERS, help="how many servers are killed, one at a time")
    parser.add_argument("--jvm-warmup", type=float, default=6.0, help="seconds of load for ZooKeeper at the beginning")
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--bench", help="the program, in place of the build's")
    parser.add_argument("--redlock")
    parser.add_argument("--before", help="another build, beside it")
    parser.add_argument("--modules", help="where npm's packages are; default BUILD/peers")
    parser.add_argument("--install", action="store_true", help=f"get them: {', '.join(measure.PACKAGES)}")
    parser.add_argument("--goals", action="store_true", help="a column with what we want of us")
    parser.add_argument("--save", metavar="FILE")
    parser.add_argument("--update", metavar="FILE")
    parser.add_argument("--from", dest="recorded", metavar="FILE")
    parser.add_argument("--plots", metavar="DIR")
    options = parser.parse_args()
    options.bench = options.bench or f"{options.build}/bench/redlock-bench"
    options.redlock = options.redlock or f"{options.build}/cli/redlock"
    options.modules = os.path.abspath(options.modules or f"{options.build}/peers")
    os.environ["PYTHONPATH"] = os.path.abspath(f"{options.build}/bindings/python")
    options.addon = os.path.abspath(f"{options.build}/bindings/node/redlock.node")
    os.environ["REDLOCK_NODE_ADDON"] = options.addon
    options.before_bench, options.before_redlock = f"{options.before}/bench/redlock-bench", f"{options.before}/cli/redlock"
    words = options.rows or ("peers" if not options.recorded else ",".join(ROWS))
    options.rows = [row for word in words.split(",") for row in SETS.get(word, [word])]
    options.systems = [system for system in options.systems.split(",") if system != "before" or options.before]
    for what, words, known in (("row", options.rows, ROWS), ("system", options.systems, measure.SYSTEMS)):
        for word in words:
            if word not in known:
                parser.error(f"no {what} \"{word}\"; there are {', '.join(known)}")
    if not options.recorded and not os.access(options.bench, os.X_OK):
        parser.error(f"{options.bench} is not there: meson setup {options.build} --buildtype=release && ninja -C {options.build}")
    return options


def install(options):
    if not shutil.which("npm"):
        raise SystemExit("npm is not installed")
    os.makedirs(options.modules, exist_ok=True)
    subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", options.modules, *measure.PACKAGES], check=True)


def version_of(*command):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip().splitlines()[0] if done.returncode == 0 and done.stdout.strip() else None


def versions(options):
    found = {"redlock-bench": version_of(options.bench, "--version"), "redis-server": version_of("redis-server", "--version"),
             "etcd": version_of("etcd", "--version"), "node": version_of("node", "--version"), "java": version_of("java", "--version"),
             "postgres": version_of("postgres", "--version"),
             "zookeeper": version_of("dpkg-query", "-W", "-f", "${Version}", "zookeeper")}
    for package in measure.PACKAGES:
        name = package.split("@")[0]
        with contextlib.suppress(OSError):
            with open(f"{options.modules}/node_modules/{name}/package.json") as file:
                found[f"npm {name}"] = json.load(file)["version"]
    return {name: version for name, version in found.items() if version}


def kept(row, figures):
    """What its table or a plot shows."""
    names = {key for _, keys in TABLES[ROWS[row]["table"]] for key in keys.split()} | set(KEPT)
    return {key: round(value, 4) if isinstance(value, float) else value for key, value in figures.items()
            if key in names and value is not None}


def measure_row(options, lab, row):
    """{system: [figures of each repetition] or the reason}"""
    got = {}
    for repetition in range(1 if ROWS[row]["table"] == "kill" else options.repetitions):
        for system in options.systems:
            if isinstance(got.get(system), str):
                continue
            say(f"{row}, {repetition + 1} of {options.repetitions}: {system}")
            try:
                figures = lab.measure(system, ROWS[row])
            except measure.NotMeasured as reason:
                got.setdefault(system, str(reason))
                continue
            if "beside" in figures and "flock(1)" in options.systems:
                if not isinstance(got.get("flock(1)"), list):
                    got["flock(1)"] = []
                got["flock(1)"].append(kept(row, figures["beside"]))
            got.setdefault(system, []).append(kept(row, figures))
    return {system: got[system] for system in options.systems if system in got}


def say(what):
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


def measure_all(options):
    results = {"date": time.strftime("%Y-%m-%d"), "machine": f"{platform.machine()}, {os.cpu_count()} processors",
               "settings": {"seconds": options.seconds, "repetitions": options.repetitions}, "versions": versions(options), "rows": {}}
    with contextlib.ExitStack() as stack:
        lab = measure.Lab(options, stack)
        for row in options.rows:
            results["rows"][row] = measure_row(options, lab, row)
    return results


def text_of(results):
    """JSON with a line for each run."""
    rows = [f' "{row}": {{\n' + ",\n".join(
        f'  "{system}": ' + (json.dumps(got) if isinstance(got, str) else "[\n   " + ",\n   ".join(map(json.dumps, got)) + "]")
        for system, got in systems.items()) + "}" for row, systems in results["rows"].items()]
    head = json.dumps({key: value for key, value in results.items() if key != "rows"}, indent=1)
    return head[:-2] + ',\n "rows": {\n' + ",\n".join(rows) + "}}\n"


def joined(before, now):
    """What was measured now in place of what was before, system by system; in the order of the rows."""
    rows = {row: {**before.get(row, {}), **now.get(row, {})} for row in ROWS if row in before or row in now}
    return {row: {system: got[system] for system in measure.SYSTEMS if system in got} for row, got in rows.items()}


def main():
    options = parse()
    if options.install:
        install(options)
    if options.recorded:
        with open(options.recorded) as file:
            results = json.load(file)
        results["rows"] = {row: results["rows"][row] for row in options.rows if row in results["rows"]}
    else:
        results = measure_all(options)
    if options.update:
        with open(options.update) as file:
            results["rows"] = joined(json.load(file)["rows"], results["rows"])
    for path in filter(None, (options.save, options.update)):
        with open(path, "w") as file:
            file.write(text_of(results))
    print(show.tables(results["rows"], options.goals))
    if options.plots:
        os.makedirs(options.plots, exist_ok=True)
        for name, picture in plot.pictures(results["rows"]).items():
            with open(f"{options.plots}/{name}.svg", "w") as file:
                file.write(picture)


main()
