"""Samples of set 001 of how a program's output becomes data."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolcharter.guards.output import structured

SAMPLES = Path(__file__).parents[2].parent / "shared/cases/seeds/001-output-parsing.jsonl"
ROWS = [json.loads(line) for line in SAMPLES.read_text().splitlines()] if SAMPLES.exists() else []

pytestmark = pytest.mark.skipif(not ROWS, reason="the samples lie beside the project, not in it")


@pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in ROWS])
def test_sample(row: Any) -> None:
    """Every sample holds as it stands."""
    assert structured(row["input"]["output"]) == row["expect"]["result"]
