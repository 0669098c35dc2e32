"""The order of the holders: the one that is told later has the larger fence, even if its attempt
began first.

Exclusion and fences together: under Redlock's assumption on time, with the guard, and with counters
that survive. exclusion.py's actions stay, and the counters are added. Here a node that restarts has
its keys or fewer: old keys with newer counters would be a state in which it never was.

The invariant `later` carries it: on a node of a told round's quorum, any other fence that may still
be relied on is larger. That round came to the node later: had it come before, its yes would stand
there, and the node would not have agreed to the told one.
"""
import exclusion
from exclusion import Node, Quorum, Resource, Round, Value, attempt, member, n, r, s
from exclusion import q, token, vacant, wants, x
from fences import TOTAL_ORDER, Number, at_most, less
from prover import Step
from terms import FALSE, Symbol, every, given, implies, some

fenced = Symbol("fenced", Value)  # the token is of a lock with a fence; others do not count up
fence = Symbol("fence", Round, result=Number)


class Order(exclusion.Exclusion):
    name = "order"
    state = exclusion.Exclusion.state + [
        Symbol("counter", Node, Resource, result=Number),
        Symbol("placed", Node, Round),
        Symbol("backing", Node, Round),  # of the quorum with which it was told
        Symbol("earlier", Round, Round),  # the first was told before the second was
    ]
    ACTIONS = [*exclusion.Exclusion.ACTIONS, "raise_", "tell_fence"]

    def axioms(self):
        return super().axioms() + TOTAL_ORDER

    def grants(self, r):
        """Whether the round has a fence of its own."""
        return attempt(r) & fenced(token(r))

    def invariants(self, now):
        live = lambda r: self.live(now, n, r)
        rival = lambda r, s: self.rival(now, r, s)
        has_fenced = lambda n, x, s: (now.stored(n, x) == token(s)) & fenced(token(s))
        mine = {
            "placed by a yes": every(n, r)(
                implies(now.placed(n, r), now.agreed(n, r) & self.grants(r))
            ),
            "placed below": every(n, x, r)(
                implies(now.placed(n, r) & wants(r, x), at_most(fence(r), now.counter(n, x)))
            ),
            "beyond": every(n, x, r, s)(
                implies(
                    has_fenced(n, x, s) & now.placed(n, r) & rival(r, s),
                    less(fence(r), now.counter(n, x)),
                )
            ),
            "not asked in doubt": every(n, x, r, s)(
                implies(now.doubt(n, r, s) & attempt(r) & rival(r, s), ~live(s))
            ),
            "backing is placed": every(n, r)(implies(now.backing(n, r), now.placed(n, r))),
            "told by a backing": every(r)(
                implies(
                    now.told(r) & self.grants(r),
                    some(q)(every(n)(implies(member(n, q), now.backing(n, r)))),
                )
            ),
            "later": every(n, x, r, s)(
                implies(
                    now.backing(n, r) & now.placed(n, s) & rival(r, s) & live(s),
                    less(fence(r), fence(s)),
                )
            ),
            "grows": every(x, r, s)(
                implies(now.earlier(r, s) & rival(r, s), less(fence(r), fence(s)))
            ),
        }
        return {**super().invariants(now), **mine}

    def claims(self, now):
        return {
            "in the order of the holders": every(x, r, s)(
                implies(
                    now.earlier(r, s) & self.rival(now, r, s),
                    less(fence(r), fence(s)),
                )
            )
        }

    # -- counting --

    def counts(self, now, at, ask, count):
        """A SET or TAKE with a fence: the counters of its resources become `count`, which is
        larger."""
        here = lambda n, x: (n == at) & wants(ask, x) & fenced(token(ask))
        larger = less(now.counter(at, x), count) | self.breaks("counter ends with the key")
        return (
            [every(x)(implies(wants(ask, x) & fenced(token(ask)), larger))],
            {"counter": lambda n, x: given(here(n, x), count, now.counter(n, x))},
        )

    def granting(self, now, at, ask, count, base):
        """The same for a counted vote: only nodes that may vote are asked for one."""
        forgotten = now.forgot(at, s) & self.rival(now, ask, s) & self.live(now, at, s)
        asked = every(s, x)(~forgotten) | self.breaks("asked in quarantine")
        needs, becomes = self.counts(now, at, ask, count)
        good = fenced(token(ask)) & (count == fence(ask))
        becomes["placed"] = lambda n, r: now.placed(n, r) | ((n == at) & (r == ask) & good)
        return Step([*base.needs, asked, *needs], **base.becomes, **becomes)

    def uncounted(self, now, at, ask, count, base):
        needs, becomes = self.counts(now, at, ask, count)
        return Step([*base.needs, *needs], **base.becomes, **becomes)

    def set(self, now, at: Node, ask: Round, count: Number):
        return self.granting(now, at, ask, count, super().set(now, at, ask))

    def take(self, now, at: Node, ask: Round, count: Number):
        return self.granting(now, at, ask, count, super().take(now, at, ask))

    def pass_(self, now, at: Node, ask: Round, value: Value, count: Number):
        return self.granting(now, at, ask, count, super().pass_(now, at, ask, value))

    def set_uncounted(self, now, at: Node, ask: Round, count: Number):
        return self.uncounted(now, at, ask, count, super().set_uncounted(now, at, ask))

    def take_uncounted(self, now, at: Node, ask: Round, count: Number):
        return self.uncounted(now, at, ask, count, super().take_uncounted(now, at, ask))

    def raised(self, now, at, base, beyond=FALSE):
        """The counters grow or stay; beyond: where they must grow."""
        raised = Symbol("raised", Resource, result=Number)
        larger = less(now.counter(at, x), raised(x))
        same = (now.counter(at, x) == raised(x)) & ~beyond
        return Step(
            [*base.needs, every(x)(larger | same)],
            **base.becomes,
            counter=lambda n, x: given(n == at, raised(x), now.counter(n, x)),
        )

    def extend(self, now, at: Node, ask: Round):
        return self.raised(now, at, super().extend(now, at, ask))

    def written(self, now, at, base):
        """Home, or a release, writes a fenced token and must count up, or this token's raise could
        place a fence that another had here."""
        then = base.becomes["stored"](at, x)
        new = fenced(then) & (then != now.stored(at, x))
        return self.raised(now, at, base, new & ~self.breaks("home does not count up"))

    def release(self, now, at: Node, value: Value):
        return self.written(now, at, super().release(now, at, value))

    def line(self, now, at: Node, on: Resource, value: Value):
        return self.written(now, at, super().line(now, at, on, value))

    def raise_(self, now, at: Node, ask: Round):
        """Follows the attempt's SET or TAKE."""
        mine = now.stored(at, x) == token(ask)
        below = at_most(now.counter(at, x), fence(ask))
        here = lambda n, x: (n == at) & wants(ask, x)
        return Step(
            [
                self.grants(ask),
                now.agreed(at, ask),
                every(x)(implies(wants(ask, x), mine & below)),
            ],
            counter=lambda n, x: given(here(n, x), fence(ask), now.counter(n, x)),
            placed=lambda n, r: now.placed(n, r) | ((n == at) & (r == ask)),
        )

    # -- told --

    def tell(self, now, ask: Round, by: Quorum):
        base = super().tell(now, ask, by)
        return Step([*base.needs, ~self.grants(ask)], **base.becomes)

    def tell_fence(self, now, ask: Round, by: Quorum):
        base = super().tell(now, ask, by)
        in_time = self.relied(now, ask) | self.breaks("told late")
        first = lambda r: now.told(r) & self.grants(r) & (r != ask)
        return Step(
            [
                *base.needs,
                self.grants(ask) & ~now.told(ask) & in_time,
                every(n)(implies(member(n, by), now.placed(n, ask))),
            ],
            **base.becomes,
            backing=lambda n, r: now.backing(n, r) | ((r == ask) & member(n, by)),
            earlier=lambda r, s: now.earlier(r, s) | ((s == ask) & first(r)),
        )

    def restart(self, now, at: Node):
        base = super().restart(now, at)
        found = Symbol("found", Resource, result=Value)
        less_or_same = vacant(found(x)) | (found(x) == now.stored(at, x))
        return Step(
            [*base.needs, every(x)(less_or_same | self.breaks("old keys, new counters"))],
            **base.becomes,
        )

    def lose(self, now, at: Node):
        """Wrong: a counter is lost."""
        lost = Symbol("lost", Resource, result=Number)
        return Step([], counter=lambda n, x: given(n == at, lost(x), now.counter(n, x)))


CONTROLS = {
    "counter ends with the key": ("set", "beyond"),
    "asked in quarantine": ("set", "not asked in doubt"),
    "told late": ("tell_fence", "later"),
    "home does not count up": ("line", "beyond"),
    "old keys, new counters": ("restart", "beyond"),
    "lose": ("lose", "placed below"),
    "ends early": ("expire", "stands"),
    "take overwrites": ("take", "stands"),
}
