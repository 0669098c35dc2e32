"""What a build has to make for some of its tests: needs.py BUILD [--suite NAME] [--no-suite NAME]...

Prints the targets, for ninja. Other options of meson test are none of its business."""

import json
import os
import sys

build, options = os.path.abspath(sys.argv[1]), sys.argv[2:]
named = {kind: {value for option, value in zip(options, options[1:]) if option == kind}
         for kind in ("--suite", "--no-suite")}


def read(what):
    with open(os.path.join(build, "meson-info", f"intro-{what}.json"), encoding="utf-8") as file:
        return json.load(file)


def is_chosen(test):
    suites = {suite.split(":")[-1] for suite in test["suite"]}
    return not suites & named["--no-suite"] and (not named["--suite"] or suites & named["--suite"])


files = {target["id"]: target["filename"] for target in read("targets")}
needed = {file for test in read("tests") if is_chosen(test)
          for target in test["depends"] for file in files[target]}
print("\n".join(sorted(os.path.relpath(file, build) for file in needed)))
