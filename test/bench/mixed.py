# The figures of readers and writers, computed again in the simplest way: mixed.py RECORDS REPORT
import json, sys

waits, slices = [], []
for line in open(sys.argv[1]):
    kind, *numbers = line.split()
    (waits if kind == "wait" else slices).append([int(float(n)) for n in numbers])
report = json.load(open(sys.argv[2]))
granted = sorted((w for w in waits if w[1]), key=lambda w: w[1])
reads = [len(w) > 5 for w in granted]
assert any(reads) and not all(reads), "one kind only"

overlaps = sum(any(b[1] < a[2] and not (reads[i] and reads[j]) for j, a in enumerate(granted[:i]))
               for i, b in enumerate(granted))
assert report["sides"][0]["overlaps"] == overlaps == 0, overlaps

def phases(i):
    """The phases of the other kind that began while this one waited."""
    inside = [j for j in range(i) if granted[j][1] > granted[i][0] and reads[j] != reads[i]]
    return sum(not reads[j] or j == 0 or not reads[j - 1] for j in inside)

begin, end = slices[0][:2]
for side, kind in zip(report["sides"], (True, False)):
    assert side["side"] == ("readers" if kind else "writers")
    inside = [i for i, w in enumerate(granted) if begin <= w[1] < end and reads[i] == kind]
    for name, want in (
        ("grants_per_s", len(inside) / ((end - begin) / 1e9)),
        ("phases_per_grant", sum(map(phases, inside)) / len(inside)),
        ("most_phases", max(map(phases, inside))),
    ):
        assert abs(side[name] - want) <= 0.004 * want + 0.0005, (name, side[name], want)
