"""Source 000's samples of cutting a result; masking by turn is no part of cutting one text."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolcharter.guards.output import truncate

SAMPLES = Path(__file__).parents[2].parent / "shared/cases/seeds/000-truncation.jsonl"
ROWS = [json.loads(line) for line in SAMPLES.read_text().splitlines()] if SAMPLES.exists() else []
CUTTING = [row for row in ROWS if "strategy" in row["input"]]

CHARACTERS_PER_TOKEN = 4  # Source 000 counts tokens and takes each for four bytes.
NOTICE = 45  # Source 000 adds its notice to the limit; the design counts it in.

pytestmark = pytest.mark.skipif(not ROWS, reason="the samples lie beside the project, not in it")


def _content(written: str) -> str:
    letter, _, times = written.partition(" x")
    return letter * int(times) if times.isdigit() else written


@pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in CUTTING])
def test_sample(row: Any) -> None:
    """What the source keeps is kept, and its notice says what ours says."""
    text, expect = _content(row["input"]["content"]), row["expect"]
    limit = row["input"]["max_tokens"] * CHARACTERS_PER_TOKEN + NOTICE

    cut, truncated = truncate(text, limit, row["input"]["strategy"])

    assert cut == expect.get("equals", cut)
    assert cut.startswith(expect.get("starts_with", ""))
    assert [part for part in expect.get("contains", []) if part not in cut] == []
    assert truncated == ("contains" in expect)
    assert len(cut) <= limit
    assert cut.startswith(text[: expect.get("kept_bytes", 0)])
