"""A close-up of a finding: all holds of that resource around that time, with the faults of the
nodes meanwhile."""
import spans
from svg import Scale, Svg, draw_axis, number

LEFT, WIDTH, RIGHT = 92, 1000, 96
LANE, BAR = 24, 12
FAULT_ROW = 14
CLIENTS_MAX = 10


def moments(history, verdict, most=6):
    """[(finding, t_ns, hold)] of findings that point to a hold, each kind in turn, violations
    first, without repetitions."""
    by_client = {}
    for hold in history.holds:
        by_client.setdefault(hold.client, []).append(hold)
    chosen = []
    order = {"violation": 0, "explained": 1, "apart": 2}
    findings = sorted((finding for finding in verdict["findings"]
                       if finding["weight"] in order and finding["marks"]),
                      key=lambda finding: order[finding["weight"]])
    for finding in findings:
        taken = 0
        for t_ns, who, _ in finding["marks"]:
            hold = min((hold for hold in by_client.get(who, [])
                        if hold.enter_ns <= t_ns <= hold.window_end_ns),
                       key=lambda hold: t_ns - hold.enter_ns, default=None)
            if hold is None or len(chosen) >= most or taken >= 3:
                continue
            if all(other.resource != hold.resource or abs(when - t_ns) > 2 * history.ttl_ns
                   for _, when, other in chosen):
                chosen.append((finding, t_ns, hold))
                taken += 1
    return chosen


def window_of(history, t_ns, holds):
    """What to show: the holds at this time, with some margin."""
    begin = min(hold.enter_ns for hold in holds)
    end = max(hold.window_end_ns for hold in holds)
    room = max((end - begin) // 6, history.ttl_ns // 50)
    return max(begin, t_ns - 2 * history.ttl_ns) - room, min(end, t_ns + 2 * history.ttl_ns) + room


def draw(history, t_ns, hold):
    """The picture, as text."""
    same = [other for other in history.holds if other.resource == hold.resource]
    touching = [other for other in same if other.enter_ns <= t_ns <= other.window_end_ns]
    begin, end = window_of(history, t_ns, touching)
    shown = [other for other in same if other.enter_ns < end and other.window_end_ns > begin]
    # Holds that overlap at this time come first, so that they are never left out.
    nearest = sorted(shown, key=lambda other: (other not in touching, other.enter_ns))
    clients = list(dict.fromkeys(other.client for other in nearest))[:CLIENTS_MAX]
    faults = [fault for fault in history.faults if fault.client is None and
              fault.begin_ns < end and (fault.end_ns or history.end_ns) > begin - history.ttl_ns]
    faults = sorted(faults, key=lambda fault: fault.begin_ns)[-6:]
    top = 30 + len(faults) * FAULT_ROW
    height = top + len(clients) * LANE + 22
    svg = Svg(LEFT + WIDTH + RIGHT, height, f"Holds of {hold.resource} around "
              f"{history.seconds(t_ns):.3f} s")
    scale = Scale(begin, end, LEFT, WIDTH)
    draw_axis(svg, scale, 14, height - 18, history.begin_ns)
    for i, fault in enumerate(faults):
        draw_fault(svg, history, scale, fault, 26 + i * FAULT_ROW)
    draw_overlaps(svg, scale, [other for other in shown if other.client in clients],
                  top - 4, height - 18)
    for i, client in enumerate(clients):
        y = top + i * LANE
        svg.text(LEFT - 8, y + BAR - 1, client, "name end")
        for other in shown:
            if other.client == client:
                draw_hold(svg, history, scale, other, y)
    return str(svg)


def draw_fault(svg, history, scale, fault, y):
    x = scale(fault.begin_ns)
    width = max(2, scale(fault.end_ns or history.end_ns) - x)
    kind = "breaks" if fault.breaks else "plain"
    svg.rect(x, y, width, 4, f"fault-{kind}")
    svg.text(LEFT - 8, y + 6, fault.node or "all nodes", "tick end")
    inside = x + width + 4 < LEFT + WIDTH - 60
    svg.text(x + width + 4 if inside else LEFT + WIDTH + 4, y + 6, fault.name,
             "small breaks" if fault.breaks else "small")


def draw_hold(svg, history, scale, hold, y):
    x = scale(hold.enter_ns)
    end = scale(hold.window_end_ns)
    title = (f"{hold.client}: {history.seconds(hold.enter_ns):.4f} to "
             f"{history.seconds(hold.window_end_ns):.4f} s, ended: {hold.ended}, "
             f"token {hold.token}")
    valid = scale(hold.valid_until_ns)
    if valid > end:
        svg.rect(end, y + BAR / 2 - 1, valid - end, 2, "validity", "its validity, had it gone on")
    svg.rect(x, y, max(1, end - x), BAR, "holding", title)
    if hold.valid_until_ns < hold.window_end_ns:
        svg.rect(valid, y, max(1, end - valid), BAR, "invalid",
                 "it worked on after its validity had ended")
        svg.line(valid, y - 3, valid, y + BAR + 3, "valid-end")
    for when, _ in (hold.renewals or [])[1:]:
        svg.path(f"M{number(scale(when))} {number(y)}l-3-4h6z", "renewal", "extended")
    word = {"lost": "lost", "killed": "killed", "exit": "", "unknown": "no end"}.get(hold.ended, "")
    if word and end + 30 < LEFT + WIDTH:
        svg.text(end + 4, y + BAR - 2, word, "small strong")


def draw_overlaps(svg, scale, holds, top, bottom):
    """Where two of them held at once."""
    by_client = {}
    for hold in holds:
        by_client.setdefault(hold.client, []).append((hold.enter_ns, hold.window_end_ns))
    both = spans.at_least([spans.union(told) for told in by_client.values()], 2)
    for begin, end in both:
        width = max(1.5, scale(end) - scale(begin))
        svg.rect(scale(begin), top, width, bottom - top, "overlap",
                 f"two at once for {(end - begin) / 1e6:.3f} ms")
    if both:
        longest = spans.longest(both)
        x = (scale(longest[0]) + scale(longest[1])) / 2
        svg.text(x, bottom + 12, f"two at once: {(longest[1] - longest[0]) / 1e6:.1f} ms",
                 "small mid strong")
