"""The helper for tables names what fails, and takes no empty table."""

import pytest
from tests.rows import failing


def test_rows_that_fail_are_named() -> None:
    """Each in the order of the table."""
    assert failing([1, -2, 3, -4], lambda row: row > 0) == [-2, -4]


def test_empty_table_is_an_error() -> None:
    """A table that a change has emptied makes its test fail."""
    with pytest.raises(AssertionError, match="the table is empty"):
        failing([], bool)
