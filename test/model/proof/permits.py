"""Semaphores: never more than k of k permits are held.

A permit is a slot, and a slot is a resource like any other: a round wants the slots that its
client, or home, chose before it was sent, the same on all nodes. So exclusion.py is the proof: each
slot has at most one holder, and so k slots have at most k, for any k. This theory has two slots,
and one permit for each round, to show what is wrong with the other rule: a node that *counts* its
permits, and grants while fewer than k are taken, grants another set of k than its neighbour does.
Then floor(N * k / q) may hold: three, with three nodes and k = 2.
"""
from exclusion import Exclusion, Node, Resource, Round, apart, r, s, token, vacant, wants, x
from terms import Const, Var, every, given, implies, some

t = Var("t", Round)
y = Var("y", Resource)

first, second = Const("first", Resource), Const("second", Resource)

AXIOMS = [
    every(x)((x == first) | (x == second)),
    every(r)(some(x)(wants(r, x))),
    every(r, x, y)(implies(wants(r, x) & wants(r, y), x == y)),
]


class Permits(Exclusion):
    name = "permits"

    def axioms(self):
        return super().axioms() + AXIOMS

    def claims(self, now):
        holds = lambda r: now.told(r) & self.relied(now, r)
        others = (token(r) != token(s)) & (token(s) != token(t)) & (token(r) != token(t))
        return {
            "no two have one slot": every(x, r, s)(~(holds(r) & holds(s) & apart(r, s))),
            "no three hold": every(r, s, t)(~(holds(r) & holds(s) & holds(t) & others)),
        }

    def count_permits(self, now, at: Node, ask: Round, on: Resource):
        """Wrong: a node grants while it has a permit left, whichever."""
        here = lambda n, x: (n == at) & (x == on)
        none_yet = every(x)(now.stored(at, x) != token(ask))
        return self.agrees(
            now,
            at,
            ask,
            [vacant(now.stored(at, on)) & none_yet],
            stored=lambda n, x: given(here(n, x), token(ask), now.stored(n, x)),
            lasts=lambda n, x, r: given(here(n, x), r == ask, now.lasts(n, x, r)),
        )


CONTROLS = {
    "count_permits": ("count_permits", "stands"),
    "set overwrites": ("set", "stands"),
    "no guard": ("count", "guarded"),
}
