"""The lines on the nodes: finds the longest; and sabotages them for the negative controls: a
reversed line, invisible readers.

A line is a ZSET, "libredlock:line:{RESOURCE}" (docs/protocol.md). It connects to the nodes
directly, not through the faulty network. A node that does not answer at once counts as having no
line.
"""

from __future__ import annotations

from collections.abc import Sequence

from node import Node
from resp import RedisError
from server import ChaosError

PATIENCE_S = 0.2
# Reverses the line. Scores stay near the clock, so that new clients are not ahead of all.
REVERSE = """
local all = redis.call('zrange', KEYS[1], 0, -1, 'withscores')
for i = 1, #all, 2 do
    redis.call('zadd', KEYS[1], all[#all - i + 1], all[i])
end
"""
FORGET = """
if redis.call('get', KEYS[1]) == 'redlock:shared' then return redis.call('del', KEYS[1]) end
"""


def _ask(node: Node, *words: str | int) -> int:
    try:
        with node.server.connect(PATIENCE_S) as connection:
            answer = connection.call(*words)
    except (ChaosError, RedisError, OSError):
        return 0
    return answer if isinstance(answer, int) else 0


def _name(resource: str) -> str:
    return f"libredlock:line:{{{resource}}}"


def find(nodes: Sequence[Node], resource: str) -> str:
    """The node with the longest line; the first one if nobody waits."""
    return max(nodes, key=lambda node: _ask(node, "ZCARD", _name(resource))).name


def forget_readers(nodes: Sequence[Node], resource: str) -> None:
    """Makes nodes forget their readers: for the control "unseen-readers"."""
    for node in nodes:
        _ask(node, "EVAL", FORGET, 1, resource)


def reverse(nodes: Sequence[Node], resource: str) -> None:
    """Makes nodes serve the last client first: for the control "reversed-line"."""
    for node in nodes:
        _ask(node, "EVAL", REVERSE, 1, _name(resource))
