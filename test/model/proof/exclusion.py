"""Exclusion: two holders whose validity has not ended never want a common resource.

For any number of nodes, clients, resources, tokens and rounds, under Redlock's assumption on time
(`expire`; clocks.py says when it is sound), with nodes that restart and forget.

A *round* is one attempt, or one extension: a vote of each node. The votes of an attempt are SETs,
TAKEs, and *passes*: the node writes the token when another is released, and tells its owner. What
is under a resource at a node is a *value*: a token, or something *vacant*: nothing, or "reserved".
A write that nobody counts as a vote may put any token where a vacant value is, or a token that was
given up (`line`, `release`). So what JOIN, LEAVE and serve do, in what order, lost, repeated or by
two homes at once, cannot matter.

The invariant that carries it is `stands`: a node's yes to a round on which somebody may still rely
(not over, token not given up) still stands in the node, unless the node has forgotten it. From it
follows `rivals`: of two such yeses for one resource, one was said when the other was forgotten. The
guard does not count that one. Two quorums share a node.
"""
from prover import Step, Theory
from terms import FALSE, Const, Sort, Symbol, Var, every, given, implies, some

Node, Round, Resource, Value, Quorum, Client = (
    Sort(name) for name in ("node", "round", "resource", "value", "quorum", "client")
)
n = Var("n", Node)
r, s = Var("r", Round), Var("s", Round)
x = Var("x", Resource)
q, p = Var("q", Quorum), Var("p", Quorum)

member = Symbol("member", Node, Quorum)
token = Symbol("token", Round, result=Value)
wants = Symbol("wants", Round, Resource)
attempt = Symbol("attempt", Round)  # its SETs or TAKEs; else an extension
client = Symbol("client", Round, result=Client)
vacant = Symbol("vacant", Value)
nothing = Const("nothing", Value)

AXIOMS = {
    "two quorums share a node": every(q, p)(some(n)(member(n, q) & member(n, p))),
    "a token is no reservation": every(r)(~vacant(token(r))),
    "nothing is vacant": vacant(nothing),
    "each attempt has a token of its own": every(r, s)(
        implies(attempt(r) & attempt(s) & (token(r) == token(s)), r == s)
    ),
}


def apart(r, s):
    """Other tokens, which want this x."""
    return (token(r) != token(s)) & wants(r, x) & wants(s, x)


class Exclusion(Theory):
    name = "exclusion"
    state = [
        Symbol("sent", Round),  # its commands were sent, or its token was drawn
        Symbol("over", Node, Round),  # the node's vote has ended: ttl less drift has passed
        Symbol("gone", Value),  # the token was given up: nobody relies on it now
        Symbol("stored", Node, Resource, result=Value),
        Symbol("lasts", Node, Resource, Round),  # the value does not end before the round is over
        Symbol("agreed", Node, Round),  # said yes; the answer may be on its way, or lost
        Symbol("forgot", Node, Round),  # ... and has restarted since
        Symbol("doubt", Node, Round, Round),  # agreed to the first when it had forgotten the second
        Symbol("counted", Node, Round),  # the client counted that yes
        Symbol("told", Round),  # the client has a quorum of them
    ]
    ACTIONS = (
        "send set take pass_ extend set_uncounted take_uncounted release line expire restart "
        "count tell pass_time give_up"
    ).split()

    def axioms(self):
        return [a for name, a in AXIOMS.items() if name not in self.wrong]

    def begins(self, now):
        return [*super().begins(now), every(n, x)(now.stored(n, x) == nothing)]

    def live(self, now, n, r):
        """Somebody may rely on the node's yes to the round, if it won."""
        return ~now.over(n, r) & ~now.gone(token(r))

    def relied(self, now, r):
        """Somebody may rely on the round: on each yes that was counted."""
        return every(n)(implies(now.counted(n, r), ~now.over(n, r))) & ~now.gone(token(r))

    def rival(self, now, r, s):
        """The two must not both hold this x. (In modes.py two may, if both only read.)"""
        return apart(r, s)

    def invariants(self, now):
        live = lambda r: self.live(now, n, r)
        rival = lambda r, s: self.rival(now, r, s)
        return {
            "of its value": every(n, x, r)(
                implies(now.lasts(n, x, r), now.stored(n, x) == token(r))
            ),
            "stands": every(n, x, r)(
                implies(
                    now.agreed(n, r) & ~now.forgot(n, r) & live(r) & wants(r, x),
                    now.lasts(n, x, r),
                )
            ),
            "rivals": every(n, x, r, s)(
                implies(
                    now.agreed(n, r) & now.agreed(n, s) & rival(r, s) & live(r) & live(s),
                    now.doubt(n, r, s) | now.doubt(n, s, r),
                )
            ),
            "guarded": every(n, x, r, s)(
                implies(now.counted(n, r) & now.doubt(n, r, s) & rival(r, s), ~live(s))
            ),
            "a vote is a yes": every(n, r)(implies(now.counted(n, r), now.agreed(n, r))),
            "told by a quorum": every(r)(
                implies(
                    now.told(r), some(q)(every(n)(implies(member(n, q), now.counted(n, r))))
                )
            ),
        }

    def claims(self, now):
        holds = lambda r: now.told(r) & self.relied(now, r)
        return {
            "no two hold": every(x, r, s)(~(holds(r) & holds(s) & self.rival(now, r, s))),
            "no two attempts hold": every(x, r, s)(
                ~(
                    (holds(r) & holds(s) & attempt(r) & attempt(s))
                    & ((r != s) & wants(r, x) & wants(s, x))
                )
            ),
        }

    # -- clients --

    def send(self, now, ask: Round):
        return Step([~now.sent(ask)], sent=lambda r: now.sent(r) | (r == ask))

    def count(self, now, at: Node, ask: Round):
        """The client counts a yes. Everything that the node had forgotten when it said yes is over,
        by the guard's quarantine."""
        doubtful = now.doubt(at, ask, s) & self.rival(now, ask, s) & self.live(now, at, s)
        unguarded = self.breaks("no guard") | (self.breaks("an extension counts") & ~attempt(ask))
        return Step(
            [now.agreed(at, ask), ~now.told(ask), every(s, x)(~doubtful) | unguarded],
            counted=lambda n, r: now.counted(n, r) | ((n == at) & (r == ask)),
        )

    def tell(self, now, ask: Round, by: Quorum):
        enough = every(n)(implies(member(n, by), now.counted(n, ask)))
        if "half" in self.wrong:
            enough = some(n)(now.counted(n, ask))
        if "late vote" in self.wrong:  # of another attempt
            its = client(r) == client(ask)
            enough = every(n)(implies(member(n, by), some(r)(now.counted(n, r) & its)))
        return Step([now.sent(ask), enough], told=lambda r: now.told(r) | (r == ask))

    def pass_time(self, now, ask: Round):
        """Each vote ends separately: each pass has its own start and lease."""
        ends = Symbol("ends", Node)
        return Step(
            [now.sent(ask)], over=lambda n, r: now.over(n, r) | ((r == ask) & ends(n))
        )

    def revive(self, now, ask: Round):
        """Wrong: a holder that does not check its clock."""
        return Step([], over=lambda n, r: now.over(n, r) & (r != ask))

    def give_up(self, now, value: Value):
        return Step([~vacant(value)], gone=lambda v: now.gone(v) | (v == value))

    def use_again(self, now, value: Value):
        """Wrong: relies on a token again that was given up, so its release is on the way."""
        return Step([], gone=lambda v: now.gone(v) & (v != value))

    # -- a node's yes to a round --

    def agrees(self, now, at, ask, needs, **becomes):
        """The node runs a round's counted command, once."""
        return Step(
            [now.sent(ask), ~now.agreed(at, ask), *needs],
            agreed=lambda n, r: now.agreed(n, r) | ((n == at) & (r == ask)),
            doubt=lambda n, r, s: now.doubt(n, r, s)
            | ((n == at) & (r == ask) & now.forgot(at, s)),
            **becomes,
        )

    def puts(self, now, at, ask, lasting):
        """Stores the round's token under its resources. lasting(x, r): whether the value does not
        end before round r is over."""
        here = lambda n, x: (n == at) & wants(ask, x)
        return {
            "stored": lambda n, x: given(here(n, x), token(ask), now.stored(n, x)),
            "lasts": lambda n, x, r: given(here(n, x), lasting(x, r), now.lasts(n, x, r)),
        }

    def free(self, now, at, ask):
        """SET NX"""
        return every(x)(implies(wants(ask, x), now.stored(at, x) == nothing))

    def open_to(self, now, at, ask):
        """TAKE"""
        mine = now.stored(at, x) == token(ask)
        return every(x)(implies(wants(ask, x), vacant(now.stored(at, x)) | mine))

    def has(self, now, at, ask):
        return every(x)(implies(wants(ask, x), now.stored(at, x) == token(ask)))

    def kept(self, now, at, ask):
        """What lasts on: its own token keeps what lasted, a new token nothing."""
        return lambda x, r: (now.stored(at, x) == token(ask)) & now.lasts(at, x, r)

    def set(self, now, at: Node, ask: Round):
        overwrites = self.breaks("set overwrites")
        return self.agrees(
            now,
            at,
            ask,
            [attempt(ask), self.free(now, at, ask) | overwrites],
            **self.puts(now, at, ask, lambda x, r: r == ask),
        )

    def take(self, now, at: Node, ask: Round):
        kept = self.kept(now, at, ask)
        lasting = lambda x, r: kept(x, r) | (r == ask)
        if "take shortens" in self.wrong:
            lasting = lambda x, r: r == ask
        if "take does not prolong" in self.wrong:
            lasting = lambda x, r: kept(x, r) | ((r == ask) & (now.stored(at, x) != token(ask)))
        anything = self.breaks("take overwrites")
        return self.agrees(
            now,
            at,
            ask,
            [attempt(ask), self.open_to(now, at, ask) | anything],
            **self.puts(now, at, ask, lasting),
        )

    def extend(self, now, at: Node, ask: Round):
        kept = self.kept(now, at, ask)
        lasting = lambda x, r: kept(x, r) | (r == ask)
        if "extend shortens" in self.wrong:
            lasting = lambda x, r: r == ask
        return self.agrees(
            now,
            at,
            ask,
            [~attempt(ask), self.has(now, at, ask)],
            **self.puts(now, at, ask, lasting),
        )

    def pass_(self, now, at: Node, ask: Round, value: Value):
        """The release of `value` writes the token that comes next where it finds `value`, or what
        is vacant, and tells its owner, who counts the message as the node's yes."""
        given_up = (now.stored(at, x) == value) & now.gone(value)
        may = every(x)(implies(wants(ask, x), vacant(now.stored(at, x)) | given_up))
        return self.agrees(
            now,
            at,
            ask,
            [attempt(ask), may | self.breaks("pass does not compare")],
            **self.puts(now, at, ask, lambda x, r: r == ask),
        )

    def extend_nothing(self, now, at: Node, ask: Round):
        """Wrong: "gone" counts as renewed."""
        return self.agrees(now, at, ask, [~attempt(ask)])

    def turn_votes(self, now, at: Node, ask: Round):
        """Wrong: a turn counts as a vote, though nobody knows how long the key lives."""
        return self.agrees(now, at, ask, [attempt(ask), self.has(now, at, ask)])

    # -- uncounted: repairs, and commands that come late, twice or for nobody --

    def set_uncounted(self, now, at: Node, ask: Round):
        overwrites = self.breaks("repair overwrites")
        return Step(
            [now.sent(ask), self.free(now, at, ask) | overwrites],
            **self.puts(now, at, ask, lambda x, r: FALSE),
        )

    def take_uncounted(self, now, at: Node, ask: Round):
        kept = self.kept(now, at, ask)
        if "late take shortens" in self.wrong:
            kept = lambda x, r: FALSE
        return Step(
            [now.sent(ask), self.open_to(now, at, ask)], **self.puts(now, at, ask, kept)
        )

    # -- what ends --

    def release(self, now, at: Node, value: Value):
        """Where the token is, it gives way to anything: to nothing, or to the token that comes
        next, if its owner does not count that; on any of its resources."""
        left = Symbol("left", Resource, result=Value)
        same = now.stored(at, x) == value
        gone = now.gone(value) | self.breaks("release early")
        blind = self.breaks("release blindly")
        return Step(
            [gone, every(x)((left(x) == now.stored(at, x)) | same | blind)],
            **self.leaves(now, at, left),
        )

    def leaves(self, now, at, left):
        return {
            "stored": lambda n, x: given(n == at, left(x), now.stored(n, x)),
            "lasts": lambda n, x, r: now.lasts(n, x, r)
            & ((n != at) | (left(x) == now.stored(at, x))),
        }

    def line(self, now, at: Node, on: Resource, value: Value):
        """JOIN, serve, an uncounted pass: any value replaces a vacant one."""
        deletes = self.breaks("leave deletes")
        return Step(
            [vacant(now.stored(at, on)) | deletes],
            stored=lambda n, x: given((n == at) & (x == on), value, now.stored(n, x)),
            lasts=lambda n, x, r: now.lasts(n, x, r) & ~((n == at) & (x == on)),
        )

    def expire(self, now, at: Node, on: Resource):
        """Redlock's assumption on time: no key ends before the validity for which it was set or
        prolonged."""
        too_early = now.lasts(at, on, r) & ~now.over(at, r)
        return Step(
            [every(r)(~too_early) | self.breaks("ends early")],
            stored=lambda n, x: given((n == at) & (x == on), nothing, now.stored(n, x)),
            lasts=lambda n, x, r: now.lasts(n, x, r) & ~((n == at) & (x == on)),
        )

    def restart(self, now, at: Node):
        """Afterwards the node has nothing, or anything: an old snapshot, another server's data."""
        found = Symbol("found", Resource, result=Value)
        return Step(
            [],
            stored=lambda n, x: given(n == at, found(x), now.stored(n, x)),
            lasts=lambda n, x, r: now.lasts(n, x, r) & (n != at),
            forgot=lambda n, r: now.forgot(n, r) | ((n == at) & now.agreed(n, r)),
        )

    def flush(self, now, at: Node):
        """Wrong: the node forgets, and nobody sees it (FLUSHALL)."""
        return Step(
            [],
            stored=lambda n, x: given(n == at, nothing, now.stored(n, x)),
            lasts=lambda n, x, r: now.lasts(n, x, r) & (n != at),
        )


# The broken rule -> the obligation that fails. A rule is a name for breaks(), an axiom that is left
# out, or an action that should not exist.
CONTROLS = {
    "take overwrites": ("take", "stands"),
    "take shortens": ("take", "stands"),
    "take does not prolong": ("take", "stands"),
    "late take shortens": ("take_uncounted", "stands"),
    "extend shortens": ("extend", "stands"),
    "set overwrites": ("set", "stands"),
    "repair overwrites": ("set_uncounted", "stands"),
    "leave deletes": ("line", "stands"),
    "release early": ("release", "stands"),
    "release blindly": ("release", "stands"),
    "ends early": ("expire", "stands"),
    "no guard": ("count", "guarded"),
    "an extension counts": ("count", "guarded"),
    "half": ("tell", "told by a quorum"),
    "late vote": ("tell", "told by a quorum"),
    "each attempt has a token of its own": ("claim", "no two attempts hold"),
    "two quorums share a node": ("claim", "no two hold"),
    "revive": ("revive", "stands"),
    "extend_nothing": ("extend_nothing", "stands"),
    "turn_votes": ("turn_votes", "stands"),
    "pass does not compare": ("pass_", "stands"),
    "use_again": ("use_again", "stands"),
    "flush": ("flush", "stands"),
}
