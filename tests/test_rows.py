"""Tables as one test: every row is run, every row that fails is named, and no table is empty."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rows import each_row, failing_rows


def test_every_row_is_run_and_every_failing_one_is_named() -> None:
    """The first row that fails does not hide the others."""
    seen = []

    @each_row("number, word", [(1, "a"), (2, "b"), pytest.param(3, "c", id="third"), (4, "d")])
    def check(number: int, word: str) -> None:
        seen.append((number, word))
        assert number % 2 == 0, f"{number} is odd"

    with pytest.raises(AssertionError) as caught:
        check()

    assert seen == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    lines = [line for line in str(caught.value).splitlines() if "assert" not in line]
    assert lines == ["2 of 4 rows fail:", "[1, 'a'] AssertionError: 1 is odd", "[third] AssertionError: 3 is odd"]
    assert isinstance(caught.value.__cause__, AssertionError)


def test_a_row_fails_by_any_exception_and_is_never_skipped() -> None:
    """What one row raises, or wants to skip, stops no other."""

    @each_row(
        "act", [lambda: 1 / 0, lambda: pytest.skip("no"), lambda: pytest.fail("failed"), lambda: None], ids="abcd"
    )
    def check(act) -> None:
        act()

    with pytest.raises(AssertionError) as caught:
        check()

    assert str(caught.value).splitlines() == [
        "3 of 4 rows fail:",
        "[a] ZeroDivisionError: division by zero",
        "[b] AssertionError: a row of a table is not skipped: no",
        "[c] Failed: failed",
    ]


def test_a_table_that_takes_long_is_made_by_the_test() -> None:
    """Once it runs, and not for the collection; it may not be empty either."""
    made: list[int] = []

    def numbers() -> list[int]:
        made.append(1)
        return []

    @each_row("number", numbers)
    def check(number) -> None: ...

    assert made == []
    with pytest.raises(AssertionError, match="the table is empty"):
        check()
    assert made == [1]


@each_row("number", (number for number in (2, 4)))
@each_row("other", [(1,), (3,)], ids=lambda value: f"other {value}")
def test_tables_stand_beside_fixtures_and_each_other(tmp_path, number, other) -> None:
    """What is no column is a fixture; two tables are each row with each."""
    assert (tmp_path.is_dir(), number % 2, other[0] % 2) == (True, 0, 1)


@each_row(
    "table, message",
    [
        ([], "the table is empty"),
        ([(1, 2)], "is not one value for each"),
        ([pytest.param(1, 2, 3, marks=pytest.mark.xfail)], "has no marks"),
    ],
)
def test_what_is_no_table_is_an_error(table, message) -> None:
    """At import, before any row is run."""
    with pytest.raises(AssertionError, match=message):
        each_row("one, two, three", table)


def test_a_test_takes_what_a_table_gives_and_is_not_awaited() -> None:
    """A misspelt column, a missing id and a coroutine are errors."""

    async def late(one) -> None: ...

    with pytest.raises(AssertionError, match=r"does not take \['two'\]"):
        each_row("two", [1])(lambda one: None)
    with pytest.raises(AssertionError, match="not awaited"):
        each_row("one", [1])(late)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="1 ids for 2 rows"):
        each_row("one", [1, 2], ids=["a"])


def test_rows_that_fail_are_named() -> None:
    """Each in the order of the table."""
    assert failing_rows([1, -2, 3, -4], lambda row: row > 0) == [-2, -4]


def test_empty_table_is_an_error() -> None:
    """A table that a change has emptied makes its test fail."""
    with pytest.raises(AssertionError, match="the table is empty"):
        failing_rows([], bool)


def filtered(test: ast.expr) -> Iterator[ast.Call]:
    """The calls of `all` and `any` over a part of something: they hold, too, if nothing is left of it."""
    for node in ast.walk(test):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"all", "any"}:
            parts = [part for made in node.args if isinstance(made, ast.GeneratorExp) for part in made.generators]
            if any(part.ifs for part in parts):
                yield node


def test_no_test_asserts_over_what_a_filter_may_have_emptied(project_root: Path) -> None:
    """`all(x for x in rows if kind(x))` passes without a row: bind the rows, and assert that there are some."""
    found = [
        f"{file.relative_to(project_root)}:{call.lineno}"
        for file in sorted((project_root / "tests").rglob("test_*.py"))
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Assert)
        for call in filtered(node.test)
    ]

    assert found == []
    assert [*filtered(ast.parse("not any(a for a in b if a)", mode="eval").body)]
    assert not [*filtered(ast.parse("all(a for a in b)", mode="eval").body)]
