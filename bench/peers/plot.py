"""Results as pictures: SVG, light or dark by the reader's setting, as wide as a page.

    pictures(results) -> {"beside-cycles": text, ...}: those for which there are rows

A picture's title and description tell what it shows, for those who cannot see it. Lines are named
at their ends, not in a legend.
"""
import math
import statistics

from show import name_of, text as number_text

WIDTH = 760
ORDER = ("ours", "node-redlock", "node-redlock-5", "etcd", "zookeeper", "postgres", "flock(1)", "ours-node")
LIGHT = ("#0969da", "#bc4c00", "#cf222e", "#1a7f37", "#8250df", "#6e7781", "#9a6700", "#54aeff")
DARK = ("#4493f8", "#f0883e", "#ff7b72", "#3fb950", "#ab7df8", "#9198a1", "#d29922", "#79c0ff")
STYLE = """<style>
  .bg { fill: #ffffff } text { fill: #1f2328 } .quiet { fill: #59636e } .grid { stroke: #d1d9e0; fill: none }
  .end { text-anchor: end } .mid { text-anchor: middle } .name { font-weight: bold } .ideal { stroke: #818b98; fill: none; stroke-dasharray: 5 4 }
  .line { fill: none; stroke-width: 2.5 } .faint { opacity: 0.45 } .mark { stroke: #1f2328; stroke-dasharray: 4 3 }
%s
  @media (prefers-color-scheme: dark) {
    .bg { fill: #0d1117 } text { fill: #e6edf3 } .quiet { fill: #9198a1 } .grid { stroke: #3d444d } .ideal { stroke: #656c76 }
    .mark { stroke: #e6edf3 }
%s
  }
</style>"""


def colours(indent, palette):
    return "\n".join(f"{indent}.s{i} {{ fill: {colour} }} .l{i} {{ stroke: {colour} }}" for i, colour in enumerate(palette))


def picture(height, title, description, parts):
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13" role="img" '
        'aria-labelledby="t d">',
        f'<title id="t">{escape(title)}</title>', f'<desc id="d">{escape(description)}</desc>',
        STYLE % (colours("  ", LIGHT), colours("    ", DARK)), f'<rect class="bg" width="{WIDTH}" height="{height}"/>', *parts, "</svg>", ""])


def escape(words):
    return words.replace("&", "&amp;").replace("<", "&lt;")


def label(x, y, words, style=""):
    kind = f' class="{style}"' if style else ""
    return f'<text{kind} x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>'


def box(x, y, width, height, style):
    return f'<rect class="{style}" x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{height:.1f}"/>'


def path(points, style):
    return f'<path class="{style}" d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in points)}"/>'


def middle(got, key):
    """The median over the repetitions; None where there is none."""
    values = [run[key] for run in got if run.get(key) is not None] if isinstance(got, list) else []
    return statistics.median(values) if values else None


def short(system):
    return name_of(system).split(",")[0].removesuffix(" beta")


def systems_of(rows):
    return [system for system in ORDER if any(isinstance(row.get(system), list) for row in rows)]


# -- Bars --

def bars(x, y, width, title, row, keys):
    """One bar for each system, of as many parts as there are keys, the later ones fainter."""
    parts = [label(x, y, title, "name")]
    found = [(system, [middle(row[system], key) for key in keys]) for system in systems_of([row])]
    found = [(system, values) for system, values in found if None not in values]
    most = max((sum(values) for _, values in found), default=1)
    for i, (system, values) in enumerate(found):
        top, left = y + 12 + 24 * i, x + 112
        parts.append(label(left - 8, top + 14, short(system), "end"))
        for j, value in enumerate(values):
            wide = value / most * (width - 112 - 106)
            parts.append(box(left, top, wide, 18, f"s{ORDER.index(system)}" + (" faint" if j else "")))
            left += wide
        parts.append(label(left + 6, top + 14, " + ".join(number_text([value]) for value in values)))
    return parts


def cycles(rows):
    found = [rows[name] for name in ("cycle1", "cycle64") if name in rows]
    if len(found) < 2:
        return None
    high = 24 * max(len(systems_of([row])) for row in found)
    parts = []
    for i, (row, what) in enumerate(zip(found, ("one at a time", "64 in flight"))):
        parts += bars(16 + 376 * i, 28, 368, f"Locks per second, {what}", row, ["locks_per_s"])
        parts += bars(16 + 376 * i, 76 + high, 368, f"CPU per lock, {what}, us", row, ["node_cpu_us_per_lock", "client_cpu_us_per_lock"])
    parts.append(label(16, 112 + 2 * high, "CPU: all servers of the system together, then (fainter) the client's process.", "quiet"))
    return picture(128 + 2 * high, "Uncontested locks", "Bars: locks per second with one lock at a time and with 64 in flight, and the "
                   "processor time that servers and client use for a lock, for each system. The figures are in the table.", parts)


# -- Lines --

class Panel:
    """Axes: x in doublings, y linear or in powers of ten."""

    def __init__(self, x, y, width, height, xs, most, least=None):
        self.x, self.y, self.width, self.height = x, y, width, height
        self.xs, self.most, self.least = xs, most, least

    def at(self, x, y):
        across = (math.log2(x) - math.log2(self.xs[0])) / (math.log2(self.xs[-1]) - math.log2(self.xs[0]))
        if self.least is None:
            up = y / self.most
        else:
            up = math.log(max(y, self.least) / self.least) / math.log(self.most / self.least)
        return self.x + across * self.width, self.y + self.height - up * self.height

    def axes(self, title, below):
        parts = [label(self.x - 40, self.y - 14, title, "name")]
        for tick in self.ticks():
            _, y = self.at(self.xs[0], tick)
            parts += [path([(self.x, y), (self.x + self.width, y)], "grid"), label(self.x - 6, y + 4, f"{tick:g}", "quiet end")]
        for x in self.xs:
            parts.append(label(self.at(x, self.most)[0], self.y + self.height + 18, str(x), "quiet mid"))
        return parts + [label(self.x + self.width / 2, self.y + self.height + 36, below, "quiet mid")]

    def ticks(self):
        if self.least is not None:
            return [10.0 ** power for power in range(round(math.log10(self.least)), round(math.log10(self.most)) + 1)]
        step = next(step for step in (10, 20, 25, 50, 100, 200, 500, 1000) if self.most / step <= 5)
        return range(0, int(self.most) + 1, step)


def lines(panel, curves):
    """curves: {system: [(x, y), ...]}; their names at the right, kept apart."""
    parts, ends = [], []
    for system, points in curves.items():
        spots = [panel.at(*point) for point in points]
        if len(spots) > 1:
            parts.append(path(spots, f"line l{ORDER.index(system)}"))
        parts += [f'<circle class="s{ORDER.index(system)}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in spots]
        if points[-1][0] < panel.xs[-1]:
            silent = panel.xs[panel.xs.index(points[-1][0]) + 1]
            x, y = spots[-1]
            parts.append(f'<text class="s{ORDER.index(system)}" style="font-weight:bold" x="{x - 46:.1f}" y="{y - 26:.1f}">'
                         f'{escape(short(system))}: no grant from {silent} on</text>')
            continue
        ends.append([spots[-1][1] + 4, spots[-1][0] + 9, short(system), ORDER.index(system)])
    ends.sort()
    for before, after in zip(ends, ends[1:]):
        after[0] = max(after[0], before[0] + 15)
    over = max((end[0] for end in ends), default=0) - (panel.y + panel.height + 4)
    for end in reversed(ends if over > 0 else []):
        end[0] -= over
        lower = [other[0] for other in ends if other[0] > end[0]]
        over = max(0, end[0] + 15 - min(lower)) if lower else over
    return parts + [f'<text class="s{i}" style="font-weight:bold" x="{max(x, panel.x + panel.width + 9):.1f}" y="{y:.1f}">{escape(words)}</text>'
                    for y, x, words, i in ends]


def curves_of(rows, prefix, key):
    """{system: [(clients, figure), ...]} of the rows prefixN."""
    numbers = sorted(int(name[len(prefix):]) for name in rows if name.startswith(prefix) and name[len(prefix):].isdigit())
    found = {}
    for system in systems_of([rows[f"{prefix}{n}"] for n in numbers]):
        points = [(n, middle(rows[f"{prefix}{n}"].get(system), key)) for n in numbers]
        found[system] = [(n, y) for n, y in points if y is not None]
    return numbers, {system: points for system, points in found.items() if points}


def contention(rows):
    numbers, rates = curves_of(rows, "greedy", "hand_overs_per_s")
    _, waits = curves_of(rows, "greedy", "wait_p99_ms")
    if len(numbers) < 2 or not rates or not waits:
        return None
    left = Panel(56, 44, 196, 240, numbers, 200)
    waited = [y for points in waits.values() for _, y in points]
    right = Panel(432, 44, 196, 240, numbers, 10 ** math.ceil(math.log10(max(waited))), 10 ** math.floor(math.log10(max(min(waited), 0.1))))
    ideal = [left.at(numbers[0], 200), left.at(numbers[-1], 200)]
    parts = left.axes("Hand-overs per second", "clients, each holds for 5 ms") + [path(ideal, "ideal"), label(62, 58, "200: no gap between two holds", "quiet")]
    parts += lines(left, rates) + right.axes("Wait before a grant, p99, ms", "clients; the scale is in powers of ten") + lines(right, waits)
    return picture(340, "Clients that want one lock", "Lines over the number of clients, from 2 to 64, for each system: how often per second the "
                   "lock goes from one client to another, and how long the longest waits are. The figures are in the table.", parts)


# -- Time --

def kills(rows):
    found = {system: rows.get("kill", {}).get(system) for system in ORDER}
    found = {system: got[0] for system, got in found.items() if isinstance(got, list) and got[0].get("bins")}
    if not found:
        return None
    most = max(max(run["bins"]) for run in found.values()) or 1
    parts = [label(16, 24, "Grants in each tenth of a second; a server is killed at 0", "name")]
    left, wide = 120, WIDTH - 120 - 176
    for i, (system, run) in enumerate(found.items()):
        base = 96 + 64 * i
        step = wide / len(run["bins"])
        parts += [label(left - 8, base - 14, short(system), "end"), path([(left, base), (left + wide, base)], "grid")]
        parts += [box(left + step * j + 1, base - 48 * count / most, step - 2, 48 * count / most, f"s{ORDER.index(system)}")
                  for j, count in enumerate(run["bins"]) if count]
        parts.append(label(left + wide + 10, base - 14, f"none for {'> ' * run['worst_pause_ms_is_open']}{number_text([run['worst_pause_ms']])} ms"))
    bottom = 96 + 64 * (len(found) - 1)
    count = len(next(iter(found.values()))["bins"])
    for second in range(-1, math.floor(count / 10)):
        x = left + wide * (second + 1) * 10 / count
        if x <= left + wide + 1:
            parts.append(label(x, bottom + 20, f"{second} s", "quiet mid"))
    zero = left + wide * 10 / count
    parts.append(path([(zero, 40), (zero, bottom + 4)], "mark"))
    parts.append(label(16, bottom + 46, "The longest pause of several kills, one of each server: leaders of etcd and ZooKeeper included.", "quiet"))
    return picture(bottom + 62, "A server is killed", "Bars over time, for each system: how many grants there were in each tenth of a second before and after "
                   "one of its servers was killed, and for how long there was none.", parts)


def pictures(rows):
    drawn = {"beside-cycles": cycles(rows), "beside-contention": contention(rows), "beside-kill": kills(rows)}
    return {name: text for name, text in drawn.items() if text}
