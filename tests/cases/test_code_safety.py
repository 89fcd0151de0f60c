"""Samples of set 001 of its scan of generated code: there a gate, here the warnings of `execute_code`.

Its checks of requests in plain language have no counterpart: nothing is told from what somebody asks for in words.
"""

from typing import Any

from tests.rows import each_row
from tests.samples import row_params, sample_rows

from toolcharter_shell.suspicions import suspicions

ROWS = [row for row in sample_rows("seeds/001-code-safety") if "code" in row["input"]]


@each_row("row", row_params(ROWS))
def test_sample(row: Any) -> None:
    """What that scan refuses is warned of, save what it should not refuse."""
    given, wanted = row["input"], row.get("unified", row["expect"])

    found = suspicions(given["code"], "python", network=given.get("allow_requests", False))

    assert bool(found) == wanted["blocked"]
