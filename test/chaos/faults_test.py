"""Each fault of cluster/chaos.sh does what it says to a real node, and is healed completely.

    faults_test.py ROOT CLOCK_LIBRARY [BACKEND]

Uses one node of the backend (default: local). The test observes the fault as a client does, by
plain sockets to the node's URL, or in the node itself.
"""
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(sys.argv[1])
CLOCK = Path(sys.argv[2]).resolve()
BACKEND = sys.argv[3] if len(sys.argv) > 3 else "local"
sys.path[:0] = [str(ROOT / "cluster" / "chaos"), str(ROOT / "test" / "chaos")]

import orphans
import tap
from faults import CATALOGUE
from inject import DRIFT_PPM, FILLER_PREFIX, inject
from local import LocalBackend
from netns import NetnsBackend
from resp import RedisError
from schedule import Step
from server import ChaosError

SHORT_S = 0.6  # a node that does not answer over loopback within this is held back
LONG_S = 20.0
tested = set()


class Client:
    """A client's connection to the node's URL."""

    def __init__(self, node, timeout_s=LONG_S):
        host, port = node.url.removeprefix("redis://").split(":")
        self.socket = socket.create_connection((host, int(port)), timeout_s)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def ask(self, line, timeout_s=LONG_S):
        """The first line of the answer; None if it does not come in time."""
        self.socket.settimeout(timeout_s)
        self.socket.sendall(line.encode() + b"\r\n")
        return self.hear(timeout_s)

    def hear(self, timeout_s=LONG_S):
        self.socket.settimeout(timeout_s)
        try:
            data = self.socket.recv(4096)
        except socket.timeout:
            return None
        if not data:
            raise ConnectionResetError("closed")
        return data.split(b"\r\n")[0].decode()


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = Path(tempfile.mkdtemp(prefix="redlock-faults."))
        kind = {"local": LocalBackend, "netns": NetnsBackend}[BACKEND]
        cls.backend = kind(cls.work, 1, CLOCK)
        cls.addClassCleanup(shutil.rmtree, cls.work)
        cls.addClassCleanup(cls.backend.close)
        cls.backend.check()
        cls.backend.start()
        cls.node = cls.backend.nodes[0]

    def setUp(self):
        self.addCleanup(self.node.heal)  # for the next test, if this one fails half way
        self.call("FLUSHALL")

    def call(self, *words):
        return self.node.server.call(*words)

    def begin(self, fault, for_ms=1500, seed=1):
        """Does the damage; the rest of the fault is healed by heal()."""
        tested.add(fault)
        self.injection = inject(Step(1, 0, fault, "n1", for_ms, seed), self.node)
        return next(self.injection)

    def heal(self):
        """Afterwards the node serves a new client as before."""
        for _ in self.injection:
            pass
        deadline = time.monotonic() + LONG_S
        while True:
            try:
                with Client(self.node) as client:
                    self.assertEqual(client.ask("SET healed yes"), "+OK")
                    return
            except OSError:
                self.assertLess(time.monotonic(), deadline, "not healed")

    def await_written(self):
        """Waits until the server has written its log, which it delays while an fsync runs."""
        deadline = time.monotonic() + LONG_S
        with self.node.server.connect() as connection:
            while connection.info("persistence")["aof_buffer_length"] != "0":
                self.assertLess(time.monotonic(), deadline, "not written")

    def test_sigkill(self):
        self.call("SET", "kept", "yes")
        self.await_written()
        self.begin("sigkill")
        self.assertIsNone(self.node.server.pid())
        self.heal()
        self.assertEqual(self.call("GET", "kept"), "yes")

    def test_sigkill_empty(self):
        for fault in ("sigkill-empty", "sigkill-late"):
            self.call("SET", "kept", "yes")
            self.begin(fault)
            self.heal()
            self.assertIsNone(self.call("GET", "kept"))

    def test_a_late_restart_is_later_than_the_ttl(self):
        self.assertGreater(CATALOGUE["sigkill-late"].for_ttl[0], 1.1)

    def test_sigstop(self):
        with Client(self.node) as client:
            self.begin("sigstop")
            self.assertIsNone(client.ask("PING", SHORT_S))
            state = Path(f"/proc/{self.node.server.pid()}/stat").read_text().rpartition(")")[2]
            self.assertEqual(state.split()[0], "T")
            self.heal()
            self.assertEqual(client.hear(), "+PONG")

    def cut(self, fault, reaches_node):
        """No answer comes; whether the request was executed depends on the direction."""
        with Client(self.node) as client:
            self.assertEqual(client.ask("PING"), "+PONG")
            self.begin(fault)
            self.assertIsNone(client.ask("SET sent yes", SHORT_S))
            self.assertEqual(self.call("GET", "sent"), "yes" if reaches_node else None)
            self.heal()
            self.assertEqual(client.hear(), "+OK")  # repeated until it passes, as packets are

    def test_partition(self):
        self.cut("partition", False)

    def test_partition_in(self):
        self.cut("partition-in", False)

    def test_partition_out(self):
        self.cut("partition-out", True)

    @unittest.skipIf(BACKEND == "local", "the proxy delivers what a dead client sent")
    def test_what_a_dead_client_sent_is_waited_for(self):
        """The kernel retransmits 1.7 s and 3.4 s after the sending."""
        with Client(self.node) as client:
            self.assertEqual(client.ask("PING"), "+PONG")
            self.begin("partition-in")
            self.assertIsNone(client.ask("SET late yes", 1.9))
        self.heal()
        with mock.patch.object(orphans, "SLACK_S", 0):
            orphans.settle(1, [self.node.url])
        self.assertEqual(self.call("GET", "late"), "yes")

    def test_keys_that_are_left(self):
        """A lock's key, whatever its ttl, and notes that never expire."""
        for name, value, *ttl in (("r1", 40 * "a", "PX", 60000), ("r2", "another program's"),
                                  ("libredlock:intent:{r3}", "1"), ("libredlock:config:vote", "an epoch"),
                                  ("libredlock:fence:r4", "7", "PX", 60000)):
            self.call("SET", name, value, *ttl)
        record = mock.Mock()
        self.assertEqual(orphans.scan(record, [self.node]), 2)
        left = {told.kwargs["resource"] for told in record.event.call_args_list}
        self.assertEqual(left, {"r1", "libredlock:intent:{r3}"})
        self.call("FLUSHALL")

    def test_reset(self):
        with Client(self.node) as client:
            self.assertEqual(client.ask("PING"), "+PONG")
            self.begin("reset")
            with self.assertRaises((ConnectionResetError, BrokenPipeError)):
                client.ask("PING")
                client.ask("PING")
        with self.assertRaises((ConnectionResetError, ConnectionRefusedError, BrokenPipeError)):
            with Client(self.node) as client:
                client.ask("PING")
                client.ask("PING")
        self.heal()

    def slowest(self, requests=60):
        """The longest time for one of so many large requests, in seconds."""
        slowest = 0.0
        with Client(self.node) as client:
            for _ in range(requests):
                asked = time.monotonic()
                self.assertIsNotNone(client.ask("PING " + "x" * 200))
                slowest = max(slowest, time.monotonic() - asked)
        return slowest

    def test_delay(self):
        self.begin("delay", seed=3)
        self.assertGreater(self.slowest(20), 0.02)
        self.heal()

    def test_loss(self):
        self.begin("loss")
        self.assertGreater(self.slowest(), 0.15)  # some packet was retransmitted
        self.heal()

    def test_client_pause(self):
        with Client(self.node) as client:
            self.begin("client-pause", for_ms=1200)
            asked = time.monotonic()
            self.assertEqual(client.ask("PING"), "+PONG")
            self.assertGreater(time.monotonic() - asked, 0.5)
            self.heal()

    def test_script_flush(self):
        digest = self.call("SCRIPT", "LOAD", "return 1")
        self.assertEqual(self.call("SCRIPT", "EXISTS", digest), [1])
        self.begin("script-flush")
        self.assertEqual(self.call("SCRIPT", "EXISTS", digest), [0])
        self.heal()

    def test_flushall(self):
        self.call("SET", "kept", "yes")
        self.assertIn("1 keys", self.begin("flushall").detail)
        self.assertIsNone(self.call("GET", "kept"))
        self.heal()

    def test_demote(self):
        self.call("SET", "kept", "yes")
        self.begin("demote")
        with Client(self.node) as client:
            self.assertRegex(client.ask("SET sent yes"), "^-READONLY")
            self.assertEqual(client.ask("GET kept"), "$3")
        self.heal()

    def test_failover(self):
        """The primary's writes while the replica lagged are lost; the URL is the same."""
        self.call("SET", "old", "yes")
        url, primary = self.node.url, self.node.server
        pid = primary.pid()

        def write_and_die():
            self.call("SET", "late", "yes")
            del primary.kill  # the class's own from here on
            primary.kill()

        primary.kill = write_and_die
        self.begin("failover")
        self.assertNotEqual(self.node.server.pid(), pid)
        self.assertEqual(self.node.url, url)
        with Client(self.node) as client:
            self.assertEqual(client.ask("GET old"), "$3")
            self.assertEqual(client.ask("GET late"), "$-1")
            self.assertEqual(client.ask("ROLE"), "*3")
        self.heal()
        self.begin("failover")  # and again, from the replica that is now the primary
        self.assertEqual(self.call("GET", "healed"), "yes")
        self.heal()
        self.begin("sigkill")  # it comes back at the same address
        self.heal()
        self.assertEqual(self.call("GET", "healed"), "yes")

    def away_s(self):
        """How far the node's clock is ahead of ours, by the fastest of several answers."""
        best = (LONG_S, 0.0)
        with self.node.server.connect() as connection:
            for _ in range(50):
                asked = time.time()
                seconds, micros = connection.call("TIME")
                took = time.time() - asked
                best = min(best, (took, int(seconds) + int(micros) / 1e6 - asked - took / 2))
        return best[1]

    def test_clock_step(self):
        self.call("SET", "lock", "token", "PX", 1500)
        self.begin("clock-step", for_ms=2000)
        self.assertGreater(self.away_s(), 1.9)
        self.assertIsNone(self.call("GET", "lock"))  # after it: Valkey 9 reads by a cached time
        self.heal()
        self.assertLess(abs(self.away_s()), 0.5)

    def test_clock_back(self):
        self.call("SET", "lock", "token", "PX", 1000)
        self.begin("clock-back", for_ms=5000)
        self.assertLess(self.away_s(), -4.5)
        self.assertGreater(self.call("PTTL", "lock"), 4000)
        self.heal()
        self.assertLess(abs(self.away_s()), 0.5)

    def test_clock_drift(self):
        signs = set()
        for seed in range(1, 6):
            before = self.away_s()
            began = time.monotonic()
            damage = self.begin("clock-drift", seed=seed)
            time.sleep(1.0)  # measures the drift of one second
            gained = self.away_s() - before
            rate_ppm = int(damage.detail.split()[0])
            self.assertEqual(abs(rate_ppm), DRIFT_PPM)
            should = rate_ppm * 1e-6 * (time.monotonic() - began)
            self.assertLess(abs(gained - should), abs(should) / 2)
            self.heal()
            signs.add(rate_ppm > 0)
        self.assertEqual(signs, {True, False})

    def test_evict(self):
        damage = self.begin("evict")
        self.call("SET", "lock", "token", "PX", 60_000)
        deadline = time.monotonic() + LONG_S
        while self.call("GET", "lock") is not None:
            damage.again()
            self.assertLess(time.monotonic(), deadline, "not evicted")
        self.heal()
        self.assertEqual(self.call("CONFIG", "GET", "maxmemory-policy")[1], "noeviction")
        self.assertEqual(self.call("KEYS", FILLER_PREFIX + "*"), [])

    def test_oom(self):
        limit = self.call("CONFIG", "GET", "maxmemory")
        self.begin("oom")
        with Client(self.node) as client:
            self.assertRegex(client.ask("SET sent yes"), "^-OOM")
        with self.assertRaisesRegex(RedisError, "OOM"):
            self.call("SET", "sent", "yes")
        self.heal()
        self.assertEqual(self.call("CONFIG", "GET", "maxmemory"), limit)

    def test_a_server_without_the_clock_is_refused(self):
        preload = self.backend.clock_library
        self.backend.clock_library = Path("/nonexistent/clock.so")
        try:
            with self.assertRaisesRegex(ChaosError, "does not use the clock"):
                self.node.make_replica().wait_up()
        finally:
            self.backend.clock_library = preload
            for server in self.backend._servers[:]:
                if server is not self.node.server:
                    self.backend.forget(server)

    @unittest.skipUnless(BACKEND == "local", "only local nodes may be behind a proxy")
    def test_without_a_proxy(self):
        """Clients reach the server directly, and faults that need a proxy are refused."""
        work = Path(tempfile.mkdtemp(prefix="redlock-faults."))
        self.addCleanup(shutil.rmtree, work)
        backend = LocalBackend(work, 1, CLOCK)
        backend.with_proxy = False
        self.addCleanup(backend.close)
        backend.start()
        (node,) = backend.nodes
        self.assertEqual(node.url, "redis://{}:{}".format(*node.server.address))
        with Client(node) as client:
            self.assertEqual(client.ask("PING"), "+PONG")
        for name in sorted(name for name, fault in CATALOGUE.items() if fault.needs_proxy):
            if CATALOGUE[name].state != "down":
                with self.subTest(name), self.assertRaisesRegex(ChaosError, "behind no proxy"):
                    next(inject(Step(1, 0, name, "n1", 100, 1), node))
        node.heal()

    def test_zz_every_fault_of_a_node_was_tried(self):
        self.assertEqual(tested, {n for n, fault in CATALOGUE.items() if fault.target == "node"})


for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda *_: sys.exit(130))
if BACKEND == "netns" and (os.geteuid() != 0 or not shutil.which("iptables")):
    print("ok 1 - faults in network namespaces # SKIP not root, or no iptables\n1..1")
    sys.exit(0)
tap.main()
