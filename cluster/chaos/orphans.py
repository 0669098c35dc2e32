"""Keys that a lock left behind: what is still on a node when every ttl is over.

Happy path: the clients have ended; settle() waits one ttl and a little more, then scan() finds
nothing. What it finds is written as an event; the checker judges. A key on a node whose clock was
moved ends late for that reason, and the event says so. Failure modes: a node that does not answer
raises.
"""

from __future__ import annotations

import re
import time

from inject import NS_PER_MS
from node import Node
from record import Record, now_ns

SLACK_S = 1.0  # releases that were owed to a node that was away
# Not locks, whatever they hold: lines, counters, who would upgrade.
_NOTES = "libredlock:"
# What a lock's key holds. Other keys (fence counters, somebody's own) are not locks.
_TOKEN = re.compile(r"([0-9a-f]{40}|redlock:shared)\Z")


def settle(ttl_ms: int) -> None:
    time.sleep(ttl_ms * 1.01 / 1000 + SLACK_S)


def scan(record: Record, nodes: list[Node]) -> int:
    """How many there are."""
    found = 0
    for node in nodes:
        with node.server.connect() as connection:
            cursor = "0"
            while True:
                answer = connection.call("SCAN", cursor, "COUNT", 500)
                assert isinstance(answer, list)
                cursor, names = str(answer[0]), answer[1]
                for name in names:
                    if name.startswith(_NOTES):
                        continue
                    kind = connection.call("TYPE", name)
                    if kind != "string" or not _TOKEN.match(str(connection.call("GET", name))):
                        continue
                    found += 1
                    left_ms = int(str(connection.call("PTTL", name)))
                    moved = 0 <= left_ms * NS_PER_MS <= node.clock.moved_ns
                    record.event(
                        now_ns(),
                        "orphan",
                        node=node.name,
                        resource=name,
                        pttl_ms=left_ms,
                        explained="clock-step" if moved else None,
                    )
                if cursor == "0":
                    break
    return found
