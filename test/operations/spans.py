"""The spans that examples/otel writes, line by line: spans.py FILE TRACES

Each line is one trace in OTLP's JSON: ids of the right length, times in order, existing parents,
the spans of a job and their events. On the first error it prints a message and exits with 1.
"""

import json
import re
import sys


def check(condition, *what):
    if not condition:
        sys.exit(" ".join(str(part) for part in what))


def attributes(item):
    values = {}
    for attribute in item["attributes"]:
        (kind,) = attribute["value"].keys()
        check(kind in ("stringValue", "intValue"), "a value of kind", kind)
        check(isinstance(attribute["value"][kind], str), "intValue is a string in OTLP's JSON")
        check(attribute["key"] not in values, attribute["key"], "twice")
        values[attribute["key"]] = attribute["value"][kind]
    return values


def check_span(span):
    """Returns its begin, end and the names of its events."""
    for key, digits in (("traceId", 32), ("spanId", 16)):
        check(re.fullmatch("[0-9a-f]{%d}" % digits, span[key]), key, span[key])
        check(int(span[key], 16) != 0, key, "is zero")
    begin, end = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
    check(10**18 < begin <= end < 4 * 10**18, span["name"], "from", begin, "to", end)
    check(span["kind"] in (1, 3), "kind", span["kind"])
    check(span["status"]["code"] in (1, 2), "status", span["status"])
    check(attributes(span)["redlock.resource"] == "otel-example", "resource")
    last = begin
    for event in span["events"]:
        at = int(event["timeUnixNano"])
        check(last <= at, event["name"], "is before the event before it")
        last = at
        values = attributes(event)
        check("redlock.status" in values, event["name"], "without a status")
        check(event["name"] != "vote" or int(values["redlock.latency_us"]) >= 0, "a vote's latency")
    return begin, end, [event["name"] for event in span["events"]]


def check_trace(line):
    """Returns the names of the events of its acquire."""
    (resource,) = json.loads(line)["resourceSpans"]
    check(attributes(resource["resource"])["service.name"] == "redlock-otel-example", "service")
    (scope,) = resource["scopeSpans"]
    check(scope["scope"]["name"] == "libredlock", "scope", scope["scope"])
    spans = {span["name"]: span for span in scope["spans"]}
    check(len(spans) == len(scope["spans"]), "two spans of one name")
    check(set(spans) == {"job", "redlock.acquire", "redlock.hold"}, "spans", sorted(spans))
    check(len({span["spanId"] for span in spans.values()}) == 3, "two spans of one id")
    check(len({span["traceId"] for span in spans.values()}) == 1, "two traces in one line")
    job, acquire, hold = (spans[name] for name in ("job", "redlock.acquire", "redlock.hold"))
    check(job["parentSpanId"] == "", "the job has a parent")
    check(acquire["parentSpanId"] == hold["parentSpanId"] == job["spanId"], "parents")
    times = {name: check_span(span) for name, span in spans.items()}
    job_begin, job_end, job_events = times["job"]
    check(job_begin <= times["redlock.acquire"][0], "the acquire begins before its job")
    check(times["redlock.acquire"][1] == times["redlock.hold"][0], "the hold begins with the grant")
    check(times["redlock.hold"][1] <= job_end, "the hold ends after its job")
    check(times["redlock.hold"][1] - times["redlock.hold"][0] >= 15e6, "the work took 20 ms")
    check(not job_events, "the job has events")
    names = times["redlock.acquire"][2]
    check("attempt" in names or "take" in names, "an acquire without an attempt:", names)
    check(names.count("vote") >= 2, "a grant without two votes of three:", names)
    return attributes(acquire)["redlock.acquire_id"], names


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        traces = [check_trace(line) for line in file]
    check(len(traces) == int(sys.argv[2]), len(traces), "traces")
    check(len({number for number, _ in traces}) == len(traces), "two acquires of one number")
    check(any("waiting" in names for _, names in traces), "nobody has waited")
    check(any("waiting" not in names for _, names in traces), "all have waited")


main()
