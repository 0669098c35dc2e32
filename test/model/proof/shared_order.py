"""Fences of readers and writers in the order of the holders: the fences of shared_fences.py, for
grants that are told later, not only sent later. Under the assumptions of order.py.

A mode may change. An upgrade counts up, and is a grant with a fence of its own: the fence that it
had as a reader may be an earlier writer's, or below another reader's. A downgrade keeps the
writer's, which is at least that of every earlier writer, and below every later one's.
"""
from exclusion import Node, Quorum, Resource, Round, Value, apart, attempt, member, n, q, r, s
from exclusion import token, wants, x
from fences import Number, at_most, less
from modes import Modes, upgrade, writes
from order import Order, fence, fenced
from prover import Step
from terms import Symbol, every, given, implies, some


class SharedOrder(Order, Modes):
    name = "order of modes"
    state = [*Modes.state, *(symbol for symbol in Order.state if symbol not in Modes.state)]
    state += [Symbol("heard", Node, Round)]
    ACTIONS = [*Modes.ACTIONS, "raise_", "tell_fence", "raise_shared", "tell_reader"]

    def grants(self, r):
        return (attempt(r) | upgrade(r)) & fenced(token(r))

    def invariants(self, now):
        live = lambda r: self.live(now, n, r)
        has_fenced = lambda n, x, s: (now.stored(n, x) == token(s)) & fenced(token(s))
        asked = lambda r: attempt(r) | upgrade(r)
        mine = {
            "beyond": every(n, x, r, s)(
                implies(
                    has_fenced(n, x, s) & now.placed(n, r) & (apart(r, s) & wants(s, x)),
                    less(fence(r), now.counter(n, x)),
                )
            ),
            "not asked in doubt": every(n, x, r, s)(
                implies(now.doubt(n, r, s) & asked(r) & self.rival(now, r, s), ~live(s))
            ),
            "later": every(n, x, r, s)(
                implies(
                    (now.backing(n, r) & now.placed(n, s) & apart(r, s))
                    & (live(s) & self.claims_to_write(now, s)),
                    less(fence(r), fence(s)),
                )
            ),
            "heard by a yes": every(n, r)(
                implies(now.heard(n, r), now.agreed(n, r) & self.grants(r) & ~writes(r))
            ),
            "readers have heard a quorum": every(r)(
                implies(
                    now.told(r) & self.grants(r) & ~writes(r),
                    some(q)(every(n)(implies(member(n, q), now.heard(n, r)))),
                )
            ),
            "who is heard tells of earlier fences": every(n, x, r, s)(
                implies(
                    (now.backing(n, r) & now.heard(n, s) & apart(r, s)) & (writes(r) & live(s)),
                    at_most(fence(r), fence(s)),
                )
            ),
            "grows": every(x, r, s)(self.in_order(now, r, s)),
        }
        return {**super().invariants(now), **mine}

    def in_order(self, now, r, s):
        earlier = now.earlier(r, s) & apart(r, s)
        return implies(earlier & writes(s), less(fence(r), fence(s))) & implies(
            earlier & writes(r), at_most(fence(r), fence(s))
        )

    def claims(self, now):
        """A grant that was a writer's when it was told counts as such, even if it was lowered
        since."""
        return {"in the order of the holders": every(x, r, s)(self.in_order(now, r, s))}

    # -- writers: as in order.py --

    def upgrade(self, now, at: Node, ask: Round, count: Number):
        return self.granting(now, at, ask, count, super().upgrade(now, at, ask))

    def upgrade_uncounted(self, now, at: Node, ask: Round, count: Number):
        return self.uncounted(now, at, ask, count, super().upgrade_uncounted(now, at, ask))

    def raise_(self, now, at: Node, ask: Round):
        return self.with_needs(super().raise_(now, at, ask), writes(ask))

    def tell_fence(self, now, ask: Round, by: Quorum):
        """A lock that is not held yet cannot be downgraded."""
        step = super().tell_fence(now, ask, by)
        return self.with_needs(step, self.claims_to_write(now, ask))

    def keep_fence(self, now, ask: Round, by: Quorum, reader: Round):
        """Wrong: an upgrade is told with the fence that its token has as a reader."""
        step = Modes.tell(self, now, ask, by)
        own = (token(reader) == token(ask)) & attempt(reader) & (fence(reader) == fence(ask))
        first = lambda r: now.told(r) & self.grants(r) & (r != ask)
        step.becomes["earlier"] = lambda r, s: now.earlier(r, s) | ((s == ask) & first(r))
        return self.with_needs(step, self.grants(ask), upgrade(ask) & own & now.told(reader))

    # -- readers --

    def looks(self, now, at, ask, count):
        """The counters become `count`, the largest of them, or more."""
        here = lambda n, x: (n == at) & wants(ask, x) & fenced(token(ask))
        return (
            [every(x)(implies(here(at, x), at_most(now.counter(at, x), count)))],
            {"counter": lambda n, x: given(here(n, x), count, now.counter(n, x))},
        )

    def share(self, now, at: Node, ask: Round, count: Number):
        base = super().share(now, at, ask)
        forgotten = now.forgot(at, s) & self.rival(now, ask, s) & self.live(now, at, s)
        asked = every(s, x)(~forgotten) | self.breaks("asked in quarantine")
        needs, becomes = self.looks(now, at, ask, count)
        if "a reader's vote is any number" in self.wrong:
            needs, becomes = [], {}
        this = lambda n, r: (n == at) & (r == ask) & fenced(token(ask))
        return Step(
            [*base.needs, asked, *needs],
            **base.becomes,
            **becomes,
            heard=lambda n, r: now.heard(n, r) | (this(n, r) & at_most(count, fence(ask))),
            placed=lambda n, r: now.placed(n, r) | (this(n, r) & (count == fence(ask))),
        )

    def share_uncounted(self, now, at: Node, ask: Round, count: Number):
        base = super().share_uncounted(now, at, ask)
        needs, becomes = self.looks(now, at, ask, count)
        return Step([*base.needs, *needs], **base.becomes, **becomes)

    def release_shared(self, now, at: Node, on: Resource, value: Value, left: Value):
        return self.written(now, at, super().release_shared(now, at, on, value, left))

    def extend_shared(self, now, at: Node, ask: Round):
        return self.raised(now, at, super().extend_shared(now, at, ask))

    def extend_shared_uncounted(self, now, at: Node, ask: Round):
        return self.raised(now, at, super().extend_shared_uncounted(now, at, ask))

    def raise_shared(self, now, at: Node, ask: Round):
        """Follows the attempt. Accepts more: only smaller counters are raised."""
        mine = every(x)(implies(wants(ask, x), now.leases(at, x, token(ask))))
        here = lambda n, x: (n == at) & wants(ask, x)
        smaller = lambda n, x: here(n, x) & less(now.counter(n, x), fence(ask))
        return Step(
            [self.grants(ask) & ~writes(ask), now.agreed(at, ask), mine],
            counter=lambda n, x: given(smaller(n, x), fence(ask), now.counter(n, x)),
            placed=lambda n, r: now.placed(n, r) | ((n == at) & (r == ask)),
        )

    def tell_reader(self, now, ask: Round, votes: Quorum, by: Quorum):
        step = super().tell_fence(now, ask, by)
        heard = every(n)(implies(member(n, votes), now.heard(n, ask) & now.counted(n, ask)))
        if "a reader's fence is that of one vote" in self.wrong:
            heard = some(n)(now.heard(n, ask))
        return self.with_needs(step, ~writes(ask), heard)


CONTROLS = {
    "a reader's vote is any number": ("share", "placed below"),
    "a reader's fence is that of one vote": ("tell_reader", "readers have heard a quorum"),
    "asked in quarantine": ("share", "not asked in doubt"),
    "told late": ("tell_fence", "later"),
    "keep_fence": ("keep_fence", "grows"),
    "lose": ("lose", "placed below"),
    "TAKE does not look at readers": ("take", "stands"),
}
