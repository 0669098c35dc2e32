"""The histories of readers and writers that bounded.py must find: see stories.py.

Three nodes, quorums of two. W is a writer, R and S read; W2 and R2 are extensions of theirs that
read, and U is R's upgrade.
"""
import shared_fences
import stories
from exclusion import Node, Quorum, Resource, Round, Value, n, x
from fences import Attempt, Number
from modes import Modes
from order import fence
from shared_fences import SharedFences
from shared_order import SharedOrder
from stories import NODES, NUMBERS, QUORUMS, holds, possible
from terms import Var, every, some

ROUNDS = {  # name -> token, kind
    "W": ("w", "attempt writes"),
    "W2": ("w", ""),
    "R": ("r", "attempt"),
    "R2": ("r", ""),
    "U": ("r", "writes upgrade"),
    "S": ("s", "attempt"),
}


def modes_world(rounds):
    tokens = sorted({ROUNDS[name][0] for name in rounds})
    things = {
        Node: NODES,
        Round: rounds,
        Resource: ["x"],
        Value: ["nothing", "reserved", "shared", *tokens],
        Quorum: list(QUORUMS),
        Number: NUMBERS,
    }
    rigid = {
        "member": lambda node, quorum: node in QUORUMS[quorum],
        "token": lambda name: ROUNDS[name][0],
        "wants": lambda name, x: True,
        "vacant": lambda value: value in ("nothing", "reserved"),
        "nothing": lambda: "nothing",
        "shared": lambda: "shared",
        "fenced": lambda value: value not in ("nothing", "reserved", "shared"),
        "less": lambda i, j: i < j,
    }
    for kind in ("attempt", "writes", "upgrade"):
        rigid[kind] = lambda name, kind=kind: kind in ROUNDS[name][1].split()
    return things, rigid, [fence]


def shared_fences_world(attempts):
    things, rigid, found = stories.fence_world(attempts)
    things[shared_fences.fences.Value] += ["leased"]
    rigid["leased"] = lambda: "leased"
    rigid["reads"] = lambda name: name in "RS"
    return things, rigid, found


stories.WORLDS.update(
    {
        Modes: modes_world,
        SharedOrder: modes_world,
        SharedFences: shared_fences_world,
    }
)

W, R, S, U, R2, W2 = (Var(name, Round) for name in "W R S U R2 W2".split())
W_FENCED, R_FENCED = (Var(name, Attempt) for name in "WR")
R_TOKEN, S_TOKEN = (Var(name, Value) for name in "rs")


def wins(ask, how):
    """A phase of six steps in which the round wins."""
    return 6, f"send {how} count tell", lambda now: holds(now, ask)


R_READS, S_READS = wins(R, "share"), wins(S, "share")
W_WRITES = wins(W, "set")

POSSIBLE = [
    possible(
        "two read at once", Modes, "R S",
        R_READS, (6, "send share count tell", lambda now: holds(now, R) & holds(now, S)),
    ),
    possible(
        "the last reader leaves, and W writes", Modes, "R S W",
        R_READS,
        S_READS,
        (4, "give_up release_shared", lambda now: now.gone(R_TOKEN) & now.gone(S_TOKEN)),
        (
            3,
            "release_shared lease_expires",
            lambda now: every(n)(now.stored(n, x) != Var("shared", Value)),
        ),
        (7, "send set take count tell", lambda now: holds(now, W)),
    ),
    possible(
        "W becomes a reader, and another reads beside it", Modes, "W W2 S",
        W_WRITES,
        (1, "downgrade", lambda now: now.lowered(W)),
        wins(W2, "extend_shared"),
        (6, "send share count tell", lambda now: holds(now, S) & holds(now, W2)),
    ),
    possible(
        "the last reader becomes the writer", Modes, "R U S",
        R_READS,
        S_READS,
        (3, "give_up release_shared", lambda now: every(n)(~now.leases(n, x, S_TOKEN))),
        wins(U, "upgrade"),
    ),
    possible(
        "an upgrade that is not won goes back, and another reads", Modes, "R U R2 S",
        R_READS,
        (2, "send upgrade", lambda now: some(n)(now.stored(n, x) == R_TOKEN)),
        (1, "downgrade", lambda now: now.lowered(U)),
        wins(R2, "extend_shared"),
        (6, "send share count tell", lambda now: holds(now, S) & holds(now, R2)),
    ),
    possible(
        "a reader with the writer's fence, a later writer above it", SharedFences, "W R Later",
        (4, "send vote tell", lambda now: now.told(W_FENCED)),
        (
            5,
            "send share raise_shared tell_reader",
            lambda now: now.told(R_FENCED)
            & (shared_fences.fence(R_FENCED) == shared_fences.fence(W_FENCED)),
        ),
        (4, "send vote tell", lambda now: now.told(Var("Later", Attempt))),
    ),
    possible(
        "W becomes a reader, and then S has W's fence", SharedOrder, "W W2 S",
        (6, "send set count tell_fence", lambda now: holds(now, W)),
        (1, "downgrade", lambda now: now.lowered(W)),
        (3, "send extend_shared", lambda now: now.agreed(Var("n1", Node), W2)),
        (
            8,
            "send share raise_shared count tell_reader",
            lambda now: holds(now, S) & now.earlier(W, S) & (fence(S) == fence(W)),
        ),
    ),
]
