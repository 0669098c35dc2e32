"""Clocks: why exclusion.py's assumption on time holds where clocks run at bounded rates. It needs
real numbers, so only z3 and cvc5 prove it.

`Clocks` shows that PX is what `expire` says: while a node's clock gains less than the drift
allowance on the clock of a round's client over the round's ttl, a key that the round has set or
prolonged ends only when ttl - drift has passed at that client since the sending. Each client has
its own clock; the assumptions relate it to the nodes' clocks only.

The lemmas are about a single moment: what a server does with whole milliseconds, that the allowance
covers clocks whose rates differ by its ratio, that a pass starts no later than its key was written,
that a quarantine is long enough, and that two majorities meet. Only the quarantine relates clients'
clocks to *each other*: one client measures it, and it must outlast a validity that another
measures.
"""
from collections import namedtuple

from prover import PROVED, REFUTED, Step, Theory
from terms import INT, REAL, Const, Sort, Symbol, Var, every, given, implies
from terms import number, whole

Key, Round = Sort("key"), Sort("round")  # a key: what is under one resource at one node
n = Var("n", Key)
r = Var("r", Round)
sending, ttl, drift = (
    Symbol(name, Key, Round, result=REAL) for name in ("sending", "ttl", "drift")
)
ZERO = number(0, REAL)


def over(now, n, r):
    return sending(n, r) + ttl(n, r) - drift(n, r) <= now.time(r)


class Clocks(Theory):
    name = "clocks"
    state = [
        Symbol("lasts", Key, Round),  # as in exclusion.py
        Symbol("ends", Key, result=REAL),  # by the node's clock
        Symbol("clock", Key, result=REAL),  # the node's
        Symbol("time", Round, result=REAL),  # the clock of the round's client
        Symbol("ran", Key, Round, result=REAL),  # when the node ran it, by the client's clock
        Symbol("ran_here", Key, Round, result=REAL),  # ... and by its own
    ]
    ACTIONS = "set prolong vacate expire tick".split()

    def axioms(self):
        return [every(n, r)((ZERO < ttl(n, r)) & (ZERO <= drift(n, r)))]

    def invariants(self, now):
        since = now.time(r) - now.ran(n, r)
        gains = now.clock(n) - now.ran_here(n, r) <= since + drift(n, r)
        return {
            "prolonged": every(n, r)(
                implies(now.lasts(n, r), now.ran_here(n, r) + ttl(n, r) <= now.ends(n))
            ),
            "sent, run, now": every(n, r)(
                implies(
                    now.lasts(n, r),
                    (sending(n, r) <= now.ran(n, r)) & (now.ran(n, r) <= now.time(r)),
                )
            ),
            "gains": every(n, r)(implies(now.lasts(n, r) & (since <= ttl(n, r)), gains)),
        }

    def claims(self, now):
        return {
            "a key ends when all that it lasts for is over": every(n, r)(
                implies(now.lasts(n, r) & (now.ends(n) <= now.clock(n)), over(now, n, r))
            )
        }

    def runs(self, now, at, ask, ends, also):
        """The round runs at the node. also: other rounds for which the key lasts."""
        this = lambda n, r: (n == at) & (r == ask)
        sent = sending(at, ask) <= now.time(ask)
        return Step(
            [sent | self.breaks("validity from the answer"), ~now.lasts(at, ask)],
            ends=lambda n: given(n == at, ends, now.ends(n)),
            lasts=lambda n, r: this(n, r) | (now.lasts(n, r) & ((n != at) | also)),
            ran=lambda n, r: given(this(n, r), now.time(ask), now.ran(n, r)),
            ran_here=lambda n, r: given(this(n, r), now.clock(at), now.ran_here(n, r)),
        )

    def set(self, now, at: Key, ask: Round):
        """SET or TAKE, where the token is not yet."""
        return self.runs(now, at, ask, now.clock(at) + ttl(at, ask), self.breaks("set on its own"))

    def prolong(self, now, at: Key, ask: Round):
        """EXTEND, and TAKE on its own key."""
        end = now.clock(at) + ttl(at, ask)
        longer = given(now.ends(at) < end, end, now.ends(at))
        if "extend shortens" in self.wrong:
            longer = end
        if "take does not prolong" in self.wrong:
            longer = now.ends(at)
        return self.runs(now, at, ask, longer, n == n)

    def vacate(self, now, at: Key):
        """A release, a reservation or an uncounted vote: the key may end at any time."""
        any_time = Const("any_time", REAL)
        return Step(
            [],
            ends=lambda n: given(n == at, any_time, now.ends(n)),
            lasts=lambda n, r: now.lasts(n, r) & (n != at),
        )

    def expire(self, now, at: Key):
        return Step([now.ends(at) <= now.clock(at)], lasts=lambda n, r: now.lasts(n, r) & (n != at))

    def tick(self, now):
        """The assumption: the node gains at most the allowance while the ttl passes."""
        clock = Symbol("next_clock", Key, result=REAL)
        time = Symbol("next_time", Round, result=REAL)
        since = time(r) - now.ran(n, r)
        gains = clock(n) - now.ran_here(n, r) <= since + drift(n, r)
        if "clocks gain anything" in self.wrong:
            gains = n == n
        return Step(
            [
                every(n)(now.clock(n) <= clock(n)),
                every(r)(now.time(r) <= time(r)),
                every(n, r)(implies(now.lasts(n, r) & (since <= ttl(n, r)), gains)),
            ],
            clock=clock,
            time=time,
        )


CONTROLS = {
    "validity from the answer": ("set", "sent, run, now"),
    "set on its own": ("set", "prolonged"),
    "extend shortens": ("prolong", "prolonged"),
    "take does not prolong": ("prolong", "prolonged"),
    "clocks gain anything": ("tick", "gains"),
}


# -- lemmas --

Lemma = namedtuple("Lemma", "name hypotheses goal expected")


def real(*names):
    return [Const(name, REAL) for name in names]


def integer(*names):
    return [Const(name, INT) for name in names]


def milliseconds():
    """A server counts whole milliseconds: a key is set at floor(clock), and has ended when
    floor(clock) is beyond the end (Redis), or at it (others)."""
    sent, ran, now, drift = real("sent", "ran", "now", "drift")
    clock_ran, clock_now = real("clock_ran", "clock_now")
    ms_ran, ms_now, ms = integer("ms_ran", "ms_now", "ms")
    one = number(1, REAL)
    floors = [
        (whole(floor) <= clock) & (clock < whole(floor) + one)
        for floor, clock in ((ms_ran, clock_ran), (ms_now, clock_now))
    ]

    def gains(allowance):
        return implies(now - ran <= whole(ms), clock_now - clock_ran <= now - ran + allowance)

    common = [*floors, ZERO < whole(ms), ZERO <= drift, ran <= now, clock_ran <= clock_now]
    valid = now < sent + whole(ms) - drift
    sent_first = sent <= ran
    lives = ms_now <= ms_ran + ms
    yield Lemma(
        "a key outlives validity, in whole milliseconds",
        [*common, sent_first, gains(drift), valid],
        lives,
        PROVED,
    )
    yield Lemma(
        "wrong: validity from the answer", [*common, gains(drift), valid], lives, REFUTED
    )
    yield Lemma(
        "wrong: the clock gains twice the allowance and more",
        [*common, sent_first, gains(drift + drift), one + one < drift, valid],
        lives,
        REFUTED,
    )
    start, grain = real("start", "grain")
    yield Lemma(
        "a key that is passed outlives validity from its start; two grains are of the allowance",
        [*common, start <= ran + grain + grain, gains(drift - grain - grain)]
        + [ZERO < grain, grain + grain <= drift, now < start + whole(ms) - drift],
        lives,
        PROVED,
    )
    strictly = ms_now < ms_ran + ms
    yield Lemma(
        "a server that ends keys at the millisecond takes one of the allowance",
        [*common, sent_first, gains(drift - one), one <= drift, valid],
        strictly,
        PROVED,
    )
    yield Lemma(
        "wrong: such a server, without that",
        [*common, sent_first, gains(drift), drift < one, valid],
        strictly,
        REFUTED,
    )


def rates():
    """drift = ttl * ratio + constant covers a clock whose rate is up to 1 + ratio."""
    ttl, ratio, constant, passed, shown = real("ttl", "ratio", "constant", "passed", "shown")
    drift = ttl * ratio + constant
    yield Lemma(
        "the allowance covers the ratio of the rates",
        [ZERO < ttl, ZERO <= ratio, ZERO <= constant, ZERO <= passed, passed <= ttl]
        + [shown <= passed + passed * ratio],
        shown <= passed + drift,
        PROVED,
    )


def passing():
    """A node writes a token when its clock shows `told`, and reports that to a client, which dates
    it `start`: the client sent a command at `sent`, and the node answered that its clock showed
    `shown`. Both clocks are read to a grain, a microsecond. The clocks gain no more than the
    ratio on each other."""
    sent, ran, wrote, arrived = real("sent", "ran", "wrote", "arrived")
    shown, told, clock_ran, clock_wrote = real("shown", "told", "clock_ran", "clock_wrote")
    ratio, grain, step = real("ratio", "grain", "step")
    read = [
        (said <= clock) & (clock < said + grain)
        for said, clock in ((shown, clock_ran), (told, clock_wrote))
    ]
    common = [sent <= ran, ZERO <= ratio, ratio <= number(1, REAL), ZERO < grain, *read]

    def rates(earlier, later, clock_earlier, clock_later):
        here, there = later - earlier, clock_later - clock_earlier
        agree = (there <= here + here * ratio) & (here <= there + there * ratio)
        return implies(earlier <= later, (ZERO <= there) & agree)

    def agree(stepped):
        return [
            rates(ran, wrote, clock_ran, clock_wrote - stepped),
            rates(wrote, ran, clock_wrote - stepped, clock_ran),
        ]

    after, before = told - shown, shown - told
    forward = sent + (after - after * ratio)
    start = given(shown <= told, forward, sent - (before + before * ratio))
    soon = wrote + grain + grain
    yield Lemma(
        "a pass starts no later than it was written, to two grains",
        [*common, *agree(ZERO)],
        start <= soon,
        PROVED,
    )
    yield Lemma(
        "wrong: validity from the arrival of the message",
        [*common, *agree(ZERO), wrote <= arrived],
        arrived <= soon,
        REFUTED,
    )
    yield Lemma(
        "wrong: a calibration of before the node's clock stepped",
        [*common, *agree(step)],
        start <= soon,
        REFUTED,
    )
    yield Lemma(
        "wrong: 1 - drift for what was written before the calibration",
        [*common, *agree(ZERO)],
        forward <= soon,
        REFUTED,
    )


def quarantine():
    """A round ran at a node before the node restarted. Another client sees the restart, waits, and
    counts the node's vote. `holder_*` is by the clock of the round's client, `watcher_*` by the
    other's."""
    sent, ran, holder_seen, holder_counts = real("sent", "ran", "holder_seen", "holder_counts")
    watcher_seen, watcher_counts = real("watcher_seen", "watcher_counts")
    ttl, drift, max_ttl, max_drift, uptime = real("ttl", "drift", "max_ttl", "max_drift", "uptime")
    before = [sent <= ran, ran <= holder_seen, holder_seen <= holder_counts]
    before += [ZERO < ttl, ZERO <= drift]
    rule = [max_ttl + max_drift <= watcher_counts - watcher_seen]
    agree = watcher_counts - watcher_seen <= holder_counts - holder_seen + max_drift
    is_over = sent + ttl - drift <= holder_counts
    short = ttl <= max_ttl
    yield Lemma(
        "a quarantine outlasts what was forgotten, where clients' clocks agree to the allowance",
        [*before, *rule, agree, short],
        is_over,
        PROVED,
    )
    yield Lemma(
        "wrong: nothing is assumed of clients' clocks",
        [*before, *rule, watcher_seen <= watcher_counts, short],
        is_over,
        REFUTED,
    )
    yield Lemma("wrong: a ttl above max_ttl", [*before, *rule, agree], is_over, REFUTED)
    yield Lemma(
        "wrong: no allowance in the quarantine",
        [*before, max_ttl <= watcher_counts - watcher_seen, agree, short, drift < max_drift],
        is_over,
        REFUTED,
    )
    old = [max_ttl + max_drift <= uptime, uptime <= holder_counts - holder_seen + max_drift]
    long = "a node that is up for long enough, by its own clock"
    yield Lemma(long, [*before, *old, short], is_over, PROVED)


def majorities():
    """both = first + second - together, in numbers of nodes."""
    nodes, half, first, second, together = integer("nodes", "half", "first", "second", "together")
    one = number(1, INT)
    halves = [half + half <= nodes, nodes <= half + half + one, together <= nodes]
    meet = one <= first + second - together
    yield Lemma(
        "two sets of n / 2 + 1 nodes meet",
        [*halves, half + one <= first, half + one <= second],
        meet,
        PROVED,
    )
    yield Lemma("wrong: n / 2", [*halves, half <= first, half <= second], meet, REFUTED)


FAMILIES = [milliseconds, rates, passing, quarantine, majorities]
