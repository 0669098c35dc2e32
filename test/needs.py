"""What a build has to make for the tests of a suite: needs.py BUILD SUITE. Prints ninja's targets."""

import json
import os
import sys

build, suite = os.path.abspath(sys.argv[1]), sys.argv[2]


def read(what):
    with open(os.path.join(build, "meson-info", f"intro-{what}.json"), encoding="utf-8") as file:
        return json.load(file)


files = {target["id"]: target["filename"] for target in read("targets")}
needed = {file for test in read("tests") for target in test["depends"] for file in files[target]
          if suite in [name.split(":")[-1] for name in test["suite"]]}
if not needed:
    sys.exit(f"needs.py: no test is in the suite {suite}")
print("\n".join(sorted(os.path.relpath(file, build) for file in needed)))
