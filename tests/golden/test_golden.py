"""Golden calls: what each outcome and stage leaves behind, byte for byte, however the code behind it is arranged.

The scenarios of `scenarios.py` and `waiting.py` run in an environment of their own, through the package root, profiles and
the command alone. Of each, `tests/data/golden/NAME.txt` holds the results, the decisions, what `explain --json` prints, the
questions that people were asked, and the lines of the file that the events went to. Times, durations, identifiers, digests,
versions and places of temporary files are masked.

After a change that is meant to show, write the records anew and read the difference:

    TOOLCHARTER_GOLDEN=write pytest -q tests/golden/test_golden.py && git diff tests/data/golden
"""

import os
from difflib import unified_diff
from pathlib import Path

from .conftest import RunModule

GOLDEN = Path(__file__).parent.parent / "data/golden"


def test_calls_leave_what_they_left_before(run_module: RunModule, tmp_path: Path) -> None:
    """Results, explanations, questions and event lines of every scenario are the same, byte for byte."""
    records = tmp_path / "records"
    records.mkdir()

    run_module("record", tmp_path / "plays", records)

    now = {path.stem: path.read_text() for path in records.glob("*.txt")}
    if os.environ.get("TOOLCHARTER_GOLDEN") == "write":
        _write(now)
    before = {path.stem: path.read_text() for path in GOLDEN.glob("*.txt")}
    names = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    assert "\n".join(_difference(name, before.get(name, ""), now.get(name, "")) for name in names) == ""


def _write(records: dict[str, str]) -> None:
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for path in GOLDEN.glob("*.txt"):
        path.unlink()
    for name, text in records.items():
        (GOLDEN / f"{name}.txt").write_text(text)


def _difference(name: str, before: str, now: str) -> str:
    return "\n".join(unified_diff(before.splitlines(), now.splitlines(), f"{name}.txt", "now", lineterm=""))
