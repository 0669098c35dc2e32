"""The protocol, proved for any number of nodes, clients, tokens and rounds: docs/proof.md.

    proof_test.py                the suite's: everything by z3 and cvc5, a minute
    proof_test.py --long         ... and by E, and that no prover proves a broken rule: some minutes
    proof_test.py --story NAME   the steps of a history; --list has the names
    proof_test.py --write DIR    the problems, as SMT-LIB 2 and TPTP, for other provers

Each prover must prove each theory's obligations, and none of its actions may be impossible where
its invariants hold: anything would keep contradictory invariants. Each broken rule must leave the
named obligation unproved, and the stories must be found. Tests whose prover is not installed are
skipped, and say so.
"""
import argparse
import sys
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "chaos")]

import clocks
import exclusion
import fences
import modes
import order
import permits
import sets
import shared_fences
import shared_order
import stories
import stories_modes
import tap
from prover import CVC5, PROVED, PROVERS, REFUTED, Z3, E
from terms import smt, tptp

PROCESSES = 2
LIMIT_S = 60
STORIES = stories.POSSIBLE + stories_modes.POSSIBLE
THEORIES = {
    exclusion.Exclusion: (exclusion.CONTROLS, PROVERS),
    fences.Fences: (fences.CONTROLS, PROVERS),
    order.Order: (order.CONTROLS, PROVERS),
    modes.Modes: (modes.CONTROLS, PROVERS),
    permits.Permits: (permits.CONTROLS, [Z3, CVC5]),  # E does not finish with two slots
    sets.Sets: (sets.CONTROLS, [Z3, CVC5]),
    shared_fences.SharedFences: (shared_fences.CONTROLS, PROVERS),
    shared_order.SharedOrder: (shared_order.CONTROLS, PROVERS),
    clocks.Clocks: (clocks.CONTROLS, [Z3, CVC5]),  # numbers: not E's
}


def with_rule_broken(theory, rule):
    broken = theory(rule)
    if hasattr(broken, rule):  # an action that should not exist
        broken.ACTIONS = [*broken.ACTIONS, rule]
    return broken


class Work:
    """Runs in the background until a test asks for the result."""

    pool = ThreadPoolExecutor(PROCESSES)

    def __init__(self, function, *args):
        self.future = self.pool.submit(function, *args)

    def result(self):
        return self.future.result()


def timed(prover, problem, limit_s=LIMIT_S):
    start = time.monotonic()
    return prover.run(problem, limit_s)[0], time.monotonic() - start


class ProofTest(unittest.TestCase):
    def say(self, text):
        print(f"# {text}", flush=True)


class Proved(ProofTest):
    """Each obligation, by each prover."""


class Possible(ProofTest):
    """No action is impossible, so the invariants do not contradict each other."""


class Control(ProofTest):
    """What a broken rule leaves unproved."""


class Story(ProofTest):
    """Histories of a few steps."""


def add(case, name, prover, start):
    """A test. start() begins the work and returns what checks it."""
    if not prover.is_there():

        def skipped(self):
            self.skipTest(
                f"{prover.name} is not installed. On Debian and Ubuntu: "
                f"apt-get install {prover.package}"
            )

        setattr(case, "test " + name, skipped)
        return
    setattr(case, "test " + name, start())


def proved(theory, prover):
    def start():
        obligations = list(theory().obligations())
        work = [Work(timed, prover, one) for one in obligations]

        def check(self):
            results = [one.result() for one in work]
            for one, (answer, _) in zip(obligations, results):
                self.assertEqual(answer, PROVED, f"{one.action}: {one.claim}")
            took = [seconds for _, seconds in results]
            self.say(f"{len(took)} obligations, {sum(took):.1f} s, the longest {max(took):.2f} s")

        return check

    return start


def lemma(family, prover):
    def start():
        lemmas = list(family())
        work = [Work(timed, prover, one) for one in lemmas]

        def check(self):
            for one, future in zip(lemmas, work):
                answer = future.result()[0]
                # cvc5 cannot always refute a false formula.
                wanted = [one.expected] if prover is Z3 or one.expected == PROVED else [answer]
                self.assertIn(answer, wanted, one.name)
                self.assertEqual(answer == PROVED, one.expected == PROVED, one.name)

        return check

    return start


def possible(theory):
    def start():
        obligations = list(theory().possible())
        work = [Work(timed, Z3, one) for one in obligations]

        def check(self):
            for one, future in zip(obligations, work):
                self.assertEqual(future.result()[0], REFUTED, one.action)

        return check

    return start


def control(theory, rule, where, prover, limit_s, answers):
    def start():
        broken = with_rule_broken(theory, rule)
        left = [one for one in broken.obligations() if (one.action, one.claim) == where]
        work = [Work(timed, prover, one, limit_s) for one in left]

        def check(self):
            self.assertEqual(len(work), 1, "no such obligation")
            self.assertIn(work[0].result()[0], answers)

        return check

    return start


def told(one):
    def start():
        work = Work(stories.told, one)

        def check(self):
            steps = work.result()
            self.assertIsNotNone(steps, "no such history")
            self.say("; ".join(steps))

        return check

    return start


def add_tests(long):
    for theory, (controls, provers) in THEORIES.items():
        for prover in provers:
            if prover is E and not long:
                continue  # it needs as much as the other two together
            add(Proved, f"{theory.name} by {prover.name}", prover, proved(theory, prover))
        add(Possible, theory.name, Z3, possible(theory))
        for rule, where in controls.items():
            name = f"{theory.name}, {rule}"
            add(Control, name, Z3, control(theory, rule, where, Z3, LIMIT_S, [REFUTED]))
            for prover in provers if long else []:
                start = control(theory, rule, where, prover, 5, [REFUTED, "unknown"])
                add(Control, f"{name}: not proved by {prover.name}", prover, start)
    for family in clocks.FAMILIES:
        for prover in (Z3, CVC5):
            add(Proved, f"{family.__name__} by {prover.name}", prover, lemma(family, prover))
    for one in STORIES:
        add(Story, f"{one.theory.name}, {one.name}", Z3, told(one))


def write(folder):
    for theory, (_, provers) in THEORIES.items():
        for i, one in enumerate(theory().obligations()):
            name = f"{theory.name}-{i:02}-{one.action}-{one.claim}".replace(" ", "_")
            folder.mkdir(parents=True, exist_ok=True)
            (folder / (name + ".smt2")).write_text(smt(one.hypotheses, one.goal))
            if E in provers:
                (folder / (name + ".p")).write_text(tptp(one.hypotheses, one.goal))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--story")
    parser.add_argument("--write", type=Path, metavar="DIR")
    arguments = parser.parse_args()
    if arguments.list:
        print(*(one.name for one in STORIES), sep="\n")
    elif arguments.story:
        for one in STORIES:
            if one.name == arguments.story:
                print(*(stories.told(one) or ["there is none"]), sep="\n")
    elif arguments.write:
        write(arguments.write)
    else:
        for prover in PROVERS:
            if prover.is_there():
                print(f"# {prover.name}: {prover.version()}")
        add_tests(arguments.long)
        tap.main()


if __name__ == "__main__":
    main()
