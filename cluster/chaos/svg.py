"""Drawing: an SVG as text, with a scale for time. Looks come from classes: see report.css."""
from html import escape


def number(value):
    """Short: one digit behind the point, none if it is 0."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


class Svg:
    def __init__(self, width, height, label):
        self.width, self.height, self.label = width, height, label
        self.parts = []

    def add(self, text):
        self.parts.append(text)

    def rect(self, x, y, width, height, kind, title=""):
        inner = f"<title>{escape(title)}</title>" if title else ""
        self.add(f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" '
                 f'height="{number(height)}" class="{kind}"'
                 + (f">{inner}</rect>" if inner else "/>"))

    def line(self, x1, y1, x2, y2, kind):
        self.add(f'<line x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" '
                 f'y2="{number(y2)}" class="{kind}"/>')

    def text(self, x, y, text, kind=""):
        self.add(f'<text x="{number(x)}" y="{number(y)}" class="{kind}">{escape(text)}</text>')

    def path(self, data, kind, title=""):
        inner = f"<title>{escape(title)}</title>" if title else ""
        self.add(f'<path d="{data}" class="{kind}"' + (f">{inner}</path>" if inner else "/>"))

    def __str__(self):
        return (f'<svg viewBox="0 0 {number(self.width)} {number(self.height)}" role="img" '
                f'aria-label="{escape(self.label)}">' + "".join(self.parts) + "</svg>")


class Scale:
    """Nanoseconds to x."""

    def __init__(self, begin_ns, end_ns, left, width):
        self.begin_ns, self.end_ns = begin_ns, max(end_ns, begin_ns + 1)
        self.left, self.width = left, width

    def __call__(self, t_ns):
        share = (t_ns - self.begin_ns) / (self.end_ns - self.begin_ns)
        return self.left + self.width * min(1, max(0, share))

    @property
    def ns_per_unit(self):
        return (self.end_ns - self.begin_ns) / self.width


def ticks(seconds, most=10):
    """(step, format) so that there are at most this many steps in this many seconds."""
    for step in (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120,
                 300, 600, 900, 1800, 3600, 7200, 14400, 43200):
        if seconds / step <= most:
            return step
    return 86400


def clock(seconds, step):
    """A time since the begin, as fine as the step."""
    if step >= 60:
        return f"{int(seconds // 60)} min"
    if step >= 1:
        return f"{int(seconds)} s" if seconds < 60 else f"{int(seconds // 60)}:{seconds % 60:02.0f}"
    return f"{seconds:.{2 if step < 0.1 else 1}f} s" if step >= 0.01 else f"{seconds:.3f} s"


def draw_axis(svg, scale, y, bottom, zero_ns, most=10):
    """Labels at y, and a thin line through all that is below."""
    step = ticks((scale.end_ns - scale.begin_ns) / 1e9, most)
    first = (scale.begin_ns - zero_ns) / 1e9
    i = int(first // step)
    while i * step <= (scale.end_ns - zero_ns) / 1e9 + 1e-9:
        if i * step >= first - 1e-9:
            x = scale(zero_ns + i * step * 1e9)
            svg.line(x, y + 4, x, bottom, "grid")
            svg.text(x, y, clock(i * step, step), "tick mid")
        i += 1


def blocks(spans, scale, y, height, thin=1.0, power=1.0):
    """A path of boxes for spans. Boxes that would be closer than thin units are drawn as one whose
    height says how much of it is filled, so a long run does not need more room than a short one.
    power: 1 draws that share as it is; 0.5, its root, so that a small one can be seen."""
    if not spans:
        return ""
    room = scale(spans[-1][1]) - scale(spans[0][0])
    if len(spans) <= max(4, room / thin / 3):
        return "".join(box(scale(begin), y, max(0.5, scale(end) - scale(begin)), height)
                       for begin, end in spans)
    shares = {}
    width_ns = scale.ns_per_unit * thin
    for begin, end in spans:
        at = (begin - scale.begin_ns) / width_ns
        last = (end - scale.begin_ns) / width_ns
        i = int(at)
        while i <= last:
            shares[i] = shares.get(i, 0) + min(last, i + 1) - max(at, i)
            i += 1
    parts, previous = [], None
    for i in sorted(shares):
        top = number(y + height * (1 - min(1, shares[i]) ** power))
        if previous != i - 1:
            if previous is not None:
                parts.append(f"V{number(y + height)}z")
            parts.append(f"M{number(scale.left + i * thin)} {number(y + height)}")
        parts.append(f"V{top}h{number(thin)}")
        previous = i
    return "".join(parts) + f"V{number(y + height)}z"


def box(x, y, width, height):
    width = number(width)
    return f"M{number(x)} {number(y)}h{width}v{number(height)}h-{width}z"
