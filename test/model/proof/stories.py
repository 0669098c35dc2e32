"""The histories that bounded.py must find: what must be possible (witnesses).

Three nodes, quorums of two, one resource. Attempts A and B have tokens of their own; A2 is an
extension by A's token. A story names the actions that it may use and its number of steps; z3 finds
the steps.
"""
from collections import namedtuple

import exclusion
import fences
import order
from bounded import story
from exclusion import Exclusion
from fences import Fences
from order import Order
from terms import Var, every, some

# phases: see bounded.story()
Story = namedtuple("Story", "name theory rounds phases")

ROUNDS = {  # name -> token, whether an attempt
    "A": ("a", True),
    "A2": ("a", False),
    "B": ("b", True),
}
QUORUMS = {"n0n1": ("n0", "n1"), "n0n2": ("n0", "n2"), "n1n2": ("n1", "n2")}
NUMBERS = "0123"
NODES = ["n0", "n1", "n2"]


def lock_world(rounds):
    tokens = sorted({ROUNDS[name][0] for name in rounds})
    things = {
        exclusion.Node: NODES,
        exclusion.Round: rounds,
        exclusion.Resource: ["x"],
        exclusion.Value: ["nothing", "reserved", *tokens],
        exclusion.Quorum: list(QUORUMS),
        fences.Number: NUMBERS,
    }
    rigid = {
        "member": lambda node, quorum: node in QUORUMS[quorum],
        "token": lambda name: ROUNDS[name][0],
        "attempt": lambda name: ROUNDS[name][1],
        "client": lambda name: "second" if name == "B" else "first",
        "wants": lambda name, x: True,
        "vacant": lambda value: value in ("nothing", "reserved"),
        "nothing": lambda: "nothing",
        "fenced": lambda value: value not in ("nothing", "reserved"),
        "less": lambda i, j: i < j,
    }
    return things, rigid, [order.fence]


def fence_world(attempts):
    things = {
        fences.Node: NODES,
        fences.Attempt: attempts,
        fences.Value: ["nothing", *("of " + name for name in attempts)],
        fences.Quorum: list(QUORUMS),
        fences.Number: NUMBERS,
    }
    rigid = {
        "member": lambda node, quorum: node in QUORUMS[quorum],
        "token": lambda name: "of " + name,
        "less": lambda i, j: i < j,
    }
    return things, rigid, [fences.fence]


WORLDS = {Exclusion: lock_world, Order: lock_world, Fences: fence_world}


def told(one):
    """The steps of a story; None if there are none."""
    things, rigid, found = WORLDS[one.theory](one.rounds)
    return story(one.theory(), things, rigid, one.phases, found)


A, A2, B = (Var(name, exclusion.Round) for name in ("A", "A2", "B"))
A_FENCED, B_FENCED = (Var(name, fences.Attempt) for name in "AB")
N0, N1 = (Var(name, fences.Node) for name in ("n0", "n1"))
A_TOKEN, RESERVED = (Var(name, exclusion.Value) for name in ("a", "reserved"))
n, x = exclusion.n, exclusion.x


def over(now, ask):
    """At every node."""
    return every(n)(now.over(n, ask))


def holds(now, ask):
    return now.told(ask) & Exclusion().relied(now, ask)


def possible(name, theory, rounds, *phases):
    return Story(name, theory, rounds.split(), list(phases))


A_HOLDS = (6, "send set count tell", lambda now: holds(now, A))

POSSIBLE = [
    possible(
        "released and reserved, and taken by B", Exclusion, "A B",
        A_HOLDS,
        (
            4,
            "give_up release line",
            lambda now: now.gone(A_TOKEN) & every(n, x)(now.stored(n, x) == RESERVED),
        ),
        (6, "send take count tell", lambda now: holds(now, B)),
    ),
    possible(
        "passed to B, of whose votes one ends before the other", Exclusion, "A B",
        A_HOLDS,
        (7, "give_up send pass_ count tell", lambda now: holds(now, B)),
        (1, "pass_time", lambda now: ~holds(now, B) & ~over(now, B)),
    ),
    possible(
        "extended beyond the first validity", Exclusion, "A A2",
        A_HOLDS,
        (7, "send extend count tell pass_time", lambda now: holds(now, A2) & over(now, A)),
    ),
    possible(
        "adopted by the token, after the first validity", Exclusion, "A A2",
        A_HOLDS,
        (1, "pass_time", lambda now: over(now, A)),
        (6, "send extend count tell", lambda now: holds(now, A2)),
    ),
    possible(
        "extended on a node that restarted and was repaired", Exclusion, "A A2",
        A_HOLDS,
        (1, "restart", lambda now: some(n)(now.forgot(n, A))),
        (
            7,
            "send extend set_uncounted count tell",
            lambda now: holds(now, A2) & some(n)(now.forgot(n, A) & now.counted(n, A2)),
        ),
    ),
    possible(
        "a node that forgot A votes for B after A's validity", Exclusion, "A B",
        A_HOLDS,
        (1, "restart", lambda now: some(n)(now.forgot(n, A))),
        (
            7,
            "send set pass_time count tell",
            lambda now: holds(now, B) & some(n)(now.doubt(n, B, A) & now.counted(n, B)),
        ),
    ),
    possible(
        "two fences, the first of which had to be raised", Fences, "A B",
        (3, "send vote", lambda now: now.counter(N0) != now.counter(N1)),
        (2, "raise_ tell", lambda now: now.told(A_FENCED)),
        (
            5,
            "put send vote tell",
            lambda now: now.told(B_FENCED) & now.before(A_FENCED, B_FENCED),
        ),
    ),
    possible(
        "B's attempt begins first, and B is told later, with the larger fence", Order, "A B",
        (1, "send", lambda now: now.sent(B)),
        (6, "send set count tell_fence", lambda now: holds(now, A)),
        (
            7,
            "give_up release take count tell_fence",
            lambda now: holds(now, B) & now.earlier(A, B),
        ),
    ),
    possible(
        "passed to B with the next fence", Order, "A B",
        (6, "send set count tell_fence", lambda now: holds(now, A)),
        (
            7,
            "give_up send pass_ count tell_fence",
            lambda now: holds(now, B) & now.earlier(A, B),
        ),
    ),
]
