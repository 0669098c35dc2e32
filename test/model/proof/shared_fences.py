"""Fences of readers: a reader's is at least that of every earlier writer, and below that of every
later one, so that a store which has heard of a later writer refuses a reader that comes late.

A reader's vote does not count up: it is the largest counter of its resources (or the floor where
one has none; here any number that is no smaller). The largest counted vote is the fence, and if no
quorum has voted it, a second round raises the smaller counters: on a quorum each has then been the
fence *or more*. A writer's raise must not accept more, because two writers' fences must differ; a
reader's may.

Two quorums speak for a reader, each for one half of the claim. Those whose votes it counted
(`heard`) have told it of earlier writers; those where its fence is placed tell later ones.

`SharedFences`, as fences.py: whatever befalls keys, of what was told before the other was sent.
`SharedOrder`, as order.py, with the assumption on time, of what was told before the other was told.
In that a reader may become a writer. Its fence may be an earlier writer's, or below another
reader's, so an upgrade counts up, and is a grant with a fence of its own. A downgrade keeps the
writer's.
"""
import fences
from fences import Attempt, Fences, Node, Number, Quorum, a, at_most, b, less, member, n, q
from prover import Step
from terms import TRUE, Const, Symbol, every, given, implies, some

fence, token = fences.fence, fences.token
reads = Symbol("reads", Attempt)
leased = Const("leased", fences.Value)  # the value of a resource with readers, whoever they are


class SharedFences(Fences):
    name = "readers' fences"
    state = Fences.state + [Symbol("heard", Node, Attempt)]  # with a number up to the fence
    ACTIONS = [*Fences.ACTIONS, "share", "raise_shared", "tell_reader"]

    def axioms(self):
        return super().axioms() + [every(a)(token(a) != leased)]

    def invariants(self, now):
        mine = {
            "placed fences differ": every(n, a, b)(
                implies(
                    now.placed(n, a) & now.placed(n, b) & (~reads(a) & ~reads(b) & (a != b)),
                    fence(a) != fence(b),
                )
            ),
            "placed fences grow": every(n, a, b)(
                implies(
                    now.before(a, b) & now.backing(n, a) & (now.placed(n, b) & ~reads(b)),
                    less(fence(a), fence(b)),
                )
            ),
            "heard was sent": every(n, a)(implies(now.heard(n, a), now.sent(a))),
            "readers have heard a quorum": every(a)(
                implies(
                    now.told(a) & reads(a),
                    some(q)(every(n)(implies(member(n, q), now.heard(n, a)))),
                )
            ),
            "who is heard tells of earlier fences": every(n, a, b)(
                implies(
                    now.before(a, b) & now.backing(n, a) & (now.heard(n, b) & reads(b)),
                    at_most(fence(a), fence(b)),
                )
            ),
        }
        return {**super().invariants(now), **mine}

    def claims(self, now):
        return {
            "writers' fences differ": every(a, b)(
                implies(
                    now.told(a) & now.told(b) & (~reads(a) & ~reads(b) & (a != b)),
                    fence(a) != fence(b),
                )
            ),
            "a writer's is above all earlier ones": every(a, b)(
                implies(
                    now.told(b) & now.before(a, b) & ~reads(b),
                    less(fence(a), fence(b)),
                )
            ),
            "a reader's is at least the earlier ones": every(a, b)(
                implies(
                    now.told(b) & now.before(a, b) & reads(b),
                    at_most(fence(a), fence(b)),
                )
            ),
        }

    def of_writer(self, step, ask):
        step.needs = [*step.needs, ~reads(ask)]
        return step

    def vote(self, now, at: Node, ask: Attempt, count: Number):
        return self.of_writer(super().vote(now, at, ask, count), ask)

    def raise_(self, now, at: Node, ask: Attempt):
        return self.of_writer(super().raise_(now, at, ask), ask)

    def raise_above(self, now, at: Node, ask: Attempt):
        """Wrong: a writer's raise accepts more, as a reader's does."""
        return self.of_writer(super().raise_above(now, at, ask), ask)

    def tell(self, now, ask: Attempt, by: Quorum):
        return self.of_writer(super().tell(now, ask, by), ask)

    def share(self, now, at: Node, ask: Attempt, count: Number):
        """Any number of times, on any value."""
        looks, becomes = at_most(now.counter(at), count), count
        if "a reader's vote is any number" in self.wrong:
            looks, becomes = TRUE, now.counter(at)
        return Step(
            [now.sent(ask) & reads(ask), looks],
            stored=lambda n: given(n == at, leased, now.stored(n)),
            counter=lambda n: given(n == at, becomes, now.counter(n)),
            heard=self.marks(now.heard, at, ask, at_most(count, fence(ask))),
            placed=self.marks(now.placed, at, ask, (count == fence(ask)) & (count == becomes)),
        )

    def raise_shared(self, now, at: Node, ask: Attempt):
        counter, mine = now.counter(at), fence(ask)
        return Step(
            [now.sent(ask) & reads(ask), now.stored(at) == leased],
            counter=lambda n: given((n == at) & less(counter, mine), mine, now.counter(n)),
            placed=self.marks(now.placed, at, ask, TRUE),
        )

    def raise_shared_blindly(self, now, at: Node, ask: Attempt):
        """Wrong: sets the counter even if it is larger."""
        return Step(
            [now.sent(ask) & reads(ask), now.stored(at) == leased],
            counter=lambda n: given(n == at, fence(ask), now.counter(n)),
            placed=self.marks(now.placed, at, ask, TRUE),
        )

    def tell_reader(self, now, ask: Attempt, votes: Quorum, by: Quorum):
        base = super().tell(now, ask, by)
        heard = every(n)(implies(member(n, votes), now.heard(n, ask)))
        placed = base.needs[-1]
        if "a reader's fence is that of one vote" in self.wrong:
            heard = some(n)(now.heard(n, ask))
        if "a reader's fence is not raised" in self.wrong:
            placed = some(n)(now.placed(n, ask))
        return Step([*base.needs[:-1], reads(ask), heard, placed], **base.becomes)


CONTROLS = {
    "a reader's vote is any number": ("share", "who is heard tells of earlier fences"),
    "raise_shared_blindly": ("raise_shared_blindly", "placed below"),
    "a reader's fence is that of one vote": ("tell_reader", "readers have heard a quorum"),
    "a reader's fence is not raised": ("tell_reader", "backing is placed"),
    "raise_above": ("raise_above", "placed fences differ"),
    "lose": ("lose", "placed below"),
    "two quorums share a node": ("claim", "a reader's is at least the earlier ones"),
}
