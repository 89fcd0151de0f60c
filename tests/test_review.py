"""examples/review.py, which `make run` runs: the calls of an agent on this very checkout."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path("examples/review.py")


@pytest.mark.needs_program("git")
def test_every_call_ends_as_it_must(project_root) -> None:
    """The table has one row per call, and the events lie where the last line says."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("COV", "PYTEST"))}

    ran = subprocess.run(
        [sys.executable, SCRIPT], cwd=project_root, env=environment, capture_output=True, text=True, check=False
    )

    calls = [json.loads(line) for line in (project_root / "examples/review.jsonl").read_text().splitlines()]
    heading, *rows, last = ran.stdout.splitlines()
    events = project_root / last.rpartition(" ")[2]
    assert (ran.stderr, ran.returncode) == ("", 0)
    assert heading.split() == ["call", "outcome", "reason", "time"]
    assert [row.split()[0] for row in rows] == [call["tool"] for call in calls]
    assert events.relative_to(project_root) == Path("run/review-events.jsonl")
    assert {json.loads(line)["profile"] for line in events.read_text().splitlines()} == {"reviewer"}


@pytest.mark.needs_program("git")
def test_surprise_ends_with_status_1(project_root, monkeypatch, capsys) -> None:
    """A call that ends otherwise than expected is named, and fails `make run`."""
    example = runpy.run_path(str(project_root / SCRIPT))
    monkeypatch.setitem(example["MUST_BE_REFUSED"], "6", ("denied", "protected_path"))

    status = example["main"]()

    told = "Not as expected: list_files path=core/toolcharter\n"
    assert (capsys.readouterr().err, status) == (told, 1)
