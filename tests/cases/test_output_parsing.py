"""Samples of set 001 of how a program's output becomes data."""

from typing import Any

from tests.rows import each_row
from tests.samples import row_params, sample_rows

from toolcharter.guards.output import parse_structured

ROWS = sample_rows("seeds/001-output-parsing")


@each_row("row", row_params(ROWS))
def test_sample(row: Any) -> None:
    """Every sample holds as it stands."""
    assert parse_structured(row["input"]["output"]) == row["expect"]["result"]
