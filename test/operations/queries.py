"""Checks the queries of rules and dashboard: queries.py RULES DASHBOARD OUT FILE...

Each metric in them is described in one of the FILEs, always in the same words; the library and
redlock metrics wrote the FILEs (node_textfile_mtime_seconds is node_exporter's). OUT gets each
query of the dashboard as a recording rule, so that promtool can parse it. On the first error it
prints a message and exits with 1.
"""

import json
import re
import sys

rules, dashboard, out, files = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
known = {"node_textfile_mtime_seconds"}
helps = {}
for path in files:
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE):
        ends = ("_bucket", "_sum", "_count") if kind == "histogram" else ("",)
        known.update(name + end for end in ends)
    for name, words in re.findall(r"^# HELP (\S+) (.*)$", text, re.MULTILINE):
        if helps.setdefault(name, words) != words:  # node_exporter would drop one of the two
            sys.exit("%s is described in two ways: %s; %s" % (name, helps[name], words))

with open(dashboard, encoding="utf-8") as file:
    panels = json.load(file)["panels"]
queries = [target["expr"] for panel in panels for target in panel.get("targets", [])]
if len(queries) < 20:
    sys.exit("the dashboard has %d queries" % len(queries))
with open(rules, encoding="utf-8") as file:
    asked = [line for line in file if not line.lstrip().startswith(("summary:", "action:", "#", "- alert:"))]
used = set(re.findall(r"\b(?:redlock|node)_[a-z_]+", " ".join(asked + queries)))
if len(used) < 30:
    sys.exit("only %d metrics are used" % len(used))
if used - known:
    sys.exit("nobody writes " + ", ".join(sorted(used - known)))

with open(out, "w", encoding="utf-8") as file:
    file.write("groups:\n  - name: dashboard\n    rules:\n")
    for i, query in enumerate(queries):
        query = query.replace("$__rate_interval", "1m").replace("$client", ".+")
        file.write("      - {record: 'dashboard:query%d', expr: '%s'}\n" % (i, query))
