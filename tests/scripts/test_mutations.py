"""Mutants: one change each, none twice, and nothing that no test could notice by its nature."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from mutants import EQUIVALENT, digest, survivors_of
from mutations import mutants_of
from toolcharter.policy.capability import CapabilityLimit, compile_limit
from toolcharter.profile.settings import Capabilities
from trials import ReachedLines, install_mutant, modules, reaching_tests, statement_lines


def changes(folder: Path, text: str) -> list[str]:
    """The new lines of each mutant of a module."""
    file = folder / "module.py"
    file.write_text(text)
    return [" / ".join(line[1:].strip() for line in one.diff if line[0] == "+") for one in mutants_of(file)]


@pytest.mark.parametrize(
    ("line", "mutants"),
    [
        pytest.param("a = b < 1", ["a = b <= 1", "a = b >= 1", "a = b < 2", "a = b < 0"], id="comparison, number"),
        pytest.param("a = b and c", ["a = b or c", "a = c", "a = b"], id="and"),
        pytest.param("a = not b", ["a = b"], id="not"),
        pytest.param("a = b + c", ["a = b - c"], id="operator"),
        pytest.param("a = 'x'", ["a = 'xXX'"], id="text"),
        pytest.param("a = True", ["a = False"], id="truth"),
        pytest.param("a = b if c else d", ["a = b if not c else d", "a = b", "a = d"], id="choice"),
        pytest.param("a = [b for b in c if d]", ["a = [b for b in c if not d]", "a = [b for b in c]"], id="filter"),
        pytest.param("a = any(b)", ["a = all(b)"], id="name"),
        pytest.param("a.startswith(b)", ["pass", "a.endswith(b)"], id="method"),
        pytest.param("a = b(c=d)", ["a = b()"], id="keyword"),
        pytest.param("a = (b, c)", ["a = (c,)", "a = (b,)"], id="element"),
        pytest.param("raise a", ["pass"], id="statement"),
        pytest.param("a: tuple[int, str] = b", [], id="types are left alone"),
        pytest.param("a: TypeAlias = tuple[int, str]", [], id="aliases of types, too"),
        pytest.param("__slots__ = ('a', 'b')", [], id="slots, too"),
        pytest.param("'Text.'", [], id="a docstring, too"),
        pytest.param(
            "if TYPE_CHECKING:\n    a = 1\nelse:\n    b = 'x'", ["b = 'xXX'"], id="what type checkers read, too"
        ),
    ],
)
def test_each_mutant_is_the_module_with_one_change(tmp_path, line, mutants) -> None:
    """In the order of the module."""
    assert changes(tmp_path, line) == mutants


def test_functions_lose_what_they_give(tmp_path) -> None:
    """A return gives nothing, a yield yields nothing, a loop ends otherwise; decorators and types stay."""
    text = "@a(1)\ndef f(b: c[1]) -> d[1]:\n    for e in b:\n        break\n    yield e\n    return b\n"

    assert changes(tmp_path, text) == ["continue", "pass", "yield from ()", "return None"]


def test_a_mutant_says_where_it_is(tmp_path) -> None:
    """With the lines that differ."""
    file = tmp_path / "module.py"
    file.write_text("\na = b\nc = not d\n")

    assert [str(mutant) for mutant in mutants_of(file)] == [
        "core/toolcharter/policy/module.py:3\n-c = not d\n+c = d",
    ]


def test_each_equivalent_mutant_has_its_reason() -> None:
    """And the module that it is of."""
    listed = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))["mutant"]

    assert [one for one in listed if not (one["why"].endswith(".") and one["module"] in modules())] == []


SOURCE_LINES = """\
A = 1


def f(
    x=2,
):
    if (
        x
    ):
        return [
            x,
            3,
        ]
    return x
"""


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        pytest.param(1, [], id="while it is imported"),
        pytest.param(5, [], id="a signature, too"),
        pytest.param(8, [7, 8, 9], id="a condition, without what it guards"),
        pytest.param(12, [10, 11, 12, 13], id="the innermost statement"),
        pytest.param(14, [14], id="one line"),
    ],
)
def test_a_change_is_looked_for_in_its_statement(line: int, lines: list[int]) -> None:
    """Not in the one line: which line of a statement counts as reached depends on the Python."""
    assert list(statement_lines(SOURCE_LINES, line)) == lines


def test_only_the_tests_that_reach_the_change_are_tried() -> None:
    """The quickest first; what happens at import time meets all tests of its module."""
    first = next(
        one for one in mutants_of(modules()["names"]) if statement_lines(modules()["names"].read_text(), one.line)
    )
    seen = [
        ReachedLines("tests/core/policy/test_names.py::test_a", 0.1, frozenset({("names", first.line)})),
        ReachedLines("tests/core/policy/test_evaluate.py::test_b", 0.2, frozenset({("names", first.line)})),
        ReachedLines("tests/core/policy/test_names.py::test_c", 0.3, frozenset({("evaluate", first.line)})),
    ]

    assert reaching_tests(first, seen) == [seen[0].test, seen[1].test]
    assert reaching_tests(first._replace(line=1), seen) == [seen[0].test, seen[2].test]


def test_a_change_of_a_function_is_put_in_its_place() -> None:
    """A method or property of the loaded module gets the mutant's code, and no other; import time is past."""
    mutants = list(mutants_of(modules()["capability"], "capability"))
    change = next(one for one in mutants if one.diff == ("-            return []", "+            return None"))
    functions: list[Any] = [compile_limit, CapabilityLimit.find_refused, CapabilityLimit.is_exceeded_by]
    before = [one.__code__ for one in functions]
    limit: Any = compile_limit("profile", Capabilities())

    try:
        done = install_mutant(change, functions)
        answers = [limit.find_refused(None), limit.is_exceeded_by("high"), compile_limit("profile", Capabilities())]
    finally:
        for one, code in zip(functions, before, strict=True):
            one.__code__ = code

    assert (done, answers, limit.find_refused(None)) == (True, [None, False, limit], [])
    assert not install_mutant(change._replace(line=1), functions)


def test_each_module_has_tests_for_what_runs_at_import_time(project_root: Path) -> None:
    """By the name of its file, or of the module that it is tested with."""
    files = list((project_root / "tests/core/policy").rglob("test_*.py"))
    seen = [ReachedLines(f"{file.relative_to(project_root)}::test", 0.1, frozenset()) for file in files]
    at_import = [next(mutants_of(file, name))._replace(line=1) for name, file in modules().items()]

    assert [one.module for one in at_import if not reaching_tests(one, seen)] == []


def test_survivors_are_read_from_the_page_of_the_same_modules() -> None:
    """What was killed in other modules may live in these."""
    shown = ("core/toolcharter/policy/names.py:3\n-c = not d\n+c = d", "core/toolcharter/policy/names.py:9\n-a\n+b\n+c")
    page = f"# Mutants\n\nModules: `{digest()}`.\n\n```diff\n{shown[0]}\n\n{shown[1]}\n```\n"

    assert survivors_of(page) == frozenset(shown)
    with pytest.raises(ValueError, match="run the whole"):
        survivors_of(page.replace(digest(), "0" * 16))
