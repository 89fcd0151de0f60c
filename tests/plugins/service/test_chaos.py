"""A short storm over the service: one kill, one stop of each server, one full disk, one restore that is killed."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[3]


def test_a_short_storm_finds_nothing() -> None:
    """The long one is `make chaos`."""
    options = ["--short", "--clients", "10", "--calls", "400", "--seed", "11"]
    command = [sys.executable, str(ROOT / "scripts/chaos_service.py"), *options]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert (ran.returncode, "\n0 findings with the seed 11" in ran.stdout) == (0, True), ran.stdout + ran.stderr
