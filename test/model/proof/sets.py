"""A change of nodes: from the old set to a joint configuration, and on to the new set.

Each node has a configuration's text, and a client counts a vote only if the handshake of the
connection that it came on has read the configuration that the client has (`open`). A lock needs a
quorum of each electorate that its configuration names:

    past     old          what was before. Any earlier joint configuration needs the old set too
    joint    old, new     written over `past`; its writer cuts the node's connections
    done     new          written over `joint`
    back     old          written over `joint` to abandon the change
    rival    old, other   another administrator's, written over `past` at the same time
    ousted   other        what the rival ends with

The proof covers one change. At its end all who hold or may hold need the new set (or still the old
one, after `back`), as at its beginning they need the old set. So it covers any number of changes,
one after the other.

In the worst case old and new have no node in common. What keeps their holders apart: when `joint`
is on a quorum of the old nodes and their connections are cut, nobody wins by the old set alone any
more. Earlier holds are over once the longest ttl has passed (`wait`). Only then is `done` decided.
A quorum of the old nodes decides once whether a change is done or abandoned; in this theory that is
one step.

A node that restarts may find an earlier text, but then it does not count as one of the quorum that
has met the joint one: that many nodes must keep it, as long as the old nodes are up.
"""
from exclusion import AXIOMS as EXCLUSION_AXIOMS
from exclusion import Exclusion, Node, Quorum, Round, attempt, member, n, p, q, r
from prover import Step
from terms import Const, Sort, Symbol, Var, every, given, implies, some

Electorate, Config = Sort("electorate"), Sort("config")
c = Var("c", Config)
OLD, NEW, OTHER = (Const(name, Electorate) for name in ("old", "new", "other"))
CONFIGS = [Const(name, Config) for name in "past joint done back rival ousted".split()]
PAST, JOINT, DONE, BACK, RIVAL, OUSTED = CONFIGS
NEEDED_BY = {
    OLD: [PAST, JOINT, BACK, RIVAL],
    NEW: [JOINT, DONE],
    OTHER: [RIVAL, OUSTED],
}
elects = Symbol("elects", Quorum, result=Electorate)  # whose nodes the quorum is one of
config = Symbol("config", Round, result=Config)  # the client's when it began the round


def distinct(*constants):
    return [
        ~(one == two) for i, one in enumerate(constants) for two in constants[i + 1 :]
    ]


def one_of(term, values):
    formula = term == values[0]
    for value in values[1:]:
        formula = formula | (term == value)
    return formula


class Sets(Exclusion):
    name = "sets"
    state = [
        *Exclusion.state,
        Symbol("text", Node, result=Config),
        Symbol("open", Node, Config),  # there is a connection whose handshake has read the text
        Symbol("met", Quorum),  # of the old nodes: they have the joint text, and were cut
        Symbol("ousts", Quorum),  # the same for the rival's text
        Symbol("decided", Config),  # done, back or ousted
    ]
    ACTIONS = [
        *Exclusion.ACTIONS,
        *"plant handshake hang_up write write_rival meet meet_rival decide_done decide_back".split(),
        *"decide_ousted finish abandon finish_rival".split(),
    ]

    def axioms(self):
        shared = "two quorums share a node"
        return [
            *(axiom for name, axiom in EXCLUSION_AXIOMS.items() if name != shared),
            every(q, p)(
                implies(elects(q) == elects(p), some(n)(member(n, q) & member(n, p)))
            ),
            every(r)(one_of(config(r), CONFIGS)),
            *distinct(*CONFIGS),
            *distinct(*NEEDED_BY),
        ]

    def begins(self, now):
        """Earlier rounds need a quorum of the old nodes; all other texts are new."""
        return [*super().begins(now), every(n)(now.text(n) == PAST)]

    def invariants(self, now):
        kept = super().invariants(now)
        del kept["told by a quorum"]  # replaced below, for each electorate
        by = lambda whose: some(q)(
            (elects(q) == whose) & every(n)(implies(member(n, q), now.counted(n, r)))
        )
        told = {
            f"told by a quorum of {whose.head.name}": every(r)(
                implies(now.told(r) & one_of(config(r), configs), by(whose))
            )
            for whose, configs in NEEDED_BY.items()
        }
        change = {}
        for name, (met, texts, end) in CHANGES.items():
            met = getattr(now, met)
            at = met(q) & member(n, q)
            change |= {
                f"{name} met by old": every(q)(implies(met(q), elects(q) == OLD)),
                f"{name} is kept": every(n, q)(implies(at, one_of(now.text(n), texts))),
                f"{name} cuts": every(n, q, c)(implies(at & now.open(n, c), one_of(c, texts))),
                f"{name} outlasts": implies(
                    now.decided(end), some(q)(met(q) & self.outlasted(now, q, texts))
                ),
            }
        known = lambda c: now.decided(c) | ~one_of(c, [DONE, BACK, OUSTED])
        return {
            **kept,
            **told,
            **change,
            "decided once": ~(now.decided(DONE) & now.decided(BACK)),
            "text of a decision": every(n)(known(now.text(n))),
            "read of a decision": every(n, c)(implies(now.open(n, c), known(c))),
            "vote of a decision": every(n, r)(implies(now.agreed(n, r), known(config(r)))),
        }

    def outlasted(self, now, q, texts):
        """At these nodes everything is over but what clients of these configurations rely on."""
        others = now.agreed(n, r) & member(n, q) & ~one_of(config(r), texts)
        return every(n, r)(implies(others, now.over(n, r)))

    # -- clients --

    def agrees(self, now, at, ask, needs, **becomes):
        """A vote counts only if it came on a connection whose handshake has read the client's
        text."""
        read = now.open(at, config(ask)) | self.breaks("an earlier handshake")
        return super().agrees(now, at, ask, [*needs, read], **becomes)

    def plant(self, now, at: Node, ask: Round):
        """An extension's SET NX on a node that the hold has not reached."""
        return self.agrees(
            now,
            at,
            ask,
            [~attempt(ask), self.free(now, at, ask)],
            **self.puts(now, at, ask, lambda x, r: r == ask),
        )

    def tell(self, now, ask: Round, first: Quorum, second: Quorum):
        by = lambda by: every(n)(implies(member(n, by), now.counted(n, ask)))
        enough = [
            implies(
                one_of(config(ask), configs),
                (elects(first) == whose) | (elects(second) == whose),
            )
            for whose, configs in NEEDED_BY.items()
            if not (whose is NEW and "joint without new" in self.wrong)
        ]
        return Step(
            [now.sent(ask), by(first), by(second), *enough],
            told=lambda r: now.told(r) | (r == ask),
        )

    def handshake(self, now, at: Node):
        return Step([], open=lambda n, c: now.open(n, c) | ((n == at) & (c == now.text(at))))

    def hang_up(self, now, at: Node):
        """Also by CLIENT KILL."""
        return Step([], open=lambda n, c: now.open(n, c) & (n != at))

    # -- administrators --

    def writes(self, now, at, needs, text):
        return Step(needs, text=lambda n: given(n == at, text, now.text(n)))

    def write(self, now, at: Node):
        over = now.text(at) == PAST
        if "two texts at one epoch" in self.wrong:
            over = over | (now.text(at) == RIVAL)
        return self.writes(now, at, [over], JOINT)

    def write_rival(self, now, at: Node):
        return self.writes(now, at, [now.text(at) == PAST], RIVAL)

    def meets(self, now, by, text):
        has = now.text(n) == text
        cut = every(n, c)(implies(member(n, by) & now.open(n, c), c == text))
        quorum = elects(by) == OLD
        return [
            every(n)(implies(member(n, by), has)),
            cut | self.breaks("no cut"),
            quorum | self.breaks("any nodes"),
        ]

    def meet(self, now, by: Quorum):
        return Step(self.meets(now, by, JOINT), met=lambda q: now.met(q) | (q == by))

    def meet_rival(self, now, by: Quorum):
        return Step(self.meets(now, by, RIVAL), ousts=lambda q: now.ousts(q) | (q == by))

    def decides(self, now, needs, end):
        return Step(needs, decided=lambda c: now.decided(c) | (c == end))

    def waited(self, now, by, met, texts):
        return [met(by), self.outlasted(now, by, texts) | self.breaks("no wait")]

    def decide_done(self, now, by: Quorum):
        once = ~now.decided(BACK) | self.breaks("done and abandoned")
        met, texts, _ = CHANGES["joint"]
        return self.decides(now, [*self.waited(now, by, now.met, texts), once], DONE)

    def decide_back(self, now):
        return self.decides(now, [~now.decided(DONE)], BACK)

    def decide_ousted(self, now, by: Quorum):
        met, texts, _ = CHANGES["rival"]
        return self.decides(now, self.waited(now, by, now.ousts, texts), OUSTED)

    def finish(self, now, at: Node):
        return self.writes(now, at, [now.text(at) == JOINT, now.decided(DONE)], DONE)

    def abandon(self, now, at: Node):
        return self.writes(now, at, [now.text(at) == JOINT, now.decided(BACK)], BACK)

    def finish_rival(self, now, at: Node):
        return self.writes(now, at, [now.text(at) == RIVAL, now.decided(OUSTED)], OUSTED)

    def restart(self, now, at: Node):
        """Restarts with an earlier text, or none, unless it is in a quorum that keeps its text."""
        found = Const("found_text", Config)
        step = super().restart(now, at)
        kept = every(q)(~(member(at, q) & (now.met(q) | now.ousts(q))))
        kept = kept | (found == now.text(at)) | self.breaks("the text is forgotten")
        known = now.decided(found) | ~one_of(found, [DONE, BACK, OUSTED])
        return Step(
            [*step.needs, kept, known],
            **step.becomes,
            text=lambda n: given(n == at, found, now.text(n)),
            open=lambda n, c: now.open(n, c) & (n != at),
        )


CHANGES = {  # name -> who has met it, the texts that follow from it, how it ends
    "joint": ("met", [JOINT, DONE, BACK], DONE),
    "rival": ("ousts", [RIVAL, OUSTED], OUSTED),
}
CONTROLS = {
    "no cut": ("meet", "joint cuts"),
    "no wait": ("decide_done", "joint outlasts"),
    "any nodes": ("meet", "joint met by old"),
    "two texts at one epoch": ("write", "rival is kept"),
    "an earlier handshake": ("set", "joint outlasts"),
    "done and abandoned": ("decide_done", "decided once"),
    "joint without new": ("tell", "told by a quorum of new"),
    "the text is forgotten": ("restart", "joint is kept"),
}
