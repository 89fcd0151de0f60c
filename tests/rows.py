"""Tables as one test for each kind: it names every row that fails, and a table without rows fails, too."""

from collections.abc import Callable, Iterable
from typing import TypeVar

Row = TypeVar("Row")


def failing(rows: Iterable[Row], holds: Callable[[Row], bool]) -> list[Row]:
    """The rows for which *holds* is false; an empty table proves nothing and is an error."""
    table = [*rows]
    assert table, "the table is empty: a test over it would prove nothing"
    return [row for row in table if not holds(row)]
