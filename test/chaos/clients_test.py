"""Client processes that are told to end: cluster/chaos/clients.py.

    clients_test.py ROOT
"""
import sys
import tempfile
import time
import unittest
from argparse import Namespace
from pathlib import Path

ROOT = Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "cluster" / "chaos"))
sys.path.insert(0, str(ROOT / "test" / "chaos"))

import tap
from clients import Clients
from server import ChaosError

PATIENCE_S = 20


class Ends(unittest.TestCase):
    """Stand-ins for redlock-chaos-client; each makes a file when it has begun."""

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="redlock-clients-")
        self.addCleanup(self.temporary.cleanup)
        self.folder = Path(self.temporary.name)
        (self.folder / "clients").mkdir()

    def started(self, text):
        program = self.folder / "program"
        program.write_text(f"#!/bin/sh\ncd '{self.folder}'\n{text}\nwhile :; do sleep 0.05; done\n")
        program.chmod(0o755)
        asked = Namespace(programs=[[str(program)]], processes=1, shells=0, clients=1, resources=1,
                          ttl_ms=500, wait_ms=0, work_ms=1, seed=1, workload="register",
                          control=None, guard="off", seconds=1, permits=0, max_hold_ms=0)
        clients = Clients(asked, ["redis://127.0.0.1:1"], self.folder)
        self.addCleanup(clients.close)
        clients.start()
        until = time.monotonic() + PATIENCE_S
        while not (self.folder / "begun").exists():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.005)
        return clients

    def test_one_that_had_not_begun(self):
        self.started("touch clients/1.jsonl begun").finish()

    def test_one_that_had(self):
        with self.assertRaisesRegex(ChaosError, "client process 1 ended by SIGTERM"):
            self.started("echo '{}' >clients/1.jsonl; touch begun").finish()

    def test_one_that_hears(self):
        self.started("trap 'exit 0' TERM; echo '{}' >clients/1.jsonl; touch begun").finish()

    def test_one_that_ends_wrong(self):
        with self.assertRaisesRegex(ChaosError, "client process 1 ended with status 3"):
            self.started("trap 'exit 3' TERM; touch begun").finish()


if __name__ == "__main__":
    tap.main()
