"""Checks metrics in text with our own parser: exposition.py FILE [NAME...]

Every sample belongs to the metric described last; no sample is there twice; buckets do not
decrease, the last is +Inf and equals the count; counters end in _total. Each NAME must be there. On
the first error it prints a message and exits with 1; it prints nothing else.
"""

import re
import sys

SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"')


def check(condition, *what):
    if not condition:
        sys.exit(" ".join(str(part) for part in what))


def check_histogram(name, samples):
    """All samples of one histogram, of all labels."""
    series = {}
    for part, labels, value in samples:
        labels = dict(labels)
        bound = labels.pop("le", None)
        key = tuple(sorted(labels.items()))
        series.setdefault(key, {"buckets": []})
        if part == name + "_bucket":
            series[key]["buckets"].append((float(bound), value))
        else:
            series[key][part] = value
    for key, parts in series.items():
        buckets = parts["buckets"]
        check(buckets == sorted(buckets), name, key, "has buckets out of order")
        counts = [count for _, count in buckets]
        check(counts == sorted(counts), name, key, "has buckets that decrease")
        check(buckets[-1][0] == float("inf"), name, key, "has no +Inf")
        check(counts[-1] == parts[name + "_count"], name, key, "has another count than +Inf")
        check(parts[name + "_sum"] >= 0, name, key, "has a negative sum")


def main():
    name = kind = None
    kinds, samples = {}, {}
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    check(text.endswith("\n"), "the last line has no end")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name, kind = line.split(" ", 3)[2], None
            check(name not in samples, name, "is described twice")
            check(len(line.split(" ", 3)) == 4, name, "has no help")
            samples[name] = []
        elif line.startswith("# TYPE "):
            check(line.split()[2] == name, line)
            kind = line.split()[3]
            check(kind in ("counter", "gauge", "histogram"), line)
            kinds[name] = kind
            check((kind == "counter") == name.endswith("_total"), name, "is a", kind)
        else:
            sample = SAMPLE.fullmatch(line)
            check(sample and kind, "no sample:", line)
            part, labels, value = sample.groups()
            labels = tuple(sorted(LABEL.findall(labels or "")))
            parts = [name] if kind != "histogram" else [name + e for e in ("_bucket", "_sum", "_count")]
            check(part in parts, part, "among the samples of", name)
            check((part, labels) not in [(p, l) for p, l, _ in samples[name]], line, "is there twice")
            samples[name].append((part, labels, float(value)))
    for name, found in samples.items():
        if kinds[name] == "histogram":
            check_histogram(name, found)
    for wanted in sys.argv[2:]:
        check(samples.get(wanted), "there is no sample of", wanted)


main()
