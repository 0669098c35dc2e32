"""Which client is drawn in which lane.

The successor of a killed process continues in its lanes, so that a long run needs no more lanes
than there are clients at a time. If there are still too many, those that a violation points to come
first.
"""
from history import process_of

LANES_MAX = 48


def name_key(client):
    """c2.10 behind c2.9."""
    return [int(part) for part in client[1:].split(".") if part.isdigit()]


def seats(history):
    """Lists of processes that ran one after the other, and so can share lanes."""
    result = []  # [(end of the last one, processes)]
    for process in sorted({process_of(client) for client in history.clients},
                          key=lambda name: (history.processes[name]["first"], name_key(name))):
        told = history.processes[process]
        free = [seat for seat in result if seat[0] <= told["first"]]
        seat = max(free, key=lambda seat: seat[0], default=None)
        if seat is None:
            seat = [0, []]
            result.append(seat)
        seat[0] = history.killed_ns(process) or history.end_ns
        seat[1].append(process)
    return [processes for _, processes in result]


def lanes(history, pointed):
    """Groups of lanes; a lane is a list of clients, one after the other. At most LANES_MAX lanes,
    those with one of the pointed clients first."""
    groups = []
    for processes in seats(history):
        rows = []
        for process in processes:
            clients = sorted((client for client in history.clients
                              if process_of(client) == process), key=name_key)
            for i, client in enumerate(clients):
                if i == len(rows):
                    rows.append([])
                rows[i].append(client)
        groups.append(rows)
    everything = [lane for rows in groups for lane in rows]
    chosen = sorted(everything, key=lambda lane: not pointed.intersection(lane))[:LANES_MAX]
    kept = {lane[0] for lane in chosen}
    groups = [[lane for lane in rows if lane[0] in kept] for rows in groups]
    return [rows for rows in groups if rows]
