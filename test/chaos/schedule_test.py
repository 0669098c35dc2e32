"""The schedule of cluster/chaos.sh: a pure function of the seed that never breaks more than it may.

    schedule_test.py ROOT [SCENARIO...]     SCENARIO: those that the suite runs
"""
import os
import random
import secrets
import sys
import unittest
from argparse import Namespace
from pathlib import Path

ROOT = Path(sys.argv[1])
sys.path[:0] = [str(ROOT / "cluster" / "chaos"), str(ROOT / "test" / "chaos")]

import tap
from faults import CATALOGUE, COMMON, parse
from members import FEWER, MORE, SET_LESS, SET_MORE, STEPS, Members
from scenarios import MINORITY, SCENARIOS
from schedule import CALM_MS, ORDER_CALM_MS, Plan, plan

FIRST = int(os.environ.get("REDLOCK_SEED", secrets.randbelow(2**31)))
SEEDS = range(FIRST, FIRST + 100)


def make(name, seed=1, seconds=60.0, ttl_ms=1000, nodes=5, processes=3):
    return plan(Plan(seed, seconds, ttl_ms, nodes, processes), SCENARIOS[name])


class Schedule(unittest.TestCase):
    def test_the_same_seed_gives_the_same_steps(self):
        self.assertEqual(make("all", seed=7), make("all", seed=7))
        self.assertNotEqual(make("all", seed=7), make("all", seed=8))

    def test_a_known_seed_gives_known_steps_on_every_machine(self):
        steps = [(step.at_ms, step.fault, step.target, step.for_ms) for step in make("all", seed=5)]
        self.assertEqual(
            steps[:3],
            [
                (500, "sigkill", "n2", 1831),
                (1241, "clock-step", "n4", 535),
                (3102, "demote", "n5", 1694),
            ],
        )

    def test_what_the_guard_is_for_excuses_nothing_where_it_is_on(self):
        def excuses(guard, *faults):
            return [name for name in faults if CATALOGUE[name].excuses(guard, faults)]

        lossy = ("sigkill-empty", "failover", "flushall", "clock-step")
        self.assertEqual(excuses("off", *lossy, "sigkill"), list(lossy))
        self.assertEqual(excuses("observed", *lossy), list(lossy))
        self.assertEqual(excuses("strict", *lossy, "sigkill"), ["flushall", "clock-step"])
        self.assertEqual(excuses("strict", "failover", "client-kill"), ["failover"])

    def test_at_most_a_minority_is_broken_at_once(self):
        for name, scenario in SCENARIOS.items():
            if scenario.at_once != MINORITY:
                continue
            for seed in SEEDS:
                steps = [step for step in make(name, seed) if step.target[0] == "n"]
                for step in steps:
                    broken = {
                        other.target
                        for other in steps
                        if other.at_ms <= step.at_ms < other.at_ms + other.for_ms
                    }
                    self.assertLessEqual(len(broken), 2, f"{name}, seed {seed}: {step}")

    def test_a_majority_is_broken_where_it_is_said(self):
        said = [name for name, scenario in SCENARIOS.items() if not scenario.liveness]
        self.assertTrue({"split", "blackout", "amnesia"} <= set(said))
        for name in said:
            steps = make(name)
            first = [step.target for step in steps if step.at_ms == steps[0].at_ms]
            self.assertEqual(len(set(first)), 3)

    def test_nobody_is_broken_twice_at_once(self):
        for name in SCENARIOS:
            for seed in SEEDS:
                end_ms = {}
                for step in make(name, seed):
                    free_ms = end_ms.get(step.target, 0)
                    self.assertGreaterEqual(step.at_ms, free_ms, f"{name} {seed}")
                    end_ms[step.target] = step.at_ms + step.for_ms

    def test_a_calm_goes_before_each_bout_where_the_order_is_judged(self):
        for seconds, calm_ms in ((60, ORDER_CALM_MS), (8, 1875)):
            for seed in SEEDS:
                steps = make("line", seed, seconds)
                ends = [0] + [max(step.at_ms + step.for_ms for step in steps[: i + 1])
                              for i in range(len(steps))]
                calms = [step.at_ms - end for step, end in zip(steps, ends)
                         if step.at_ms - end >= calm_ms]
                self.assertGreaterEqual(sum(calms), seconds * 1000 * 0.2, f"{seconds} {seed}")
                self.assertGreaterEqual(steps[0].at_ms, calm_ms)

    def test_a_client_process_is_left(self):
        for seed in SEEDS:
            steps = make("clients", seed)
            for step in steps:
                at_once = [s for s in steps if s.at_ms <= step.at_ms < s.at_ms + s.for_ms]
                self.assertLessEqual(len({s.target for s in at_once}), 2)

    def test_everything_ends_before_the_run_does(self):
        for name in SCENARIOS:
            for seed in SEEDS:
                for step in make(name, seed, seconds=20):
                    self.assertLessEqual(step.at_ms + step.for_ms, 20_000 - CALM_MS)

    def test_a_long_run_has_every_fault(self):
        for seed in SEEDS:
            had = {step.fault for step in make("all", seed, seconds=120)}
            self.assertEqual(had, set(COMMON), f"seed {seed}")

    def test_a_run_that_is_too_short_is_refused(self):
        with self.assertRaisesRegex(ValueError, "too short"):
            make("pause", seconds=1, ttl_ms=5000)

    def test_one_node_is_never_broken(self):
        with self.assertRaises(ValueError):
            make("kill", nodes=1)

    def test_a_list_of_faults(self):
        self.assertEqual(parse("sigstop, oom,sigstop"), ["sigstop", "oom"])
        with self.assertRaisesRegex(ValueError, "no fault 'sigstopp'"):
            parse("sigstop,sigstopp")

    def test_a_set_goes_through_every_step(self):
        """Whatever the seed, a node is in one set, and there are one to three sets of at most so
        many nodes."""
        for count, seed in ((count, seed) for count in (1, 3, 5, 7) for seed in SEEDS[:25]):
            nodes = [Namespace(name=f"n{i}", url=f"redis://{i}") for i in range(1, 2 * count + 1)]
            members = Members(Namespace(nodes=count), nodes, Namespace(folder=Path()))
            sets = {"first": [node.name for node in nodes[:count]]}
            kinds, most = set(), 0
            draw = random.Random(seed)
            for _ in range(30):
                kind, after, words = members._next(sets, draw)
                members._turn += 1
                told = f"{count} nodes, seed {seed}: {sets} to {after} by {words}"
                self.assertNotEqual(after, sets, told)
                self.assertEqual(len(after) - len(sets), {SET_MORE: 1, SET_LESS: -1}.get(kind, 0), told)
                both = sum(after.values(), [])
                self.assertEqual(len(both), len(set(both)), told)
                self.assertTrue(all(1 <= len(one) <= count for one in after.values()), told)
                sets = after
                kinds.add(kind)
                most = max(most, len(sets))
            self.assertEqual(most, 3 if count >= 5 else 2, told)
            # With three nodes one is left, and its set is the smaller one.
            self.assertEqual(set(STEPS) - kinds, {1: {FEWER, MORE}, 3: {MORE}}.get(count, set()), told)

    def test_the_suite_runs_every_scenario(self):
        self.assertEqual(set(sys.argv[2:]) | {"members"},  # which needs redlock(1)
                         set(SCENARIOS) - {"all", "sound", "kill", "clients"})


tap.main()
