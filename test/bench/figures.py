# The figures of contention, computed again in the simplest way: figures.py RECORDS REPORT
import json, sys

waits, slices = [], []
for line in open(sys.argv[1]):
    kind, *numbers = line.split()
    (waits if kind == "wait" else slices).append([int(float(n)) for n in numbers])
report = json.load(open(sys.argv[2]))
never = float("inf")
waits = sorted(waits, key=lambda w: w[1] or never)
granted = [w for w in waits if w[1]]
assert len(granted) > 5, "hardly any grants"

overlaps = sum(any(b[1] < a[2] for a in granted[max(0, i - 50):i]) for i, b in enumerate(granted))
assert report["sides"][0]["overlaps"] == overlaps, overlaps

for number, (begin, end, *_) in enumerate(slices):
    got = [s for s in report["slices"] if s["index"] == number][0]
    seconds = (end - begin) / 1e9
    inside = [i for i, w in enumerate(granted) if begin <= w[1] < end]
    hand_overs = sum(i > 0 and granted[i - 1][3] != granted[i][3] for i in inside)
    pairs = sum(w[3] != o[3] and o[0] < w[0] and (o[1] or never) > w[1] for w in (granted[i] for i in inside) for o in waits)
    longest = sorted(granted[i][1] - granted[i][0] for i in inside)
    for name, want in (
        ("grants_per_s", len(inside) / seconds),
        ("hand_overs_per_s", hand_overs / seconds),
        ("overtakings_per_grant", pairs / len(inside)),
        ("wait_p50_ms", longest[(len(longest) + 1) // 2 - 1] / 1e6),
    ):
        assert abs(got[name] - want) <= 0.004 * want + 0.0005, (name, got[name], want)
