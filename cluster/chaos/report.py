#!/usr/bin/env python3
"""Draws a chaos run: DIR/report.html, one self-contained file without scripts.

    report.py DIR

Verdict on top, then the run as a timeline, close-ups of the moments on which the verdict rests, and
tables. A long run is drawn coarser, not larger. Without a verdict.json the checker runs first. A
run that cannot be read gets a page that says why.
"""
import json
import sys
from html import escape
from pathlib import Path

import checker
import closeup
import reading
from history import Unusable
from lanes import lanes
from timeline import Timeline
from verdict import headline, milliseconds, plural

WORDS = {"violation": "violation", "explained": "explained", "apart": "no lock prevents it",
         "note": "note"}


def tag(name, text, kind=""):
    kind = f' class="{kind}"' if kind else ""
    return f"<{name}{kind}>{text}</{name}>"


def table(heads, rows, numbers=(), kind=""):
    """numbers: the numeric columns. Cells are already HTML."""
    kind = f' class="{kind}"' if kind else ""

    def row(cells, name):
        return "<tr>" + "".join(tag(name, cell, "n" if i in numbers else "")
                                for i, cell in enumerate(cells)) + "</tr>"
    return (f"<table{kind}><thead>" + row(map(escape, heads), "th") + "</thead><tbody>"
            + "".join(row(cells, "td") for cells in rows) + "</tbody></table>")


def seconds(ms):
    return f"{ms / 1000:.1f} s"


# -- Parts of the page --


def banner(verdict):
    first, second = headline(verdict)
    sign = {0: "✓", 1: "✗", 2: "?"}[verdict["status"]]
    text = tag("h1", f"{sign} {escape(first)}") + tag("p", escape(second))
    text += "".join(tag("p", escape(reason)) for reason in verdict["reasons"])
    return tag("div", text, f"verdict {verdict['verdict']}")


def about(verdict):
    run = verdict["run"]
    quorum = "of each set a quorum" if run.get("changes") else f"quorum {run['quorum']}"
    parts = [f"{len(run['nodes'])} nodes, {quorum}",
             f"{len(verdict['clients'])} clients", f"ttl {run['ttl_ms']} ms"]
    for name in ("backend", "scenario", "seed", "workload", "guard", "control"):
        if run.get(name) not in (None, ""):
            parts.append(f"{name} {run[name]}")
    return tag("p", escape(" · ".join(parts)), "soft")


def tiles(verdict):
    share = verdict["quorum_ms"] / max(1, verdict["seconds"] * 1000)
    shown = [
        (f"{verdict['grants']:,}".replace(",", " "), "grants"),
        (f"{verdict['grants'] / max(0.001, verdict['seconds']):.1f}", "grants a second"),
        (f"{verdict['handovers']:,}".replace(",", " "), "handed over to another client"),
        (milliseconds(verdict["wait_us"]["p50"]), "median wait"),
        (milliseconds(verdict["wait_us"]["p99"]), "99 of 100 waits are shorter"),
        (milliseconds(verdict["idle_ms"] * 1000), "longest wait for a lock that was free"),
        (f"{min(1, share):.0%}", "of the time a quorum was up"),
        (str(sum(row["count"] for row in verdict["faults"].values())), "faults injected"),
    ]
    told = (tag("b", escape(value)) + tag("span", escape(what)) for value, what in shown)
    return tag("div", "".join(tag("div", tile, "tile") for tile in told), "tiles")


def swatch(inner):
    return f'<svg viewBox="0 0 26 14" aria-hidden="true">{inner}</svg>'


def legend(verdict):
    """Only the rows that occur."""
    states = {state for told in verdict["nodes"].values() for state, ms in told.items() if ms}
    entries = [(f'<rect y="1" width="26" height="12" class="{state}"/>', f"node {word}")
               for state, word in (("up", "up"), ("slow", "slow or unreliable"),
                                   ("paused", "paused"), ("cut", "cut off"), ("down", "down"),
                                   ("loading", "loading its data")) if state in states]
    if states & {"down", "loading"}:
        entries.append(('<path d="M13 3l-4 7h8z" class="returned"/>', "back again"))
    if verdict["faults"]:
        entries.append(('<path d="M13 11l-4-8h8z" class="mark"/>', "fault"))
    if any(row["breaks"] for row in verdict["faults"].values()):
        entries.append(('<path d="M13 12l-4-5 4-5 4 5z" class="mark breaks"/>',
                        "fault that breaks an assumption"))
    entries += [('<rect y="2" width="26" height="10" class="holding"/>', "client holds a lock"),
                ('<rect y="5" width="26" height="4" class="waiting"/>', "waits for one"),
                ('<path d="M9 3l8 8m0-8l-8 8" class="lost"/>', "lost it against its will")]
    if "client-stop" in verdict["faults"]:
        entries.append(('<rect y="1" width="26" height="12" class="stopped"/>', "process stopped"))
    if "client-kill" in verdict["faults"]:
        entries.append(('<line x1="13" y1="0" x2="13" y2="14" class="killed"/>', "process killed"))
    if verdict["quorum_ms"] < verdict["seconds"] * 1000 - 1:
        entries.append(('<rect width="26" height="14" class="no-quorum"/>', "no quorum is up"))
    if verdict["violations"]:
        entries.append(('<rect x="4" y="2" width="18" height="10" class="violation"/>',
                        "violation"))
    if verdict["explained"]:
        entries.append(('<rect x="4" y="2" width="18" height="10" class="explained"/>',
                        "explained by a fault"))
    return tag("div", "".join(tag("span", swatch(inner) + escape(word))
                              for inner, word in entries), "legend")


def timeline(history, verdict):
    pointed = {who for finding in verdict["findings"] for _, who, _ in finding["marks"]
               if finding["weight"] in ("violation", "explained")}
    groups = lanes(history, pointed)
    picture = tag("div", str(Timeline(history, verdict, groups)), "scroll")
    left_out = len(history.clients) - sum(len(lane) for rows in groups for lane in rows)
    more = tag("p", f"{plural(left_out, 'more client')} not drawn; all are in the table.",
               "soft") if left_out else ""
    return tag("section", tag("h2", "The run")
               + tag("div", legend(verdict) + picture + more, "card"))


def closeups(history, verdict):
    shown = closeup.moments(history, verdict)
    if not shown:
        return ""
    figures = ""
    for finding, t_ns, hold in shown:
        caption = (f"{WORDS[finding['weight']].capitalize()} at {history.seconds(t_ns):.3f} s, "
                   f"{hold.resource}: {finding['title'].removeprefix('... ')}")
        figures += tag("figure", tag("figcaption", escape(caption))
                       + tag("div", closeup.draw(history, t_ns, hold), "scroll"))
    intro = tag("p", "Who held the lock around that moment. A pale line behind a hold is validity "
                "that was given back; orange is work after the end of validity; red is where two "
                "held at once.", "soft")
    return tag("section", tag("h2", "From near") + intro + tag("div", figures, "card"))


def findings(verdict):
    rows = []
    for finding in verdict["findings"]:
        if finding["weight"] != "violation" and not finding["count"]:
            continue
        word, kind = ("none", "clean") if not finding["count"] else (WORDS[finding["weight"]],
                                                                    finding["weight"])
        count = str(finding["count"])
        if finding["skipped"] and not finding["count"]:
            word, kind, count = "not looked for", "soft", "–"
        text = escape(finding["title"])
        note = finding["skipped"] or finding["text"]
        if note:
            text += tag("div", escape(note), "soft")
        if finding["examples"]:
            items = "".join(tag("li", escape(example)) for example in finding["examples"])
            shown = " open" if finding["weight"] == "violation" else ""
            many = plural(len(finding["examples"]), "example")
            text += f"<details{shown}><summary>{many}</summary><ul>{items}</ul></details>"
        rows.append([tag("span", word, f"word {kind}"), count, text])
    return tag("section", tag("h2", "What was looked for")
               + tag("div", table(["", "found", "what"], rows, (1,), "findings"), "card"))


def faults(verdict):
    if not verdict["faults"]:
        return ""
    rows = [[escape(name), str(row["count"]),
             "breaks an assumption of Redlock" if row["breaks"] else ""]
            for name, row in sorted(verdict["faults"].items())]
    return tag("section", tag("h2", "Faults")
               + tag("div", table(["fault", "times", ""], rows, (1,)), "card"))


def nodes(verdict):
    states = ("up", "slow", "paused", "cut", "down", "loading")
    rows = [[tag("b", escape(node))] + [seconds(told[state]) if told[state] else "–"
                                        for state in states]
            for node, told in verdict["nodes"].items()]
    return tag("section", tag("h2", "Nodes")
               + tag("div", table(["node", *states], rows, range(1, 7)), "card scroll"))


def clients(verdict):
    rows = [[tag("b", escape(client)), row["grants"], row["denied"], row["lost"], row["attempts"],
             milliseconds(row["wait_us_p50"]), milliseconds(row["wait_us_max"]),
             seconds(row["starved_ms"]), seconds(row["held_ms"])]
            for client, row in verdict["clients"].items()]
    rows = [[str(cell) for cell in row] for row in rows]
    heads = ["client", "grants", "refused", "lost", "attempts", "median wait", "longest wait",
             "longest without", "held in all"]
    note = tag("p", "Lost counts works that outlast their lock on purpose too. Longest without: "
               "without a grant while it waited and a quorum was up.", "soft")
    return tag("section", tag("h2", "Clients")
               + tag("div", table(heads, rows, range(1, 9)) + note, "card scroll"))


def growth(verdict):
    if not verdict["growth"]:
        return ""
    rows = [[tag("b", escape(who)), f"{row['seconds']:.0f} s",
             f"{row['rss_kb'][0] / 1024:.1f}", f"{row['rss_kb'][1] / 1024:.1f}",
             str(row["fds"][0]), str(row["fds"][1])] for who, row in verdict["growth"].items()]
    heads = ["process", "watched for", "MiB once warm", "MiB at the end", "descriptors once warm",
             "descriptors at the end"]
    return tag("section", tag("h2", "Memory and descriptors")
               + tag("div", table(heads, rows, range(1, 6)), "card scroll"))


HOW_TO_READ = """
Clients take locks on the nodes and, while they hold one, write lines into a file that all of them
share; each line says who acted, under which lock, and until when that lock was valid. This page was
made from these lines alone, by a program that knows nothing of the lock. Two windows of one lock
must never overlap, but for those of two readers, or of different slots of a semaphore, and nobody may write after the end of validity.

“Explained” means that a fault had just taken away what the algorithm rests on, such as a node that
forgot its keys: Redlock does not promise anything then. “No lock prevents it” means that a process
stood still between its look at the validity and its write; only the resource can refuse such a
write.

In a long run a lane is drawn coarser: the height of a column then says for how much of that time
the lock was held (its square root, so that little can be seen too).
"""


def how_to_read():
    parts = HOW_TO_READ.strip().split("\n\n")
    return tag("section", tag("h2", "How to read this") + "".join(tag("p", escape(part))
                                                                  for part in parts))


# -- The page --


def page(title, body):
    style = (Path(__file__).parent / "report.css").read_text(encoding="utf-8")
    return ("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
            f"<title>{escape(title)}</title><style>{style}</style></head>"
            f"<body><main>{body}</main></body></html>\n")


def draw(folder, verdict):
    try:
        history = reading.read(folder)
    except Unusable:
        return page("Chaos run", banner(verdict))
    body = banner(verdict) + about(verdict) + tiles(verdict)
    if history.holds:
        body += timeline(history, verdict) + closeups(history, verdict)
    body += findings(verdict)
    body += tag("div", faults(verdict) + nodes(verdict), "columns")
    body += clients(verdict) + growth(verdict) + how_to_read()
    name = verdict["run"].get("scenario") or "chaos run"
    return page(f"{verdict['verdict'].capitalize()}: {name}", body)


def write(folder):
    """Writes report.html into the folder of a run; returns its path."""
    try:
        verdict = json.loads((Path(folder) / "verdict.json").read_text())
    except (OSError, ValueError):
        verdict = checker.check(folder)
    path = Path(folder) / "report.html"
    path.write_text(draw(folder, verdict), encoding="utf-8")
    return str(path)


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.split("\n\n")[1].strip(), file=sys.stderr)
        return 2
    if not Path(sys.argv[1]).is_dir():
        print(f"report.py: {sys.argv[1]} is no folder; name that of a run", file=sys.stderr)
        return 2
    print(write(sys.argv[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
