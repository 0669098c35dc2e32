# The figures of permits, computed again in the simplest way: permits.py RECORDS REPORT PERMITS TAKE
import json, sys

permits, take = int(sys.argv[3]), int(sys.argv[4])
waits, slices = [], []
for line in open(sys.argv[1]):
    kind, *numbers = line.split()
    (waits if kind == "wait" else slices).append([int(float(n)) for n in numbers])
side = json.load(open(sys.argv[2]))["sides"][0]
never = float("inf")
granted = [w for w in waits if w[1]]
assert len(granted) > 5, "hardly any grants"

for w in granted:
    slots = {slot for slot in range(64) if w[6] >> slot & 1}
    assert len(slots) == take and max(slots) < permits, w
    for o in granted:
        assert o is w or not o[6] & w[6] or (w[2] or never) <= o[1] or (o[2] or never) <= w[1], (w, o)
assert side["overlaps"] == 0

begin, end = slices[0][:2]
times = sorted({begin, end} | {t for w in waits for t in w[:3] if begin < t < end})
used = crowded = crowded_used = 0
for a, b in zip(times, times[1:]):
    in_use = take * sum(w[1] <= a < (w[2] or never) for w in granted)
    waiting = take * sum(w[0] <= a < (w[1] or never) for w in waits)
    used += (b - a) * in_use
    crowded += (b - a) * (waiting > permits)
    crowded_used += (b - a) * in_use * (waiting > permits)
for name, want in (
    ("permits_in_use", used / (end - begin)),
    ("permits_in_use_percent", 100 * crowded_used / crowded / permits),
):
    assert abs(side[name] - want) <= 0.004 * want + 0.0005, (name, side[name], want)
