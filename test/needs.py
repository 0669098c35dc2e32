"""Prints the ninja targets that some tests need: needs.py BUILD OPTIONS.

The options are those of "meson test"; all but --suite and --no-suite are ignored.
"""

import json
import os
import sys

build = os.path.abspath(sys.argv[1])
options = list(zip(sys.argv[2:], sys.argv[3:]))
wanted = {value for option, value in options if option == "--suite"}
unwanted = {value for option, value in options if option == "--no-suite"}


def read(what):
    with open(os.path.join(build, "meson-info", f"intro-{what}.json"), encoding="utf-8") as file:
        return json.load(file)


def runs(test):
    suites = {name.split(":")[-1] for name in test["suite"]}
    return (not wanted or suites & wanted) and not suites & unwanted


targets = read("targets")
files = {target["id"]: target["filename"] for target in targets}
tests = [test for test in read("tests") if runs(test)]
needed = {file for test in tests for target in test["depends"] for file in files[target]}
if any(test["name"] == "install" for test in tests):
    needed |= {file for target in targets if target["installed"] for file in target["filename"]}
if not needed:
    sys.exit("needs.py: no test of these suites needs anything")
print("\n".join(sorted(os.path.relpath(file, build) for file in needed)))
