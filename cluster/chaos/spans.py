"""Spans of time: sorted lists of (begin, end) in nanoseconds, without the end, that do not touch.
"""


def union(spans):
    """Sorts and joins what overlaps or touches; empty spans vanish."""
    result = []
    for begin, end in sorted(span for span in spans if span[0] < span[1]):
        if result and begin <= result[-1][1]:
            result[-1] = (result[-1][0], max(result[-1][1], end))
        else:
            result.append((begin, end))
    return result


def intersect(one, other):
    result = []
    i = j = 0
    while i < len(one) and j < len(other):
        begin = max(one[i][0], other[j][0])
        end = min(one[i][1], other[j][1])
        if begin < end:
            result.append((begin, end))
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return result


def without(spans, holes):
    """The parts of spans outside of holes."""
    result = []
    j = 0
    for begin, end in spans:
        while j < len(holes) and holes[j][1] <= begin:
            j += 1
        k = j
        while k < len(holes) and holes[k][0] < end:
            if begin < holes[k][0]:
                result.append((begin, holes[k][0]))
            begin = max(begin, holes[k][1])
            k += 1
        if begin < end:
            result.append((begin, end))
    return result


def total(spans):
    return sum(end - begin for begin, end in spans)


def longest(spans):
    """The longest span, or None."""
    return max(spans, key=lambda span: span[1] - span[0], default=None)


def at_least(lists, number):
    """Where at least this many of the lists of spans have one."""
    edges = sorted([(begin, 1) for spans in lists for begin, _ in spans] +
                   [(end, -1) for spans in lists for _, end in spans])
    result, depth, since = [], 0, None
    for time, step in edges:
        was = depth >= number
        depth += step
        if not was and depth >= number:
            since = time
        elif was and depth < number:
            result.append((since, time))
    return union(result)
