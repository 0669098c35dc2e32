"""The picture of a run: a lane for each node, a lane for each client, and below them, on the same
axis, grants per second and their waits."""
from bisect import bisect_right
from math import log10

import spans
from history import process_of
from svg import Scale, Svg, blocks, box, draw_axis, number

LEFT, WIDTH, RIGHT = 92, 1000, 96
NODE_ROW, NODE_BAR = 34, 14
LANE, LANE_BAR = 13, 9
GROUP_GAP = 12
LETTER = 5.3  # the width of a letter of a small label
STATES = ("up", "slow", "paused", "cut", "down", "loading")


class Timeline:
    def __init__(self, history, verdict, groups):
        self.history, self.verdict = history, verdict
        self.groups = groups  # see lanes.py
        self.scale = Scale(history.begin_ns, history.end_ns, LEFT, WIDTH)
        nodes = history.run["nodes"]
        self.nodes_y = 40
        self.clients_y = self.nodes_y + len(nodes) * NODE_ROW + 34
        self.charts_y = self.clients_y + 30 + sum(len(rows) * LANE + GROUP_GAP for rows in groups)
        self.height = self.charts_y + 240
        self.svg = Svg(LEFT + WIDTH + RIGHT, self.height, "Timeline of the run: nodes, clients, "
                       "grants per second and waits")

    def __str__(self):
        svg, history = self.svg, self.history
        svg.text(LEFT, 12, "NODES", "head")
        svg.text(LEFT + WIDTH + 8, 12, "up", "tick")
        draw_axis(svg, self.scale, 26, self.height - 12, history.begin_ns)
        self.draw_no_quorum()
        for i, node in enumerate(history.run["nodes"]):
            self.draw_node(node, self.nodes_y + i * NODE_ROW)
        svg.text(LEFT, self.clients_y - 12, "CLIENTS", "head")
        svg.text(LEFT + WIDTH + 8, self.clients_y - 12, "grants", "tick")
        lane_y = self.draw_clients()
        self.draw_marks(lane_y)
        draw_rates(svg, history, self.scale, self.charts_y, 78)
        draw_waits(svg, history, self.scale, self.charts_y + 124, 90)
        return str(svg)

    # -- nodes --

    def draw_no_quorum(self):
        whole = [(self.history.begin_ns, self.history.end_ns)]
        gone = spans.without(whole, self.history.quorum_spans())
        bottom = self.height - 12
        path = blocks(gone, self.scale, 32, bottom - 32)
        if path:
            self.svg.path(path, "no-quorum", "less than a quorum of nodes is up")
        for begin, end in gone:
            if self.scale(end) - self.scale(begin) > 64:
                self.svg.text((self.scale(begin) + self.scale(end)) / 2, self.clients_y - 12,
                              "no quorum", "small mid")

    def draw_node(self, node, y):
        svg, history = self.svg, self.history
        bar_y = y + 12
        svg.text(LEFT - 8, bar_y + 11, node, "name end")
        for state in STATES:
            told = history.node_spans(node, state)
            if not told:
                continue
            # A momentary fault stays visible.
            wide = [(begin, max(end, begin + int(1.5 * self.scale.ns_per_unit)))
                    for begin, end in told] if state != "up" else told
            svg.path(blocks(wide, self.scale, bar_y, NODE_BAR, 0.5), f"state {state}",
                     f"{node}: {state}")
            for begin, end in told if state != "up" else []:
                if self.scale(end) - self.scale(begin) > len(state) * LETTER + 6:
                    svg.text((self.scale(begin) + self.scale(end)) / 2, bar_y + 10.5, state,
                             f"small mid in-{state}")
        self.draw_returns(node, bar_y)
        faults = [fault for fault in history.faults
                  if fault.node == node or (fault.node is None and fault.client is None)]
        self.draw_faults(faults, y + 9)
        up = spans.total(history.node_spans(node, "up"))
        share = up / max(1, history.end_ns - history.begin_ns)
        svg.text(LEFT + WIDTH + 8, bar_y + 11, f"{share:.0%}", "tick")

    def draw_returns(self, node, y):
        """A tick where the node came up again after it had been down."""
        told = sorted(self.history.states.get(node, []))
        path = ""
        for (_, before), (t_ns, after) in zip(told, told[1:]):
            if before in ("down", "loading") and after == "up":
                x = self.scale(t_ns)
                path += f"M{number(x)} {number(y + NODE_BAR)}l-3 5h6z"
        if path:
            self.svg.path(path, "returned", f"{node}: restarted")

    def draw_faults(self, faults, y):
        """A mark at the beginning of each, with its name if there is room before the next one."""
        faults = sorted(faults, key=lambda fault: fault.begin_ns)
        edges = [self.scale(fault.begin_ns) for fault in faults[1:]] + [LEFT + WIDTH + 20]
        for fault, edge in zip(faults, edges):
            x = self.scale(fault.begin_ns)
            end = f" to {self.history.seconds(fault.end_ns):.2f} s" if fault.end_ns else ""
            title = (f"{fault.name}, {self.history.seconds(fault.begin_ns):.2f} s{end}"
                     + (", breaks an assumption" if fault.breaks else "")
                     + (f": {fault.detail}" if fault.detail else ""))
            shape = f"M{number(x)} {number(y + 2)}l-3.5-4 3.5-4 3.5 4z" if fault.breaks else \
                f"M{number(x)} {number(y + 2)}l-3-6h6z"
            self.svg.path(shape, "mark breaks" if fault.breaks else "mark", title)
            if x + len(fault.name) * LETTER + 10 < edge:
                self.svg.text(x + 5, y + 1, fault.name, "small breaks" if fault.breaks else "small")

    # -- clients --

    def draw_clients(self):
        holds, lane_y, y = {}, {}, self.clients_y
        for hold in self.history.holds:
            holds.setdefault(hold.client, []).append(hold)
        for rows in self.groups:
            processes = list(dict.fromkeys(process_of(client) for lane in rows for client in lane))
            processes.sort(key=lambda process: self.history.processes[process]["first"])
            for i, process in enumerate(processes):
                after = processes[i + 1] if i + 1 < len(processes) else None
                self.draw_process(process, after, y, len(rows) * LANE)
            for lane in rows:
                self.draw_lane(lane, holds, y)
                lane_y.update((client, y) for client in lane)
                y += LANE
            y += GROUP_GAP
        return lane_y

    def draw_process(self, process, after, y, height):
        """after: its successor, if there is one."""
        stops = self.history.stops(process)
        path = blocks(stops, self.scale, y - 2, height)
        if path:
            self.svg.path(path, "stopped", f"{process}: stopped")
        for begin, end in stops:
            if self.scale(end) - self.scale(begin) > 46:
                self.svg.text((self.scale(begin) + self.scale(end)) / 2, y + height / 2, "stopped",
                              "small mid")
        killed = self.history.killed_ns(process)
        if killed is None:
            return
        x = self.scale(killed)
        edge = LEFT + WIDTH
        if after is not None:
            edge = self.scale(self.history.killed_ns(after) or self.history.end_ns)
        self.svg.line(x, y - 5, x, y + height - 2, "killed")
        word = f"{process} killed" + (f", {after}" if after else "")
        if x + len(word) * LETTER + 6 > edge:
            word = after or ""
        if word and x + len(word) * LETTER + 6 <= edge:
            self.svg.text(x + 3, y - 3, word, "small strong")

    def draw_lane(self, lane, holds, y):
        self.svg.text(LEFT - 8, y + 8, lane[0] + (" …" if len(lane) > 1 else ""), "lane end")
        grants = sum(len(self.history.clients[client].grants) for client in lane)
        self.svg.text(LEFT + WIDTH + 8, y + 8, str(grants), "lane")
        for client in lane:
            self.draw_client(client, holds.get(client, []), y)

    def draw_client(self, client, holds, y):
        svg, scale = self.svg, self.scale
        story = self.history.clients[client]
        waits = spans.union((begin, end) for begin, end, _, _ in story.waits)
        svg.path(blocks(waits, scale, y + 3, LANE_BAR - 6), "waiting", f"{client}: waiting")
        held = spans.union((hold.enter_ns, hold.window_end_ns) for hold in holds)
        svg.path(blocks(held, scale, y, LANE_BAR, power=0.5), "holding", f"{client}: holding")
        losses = [t_ns for t_ns, status, plan in story.lost
                  if plan != "outlast" or status not in ("ERR_EXPIRED", "ERR_MAX_HOLD")]
        shape, last = "", -9
        for t_ns in losses:
            x = scale(t_ns)
            if x - last >= 2:
                shape += f"M{number(x - 3)} {number(y + 1)}l6 7m0-7l-6 7"
                last = x
        if shape:
            svg.path(shape, "lost", f"{client}: lost a lock")

    def draw_marks(self, lane_y):
        """Violations, and explained findings, on the lane where they occurred."""
        bottom = self.charts_y - 24
        for finding in self.verdict["findings"]:
            if finding["weight"] not in ("violation", "explained") or not finding["count"]:
                continue
            last = -9
            for t_ns, who, until_ns in finding["marks"]:
                x = self.scale(t_ns)
                if who in lane_y and x - last >= 1:
                    width = max(2.5, self.scale(until_ns or t_ns) - x)
                    self.svg.rect(x, lane_y[who] - 1, width, LANE_BAR + 2, finding["weight"],
                                  f"{finding['title']}: {who}")
                if x - last >= 6:
                    self.svg.line(x, self.clients_y - 4, x, bottom, f"{finding['weight']}-line")
                    self.svg.path(f"M{number(x)} {number(bottom - 2)}l-4 7h8z",
                                  f"{finding['weight']}-tip", finding["title"])
                    last = x


# -- charts --


def bin_width_ns(history):
    """A round time that makes no more than 200 steps of the run."""
    seconds = (history.end_ns - history.begin_ns) / 1e9
    for width in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600):
        if seconds / width <= 200:
            break
    return round(width * 1e9)


def binned(history, width_ns):
    """Waits in microseconds of the grants in each bin."""
    result = [[] for _ in range((history.end_ns - history.begin_ns) // width_ns + 1)]
    for story in history.clients.values():
        for t_ns, wait_us, _ in story.grants:
            i = (t_ns - history.begin_ns) // width_ns
            if 0 <= i < len(result):
                result[i].append(wait_us)
    return result


def nice_top(value):
    """A round number that is not below value."""
    power = 1.0
    while power * 10 <= value:
        power *= 10
    while power > value and power > 0.1:
        power /= 10
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value)


def draw_rates(svg, history, scale, y, height):
    width_ns = bin_width_ns(history)
    rates = [len(waits) * 1e9 / width_ns for waits in binned(history, width_ns)]
    if (history.end_ns - history.begin_ns) % width_ns:
        rates[-1] *= width_ns / ((history.end_ns - history.begin_ns) % width_ns)
    top = nice_top(max(rates + [1]))
    svg.text(LEFT, y - 8, "GRANTS PER SECOND", "head")
    draw_frame(svg, y, height, [(0, "0"), (top / 2, f"{top / 2:g}"), (top, f"{top:g}")],
               lambda value: y + height * (1 - value / top))
    path = ""
    for i, rate in enumerate(rates):
        begin = history.begin_ns + i * width_ns
        x = scale(begin)
        wide = scale(min(begin + width_ns, history.end_ns)) - x
        if rate > 0 and wide > 0.3:
            bar = height * rate / top
            path += box(x + 0.2, y + height - bar, max(0.4, wide - 0.5), bar)
    svg.path(path, "bars")


def draw_waits(svg, history, scale, y, height):
    """Median and 99th percentile over time, on a logarithmic axis."""
    width_ns = bin_width_ns(history)
    told = [sorted(waits) for waits in binned(history, width_ns)]
    values = [wait for waits in told for wait in (waits[:1] + waits[-1:])] or [1000]
    decades = [100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000]
    low = decades[max(0, bisect_right(decades, max(100, min(values))) - 1)]
    high = next((decade for decade in decades if decade >= max(values)), decades[-1])
    high = max(high, low * 10)
    steps = [decade for decade in decades if low <= decade <= high]

    def at(value):
        share = log10(max(low, min(high, value)) / low) / log10(high / low)
        return y + height * (1 - share)

    svg.text(LEFT, y - 8, "WAIT FOR A LOCK", "head")
    svg.text(LEFT + 122, y - 8, "of those granted in each step; logarithmic", "tick")
    draw_frame(svg, y, height, [(step, duration(step)) for step in steps], at)
    ends = []
    for share, kind, name in ((0.5, "p50", "median"), (0.99, "p99", "99 %")):
        path, gap, last = "", True, None
        for i, waits in enumerate(told):
            if not waits:
                gap = True
                continue
            last = at(waits[min(len(waits) - 1, int(len(waits) * share))])
            x = scale(history.begin_ns + i * width_ns)
            path += f"M{number(x)} {number(last)}" if gap else f"V{number(last)}"
            path += f"H{number(scale(history.begin_ns + (i + 1) * width_ns))}"
            gap = False
        svg.path(path, f"curve {kind}")
        if last is not None:
            ends.append([last, kind, name])
    if len(ends) == 2 and abs(ends[0][0] - ends[1][0]) < 11:
        middle = (ends[0][0] + ends[1][0]) / 2
        ends[0][0], ends[1][0] = middle + 5.5, middle - 5.5
    for end, kind, name in ends:
        svg.text(LEFT + WIDTH + 8, end + 3, name, f"tick label-{kind}")


def draw_frame(svg, y, height, marks, at):
    for value, label in marks:
        svg.line(LEFT, at(value), LEFT + WIDTH, at(value), "grid")
        svg.text(LEFT - 8, at(value) + 3, label, "tick end")


def duration(us):
    return f"{us / 1000:g} ms" if us < 1_000_000 else f"{us / 1e6:g} s"
