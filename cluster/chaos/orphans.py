"""Keys that a lock left behind: keys that are still on a node when every ttl is over, and notes of
the protocol that never expire.

Happy path: the clients have ended; settle() waits until all sent commands have reached the nodes,
then slightly more than one ttl, and scan() finds nothing. Its findings are written as events; the
checker judges. A key on a node with a moved clock expires late for that reason, and the event says
so. Failure modes: a node that does not answer raises, and so does one that acknowledges nothing.
"""

from __future__ import annotations

import re
import socket
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

from inject import NS_PER_MS
from node import Node
from record import Record, now_ns
from resp import Connection
from server import ChaosError

SLACK_S = 1.0  # pending releases for a node that was away
SENT_TIMEOUT_S = 150.0  # the kernel's pause between two tries grows to 120 s
SENT_POLL_S = 0.05
# FIN_WAIT1, LAST_ACK, CLOSING: the process is gone, and not all that it wrote has arrived.
_CLOSING = ("04", "09", "0B")
# Not locks, whatever their value: lines, counters, upgrade intents.
_NOTES = "libredlock:"
_SET = "libredlock:config"  # what administrators write stays for good
# The value of a lock's key. Other keys (fence counters, other programs' keys) are not locks.
_TOKEN = re.compile(r"([0-9a-f]{40}|redlock:shared)\Z")


def unsent(urls: list[str]) -> int:
    """How many closed connections to these nodes have data that has not arrived: a SET of a killed
    client may be repeated by the kernel for seconds after its node can be reached again."""
    addresses = set()
    for url in urls:
        parts = urlsplit(url)
        assert parts.hostname is not None
        host = socket.inet_aton(socket.gethostbyname(parts.hostname))
        addresses.add(f"{int.from_bytes(host, sys.byteorder):08X}:{parts.port or 6379:04X}")
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(line[2] in addresses and line[3] in _CLOSING for line in lines)


def settle(ttl_ms: int, urls: list[str]) -> None:
    until = time.monotonic() + SENT_TIMEOUT_S
    while unsent(urls):
        if time.monotonic() > until:
            raise ChaosError(f"a node has not acknowledged in {SENT_TIMEOUT_S:g} s what clients "
                             "that are gone had sent to it")
        time.sleep(SENT_POLL_S)
    time.sleep(ttl_ms * 1.01 / 1000 + SLACK_S)


def _is_left(connection: Connection, name: str, left_ms: int) -> bool:
    if name.startswith(_NOTES):
        return left_ms == -1 and not name.startswith(_SET)
    kind = connection.call("TYPE", name)
    return kind == "string" and bool(_TOKEN.match(str(connection.call("GET", name))))


def scan(record: Record, nodes: list[Node]) -> int:
    """The number of orphans."""
    found = 0
    for node in nodes:
        with node.server.connect() as connection:
            cursor = "0"
            while True:
                answer = connection.call("SCAN", cursor, "COUNT", 500)
                assert isinstance(answer, list)
                cursor, names = str(answer[0]), answer[1]
                for name in names:
                    left_ms = int(str(connection.call("PTTL", name)))
                    if not _is_left(connection, name, left_ms):
                        continue
                    found += 1
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
