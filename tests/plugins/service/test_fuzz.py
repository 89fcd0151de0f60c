"""Requests that the OpenAPI document permits, and those that it does not: no 500, and answers as documented."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[3]


def test_a_short_run_finds_nothing() -> None:
    """The long one is `make fuzz-service`."""
    command = [
        sys.executable,
        str(ROOT / "scripts/fuzz_service.py"),
        "--requests",
        "400",
        "--seed",
        "11",
        "--minutes",
        "2",
    ]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert (ran.returncode, "0 findings" in ran.stdout) == (0, True), ran.stdout + ran.stderr
