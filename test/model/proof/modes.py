"""Readers and writers: two rounds that are told, live and not given up never conflict.

exclusion.py with a *conflict relation*: readers do not conflict with readers; a writer conflicts
with everybody. A lock without a mode is a writer. exclusion.py's actions stay, and the readers' are
added: `share`, their SET and TAKE in one; `extend_shared`; `release_shared`; `lease_expires`. A
resource that is read has the value `shared`, and a lease for each reader, which lasts and ends on
its own. The node's rule is exclusion's: it says yes unless a conflicting yes lives. Whose turn it
is, and whom a waiting writer keeps out, is left out, as there: a node may say no at any time.

A mode may change while a lock is held, so rounds conflict, not tokens: a round is sent to write or
to read, and a writer's round is *lowered* as soon as its client only means to read. That happens in
a downgrade, and after an upgrade that has not won. An upgrade is a writer's round like any other:
the client stays a reader until a quorum has said yes.

The added invariant is `stands alone`: if a node has said yes to a writer's round that has not been
lowered, it has the token, not a lease. So a reader's late extension must not turn the token back
into a lease: "a late extension converts" shows how two would hold.
"""
from exclusion import Exclusion, Node, Quorum, Resource, Round, Value
from exclusion import apart, attempt, n, nothing, r, s, token, vacant, wants, x
from prover import Step
from terms import FALSE, Const, Symbol, Var, every, given, implies, some

v = Var("v", Value)

writes = Symbol("writes", Round)  # what its commands ask for; else it reads
upgrade = Symbol("upgrade", Round)
shared = Const("shared", Value)  # the value of a resource with leases

AXIOMS = {
    "shared is not vacant": ~vacant(shared),
    "shared is no token": every(r)(token(r) != shared),
    "an upgrade writes, and is no attempt": every(r)(
        implies(upgrade(r), writes(r) & ~attempt(r))
    ),
}


class Modes(Exclusion):
    name = "modes"
    state = Exclusion.state + [
        Symbol("leases", Node, Resource, Value),
        Symbol("lowered", Round),  # a writer's round on which its client relies only as a reader
    ]
    ACTIONS = Exclusion.ACTIONS + (
        "share extend_shared upgrade share_uncounted extend_shared_uncounted upgrade_uncounted "
        "release_shared lease_expires downgrade"
    ).split()

    def axioms(self):
        return super().axioms() + list(AXIOMS.values())

    def claims_to_write(self, now, r):
        return writes(r) & ~now.lowered(r)

    def rival(self, now, r, s):
        conflict = self.claims_to_write(now, r) | self.claims_to_write(now, s)
        return apart(r, s) & conflict

    def stands(self, now, n, x, r):
        """As the token itself, or with a lease."""
        return (now.stored(n, x) == token(r)) | now.leases(n, x, token(r))

    def invariants(self, now):
        mine = {
            "leases beside shared": every(n, x, v)(
                implies(now.leases(n, x, v), now.stored(n, x) == shared)
            ),
            "of its value": every(n, x, r)(
                implies(now.lasts(n, x, r), self.stands(now, n, x, r))
            ),
            "stands alone": every(n, x, r)(
                implies(
                    now.agreed(n, r)
                    & (~now.forgot(n, r) & self.live(now, n, r))
                    & (wants(r, x) & self.claims_to_write(now, r)),
                    now.stored(n, x) == token(r),
                )
            ),
        }
        return {**super().invariants(now), **mine}

    def claims(self, now):
        holds = lambda r: now.told(r) & self.relied(now, r)
        both = (r != s) & wants(r, x) & wants(s, x)
        conflict = self.claims_to_write(now, r) | self.claims_to_write(now, s)
        return {
            "no two hold": every(x, r, s)(~(holds(r) & holds(s) & self.rival(now, r, s))),
            "no two attempts hold": every(x, r, s)(
                ~((holds(r) & holds(s) & attempt(r) & attempt(s)) & (both & conflict))
            ),
        }

    # -- clients --

    def downgrade(self, now, value: Value):
        """From now on its client only reads: a downgrade, or the end of an upgrade that has not
        won."""
        its = lambda r: now.sent(r) & (token(r) == value)
        return Step([], lowered=lambda r: now.lowered(r) | its(r))

    def tell(self, now, ask: Round, by: Quorum):
        step = super().tell(now, ask, by)
        if "told before it is won" in self.wrong:
            half = upgrade(ask) & some(n)(now.counted(n, ask))
            step.needs = [now.sent(ask), step.needs[1] | half]
        return step

    # -- writers: as in exclusion.py --

    def free(self, now, at, ask):
        reads = (now.stored(at, x) == shared) & self.breaks("SET does not look at readers")
        return every(x)(implies(wants(ask, x), (now.stored(at, x) == nothing) | reads))

    def open_to(self, now, at, ask):
        mine = now.stored(at, x) == token(ask)
        reads = (now.stored(at, x) == shared) & self.breaks("TAKE does not look at readers")
        return every(x)(implies(wants(ask, x), vacant(now.stored(at, x)) | mine | reads))

    def with_needs(self, step, *needs):
        step.needs = [*needs, *step.needs]
        return step

    def set(self, now, at: Node, ask: Round):
        return self.with_needs(super().set(now, at, ask), writes(ask))

    def take(self, now, at: Node, ask: Round):
        return self.with_needs(super().take(now, at, ask), writes(ask))

    def pass_(self, now, at: Node, ask: Round, value: Value):
        step = super().pass_(now, at, ask, value)
        return self.with_needs(step, writes(ask), value != shared)

    def extend(self, now, at: Node, ask: Round):
        return self.with_needs(super().extend(now, at, ask), writes(ask) & ~upgrade(ask))

    def release(self, now, at: Node, value: Value):
        step = super().release(now, at, value)
        same = step.becomes["stored"](at, x) == now.stored(at, x)
        other = step.becomes["stored"](at, x) != shared
        return self.with_needs(step, value != shared, every(x)(same | other))

    def line(self, now, at: Node, on: Resource, value: Value):
        return self.with_needs(super().line(now, at, on, value), value != shared)

    def expire(self, now, at: Node, on: Resource):
        """The release of a token that is not a lease."""
        return self.with_needs(super().expire(now, at, on), now.stored(at, on) != shared)

    def restart(self, now, at: Node):
        step = super().restart(now, at)
        found = Symbol("found", Resource, result=Value)
        found_leases = Symbol("found_leases", Resource, Value)
        step.needs = [*step.needs, every(x, v)(implies(found_leases(x, v), found(x) == shared))]
        leases = lambda n, x, v: (found_leases(x, v) & (n == at)) | (
            now.leases(n, x, v) & (n != at)
        )
        step.becomes["leases"] = leases
        return step

    # -- readers --

    def open_to_readers(self, now, at, ask):
        value = now.stored(at, x)
        anything = self.breaks("a reader does not look at the writer")
        return every(x)(implies(wants(ask, x), vacant(value) | (value == shared) | anything))

    def leased(self, now, at, ask, lasting):
        """The round's token gets a lease on each of its resources, or keeps it."""
        here = lambda n, x: (n == at) & wants(ask, x)
        return {
            "stored": lambda n, x: given(here(n, x), shared, now.stored(n, x)),
            "leases": lambda n, x, v: now.leases(n, x, v) | (here(n, x) & (v == token(ask))),
            "lasts": lambda n, x, r: given(here(n, x), lasting(x, r), now.lasts(n, x, r)),
        }

    def share(self, now, at: Node, ask: Round):
        lasting = lambda x, r: now.lasts(at, x, r) | (r == ask)
        if "one life for all readers" in self.wrong:  # that of the key, set anew by each
            lasting = lambda x, r: r == ask
        return self.agrees(
            now,
            at,
            ask,
            [attempt(ask) & ~writes(ask), self.open_to_readers(now, at, ask)],
            **self.leased(now, at, ask, lasting),
        )

    def share_uncounted(self, now, at: Node, ask: Round):
        """A repair, or a command that comes late, twice or for nobody."""
        return Step(
            [now.sent(ask), self.open_to_readers(now, at, ask)],
            **self.leased(now, at, ask, lambda x, r: now.lasts(at, x, r)),
        )

    def may_convert(self, now, at, ask):
        """The round's own lease or token here may become a lease: no yes of this node to a writer's
        round of the token counts any more."""
        claim = (token(s) == token(ask)) & self.claims_to_write(now, s) & now.agreed(at, s)
        return every(x)(implies(wants(ask, x), self.stands(now, at, x, ask))) & every(s)(~claim)

    def extend_shared(self, now, at: Node, ask: Round):
        """Prolongs the lease. A token becomes a lease: in a downgrade, and after an upgrade that
        has not won."""
        needs = self.may_convert(now, at, ask)
        if "downgrade still counts as a writer" in self.wrong:
            needs = every(x)(implies(wants(ask, x), self.stands(now, at, x, ask)))
        lasting = lambda x, r: now.lasts(at, x, r) | (r == ask)
        if "extend_shared shortens" in self.wrong:
            lasting = lambda x, r: (now.lasts(at, x, r) & (token(r) != token(ask))) | (r == ask)
        return self.agrees(
            now,
            at,
            ask,
            [~attempt(ask) & ~writes(ask), needs],
            **self.leased(now, at, ask, lasting),
        )

    def extend_shared_uncounted(self, now, at: Node, ask: Round):
        """Late, or twice."""
        needs = self.may_convert(now, at, ask)
        if "a late extension converts" in self.wrong:
            needs = every(x)(implies(wants(ask, x), self.stands(now, at, x, ask)))
        return Step(
            [now.sent(ask) & ~attempt(ask) & ~writes(ask), needs],
            **self.leased(now, at, ask, lambda x, r: now.lasts(at, x, r)),
        )

    # -- a reader becomes the writer --

    def alone(self, now, at, ask):
        """The token is stored already, or has the only lease."""
        others = some(v)(now.leases(at, x, v) & (v != token(ask)))
        if "upgrade does not look at others" in self.wrong:
            others = FALSE
        lone = now.leases(at, x, token(ask)) & ~others
        return every(x)(implies(wants(ask, x), (now.stored(at, x) == token(ask)) | lone))

    def converted(self, now, at, ask, lasting):
        here = lambda n, x: (n == at) & wants(ask, x)
        kept = lambda x, r: now.lasts(at, x, r) & (token(r) == token(ask))
        return {
            "stored": lambda n, x: given(here(n, x), token(ask), now.stored(n, x)),
            "leases": lambda n, x, v: now.leases(n, x, v) & ~here(n, x),
            "lasts": lambda n, x, r: given(
                here(n, x), kept(x, r) | lasting(r), now.lasts(n, x, r)
            ),
        }

    def upgrade(self, now, at: Node, ask: Round):
        return self.agrees(
            now,
            at,
            ask,
            [upgrade(ask), self.alone(now, at, ask)],
            **self.converted(now, at, ask, lambda r: r == ask),
        )

    def upgrade_uncounted(self, now, at: Node, ask: Round):
        return Step(
            [now.sent(ask) & upgrade(ask), self.alone(now, at, ask)],
            **self.converted(now, at, ask, lambda r: FALSE),
        )

    # -- what ends --

    def lease_ends(self, now, at, on, value, left, needs):
        """Ends the lease of this value only; with the last lease the stored value ends, too."""
        more = some(v)(now.leases(at, on, v) & (v != value))
        here = lambda n, x: (n == at) & (x == on)
        return Step(
            [now.leases(at, on, value), *needs],
            stored=lambda n, x: given(here(n, x) & ~more, left, now.stored(n, x)),
            leases=lambda n, x, v: now.leases(n, x, v) & ~(here(n, x) & (v == value)),
            lasts=lambda n, x, r: now.lasts(n, x, r) & ~(here(n, x) & (token(r) == value)),
        )

    def release_shared(self, now, at: Node, on: Resource, value: Value, left: Value):
        needs = [now.gone(value) | self.breaks("a lease is released early"), left != shared]
        return self.lease_ends(now, at, on, value, left, needs)

    def lease_expires(self, now, at: Node, on: Resource, value: Value):
        too_early = now.lasts(at, on, r) & (token(r) == value) & ~now.over(at, r)
        needs = [every(r)(~too_early) | self.breaks("a lease ends early")]
        return self.lease_ends(now, at, on, value, nothing, needs)

    def all_leases_end(self, now, at, on, needs):
        here = lambda n, x: (n == at) & (x == on)
        return Step(
            [now.stored(at, on) == shared, *needs],
            stored=lambda n, x: given(here(n, x), nothing, now.stored(n, x)),
            leases=lambda n, x, v: now.leases(n, x, v) & ~here(n, x),
            lasts=lambda n, x, r: now.lasts(n, x, r) & ~here(n, x),
        )

    def end_with_the_first(self, now, at: Node, on: Resource, ask: Round):
        """Wrong: readers have one ttl. When the round of one is over, the key ends for all."""
        first = now.lasts(at, on, ask) & now.over(at, ask)
        return self.all_leases_end(now, at, on, [first])

    def release_others(self, now, at: Node, on: Resource, value: Value):
        """Wrong: the release of one reader frees the key."""
        return self.all_leases_end(now, at, on, [now.leases(at, on, value), now.gone(value)])


CONTROLS = {
    "SET does not look at readers": ("set", "stands"),
    "TAKE does not look at readers": ("take", "stands"),
    "a reader does not look at the writer": ("share", "rivals"),
    "one life for all readers": ("share", "stands"),
    "end_with_the_first": ("end_with_the_first", "stands"),
    "release_others": ("release_others", "stands"),
    "a lease is released early": ("release_shared", "stands"),
    "a lease ends early": ("lease_expires", "stands"),
    "extend_shared shortens": ("extend_shared", "stands"),
    "downgrade still counts as a writer": ("extend_shared", "stands alone"),
    "a late extension converts": ("extend_shared_uncounted", "stands alone"),
    "upgrade does not look at others": ("upgrade", "rivals"),
    "told before it is won": ("tell", "told by a quorum"),
    "no guard": ("count", "guarded"),
    "ends early": ("expire", "stands"),
}
