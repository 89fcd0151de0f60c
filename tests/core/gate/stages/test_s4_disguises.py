"""Names on disk that a program takes for more than a name, and modules in the place of Python's own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.rows import each_row

from toolcharter.api.command import DiskPreconditions
from toolcharter.gate.commands import analyse_commands
from toolcharter.gate.stages.s4_confine import Confinement

Said = Callable[[str], str | None]

MARKED = [
    "strings *",
    "strings -- @*",
    "strings [@]x",
    "strings ?x",
    "mypy *",
    "ruff check *",
    "timeout 5 mypy *",
    "less +*",
    "less ?*",
    'for f in *; do strings "$f"; done',
    'a=(*); strings "${a[@]}"',
    "find * -exec strings {} +",
    "find @x -exec strings {} ';'",
    "cd sub && mypy *",
]
PLAIN = ["strings ./*", "mypy a*", "cat *", "wc -l @x", "find . -exec strings {} +", "less a.txt", "date +%s", "head *"]
SHADOWED = [
    "python3 -m json.tool a.txt",
    "python -mjson.tool a.txt",
    "python3.12 -q -m py_compile a.txt",
    "python3 -m pip list",
    "python3 -m black a.txt",
    "timeout 5 python3 -m json.tool a.txt",
    "cat a.txt | python3 -m json.tool",
    'for f in a.txt; do python3 -m json.tool "$f"; done',
]


@pytest.fixture
def space(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    for name in ("a.txt", "x", "@x", "+!id", "sub/@y"):
        (tmp_path / name).write_text("/etc/passwd\n")
    return tmp_path


@pytest.fixture
def said(space: Path) -> Iterator[Said]:
    """The reason for which a line is refused, as the disk is."""
    lookout = Confinement(space)

    def reason(line: str) -> str | None:
        denied = lookout.find_objection(analyse_commands([line], str(space)).preconditions or DiskPreconditions())
        return None if denied is None else denied.reason

    yield reason
    lookout.close()


@each_row("line", MARKED)
def test_a_glob_names_no_file_of_options(line: str, said: Said) -> None:
    """`@x` has these programs read further words, or names of files, from `x`; `+!id` is a command of less."""
    assert said(line) == "not_understood"


@each_row("line", PLAIN)
def test_the_same_name_is_one_name_elsewhere(line: str, said: Said) -> None:
    """Behind `./`, and for a program to which it says nothing more."""
    assert said(line) is None


@each_row("line", SHADOWED)
def test_python_imports_no_module_of_the_folder_in_the_place_of_its_own(line: str, space: Path, said: Said) -> None:
    """`python -m json.tool` reads and prints; what an agent wrote to `json.py` does anything."""
    for name in ("argparse.py", "sub/zipfile.pyc", "sub/json/tool.py"):
        (space / name).parent.mkdir(exist_ok=True)
        (space / name).write_text("")

    assert said(line) == "protected_path"


@each_row(
    "name",
    ["json/__init__.py", "JSON/__init__.py", "re.cpython-311-x86_64-linux-gnu.so", "pip.py", "setuptools/__init__.pyc"],
)
def test_each_form_of_a_module_counts(name: str, tmp_path: Path) -> None:
    """A package, a file, a library; also what the module needs."""
    folder = tmp_path / name.replace("/", "-")
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_text("")
    lookout = Confinement(folder)

    denied = lookout.find_objection(
        analyse_commands(["python3 -m pip list"], str(folder)).preconditions or DiskPreconditions()
    )

    lookout.close()
    assert denied is not None
    assert denied.reason == "protected_path"


@each_row(
    "line",
    [
        "python3 -m json.tool a.txt",
        "python3 -m pip list",
        "cd sub && python3 -m json.tool ../a.txt",
        "cp a.txt b.txt && python3 -P -m json.tool b.txt",
    ],
)
def test_other_files_stand_in_nobodys_place(line: str, space: Path, said: Said) -> None:
    """A project's own modules, folders that are no packages, and its package `test`."""
    for name in ("conftest.py", "code/notes.txt", "test/__init__.py", "json.txt", "src/json.py"):
        (space / name).parent.mkdir(exist_ok=True)
        (space / name).write_text("")

    assert said(line) is None


@each_row("options", ["-P -m", "-I -m", "-Im", "-Pm"])
def test_without_the_folder_on_its_path_python_imports_its_own(options: str, space: Path, said: Said) -> None:
    """Source: Python's `--help`."""
    (space / "json.py").write_text("")

    assert said(f"python3 {options} json.tool a.txt") is None


def test_a_line_makes_no_module_for_itself(said: Said) -> None:
    """The look is taken before the line runs."""
    assert said("cp a.txt json.py && python3 -m json.tool x") == "not_understood"
    assert said("mv a.txt re.py; python3 -m pip list") == "not_understood"


@each_row(
    "line, word",
    [
        ("tar I* s* x", "I*"),
        ("tar *", "*"),
        ("aws * x", "*"),
        ("man ./page", "./page"),
        ("man sub/page.1", "sub/page.1"),
        ("man -l page", "-l"),
    ],
)
def test_a_word_that_may_be_options_or_a_subcommand_has_to_be_mentioned(line: str, word: str) -> None:
    """A name on disk chooses what the program does; a page of the manual has any file shown by `.so`."""
    (judged,) = analyse_commands([line], "/ws").analysed

    assert word in [need.form for need in judged.needs]
