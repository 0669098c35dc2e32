"""The end of a run: the checker's verdict, the report, and what is printed.

Happy path: judge() lets checker.py read the history and report.py draw it. Failure modes: a run
that the script could not finish is unusable (status 2), whatever the checker found.
"""

from __future__ import annotations

import json
from pathlib import Path

import checker
import report

UNUSABLE = 2


def judge(folder: Path, errors: list[str]) -> dict[str, object]:
    verdict = checker.check(str(folder))
    report.write(str(folder))
    if errors and verdict["status"] == 0:
        verdict["status"] = UNUSABLE
    if errors:
        verdict["errors"] = errors
    return verdict


def print_verdict(verdict: dict[str, object], as_json: bool) -> None:
    if as_json:
        print(json.dumps(verdict, indent=1))
        return
    summary = verdict["summary"]
    assert isinstance(summary, list)
    for line in summary:
        print(line)
    errors = verdict.get("errors", [])
    assert isinstance(errors, list)
    for error in errors:
        print(f"unusable: {error}")
