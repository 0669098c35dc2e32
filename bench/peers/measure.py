"""One repetition of a row for one system: its figures, or the reason why there are none.

redlock-bench measures us, on nodes of its own, except where a node has to be killed; clients.py measures the others; and
redlock-bench judges what both have recorded.
"""
import json
import math
import os
import shutil
import statistics
import subprocess
import tempfile
import threading
import time

import clients
import servers

OURS = ("ours", "before")
PEERS = {"ours-node": "redis", **{system: "redis" for system in clients.PYTHON}, "node-redlock": "redis", "node-redlock-5": "redis", "etcd": "etcd", "zookeeper": "zookeeper", "postgres": "postgres"}
SYSTEMS = ("ours", "before", *PEERS, "flock(1)")
MODULES = {"node-redlock": ("redlock", "ioredis"), "node-redlock-5": ("redlock5", "ioredis"), "zookeeper": ("node-zookeeper-client",), "postgres": ("pg",)}
# The measured releases, by npm's names; --install fetches them.
PACKAGES = ("redlock@4.2.0", "redlock5@npm:redlock@5.0.0-beta.2", "ioredis@5", "node-zookeeper-client@1.1.3", "pg@8")
MEMBERS = 5
KILL_AFTER_S, BINS_S = 1.0, 0.1


class NotMeasured(Exception):
    """With the reason."""


def bench(program, *arguments):
    """The report's sides; the first one has the figures that belong to neither."""
    done = subprocess.run([program, "--json", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"redlock-bench {' '.join(arguments)}: status {done.returncode}: {done.stderr}")
    report = json.loads(done.stdout)
    sides = report["sides"]
    sides[0].update({name: report[name] for name in ("late_p50_ms", "late_p99_ms") if name in report})
    if len(sides) == 2:
        sides[0]["ratio"] = report["ratios"].get("locks_per_s")
        sides[0]["gap_ratio"] = report["ratios"].get("gap_p50_ms")
        sides[0]["bare"] = sides[1].get("locks_per_s")
    return [tidy(side) for side in sides]


def tidy(side):
    """Gives a figure the same name in all workloads."""
    if "least_grants_of_a_waiter" in side:
        side["fewest_most"] = [side["least_grants_of_a_waiter"], side["most_grants_of_a_waiter"]]
    for percent in ("p50", "p99"):
        if side.get(f"grant_{percent}_us") is not None:
            side[f"grant_{percent}_ms"] = side[f"grant_{percent}_us"] / 1e3
    return side


class Lab:
    """The servers that are up, and the peers that cannot be measured here."""

    def __init__(self, options, stack):
        self.options = options
        self.stack = stack
        self.running = {}

    def missing(self, system):
        """Why the peer cannot be measured on this machine."""
        kind = servers.KINDS[PEERS[system]]
        if kind.missing():
            return kind.missing()
        if system in clients.PYTHON:
            module = clients.PYTHON[system]
            return None if clients.python_with(module) else f"the module {module} of Python is not there"
        if not shutil.which("node"):
            return "Node.js, which runs its clients, is not installed (nodejs)"
        if system == "ours-node" and not os.path.exists(self.options.addon):
            return f"{self.options.addon} is not there: its headers were missing when the build was set up"
        for module in MODULES.get(system, ()):
            if not os.path.isdir(f"{self.options.modules}/node_modules/{module}"):
                return f"{module} of npm is not installed: --install"
        return None

    def servers(self, system):
        kind = PEERS.get(system, "redis")
        if kind not in self.running:
            self.running[kind] = self.stack.enter_context(servers.KINDS[kind](1 if kind == "postgres" else MEMBERS))
            if kind == "zookeeper":
                self.warm_up(system)
        return self.running[kind]

    def warm_up(self, system):
        """Runs once in advance, so that no cold virtual machine is measured."""
        load = clients.Load(system, self.running[PEERS[system]].urls, 1, clients=64, apart=True, is_shared=True)
        with tempfile.NamedTemporaryFile() as records:
            clients.measure(load, self.running[PEERS[system]], self.options.modules, self.options.jvm_warmup, 0.1, records.name)

    def measure(self, system, row):
        program = self.options.before_bench if system == "before" else self.options.bench
        if row["table"] == "shells":
            return self.shells(system, row)
        if system == "flock(1)":
            raise NotMeasured("it is for the shells of one machine")
        if system in PEERS and not row["load"]:
            raise NotMeasured("not of this row")
        if row["table"] == "kill" and system == "postgres":
            raise NotMeasured("one server: there is no lock until it is back")
        if system in PEERS and self.missing(system):
            raise NotMeasured(self.missing(system))
        if row["table"] == "kill":
            return self.kill(system, row, program)
        if system in OURS:
            return self.ours(row, program)
        return self.peer(system, row)

    def seconds(self, row):
        return max(self.options.seconds, row["seconds"] * self.options.stretch)

    def ours(self, row, program):
        return bench(program, "--slices", "1", "--seconds", f"{self.seconds(row):.3f}",
                     "--warmup", f"{row['warmup'] * self.options.stretch:.3f}", *row["options"])[0]

    def peer(self, system, row, during=None, seconds=None):
        up = self.servers(system)
        load = clients.Load(system, up.urls, **row["load"])
        with tempfile.NamedTemporaryFile() as records:
            result = clients.measure(load, up, self.options.modules, seconds or self.seconds(row),
                                     row["warmup"] * self.options.stretch, records.name, during)
            if during:
                return result, read_grants(records.name)
            side = tidy(clients.judge(self.options.bench, records.name, load.apart))
        if row["table"] == "cycle":
            side["locks_per_s"] = side["grants_per_s"]
            side.update({f"grant_{percent}_ms": side[f"wait_{percent}_ms"] for percent in ("p50", "p99")})
        return side

    def shells(self, system, row):
        """Commands with `redlock run`, alternating with flock(1) or etcdctl lock."""
        if system == "flock(1)":
            raise NotMeasured("measured with ours")
        if system not in (*OURS, "etcd"):
            raise NotMeasured("it has no command that runs another one under a lock")
        redlock = self.options.before_redlock if system == "before" else self.options.redlock
        program = self.options.before_bench if system == "before" else self.options.bench
        arguments = ["--slices", "1", "--redlock", redlock, *row["options"]]
        if system == "etcd":
            if self.missing("etcd") or not shutil.which("etcdctl"):
                raise NotMeasured(self.missing("etcd") or "etcdctl is not installed (etcd-client)")
            return bench(program, *arguments, "--beside", f"etcdctl --endpoints={','.join(self.servers('etcd').urls)} lock bench --")[1]
        sides = bench(program, *arguments)
        return {**sides[0], "beside": sides[1]}

    # -- A server is killed --

    def kill(self, system, row, program):
        """Kills each server once, so that the most important one is among them."""
        up = self.servers(system)
        runs = [self.kill_one(system, row, program, up, i) for i in range(self.options.kills)]
        pauses = [run["pause_ms"] for run in runs]
        middle = {key: statistics.median(run[key] for run in runs) for key in ("before_per_s", "pause_ms", "after_per_s")}
        worst = runs[pauses.index(max(pauses))]
        return {**middle, "pause_ms_is_open": statistics.median_high(run["is_open"] for run in runs), "worst_pause_ms": max(pauses),
                "worst_pause_ms_is_open": worst["is_open"], "bins": worst["bins"]}

    def kill_seconds(self, row):
        return max(2.5 * KILL_AFTER_S, row["seconds"] * self.options.stretch)

    def kill_one(self, system, row, program, up, i):
        for _ in range(3):
            killed, slices, grants = self.kill_once(system, row, program, up, i)
            if slices[0] + KILL_AFTER_S / 4 * 1e9 < killed < slices[1] - KILL_AFTER_S / 2 * 1e9:
                return around(killed, slices, grants)
        raise RuntimeError("the machine is so busy that servers are killed before or after the slice")

    def kill_once(self, system, row, program, up, i):
        killed = []

        def during():
            time.sleep(KILL_AFTER_S)
            up.kill(i)
            killed.append(time.monotonic_ns())

        try:
            if system in OURS:
                slices, grants = self.kill_ours(row, program, up, during)
            else:
                slices, grants = self.peer(system, row, during, self.kill_seconds(row))[1]
        finally:
            up.restart(i)
        return killed[0], slices, grants

    def kill_ours(self, row, program, up, during):
        with tempfile.NamedTemporaryFile() as records:
            warmup = row["warmup"] * self.options.stretch
            for port in up.ports:
                servers.ask(port, b"FLUSHALL\r\n")

            def when_begun():
                end = time.monotonic() + servers.READY_S
                while servers.ask(up.ports[0], b"DBSIZE\r\n") == b":0\r\n" and time.monotonic() < end:
                    time.sleep(0.02)
                time.sleep(warmup)
                during()

            timer = threading.Thread(target=when_begun)
            timer.start()
            try:
                bench(program, "--slices", "1", "--seconds", f"{self.kill_seconds(row):.3f}", "--warmup", f"{warmup:.3f}", "--nodes", ",".join(up.urls),
                      "--save-records", records.name, *row["options"])
            finally:
                timer.join()
            return read_grants(records.name)


def read_grants(path):
    """(begin, end) of the slice, and the moments of the grants, in order."""
    slices, grants = None, []
    with open(path) as file:
        for line in file:
            kind, *numbers = line.split()
            if kind == "slice":
                slices = (int(numbers[0]), int(numbers[1]))
            elif numbers[1] != "0":
                grants.append(int(numbers[1]))
    return slices, sorted(grants)


def around(killed_ns, slices, grants):
    """The grants before and after a server was killed. A pause that lasts to the end of the slice is open: its real length is
    longer."""
    begin, end = slices
    before = [grant for grant in grants if begin <= grant < killed_ns]
    after = [grant for grant in grants if killed_ns <= grant < end]
    ends = [killed_ns, *after, end]
    late = end - (end - killed_ns) // 2
    bins = [0] * round((end - killed_ns) / 1e9 / BINS_S + KILL_AFTER_S / BINS_S)
    for grant in grants:
        at = math.floor((grant - killed_ns) / 1e9 / BINS_S + KILL_AFTER_S / BINS_S)
        if 0 <= at < len(bins) and begin <= grant < end:
            bins[at] += 1
    pauses = [b - a for a, b in zip(ends, ends[1:])]
    return {"before_per_s": len(before) / (killed_ns - begin) * 1e9, "pause_ms": max(pauses) / 1e6,
            "is_open": pauses[-1] == max(pauses),
            "after_per_s": sum(grant >= late for grant in after) / (end - late) * 1e9, "bins": bins}
