"""Memory and open files of nodes and client processes, out of /proc, into the record.

Happy path: sample() once a second. Failure modes: a process that ends meanwhile is left out; that is
not an error.
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
    for node in nodes:
        pid = node.server.pid()
        used = usage(pid) if pid is not None else None
        if used is not None:
            record.event(now_ns(), "sample", node=node.name, client=None, rss_kb=used[0], fds=used[1])
    for name, pid in clients.running():
        used = usage(pid)
        if used is not None:
            record.event(now_ns(), "sample", node=None, client=name, rss_kb=used[0], fds=used[1])
