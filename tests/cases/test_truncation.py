"""Samples of set 000 of cutting a result, and of masking those in the middle."""

from typing import Any

import pytest
from tests.samples import row_params, sample_rows

from toolcharter.guards.output import mask_middle, truncate

ROWS = sample_rows("seeds/000-truncation")
CUTTING = [row for row in ROWS if "strategy" in row["input"]]

MASKING = [row for row in ROWS if "results" in row["input"]]

CHARACTERS_PER_TOKEN = 4  # Sample set 000 counts tokens and takes each for four bytes.
NOTICE = 45  # Sample set 000 adds its notice to the limit; the design counts it in.


def _content(written: str) -> str:
    letter, _, times = written.partition(" x")
    return letter * int(times) if times.isdigit() else written


@pytest.mark.parametrize("row", row_params(CUTTING))
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


@pytest.mark.parametrize("row", row_params(MASKING))
def test_masking_sample(row: Any) -> None:
    """The source takes each result for a turn of its own."""
    given = row["input"]
    turns = [[f"result {number}"] for number in range(given["results"])]

    masked = mask_middle(turns, keep_first=given["keep_first"], keep_last=given["keep_last"])

    assert [place for place, turn in enumerate(masked) if "[result masked" in turn[0]] == row["expect"]["masked"]


def test_every_sample_is_one_or_the_other() -> None:
    """No row is left out."""
    assert len(CUTTING) + len(MASKING) == len(ROWS)
