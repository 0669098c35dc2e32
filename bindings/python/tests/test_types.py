"""Type hints: mypy --strict accepts the package and the programs of docs/start.md, and a program sees
them, with its two mistakes."""

import importlib.util
import os
import shutil
import subprocess
import sys

import pytest

import redlock
from test_documents import programs

PROGRAM = """
import redlock
from redlock import aio

with redlock.Client(["redis://a"], guard="strict", node_timeout=0.25) as client:
    with client.lock("orders", fencing=True, on_lost=lambda lock: print(lock.lost_error)) as lock:
        reveal_type(lock)
        reveal_type(lock.fence)
        reveal_type(lock.lost)
    reveal_type(client.election("scheduler"))
    client.lock(1)

async def main(client: aio.Client) -> None:
    async with client.lock("orders") as lock:
        reveal_type(lock.lost)
    client.lock("orders").acquire()
"""


def test_types(tmp_path):
    """One run, since mypy is slow; on a copy, since mypy does not check installed packages."""
    shutil.copytree(os.path.dirname(redlock.__file__), tmp_path / "redlock")
    (tmp_path / "program.py").write_text(PROGRAM)
    shown = [f"shown{i}.py" for i, program in enumerate(programs("start.md")) if (tmp_path / f"shown{i}.py").write_text(program)]
    assert len(shown) == 2
    python = "/usr/bin/python3" if importlib.util.find_spec("mypy") is None else sys.executable
    done = subprocess.run([python, "-m", "mypy", "--strict", "--python-version", "3.9", "--cache-dir", os.devnull,
                           "redlock", "program.py", *shown], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if "No module named mypy" in done.stdout:
        pytest.skip("mypy is not installed (mypy)")
    for words in ('"redlock._threads.Lock"', '"Union[builtins.int, None]"', '"threading.Event"', '"redlock._threads.Election"',
                  '"asyncio.locks.Event"'):
        assert words in done.stdout, (words, done.stdout)
    mistakes = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert len(mistakes) == 2 and all("program.py" in line for line in mistakes), done.stdout
    assert 'has incompatible type "int"' in mistakes[0] and "Coroutine" in mistakes[1]
