"""Memory and open files of nodes and client processes, out of /proc, into the record.

Happy path: sample() once a second. Failure modes: a process that ends meanwhile is left out; that
is not an error.
"""

from __future__ import annotations

import os

from clients import Clients
from node import Node
from record import Record, now_ns

_PAGE_KB = os.sysconf("SC_PAGE_SIZE") // 1024


def usage(pid: int) -> tuple[int, int] | None:
    """Resident memory in KiB and the number of open files; None if there is no such process."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as statm:
            pages = int(statm.read().split()[1])
        return pages * _PAGE_KB, len(os.listdir(f"/proc/{pid}/fd"))
    except (OSError, IndexError):
        return None


def sample(record: Record, nodes: list[Node], clients: Clients) -> None:
    servers = [(node.name, node.server.pid()) for node in nodes]
    whom: list[tuple[str | None, str | None, int]] = []
    whom += [(name, None, pid) for name, pid in servers if pid is not None]
    whom += [(None, name, pid) for name, pid in clients.running()]
    for node_name, client, pid in whom:
        used = usage(pid)
        if used is not None:
            rss_kb, fds = used
            record.event(
                now_ns(), "sample", node=node_name, client=client, rss_kb=rss_kb, fds=fds
            )
