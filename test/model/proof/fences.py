"""Fences: two reported grants of one resource have different fences, and fences grow. No assumption
on time.

For any number of nodes and attempts. A key may end at any moment, and two clients may hold at once:
the only assumption is that counters survive. What replaces a node's key does not matter, so SET,
TAKE and a pass are one action, `vote`, which counts up; and `put` is everything that leaves no
fenced token there: the end of a key, a release, a lock without a fence.

A fence is *placed* on a node when the counter was exactly the fence while the node had the
attempt's token, and the node said so. The invariant that carries it is `beyond`: while a node has
an attempt's token, its counter is beyond all other fences that were placed there. So whatever
writes a token counts up, even if nobody counts the vote: a turn that home gives.

One resource is enough: a lock of several has one fence, which is placed for each of them
separately.
"""
from prover import Step, Theory
from terms import TRUE, Sort, Symbol, Var, every, given, implies, some

Node, Attempt, Value, Number, Quorum = (
    Sort(name) for name in ("node", "attempt", "value", "number", "quorum")
)
n = Var("n", Node)
a, b = Var("a", Attempt), Var("b", Attempt)
v = Var("v", Value)
i, j, k = (Var(name, Number) for name in "ijk")
q, p = Var("q", Quorum), Var("p", Quorum)

member = Symbol("member", Node, Quorum)
token = Symbol("token", Attempt, result=Value)
less = Symbol("less", Number, Number)
fence = Symbol("fence", Attempt, result=Number)  # the final one, with which it is told

TOTAL_ORDER = [
    every(i)(~less(i, i)),
    every(i, j, k)(implies(less(i, j) & less(j, k), less(i, k))),
    every(i, j)(less(i, j) | (i == j) | less(j, i)),
]
AXIOMS = {
    "two quorums share a node": every(q, p)(some(n)(member(n, q) & member(n, p))),
    "each attempt has a token of its own": every(a, b)(implies(token(a) == token(b), a == b)),
}


def at_most(i, j):
    return less(i, j) | (i == j)


class Fences(Theory):
    name = "fences"
    state = [
        Symbol("sent", Attempt),
        Symbol("stored", Node, result=Value),
        Symbol("counter", Node, result=Number),
        Symbol("voted", Node, Attempt),  # with a number up to the fence
        Symbol("placed", Node, Attempt),
        Symbol("told", Attempt),
        Symbol("backing", Node, Attempt),  # of the quorum with which it was told
        Symbol("before", Attempt, Attempt),  # the first was told before the second was sent
    ]
    ACTIONS = "send vote raise_ extend put tell".split()

    def axioms(self):
        return TOTAL_ORDER + [x for name, x in AXIOMS.items() if name not in self.wrong]

    def begins(self, now):
        return [*super().begins(now), every(n, a)(now.stored(n) != token(a))]

    def invariants(self, now):
        return {
            "placed below": every(n, a)(
                implies(now.placed(n, a), at_most(fence(a), now.counter(n)))
            ),
            "beyond": every(n, a, b)(
                implies(
                    (now.stored(n) == token(b)) & now.placed(n, a) & (a != b),
                    less(fence(a), now.counter(n)),
                )
            ),
            "placed fences differ": every(n, a, b)(
                implies(now.placed(n, a) & now.placed(n, b) & (a != b), fence(a) != fence(b))
            ),
            "placed was sent": every(n, a)(implies(now.placed(n, a), now.sent(a))),
            "backing is placed": every(n, a)(
                implies(now.backing(n, a), now.placed(n, a) & now.told(a))
            ),
            "told by a quorum": every(a)(
                implies(
                    now.told(a), some(q)(every(n)(implies(member(n, q), now.backing(n, a))))
                )
            ),
            "before": every(a, b)(
                implies(now.before(a, b), now.told(a) & now.sent(b) & (a != b))
            ),
            "placed fences grow": every(n, a, b)(
                implies(
                    now.before(a, b) & now.backing(n, a) & now.placed(n, b),
                    less(fence(a), fence(b)),
                )
            ),
        }

    def claims(self, now):
        return {
            "fences differ": every(a, b)(
                implies(now.told(a) & now.told(b) & (a != b), fence(a) != fence(b))
            ),
            "fences grow": every(a, b)(
                implies(now.told(b) & now.before(a, b), less(fence(a), fence(b)))
            ),
        }

    def marks(self, relation, at, ask, if_so):
        return lambda n, a: relation(n, a) | ((n == at) & (a == ask) & if_so)

    def send(self, now, ask: Attempt):
        return Step(
            [~now.sent(ask)],
            sent=lambda a: now.sent(a) | (a == ask),
            before=lambda a, b: now.before(a, b) | ((b == ask) & now.told(a) & (a != ask)),
        )

    def vote(self, now, at: Node, ask: Attempt, count: Number):
        """Whatever writes the token, any number of times: SET, TAKE, a repair, a pass, a turn that
        home gives. max(counter + 1, floor) is any larger number."""
        larger = less(now.counter(at), count)
        if "counter ends with the key" in self.wrong:
            larger = TRUE
        if "a fence is passed twice" in self.wrong:  # set to f + 1 where it is f + 1 already
            larger = at_most(now.counter(at), count)
        return Step(
            [now.sent(ask), larger],
            stored=lambda n: given(n == at, token(ask), now.stored(n)),
            counter=lambda n: given(n == at, count, now.counter(n)),
            voted=self.marks(now.voted, at, ask, at_most(count, fence(ask))),
            placed=self.marks(now.placed, at, ask, count == fence(ask)),
        )

    def raise_(self, now, at: Node, ask: Attempt):
        mine = now.stored(at) == token(ask)
        if "raise without comparing" in self.wrong:
            mine = TRUE
        return Step(
            [now.sent(ask), mine, at_most(now.counter(at), fence(ask))],
            counter=lambda n: given(n == at, fence(ask), now.counter(n)),
            placed=self.marks(now.placed, at, ask, TRUE),
        )

    def raise_above(self, now, at: Node, ask: Attempt):
        """Wrong: accepts a larger counter."""
        return Step(
            [now.sent(ask), now.stored(at) == token(ask), at_most(fence(ask), now.counter(at))],
            placed=self.marks(now.placed, at, ask, TRUE),
        )

    def extend(self, now, at: Node, ask: Attempt, count: Number):
        return Step(
            [now.stored(at) == token(ask), at_most(now.counter(at), count)],
            counter=lambda n: given(n == at, count, now.counter(n)),
        )

    def put(self, now, at: Node, value: Value):
        return Step(
            [every(a)(value != token(a))],
            stored=lambda n: given(n == at, value, now.stored(n)),
        )

    def turn(self, now, at: Node, ask: Attempt):
        """Wrong: home writes the next client's token without counting up."""
        return Step([now.sent(ask)], stored=lambda n: given(n == at, token(ask), now.stored(n)))

    def lose(self, now, at: Node, count: Number):
        """Wrong: a counter is lost."""
        return Step([], counter=lambda n: given(n == at, count, now.counter(n)))

    def tell(self, now, ask: Attempt, by: Quorum):
        good = now.placed
        if "no raise" in self.wrong:  # the largest of a quorum's numbers is taken as it is
            good = now.voted
        enough = every(n)(implies(member(n, by), good(n, ask)))
        if "one is enough" in self.wrong:
            enough = some(n)(good(n, ask))
        return Step(
            [now.sent(ask), ~now.told(ask), enough],
            told=lambda a: now.told(a) | (a == ask),
            backing=lambda n, a: now.backing(n, a) | ((a == ask) & member(n, by)),
        )


CONTROLS = {
    "counter ends with the key": ("vote", "placed below"),
    "a fence is passed twice": ("vote", "beyond"),
    "turn": ("turn", "beyond"),
    "raise without comparing": ("raise_", "placed fences differ"),
    "raise_above": ("raise_above", "placed fences differ"),
    "lose": ("lose", "placed below"),
    "no raise": ("tell", "backing is placed"),
    "one is enough": ("tell", "backing is placed"),
    "each attempt has a token of its own": ("vote", "beyond"),
    "two quorums share a node": ("claim", "fences differ"),
}
