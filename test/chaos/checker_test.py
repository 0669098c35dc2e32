#!/usr/bin/env python3
"""The checker with histories made by hand: for each finding one history in which it must be found,
and a nearly identical one in which it must not."""
import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "cluster" / "chaos")]

import checker  # noqa: E402
import tap  # noqa: E402
from made_run import TTL_MS, VALID_MS, Run, ns  # noqa: E402

SAFE, VIOLATED, UNUSABLE = 0, 1, 2


class Case(unittest.TestCase):
    def judge(self, run, **limits):
        folder = run.write()
        self.verdict = checker.check(str(folder), **limits)
        self.assertTrue((folder / "verdict.json").exists())
        self.assertTrue((folder / "verdict.txt").read_text())
        return self.verdict

    def found(self):
        """kind -> count, of all findings but notes"""
        return {finding["kind"]: finding["count"] for finding in self.verdict["findings"]
                if finding["count"] and finding["weight"] != "note"}

    def skipped(self, kind):
        """Why the checker skipped this finding."""
        return next(finding["skipped"] for finding in self.verdict["findings"]
                    if finding["kind"] == kind)

    def expect(self, run, status, found=None, **limits):
        verdict = self.judge(run, **limits)
        self.assertEqual((verdict["status"], self.found()), (status, found or {}),
                         "\n".join(verdict["summary"]))
        return verdict


class Told(Run):
    """Scenes that several stories share."""

    def dry(self):
        """Nobody gets a lock between 5 s and 50 s of 60, though c1.1 and c2.1 want one."""
        self.usual(end_ms=5000)
        self.usual(begin_ms=50000, end_ms=60000)
        for client in ("c1.1", "c2.1"):
            for ms in range(5000, 49900, 5000):
                self.story(ms, client, "wait", resource="chaos-1")
                self.story(ms + 4990, client, "denied", resource="chaos-1", status="ERR_DEADLINE")

    def away(self, state, *nodes):
        for node in nodes:
            self.state(5000, node, state)
            self.state(48000, node, "up")

    def waits(self, reads=False, joins=True):
        """c9 waits from 1000 to 3000 ms, in n1's line if it joins; others come and go meanwhile."""
        self.run.setdefault("order", True)
        self.usual(end_ms=900)
        self.hold("c9.1", 3000, 3010, waited_ms=2000, reads=reads)
        if joins:
            self.story(1001, "c9.1", "join", node="n1")
        self.usual(begin_ms=3100)

    def crowd(self, later, joins=True):
        """So many clients that come later than c9 overtake it."""
        self.waits(joins=joins)
        for begin_ms in range(1500, 1500 + 100 * later, 100):
            self.hold("c8.1", begin_ms, begin_ms + 50, waited_ms=20)

    def in_lines(self, *nodes, moves=(), before=()):
        """Clients in these lines overtake c9. moves: (ms, node) of c9, before: of c8; a move to
        None is a LEAVE."""
        self.crowd(len(nodes))
        for i, node in enumerate(nodes):
            self.story(1481 + 100 * i, "c8.1", "join", node=node)
        for client, several in (("c9.1", moves), ("c8.1", before)):
            for ms, node in several:
                self.story(ms, client, "join" if node else "leave", node=node)

    def beside(self, writers, readers=0):
        """c9 waits to read; these come later."""
        self.waits(reads=True)
        for i in range(writers + readers):
            self.hold("c8.1", 1500 + 100 * i, 1550 + 100 * i, waited_ms=20, reads=i >= writers)

    def converts(self, what):
        """c1 holds from 6000 to 6500 ms, and changes its mode at 6200."""
        sequence = self.hold("c1.1", 6000, 6500, reads=what == "upgrade", ended=None)
        act = "read" if what == "downgrade" else "write"
        for ms, word in ((6200, what), (6300, act), (6500, "exit")):
            self.record(ms, "c1.1", word, "chaos-1", f"{sequence:040x}", 6000 + VALID_MS, sequence)


def step(name):
    """Calls a method of Told later, with these arguments."""
    return lambda *args, **fields: (name, args, fields)


run, hold, fault, usual, story, event, dry, away, crowd, in_lines, beside, converts = map(step, (
    "run", "hold", "fault", "usual", "story", "event", "dry", "away", "crowd", "in_lines", "beside", "converts"))
says = step("says")  # other fields of the verdict
SCENES = ("usual", "dry", "crowd", "in_lines", "beside")  # these include the usual scene


def writes(client, begin_ms, end_ms, **fields):
    return hold(client, begin_ms, end_ms, writes=[begin_ms + 1], **fields)


def reads(client, begin_ms, end_ms):
    return writes(client, begin_ms, end_ms, reads=True)


def permits(client, begin_ms, end_ms, slots):
    return writes(client, begin_ms, end_ms, resource="chaos-2", permits=slots)


RW, PERMITS, MINUTE = run(workload="rwlock"), run(workload="permits"), run(seconds=60)
JOINED = (hold("c7.1", 5000.5, 5001, waited_ms=1), story(5000, "c7.1", "join", node="n1"))
OVERTAKEN = {"overtaken": 1}
# Name, findings, and events. A story without a usual scene gets one until 5000 ms.
STORIES = (
    # overlaps
    ("one nanosecond", {"overlap": 1}, hold("c1.1", 6000, 6050), hold("c2.1", 6049.999999, 6080)),
    ("end to end passes", {}, hold("c1.1", 6000, 6050), hold("c2.1", 6050, 6080)),
    # A long hold overlaps one that begins after several others have come and gone.
    ("far behind the others", {"overlap": 1}, hold("c1.1", 6000, 6900), hold("c2.1", 6899, 6910)),
    # windows without an end
    # Its end is not recorded: it may hold until its validity is over.
    ("valid until counts", {"overlap": 1},
     hold("c3.1", 6000, None, ended=None), hold("c2.1", 6900, 6950)),
    ("after the validity passes", {},
     hold("c3.1", 6000, None, ended=None), hold("c2.1", 6999 + 1, 7050)),
    ("killed ends it", {},
     hold("c3.1", 6000, None, ended=None), fault("client-kill", 6100, client="c3"),
     hold("c2.1", 6200, 6250)),
    ("killed later does not", {"overlap": 1},
     hold("c3.1", 6000, None, ended=None), fault("client-kill", 6300, client="c3"),
     hold("c2.1", 6200, 6250)),
    # A process that is stopped and continued in time has held all the time.
    ("stopped and going on still holds", {"overlap": 1},
     hold("c3.1", 6000, 6500), fault("client-stop", 6100, 6400, client="c3"),
     hold("c2.1", 6200, 6250)),
    # late acts
    ("exit after the end", {"late-act": 1}, hold("c1.1", 6000, 7000)),
    ("exit before the end passes", {}, hold("c1.1", 6000, 5999 + VALID_MS - 0.001)),
    ("stopped meanwhile is apart", {"late-act-paused": 1},
     hold("c1.1", 6000, 7500), fault("client-stop", 6100, 7490, client="c1")),
    ("stopped meanwhile with another holder is apart", {"late-act-paused": 1, "overlap-paused": 1},
     hold("c1.1", 6000, 7500), fault("client-stop", 6100, 7490, client="c1"),
     hold("c2.1", 7100, 7600)),
    ("stopped at another time", {"late-act": 1, "overlap": 1},
     hold("c1.1", 6000, 7500), fault("client-stop", 6100, 6200, client="c1"),
     hold("c2.1", 7100, 7600)),
    # faults that explain, or do not
    # A renewal by a quorum repairs what was lost before it.
    ("renewed since", {"overlap": 1},
     run(seconds=20), usual(end_ms=4000), fault("flushall", 6010, 6011, node="n1"),
     hold("c1.1", 6000, 9900, extends=(6600, 7200, 7800, 8400, 9000)), hold("c2.1", 9500, 9600)),
    # other promises
    ("validity without the allowance", {"validity": 1},
     hold("c1.1", 6000, 6050, valid_ms=VALID_MS + 0.001)),
    ("one token twice", {"token": 1},
     hold("c1.1", 6000, 6050, token="f" * 40), hold("c2.1", 7000, 7050, token="f" * 40)),
    ("orphans", {"orphan": 1, "orphan-explained": 1},
     usual(), event(12000, "orphan", node="n2", resource="chaos-1", pttl_ms=-1),
     event(12000, "orphan", node="n3", resource="chaos-1", pttl_ms=900, explained="clock-back")),
    # liveness
    ("nobody asks", {}, run(seconds=60), usual(end_ms=5000), usual(begin_ms=50000, end_ms=60000)),
    ("without a quorum", {}, MINUTE, dry(), away("down", "n1", "n2", "n3")),
    ("minority away", {"stall": 1}, MINUTE, dry(), away("cut", "n1", "n2")),
    *((f"{state} counts as away", {}, MINUTE, dry(), away(state, "n1", "n3", "n5"))
      for state in ("paused", "cut", "down", "loading", "slow")),
    ("all processes stopped", {},
     MINUTE, dry(), *(fault("client-stop", 5000, 49000, client=client) for client in ("c1", "c2"))),
    ("scenario is not judged", {}, run(seconds=60, liveness=False), dry()),
    ("a client that waits and gets it passes", {},
     run(seconds=100), usual(end_ms=100000),
     *(hold("c3.1", ms + 20000, ms + 20005, resource="chaos-2", waited_ms=20000)
       for ms in (1000, 30000, 60000))),
    # chaos-2 is held from 1000 to 1900, and wanted from 1200 on; it is granted at 2150.
    ("a free lock that is wanted", {},
     usual(), hold("c3.1", 1000, 1900, resource="chaos-2"),
     hold("c4.1", 2150, 2200, resource="chaos-2", waited_ms=950), says(idle_ms=250)),
    ("one client starves", {"starved": 1},
     run(seconds=100), usual(end_ms=100000), hold("c3.1", 40, 45, resource="chaos-2"),
     story(1000, "c3.1", "wait", resource="chaos-1"),
     story(99000, "c3.1", "denied", resource="chaos-1", status="ERR_DEADLINE")),
    # order
    ("a lock that is free for too long", {"idle": 1},
     run(seconds=20, order=True), usual(end_ms=2000), usual(begin_ms=9000, end_ms=20000),
     hold("c9.1", 9000.5, 9001, resource="chaos-2", waited_ms=6000),
     story(3001, "c9.1", "join", node="n1")),
    # readers and writers
    ("readers together pass", {},
     RW, reads("c1.1", 6000, 6500), reads("c2.1", 6100, 6400), reads("c1.2", 6200, 6600)),
    ("a writer among readers", {"overlap": 1},
     RW, reads("c1.1", 6000, 6500), reads("c2.1", 6100, 6110), writes("c3.1", 6200, 6300)),
    ("readers beside a writer", {"overlap": 2},
     RW, writes("c3.1", 6000, 6500), reads("c1.1", 6100, 6110), reads("c2.1", 6105, 6120)),
    ("a downgrade lets readers in", {}, RW, reads("c2.1", 6200, 6400), converts("downgrade")),
    ("readers before the downgrade", {"overlap": 1}, RW, reads("c2.1", 6199, 6400), converts("downgrade")),
    ("readers before the upgrade", {}, RW, reads("c2.1", 6100, 6200), converts("upgrade")),
    ("a reader that stays after the upgrade", {"overlap": 1}, RW, reads("c2.1", 6100, 6201), converts("upgrade")),
    ("a third writer is paid for", {}, RW, beside(3), says(overtaken=1)),
    ("a reader that waits for more", OVERTAKEN, RW, beside(4)),
    # permits
    ("different slots pass", {},
     PERMITS, permits("c1.1", 6000, 6500, "0,3/5"), permits("c2.1", 6100, 6400, "1/5"),
     permits("c1.2", 6200, 6600, "2,4/5")),
    # Slot 3 of 3 does not exist, and one permit too many is held.
    ("more than there are", {"permits": 1, "slots": 1},
     PERMITS, permits("c1.1", 6000, 6500, "0/3"), permits("c2.1", 6000, 6400, "1,2/3"),
     permits("c3.1", 6100, 6200, "3/3")),
    # Held permits stay held, and the larger number counts until they are released.
    ("a number that was lowered", {},
     PERMITS, permits("c1.1", 6000, 6500, "3,4/5"), permits("c2.1", 6100, 6400, "0,1,2/3")),
    ("a slot twice in one hold", {"slots": 1}, PERMITS, permits("c1.1", 6000, 6500, "2,2/5")),
    ("a slot that is none", {"slots": 1}, PERMITS, permits("c1.1", 6000, 6500, "0,5/5")),
    # order
    ("one release that nobody knew of is paid for", {}, crowd(1), says(overtaken=1, overtaken_most=1)),
    ("who comes later and is first twice", OVERTAKEN, crowd(2)),
    ("who came before does not overtake", {},
     crowd(1), hold("c5.1", 1900, 1950, waited_ms=850), hold("c6.1", 2000, 2050, waited_ms=950),
     hold("c7.1", 2100, 2150, waited_ms=1050)),
    ("who stands in no line is not overtaken", {}, crowd(3, joins=False), *JOINED, says(waits_in_line=1)),
    ("who stays in another line overtakes", OVERTAKEN,
     in_lines("n2", "n2", "n2", "n2"), says(overtaken=2, overtaken_apart=2)),
    ("who had to go there twice does not", {},
     in_lines("n2", "n2", "n2", "n2", before=[(300, "n2"), (400, None), (400, "n1")]), says(overtaken_apart=4)),
    ("who stands in the same line is counted", OVERTAKEN, in_lines("n1", "n2", "n1")),
    ("who has moved is not in the old line", {}, in_lines("n1", "n1", "n1", moves=[(1450, "n2")])),
    ("who has left a line stands in none", {},
     in_lines("n1", "n1", moves=[(1450, None)]), says(overtaken=0, overtaken_apart=0)),
    ("a kill pays for one", {}, crowd(2), fault("client-kill", 1400, 1450, client="c7")),
    ("a missed turn pays for one", {}, crowd(2), story(1400, "c9.1", "turn", node="n1")),
    ("a node that was broken a moment ago excuses all", {},
     crowd(6), fault("sigkill", 300, 500, node="n1"), *JOINED, says(overtaken=0)),
    ("a waiter that was stopped was not overtaken", {},
     crowd(6), fault("client-stop", 1400, 1900, client="c9"), *JOINED),
    # processes
    ("leak", {"crash": 1}, usual(), story(9000, "c1", "end", leaked=1)),
    # a change of the set
    ("lost while the set changes", {"lost": 1},
     run(changes=True), fault("change", 1000, 4000), usual(),
     story(3000, "c1.1", "lost", status="ERR_EXPIRED", plan="short")),
    ("lost on purpose while the set changes", {},
     run(changes=True), fault("change", 1000, 4000), usual(),
     story(3000, "c1.1", "lost", status="ERR_EXPIRED", plan="outlast")),
    ("lost while nodes break as well", {},
     run(changes=True), fault("change", 1000, 4000), fault("sigkill", 500, 2000, node="n1"), usual(),
     story(3000, "c1.1", "lost", status="ERR_EXPIRED", plan="short")),
    # what killed processes leave
    ("broken off", {}, run(ended_ns=None)),
    ("next enter ends a hold", {},
     hold("c1.1", 6000, None, ended=None), hold("c1.1", 6100, 6110, resource="chaos-2"),
     hold("c2.1", 6200, 6250)),
)


class Stories(Case):
    def play(self, found, steps):
        made = Told(**steps.pop(0)[2]) if steps and steps[0][0] == "run" else Told()
        said = steps.pop()[2] if steps and steps[-1][0] == "says" else {}
        if all(name not in SCENES for name, _, _ in steps):
            made.usual(end_ms=5000)
        for name, args, fields in steps:
            getattr(made, name)(*args, **fields)
        excused = ("-explained", "-paused", "-landing")
        verdict = self.expect(made, VIOLATED if any(not kind.endswith(excused) for kind in found) else SAFE, found)
        self.assertEqual({name: verdict[name] for name in said}, said)


for what, wanted, *done in STORIES:
    setattr(Stories, "test_" + what.replace(" ", "_"),
            lambda self, found=wanted, steps=tuple(done): self.play(found, list(steps)))


class Overlap(Case):
    def test_turns_pass(self):
        run = Run()
        run.usual()
        verdict = self.expect(run, SAFE)
        self.assertEqual(verdict["grants"], 99)
        self.assertEqual(verdict["handovers"], 98)

    def test_it_is_told_where_and_how_long(self):
        run = Run()
        run.usual(end_ms=5000)
        run.hold("c1.1", 6000, 6500)
        run.hold("c2.1", 6200, 6230)
        self.expect(run, VIOLATED, {"overlap": 1})
        overlap = self.verdict["findings"][0]
        self.assertIn("chaos-1, 30.000 ms: c1.1 from 6.0000 s to 6.5000 s", overlap["examples"][0])
        self.assertIn("c2.1 from 6.2000 s to 6.2300 s", overlap["examples"][0])
        self.assertEqual(overlap["marks"], [(ns(6200), "c2.1", ns(6230))])


class LateActs(Case):
    def landing(self, valid_ms):
        """c1.1 reads the clock at 6040 and writes its exit, but the line comes after c2.1's enter
        at 6100."""
        run = Run()
        run.usual(end_ms=5000)
        run.hold("c2.1", 6100, 6200)
        run.hold("c1.1", 6000, 6040, valid_ms=valid_ms)
        run.lines = [(6150 if " c1.1 exit " in line and ms == 6040 else ms, line)
                     for ms, line in run.lines]
        return run

    def test_landing_late_is_apart(self):
        self.expect(self.landing(valid_ms=100), SAFE, {"late-landing": 1})

    def test_landing_late_while_valid(self):
        """It had not released the lock when the other entered."""
        self.expect(self.landing(valid_ms=102), VIOLATED, {"late-landing": 1, "overlap": 1})


class Explained(Case):
    def overlapping(self, fault=None, **fields):
        run = Run(seconds=20)
        run.usual(end_ms=5000)
        run.hold("c1.1", 6000, 6500)
        run.hold("c2.1", 6200, 6250)
        if fault:
            run.fault(fault, **fields)
        return run

    def test_every_breaking_fault(self):
        for name in ("sigkill-empty", "flushall", "failover", "clock-step", "clock-back", "evict"):
            with self.subTest(name):
                run = self.overlapping(name, begin_ms=6100, end_ms=6150, node="n2")
                self.expect(run, SAFE, {"overlap-explained": 1})
                self.assertIn(name, self.verdict["findings"][1]["examples"][0])

    def test_other_faults_explain_nothing(self):
        for name in ("sigkill", "sigstop", "partition", "reset", "delay", "client-pause",
                     "script-flush", "clock-drift", "demote", "client-stop", "oom"):
            with self.subTest(name):
                run = self.overlapping(name, begin_ms=6100, end_ms=6150, node="n2")
                self.expect(run, VIOLATED, {"overlap": 1})

    def test_damage_up_to_a_ttl_later(self):
        sent_ms = 5999 + VALID_MS - TTL_MS
        run = self.overlapping("flushall", begin_ms=4800, end_ms=sent_ms - TTL_MS + 1, node="n1")
        self.expect(run, SAFE, {"overlap-explained": 1})

    def test_too_long_before(self):
        sent_ms = 5999 + VALID_MS - TTL_MS
        run = self.overlapping("flushall", begin_ms=4800, end_ms=sent_ms - TTL_MS - 1, node="n1")
        self.expect(run, VIOLATED, {"overlap": 1})


class OtherPromises(Case):
    def test_an_extension_that_counts_from_its_answer(self):
        for answer_ms, found in ((0, {}), (0.001, {"validity": 1})):
            run = Run()
            run.usual(end_ms=5000)
            run.hold("c1.1", 6000, 6600, extends=(6500,), answer_ms=answer_ms)
            self.expect(run, VIOLATED if found else SAFE, found)

    def test_held_longer_than_it_may_be(self):
        for max_hold_ms, found in ((1489, {}), (1488, {"validity": 1})):
            run = Run(max_hold_ms=max_hold_ms)
            run.usual(end_ms=5000)
            run.hold("c1.1", 6000, 6600, extends=(6500,))
            self.expect(run, VIOLATED if found else SAFE, found)


class LockSet(Case):
    def adding(self, **second):
        run = Run()
        run.usual(end_ms=5000)
        one = run.hold("c1.1", 6000, 6300)
        run.add_to_set(one, 6290, "c1.1", is_there=second.pop("is_there", True))
        return run, one

    def test_all_there(self):
        run, _ = self.adding()
        two = run.hold("c2.1", 6300, 6400)
        run.add_to_set(two, 6390, "c2.1")
        verdict = self.expect(run, SAFE)
        self.assertEqual(verdict["acks"], 2)
        self.assertEqual(self.skipped("lost-update"), "")

    def test_lost(self):
        run, _ = self.adding(is_there=False)
        two = run.hold("c2.1", 6310, 6400)
        run.add_to_set(two, 6390, "c2.1")
        self.expect(run, VIOLATED, {"lost-update": 1})

    def test_by_an_overlap_that_is_explained(self):
        run, _ = self.adding(is_there=False)
        two = run.hold("c2.1", 6200, 6400)
        run.add_to_set(two, 6390, "c2.1")
        run.fault("failover", 6050, 6150, node="n1")
        self.expect(run, SAFE, {"overlap-explained": 1, "lost-update-explained": 1})

    def test_not_by_a_holder_that_gave_up(self):
        """c2.1 wrote nothing, so the fault that let it in explains nothing."""
        run, _ = self.adding(is_there=False)
        run.hold("c2.1", 6200, 6250, ended="lost")
        run.fault("failover", 6050, 6150, node="n1")
        self.expect(run, VIOLATED, {"overlap-explained": 1, "lost-update": 1})
        self.assertIn("an unknown client", str(self.verdict["findings"]))

    def renamed_late(self):
        """c2.1 checks, and renames long after its validity."""
        run = Run()
        run.usual(end_ms=4000)
        two = run.hold("c2.1", 5000, None, ended=None)
        one = run.hold("c1.1", 6000, 6300)
        run.add_to_set(one, 6290, "c1.1", is_there=False)
        run.add_to_set(two, 7001, "c2.1")
        return run

    def test_by_a_process_that_was_stopped(self):
        run = self.renamed_late()
        run.fault("client-stop", 5100, 7000, client="c2")
        self.expect(run, SAFE, {"lost-update-paused": 1})

    def test_stopped_at_another_time(self):
        """c2.1 acknowledges within its validity, though c1.1 has entered."""
        run = Run()
        run.usual(end_ms=4000)
        two = run.hold("c2.1", 5000, None, ended=None)
        run.fault("client-stop", 5100, 5200, client="c2")
        one = run.hold("c1.1", 5300, 5400)
        run.add_to_set(one, 5390, "c1.1", is_there=False)
        run.add_to_set(two, 5600, "c2.1")
        self.expect(run, VIOLATED, {"overlap": 1, "lost-update": 1})

    def test_the_sets_are_gone(self):
        run, _ = self.adding(is_there=False)
        run.sets = {}
        self.judge(run)
        self.assertIn("set/ is gone", self.verdict["reasons"][0])


class Liveness(Case):
    def test_stalled(self):
        made = Told(seconds=60)
        made.dry()
        verdict = self.expect(made, VIOLATED, {"stall": 1})
        self.assertAlmostEqual(verdict["stall_ms"], 45000, delta=300)

    def test_each_set_needs_a_quorum(self):
        """n1 and n2 are down from 1 s on. Their set has no quorum until n3, n4 and n5 are alone in it."""
        run = Run(changes=True)
        run.usual()
        run.fault("change", 2000, 4000)
        for ms, sets in ((10, ["123"]), (2000, ["123", "345"]), (4000, ["345"])):
            run.event(ms, "members", sets=[[f"n{i}" for i in members] for members in sets])
        for node in ("n1", "n2"):
            run.state(1000, node, "down")
        self.assertEqual(self.expect(run, SAFE)["quorum_ms"], 7000)

    def test_usual_limit(self):
        """10 s and three ttl."""
        for pause_ms, status, found in ((12_500, SAFE, {}), (13_500, VIOLATED, {"stall": 1})):
            run = Run(seconds=40)
            run.usual(end_ms=5000)
            run.usual(begin_ms=4900 + pause_ms, end_ms=40_000)
            run.story(4990, "c1.1", "wait", resource="chaos-1")
            run.story(4900 + pause_ms, "c1.1", "denied", resource="chaos-1", status="ERR_DEADLINE")
            self.expect(run, status, found)


class Readers(Case):
    def test_a_read_that_lands_behind_a_writer_is_apart(self):
        run = Run(workload="rwlock")
        run.usual(end_ms=5000)
        run.hold("c2.1", 7010, 7500)
        run.hold("c3.1", 7510, 7520, reads=True)
        run.hold("c1.1", 6000, 7530, reads=True)
        line = run.lines.pop()
        run.lines.append((7530, line[1].replace(str(ns(7530)), str(ns(6980)))))
        self.expect(run, SAFE, {"late-landing": 1})


class Permits(Case):
    def run_with(self, *holds, **fields):
        """Holds of chaos-2: client, begin, end, slots of how many."""
        run = Run(workload="permits", **fields)
        run.usual(end_ms=5000)
        for client, begin_ms, end_ms, permits in holds:
            run.hold(client, begin_ms, end_ms, "chaos-2", permits=permits, writes=[begin_ms + 1])
        return run

    def test_a_slot_with_two_holders(self):
        self.expect(self.run_with(("c1.1", 6000, 6500, "0,3/5"), ("c2.1", 6100, 6400, "3,4/5"),
                                  ("c1.2", 6200, 6300, "1/5")), VIOLATED, {"overlap": 1})
        overlap = self.verdict["findings"][0]
        self.assertIn("slot", overlap["title"])
        self.assertIn("c1.1, slots 0 3 of 5, from", overlap["examples"][0])

    def command(self, run, begin_ms, acts_ms, slots="1/5"):
        """A command that redlock(1) runs: each act reports that it goes on for 5 ms."""
        sequence = run.hold("c1.1", begin_ms, None, "chaos-2", ended=None, permits=slots, sent_ms=begin_ms,
                            valid_ms=5)
        for ms in acts_ms:
            run.record(ms, "c1.1", "write", "chaos-2", f"{sequence:040x}", ms + 5, sequence, slots)

    def test_a_command_without_an_end(self):
        """Its redlock was killed: it holds until something ended it, at the latest until its last
        act."""
        run = self.run_with(("c2.1", 6700, 6900, "1/5"))
        self.command(run, 6000, [6005, 6012])
        self.expect(run, SAFE)
        run.hold("c3.1", 6016, 6030, "chaos-2", permits="1/5")
        self.expect(run, VIOLATED, {"overlap": 1})

    def test_a_write_that_lands_behind_another_slot_is_nothing(self):
        for slots, found in (("0/5", {}), ("1/5", {"late-landing": 1})):
            run = self.run_with(("c2.1", 7010, 7500, "1/5"))
            run.hold("c1.1", 6000, 7530, "chaos-2", permits=slots)
            line = run.lines.pop()
            run.lines.append((7530, line[1].replace(str(ns(7530)), str(ns(6980)))))
            self.expect(run, SAFE, found)

    def test_who_has_its_turn_with_others_is_not_overtaken_by_them(self):
        for turn_ms, status in ((1400, SAFE), (1790, VIOLATED)):
            run = self.run_with(order=True)
            run.hold("c9.1", 1800, 1810, "chaos-2", waited_ms=800, permits="0/5")
            run.story(1001, "c9.1", "join", node="n1")
            run.story(turn_ms, "c9.1", "turn", node="n1")
            for i in range(3):
                run.hold("c8.1", 1500 + 80 * i, 1550 + 80 * i, "chaos-2", waited_ms=20, permits="1/5")
            self.expect(run, status, {"overtaken": 1} if status else {})


class Processes(Case):
    def test_crash(self):
        run = Run()
        run.usual()
        run.story(3000, "c3.1", "open", status="OK")
        run.write()
        (run.folder / "clients" / "3.jsonl").write_text(
            '{"t_ns":%d,"client":"c3.1","what":"open","status":"OK"}\n' % ns(3000))
        verdict = checker.check(str(run.folder))
        self.assertEqual(verdict["status"], VIOLATED)
        self.assertIn("c3", str(verdict["findings"]))

    def samples(self, kb, fds, who="c1", seconds=120):
        run = Run(seconds=seconds)
        run.usual(end_ms=seconds * 1000)
        for second in range(seconds):
            share = second / seconds
            run.event(second * 1000, "sample", node=who if who[0] == "n" else None,
                      client=who if who[0] == "c" else None, rss_kb=round(20000 + share * kb),
                      fds=round(40 + share * fds))
        return run

    def test_growth(self):
        self.expect(self.samples(20000, 0), VIOLATED, {"growth": 1})
        self.expect(self.samples(0, 40), VIOLATED, {"growth": 1})

    def test_steady_passes(self):
        self.expect(self.samples(4000, 4), SAFE)
        self.expect(self.samples(8500, 4), SAFE)  # more than a quarter, less than 8 MiB
        self.assertIn("c1", self.verdict["growth"])
        self.assertEqual(self.skipped("growth"), "")


class Records(Case):
    """Records that killed processes and full disks leave behind."""

    def test_torn_last_line(self):
        run = Run()
        run.usual()
        run.write()
        with (run.folder / "register.log").open("a") as file:
            file.write(f"{ns(9990)} c1.1 enter chaos-1 00")
        with (run.folder / "clients" / "1.jsonl").open("a") as file:
            file.write('{"t_ns":12,"cli')
        with (run.folder / "events.jsonl").open("a") as file:
            file.write('{"t_ns"')
        verdict = checker.check(str(run.folder))
        self.assertEqual(verdict["status"], SAFE)
        self.assertEqual(verdict["findings"][-1]["count"], 3)

    def test_no_grant_and_why(self):
        """The verdict reports, for each kind of failure, the message that most clients got."""
        run = Run()
        for ms, client, why in ((20, "c1.1", "n1: rare"), (30, "c2.1", "n1: full"), (40, "c3.1", "n1: full")):
            run.story(ms - 15, client, "open", status="ERR_NO_QUORUM", why=f"{client} is not up")
            run.story(ms - 10, client, "wait", resource="chaos-1")
            run.story(ms, client, "denied", resource="chaos-1", status="ERR_DEADLINE", why=why)
        verdict = self.expect(run, UNUSABLE)
        self.assertEqual(verdict["reasons"][1:], ["ERR_DEADLINE, 2 times of 3: n1: full",
                                                  "open, 1 times of 3: c1.1 is not up"])

    def test_no_contention(self):
        run = Run()
        run.usual(clients=("c1.1",))
        self.expect(run, UNUSABLE)

    def test_reported_error(self):
        run = Run()
        run.usual()
        run.event(5000, "error", detail="n3 could not be healed")
        self.expect(run, UNUSABLE)
        self.assertIn("n3 could not be healed", self.verdict["reasons"][0])

    def test_no_fault_of_the_schedule(self):
        for more, status in (({}, UNUSABLE), ({"interrupted": True}, SAFE)):
            run = Run(schedule=[{"fault": "sigstop"}], **more)
            run.usual()
            self.expect(run, status)

    def test_changes_of_the_set(self):
        run = Run(changes=True)
        run.usual()  # ten grants a second
        for ms, done in ((1000, True), (2000, False), (3000, True)):
            run.fault("change", ms, ms + 500)
            run.event(ms, "members", sets=[["n1", "n2", "n3"], ["n4", "n5"]])
            run.event(ms + 500, "members", sets=[["n1", "n2", "n3"]], kind="one set less", done=done)
        self.expect(run, SAFE)
        self.assertEqual(self.verdict["changes"], {"kinds": {"one set less": {"done": 2, "taken back": 1}},
                                                   "grants_s": 10.0, "grants_s_otherwise": 9.9})
        self.assertIn("changes of the set: one set less 2 (and 1 taken back)", self.verdict["summary"])

    def test_exit_that_nobody_entered(self):
        run = Run()
        run.usual()
        run.record(9990, "c7.1", "exit", "chaos-1", "a" * 40, 9995, 4711)
        self.expect(run, UNUSABLE)

    def test_garbage(self):
        run = Run()
        run.usual()
        run.lines += [(9000 + i, "garbage") for i in range(20)]
        self.expect(run, UNUSABLE)

    def test_missing_files(self):
        for name in ("run.json", "register.log", "events.jsonl"):
            with self.subTest(name):
                run = Run()
                run.usual()
                run.write()
                (run.folder / name).unlink()
                self.assertEqual(checker.check(str(run.folder))["status"], UNUSABLE)


class Controls(Case):
    def test_caught(self):
        run = Run(control="quorum1")
        run.usual(end_ms=5000)
        run.hold("c1.1", 6000, 6050)
        run.hold("c2.1", 6040, 6080)
        verdict = self.expect(run, VIOLATED, {"overlap": 1})
        self.assertIs(verdict["control_caught"], True)
        self.assertIn("That is right", verdict["summary"][1])

    def test_not_caught(self):
        run = Run(control="quorum1")
        run.usual()
        verdict = self.expect(run, SAFE)
        self.assertIs(verdict["control_caught"], False)
        self.assertIn("NOT CAUGHT", verdict["summary"][0])


class Counts(Case):
    def test_what_the_clients_told(self):
        run = Run()
        run.usual(end_ms=9000)
        run.hold("c1.1", 9100, 9900, extends=(9400, 9700))
        run.story(9200, "c1.1", "count", attempts=30)
        run.story(9900, "c1.1", "count", attempts=50)
        run.story(9900, "c2.1", "count", attempts=7)
        run.story(9300, "c1.1", "lost", status="ERR_EXPIRED", plan="outlast")
        run.story(9310, "c1.1", "lost", status="ERR_EXPIRED", plan="short")
        run.story(9320, "c2.1", "lost", status="ERR_LOST", plan="outlast")
        run.story(9330, "c2.1", "denied", status="ERR_HELD", why="n1: held")
        verdict = self.expect(run, SAFE)
        self.assertEqual(verdict["attempts"], 57)
        self.assertEqual(verdict["extended"], 2)
        self.assertEqual(verdict["lost"], {"ERR_EXPIRED": 1, "ERR_LOST": 1, "on purpose": 1})
        self.assertEqual(verdict["denied"], {"ERR_HELD": 1})
        self.assertIn("  ERR_HELD, 1 times of 1: n1: held", verdict["summary"])
        self.assertEqual(verdict["clients"]["c1.1"]["lost"], 2)
        self.assertEqual(verdict["wait_us"]["p50"], 5000)


class Text(Case):
    def test_every_verdict_says_what_it_is(self):
        run = Run()
        run.usual()
        self.assertEqual(self.judge(run)["summary"][0], "The lock held.")
        run.hold("c3.1", 9000, 9900)
        first = self.judge(run)["summary"][0]
        self.assertIn("DID NOT HOLD", first)
        run = Run()
        self.assertIn("CANNOT BE JUDGED", self.judge(run)["summary"][0])


if __name__ == "__main__":
    tap.main()
