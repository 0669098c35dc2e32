"""Results as markdown tables, a row for each system; systems that could not be measured are listed
with the reason."""
import statistics

from rows import ROWS, TABLES

NAMES = {"ours": "libredlock", "ours-node": "libredlock in Node.js", "python": "libredlock, Python asyncio", "python-threads": "libredlock, Python threads",
         "redis-py": "redis-py, one server", "node-redlock": "node-redlock 4", "node-redlock-5": "node-redlock 5 beta", "zookeeper": "ZooKeeper", "postgres": "PostgreSQL, one server"}


def name_of(system):
    return NAMES.get(system, system)


def text(values):
    values = [value for value in values if value is not None]
    if not values:
        return "-"
    if isinstance(values[0], list):
        low, high = max(values, key=lambda value: value[1] - value[0])  # the least fair repetition
        return f"{low} / {high}"
    middle = statistics.median(values)
    return f"{middle:,.0f}" if middle >= 100 else f"{middle:.3g}"


def columns_of(table, results):
    """Drops columns for which no system has a figure."""
    runs = [run for systems in results for got in systems.values() if isinstance(got, list) for run in got]
    return [(head, keys.split()) for head, keys in TABLES[table]
            if any(run.get(key) is not None for run in runs for key in keys.split())]


def opened(key, runs):
    """Longer than observed."""
    return "> " if any(run.get(key + "_is_open") for run in runs) else ""


def cells(columns, runs):
    shown = [" / ".join(opened(key, runs) + text([run.get(key) for run in runs]) for key in keys) for _, keys in columns]
    return [cell if set(cell) - set("- />") else "-" for cell in shown]


def lines_of(row, systems, columns, everywhere, goals=False):
    """The lines of one row: each system, reasons last; without reasons that hold for the whole
    table."""
    lines, reasons = [], []
    for system, got in systems.items():
        if isinstance(got, list):
            overlaps = sum(run.get("overlaps") or 0 for run in got)
            extra = f" (two holders at one time: {overlaps})" if overlaps else ""
            goal = [ROWS[row]["goals"] if system == "ours" else ""] if goals else []
            lines.append([name_of(system) + extra, *cells(columns, got), *goal])
        elif system not in everywhere:
            reasons.append([name_of(system), got, *[""] * (len(columns) - 1 + goals)])
    return [[ROWS[row]["name"] if i == 0 else "", *line] for i, line in enumerate(lines + reasons)]


def everywhere_of(results):
    """{system: reason} of systems that no row of the table has measured, always for the same
    reason."""
    reasons = {}
    for systems in results:
        for system, got in systems.items():
            reasons.setdefault(system, set()).add(got if isinstance(got, str) else None)
    return {system: found.pop() for system, found in reasons.items() if len(found) == 1 and None not in found and len(results) > 1}


def tables(results, goals=False):
    """results: {row: {system: [figures, ...] or the reason}}. One table for each kind of row, in their order."""
    lines = []
    for kind in dict.fromkeys(ROWS[row]["table"] for row in results):
        rows = [row for row in results if ROWS[row]["table"] == kind]
        columns = columns_of(kind, [results[row] for row in rows])
        everywhere = everywhere_of([results[row] for row in rows])
        heads = ["work", "", *(head for head, _ in columns), *(["goal"] if goals else [])]
        table = [heads, ["---"] * len(heads)]
        for row in rows:
            table += lines_of(row, results[row], columns, everywhere, goals)
        lines += ["| " + " | ".join(line) + " |" for line in table]
        if everywhere:
            lines += ["", "Not in this table: " + "; ".join(f"{name_of(system)}: {why}" for system, why in everywhere.items()) + "."]
        lines.append("")
    return "\n".join(lines)
