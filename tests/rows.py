"""Tables as one test for each kind: it names every row that fails, and a table without rows fails, too."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, TypeVar

import pytest

Row = TypeVar("Row")
Test = Callable[..., None]
_SHOWN_CHARS = 2000
"""Of one row's failure; the first one is shown whole, as the cause."""


def failing_rows(table: Iterable[Row], holds: Callable[[Row], bool]) -> list[Row]:
    """The rows for which *holds* is false; an empty table proves nothing and is an error."""
    found = [*table]
    assert found, "the table is empty: a test over it would prove nothing"
    return [row for row in found if not holds(row)]


def each_row(
    names: str | Sequence[str],
    table: Iterable[Any] | Callable[[], Iterable[Any]],
    *,
    ids: Iterable[str] | Callable[[Any], Any] | None = None,
) -> Callable[[Test], Test]:
    """Run a test for each row of a table, as one item that fails with all rows that fail.

    For tests that are fast and leave nothing behind: all rows meet the same fixtures. `pytest.mark.parametrize` takes the
    same arguments and makes an item of each row, with fixtures of its own.

    Args:
        names: The test's parameters that a row fills, in order; a text separates them by commas.
        table: One value for each name, or the value itself if there is one name; `pytest.param` gives a row its id. Or a
            function that makes the table, for those that take long: it is called by the test.
        ids: One for each row, or a function of a value, by which a failure names the row.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    ready = None if callable(table) else _read(keys, table, ids)

    def decorate(test: Test) -> Test:
        signature = inspect.signature(test)
        assert not inspect.iscoroutinefunction(test), "a table's test is called, and not awaited"
        assert signature.parameters.keys() >= {*keys}, f"{test.__name__} does not take {keys}"

        @wraps(test)
        def run(**fixtures: Any) -> None:
            given = ready or _read(keys, table() if callable(table) else table, ids)
            failures = list[tuple[str, BaseException]]()
            for label, row in given:
                try:
                    test(**dict(zip(keys, row.values, strict=True)), **fixtures)
                except pytest.skip.Exception as error:
                    failures.append((label, AssertionError(f"a row of a table is not skipped: {error}")))
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - each row is judged
                    failures.append((label, error))
            if failures:
                said = "\n".join(f"[{label}] {_shown(error)}" for label, error in failures)
                raise AssertionError(f"{len(failures)} of {len(given)} rows fail:\n{said}") from failures[0][1]

        rest = [parameter for name, parameter in signature.parameters.items() if name not in keys]
        vars(run)["__signature__"] = signature.replace(parameters=rest)
        return run

    return decorate


def _read(
    keys: Sequence[str], table: Iterable[Any], ids: Iterable[str] | Callable[[Any], Any] | None
) -> list[tuple[str, Any]]:
    """Each row with its label."""
    given = [_values(keys, row) for row in table]
    assert given, "the table is empty: a test over it would prove nothing"
    labels = [*ids] if isinstance(ids, Iterable) else [_label(row, ids) for row in given]
    assert len(labels) == len(given), f"{len(labels)} ids for {len(given)} rows"
    return [*zip(labels, given, strict=True)]


def _values(keys: Sequence[str], row: Any) -> Any:
    """*row* as a parameter set of pytest, with a value for each of *keys*."""
    if not hasattr(row, "marks"):
        row = pytest.param(row) if len(keys) == 1 else pytest.param(*row)
    assert not row.marks, "a row of a table has no marks: make it a parameter"
    assert len(row.values) == len(keys), f"{row.values!r} is not one value for each of {keys}"
    return row


def _label(row: Any, name: Callable[[Any], Any] | None) -> str:
    if row.id is not None:
        return str(row.id)
    words = [name(value) if name else None for value in row.values]
    return ", ".join(
        str(value) if word is None and not isinstance(value, str) else repr(value) if word is None else str(word)
        for word, value in zip(words, row.values, strict=True)
    )[:_SHOWN_CHARS]


def _shown(error: BaseException) -> str:
    text = str(error).strip() or repr(error)
    return f"{type(error).__name__}: {text[:_SHOWN_CHARS]}"
