"""The alerts of examples/operations on real nodes, Prometheus and node_exporter, by hand:

    python3 test/operations/alerts_trial.py BUILD [--bin DIR]

BUILD: a build of this tree. DIR: where prometheus and prometheus-node-exporter are, if not in PATH.
It starts five nodes and a program (examples/otel), writes redlock metrics every second, and breaks
things one after the other; all durations of the rules are divided by ten. For each step it says
which alerts must fire, and which must not yet. Then every query of the dashboard is asked. Takes
about three minutes; not part of the suite. Ends with 1 if anything was otherwise.
"""

import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "examples", "operations")
FACTOR = 10
failed = False


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def scaled(text):
    """The rules, FACTOR times as fast; %-signs and thresholds of seconds are left as they are."""
    units = {"s": 1, "m": 60}

    def shorter(match):
        return "%s%ds%s" % (match[1], int(match[2]) * units[match[3]] // FACTOR, match[4])

    text = re.sub(r"(for: )(\d+)([sm])()", shorter, text)
    text = re.sub(r"(\[)(\d+)([sm])(\])", shorter, text)
    return text.replace("> 120", "> %d" % (120 // FACTOR))


class Trial:
    def __init__(self, arguments):
        self.build = os.path.abspath(arguments.build)
        self.path = arguments.bin
        self.scratch = tempfile.mkdtemp(prefix="redlock-alerts.")
        self.nodes = os.path.join(self.scratch, "nodes")
        self.textfiles = os.path.join(self.scratch, "textfile")
        self.processes = []
        self.writes = threading.Event()
        self.ends = threading.Event()
        self.port = free_port()
        os.mkdir(self.textfiles)

    def nodes_sh(self, *words):
        script = os.path.join(ROOT, "cluster", "nodes.sh")
        subprocess.run(["sh", script, *words], check=True, stdout=subprocess.DEVNULL)

    def tool(self, name):
        return os.path.join(self.path, name) if self.path else name

    def start(self, *words):
        log = open(os.path.join(self.scratch, os.path.basename(words[0]) + ".log"), "ab")
        process = subprocess.Popen(words, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def write_metrics(self):
        """In place of the timer."""
        urls = ",".join(self.urls)
        out = os.path.join(self.textfiles, "redlock.prom")
        command = [os.path.join(self.build, "cli", "redlock"), "metrics", "--nodes", urls, "--max-ttl", "2s"]
        while not self.ends.is_set():
            if self.writes.is_set():
                with open(out + ".new", "wb") as file:
                    subprocess.run(command, stdout=file, stderr=subprocess.DEVNULL, check=False)
                os.rename(out + ".new", out)
            time.sleep(1)

    def begin(self):
        self.nodes_sh("start", "-n", "5", "--dir", self.nodes)
        with open(os.path.join(self.nodes, "urls"), encoding="ascii") as file:
            self.urls = file.read().split()
        exporter = free_port()
        with open(os.path.join(EXAMPLES, "redlock.rules.yml"), encoding="utf-8") as file:
            rules = scaled(file.read())
        with open(os.path.join(self.scratch, "rules.yml"), "w", encoding="utf-8") as file:
            file.write(rules)
        with open(os.path.join(self.scratch, "prometheus.yml"), "w", encoding="utf-8") as file:
            file.write(
                "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
                "rule_files: [rules.yml]\n"
                "scrape_configs:\n"
                "  - job_name: node\n"
                "    static_configs: [{targets: ['127.0.0.1:%d']}]\n" % exporter
            )
        otel = os.path.join(self.build, "examples", "otel")
        program = os.path.join(self.textfiles, "program.prom")
        self.program = self.start(otel, os.path.join(self.scratch, "spans"), program, "0", *self.urls)
        self.writes.set()
        threading.Thread(target=self.write_metrics, daemon=True).start()
        time.sleep(3)
        self.start(
            self.tool("prometheus-node-exporter"), "--collector.disable-defaults", "--collector.textfile",
            "--collector.textfile.directory=" + self.textfiles, "--web.listen-address=127.0.0.1:%d" % exporter,
        )
        self.start(
            self.tool("prometheus"), "--config.file=" + os.path.join(self.scratch, "prometheus.yml"),
            "--storage.tsdb.path=" + os.path.join(self.scratch, "data"),
            "--web.listen-address=127.0.0.1:%d" % self.port,
        )

    def has_lost(self):
        with open(os.path.join(self.textfiles, "program.prom"), encoding="utf-8") as file:
            return re.search(r'^redlock_losses_total.*cause="expired"} [1-9]', file.read(), re.M) is not None

    def ask(self, path, **arguments):
        query = urllib.parse.urlencode(arguments)
        url = "http://127.0.0.1:%d/api/v1/%s?%s" % (self.port, path, query)
        for _ in range(100):
            try:
                with urllib.request.urlopen(url, timeout=10) as answer:
                    return json.load(answer)["data"]
            except OSError:
                time.sleep(0.2)
        sys.exit("Prometheus does not answer; see " + self.scratch)

    def firing(self):
        alerts = self.ask("alerts")["alerts"]
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}

    def expect(self, what, wanted, within, not_yet=0.0):
        """Exactly these fire within so many seconds; and none that is new in the first not_yet."""
        global failed
        begin, before = time.monotonic(), self.firing()
        early = set()
        while time.monotonic() - begin < not_yet:
            early |= (self.firing() & wanted) - before
            time.sleep(0.2)
        while self.firing() != wanted and time.monotonic() - begin < within:
            time.sleep(0.2)
        fires = self.firing()
        good = fires == wanted and not early
        failed |= not good
        print("%-8s %-46s after %4.1f s: %s" % ("ok" if good else "NOT OK", what, time.monotonic() - begin,
                                                ", ".join(sorted(fires)) or "none"))
        if early:
            print("         too early:", ", ".join(sorted(early)))

    def stays(self, what, wanted, seconds):
        global failed
        end, odd = time.monotonic() + seconds, set()
        while time.monotonic() < end:
            odd |= self.firing() ^ wanted
            time.sleep(0.3)
        failed |= bool(odd)
        print("%-8s %-46s for %2d s: %s" % ("NOT OK" if odd else "ok", what, seconds, ", ".join(sorted(odd or wanted)) or "none"))

    def ask_dashboard(self):
        global failed
        with open(os.path.join(EXAMPLES, "redlock-dashboard.json"), encoding="utf-8") as file:
            panels = json.load(file)["panels"]
        empty, asked = [], 0
        for panel in panels:
            for target in panel.get("targets", []):
                query = target["expr"].replace("$__rate_interval", "15s").replace("$client", ".+")
                asked += 1
                if not self.ask("query", query=query)["result"]:
                    empty.append(panel["title"])
        failed |= empty != ["Memory"]  # these nodes have no limit
        print("%d queries of the dashboard, without data: %s" % (asked, ", ".join(empty) or "none"))

    def run(self):
        self.begin()
        self.stays("calm", set(), 20)
        self.ask_dashboard()
        self.nodes_sh("kill", self.nodes, "1")
        self.expect("one node is killed", {"RedlockNodeDown"}, 20, not_yet=4)
        self.nodes_sh("kill", self.nodes, "2")
        down = {"RedlockNodeDown", "RedlockNoSpareNode"}
        self.expect("a second one", down, 50, not_yet=25)
        self.writes.clear()
        self.expect("redlock metrics is not run any more", down | {"RedlockMetricsOld"}, 40, not_yet=12)
        self.writes.set()
        self.expect("... and runs again", down, 20)
        for _ in range(5):  # it may stand between two holds
            if self.has_lost():
                break
            self.program.send_signal(signal.SIGSTOP)
            time.sleep(5)  # longer than the ttl of its lock
            self.program.send_signal(signal.SIGCONT)
            time.sleep(2)
        self.expect("a program stood still for longer than its ttl", down | {"RedlockLockLost"}, 20)
        self.expect("... half a minute ago", down, 60)
        self.nodes_sh("kill", self.nodes, "3")
        self.expect("a third node", {"RedlockNodeDown", "RedlockNoQuorum"}, 30, not_yet=2)
        for i in ("1", "2", "3"):
            self.nodes_sh("restart", self.nodes, i)
        self.expect("all are back, and vote", set(), 120)

    def end(self):
        self.ends.set()
        for process in self.processes:
            process.kill()
            process.wait()
        self.nodes_sh("stop", self.nodes)


def main():
    parser = argparse.ArgumentParser(description="The alerts on real nodes.")
    parser.add_argument("build")
    parser.add_argument("--bin", default="")
    options = parser.parse_args()
    for name in ("prometheus", "prometheus-node-exporter"):
        if not shutil.which(name, path=options.bin or None):
            parser.error(f"{name} is not there: install Debian's package {name}, or give --bin")
    trial = Trial(options)
    try:
        trial.run()
    finally:
        trial.end()
        if failed:
            print("kept: " + trial.scratch)
        else:
            shutil.rmtree(trial.scratch)
    sys.exit(1 if failed else 0)


main()
