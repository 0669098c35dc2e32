"""The programs of docs/start.md, run unchanged on nodes; those of docs/python.md must be valid
Python."""

import os
import re
import subprocess
import sys

import pytest

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs")


def programs(page):
    with open(os.path.join(DOCS, page)) as file:
        return re.findall(r"^```python\n(.*?)^```", file.read(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("number, last_line", [(0, "step 3"), (1, r"fence \d+")])
def test_first_programs(five, number, last_line):
    def run(*nodes):
        return subprocess.run([sys.executable, "-W", "always", "-c", programs("start.md")[number], *nodes], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=120)

    done = run(*five.urls)
    assert (done.returncode, done.stderr) == (0, "") and re.fullmatch(last_line, done.stdout.splitlines()[-1])
    done = run("redis:")
    assert done.returncode == 1 and 'InvalidError: node URL "redis:"' in done.stderr


def test_the_page():
    found = programs("python.md")
    assert found
    for program in found:
        compile("async def page():\n" + re.sub("(?m)^", "    ", program), "docs/python.md", "exec")
