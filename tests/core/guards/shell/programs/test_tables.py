"""The tables that come with toolcharter: all of them load, and say what their programs say of themselves."""

import re
import subprocess
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from tests.rows import each_row, failing_rows

from toolcharter.guards.shell.languages import MODULES
from toolcharter.guards.shell.programs.table import Role, Table, TableEntry
from toolcharter.guards.shell.programs.table_file import TableError
from toolcharter.guards.shell.programs.tables import CORE_TABLES, Tables

# What programs take and do not list, or list in another way.
UNLISTED = {"--from", "--help", "--version"} | {
    f"--{kind}-{what}-format" for kind in ("old", "new", "unchanged", "changed") for what in ("line", "group")
}
LONG_OPTION = re.compile(r"(?<![\w-])--[a-z0-9][\w-]*")


def tables_of(table: Table) -> Iterator[Table]:
    yield table
    for sub in (*table.subcommands.values(), *table.modules.values()):
        if isinstance(sub, Table):
            yield from tables_of(sub)


def roles_of(table: Table) -> Iterator[Role]:
    for takes in (*table.options.values(), *table.predicates.values(), *table.prefixes.values()):
        yield from takes.roles
    for operands in (table.operands, *(operands for _, operands in table.operands_if)):
        yield from (role for role in (*operands.first, operands.rest, *operands.last) if role)


def all_tables() -> Iterator[Table]:
    for file in CORE_TABLES.files():
        entry = CORE_TABLES.find(file.stem)
        assert entry is not None
        yield from tables_of(entry.table)


@each_row("file", CORE_TABLES.files(), ids=lambda file: file.stem)
def test_file_loads_and_is_named_after_its_first_program(file: Path) -> None:
    """So that a program is found by a look at the folder."""
    entry = CORE_TABLES.find(file.stem)

    assert entry is not None
    assert (entry.file, entry.programs[0]) == (str(file), file.stem)
    assert all(CORE_TABLES.find(program) == entry for program in entry.programs)


def test_little_languages_of_the_tables_are_those_that_are_read() -> None:
    """A role `format:NAME` without a function would fail only when it is used."""
    names = {role.argument for table in all_tables() for role in roles_of(table) if role.kind == "format"}

    def is_read(name: str) -> bool:
        return callable(getattr(import_module(f"toolcharter.guards.shell.languages.{MODULES[name]}"), name))

    assert names <= MODULES.keys()
    assert failing_rows(sorted(MODULES), is_read) == []


def test_modules_of_other_programs_have_a_table() -> None:
    """`same_as` names a program that is known."""
    names = {name for table in all_tables() for name in table.modules.values() if isinstance(name, str)}

    assert failing_rows(sorted(names), {*CORE_TABLES.programs()}.__contains__) == []


def documented() -> list[TableEntry]:
    """The tables of programs that list their long options, where the version can be compared."""
    entries = {entry.file: entry for entry in map(CORE_TABLES.find, CORE_TABLES.programs()) if entry}
    sources = re.compile(r"GNU coreutils |GNU diffutils |util-linux 2\.38\.1")
    found = [one for one in entries.values() if sources.match(one.source) and one.table.style not in {"words", "test"}]
    return sorted(found, key=lambda entry: entry.programs)


@pytest.mark.needs_program("ls", package="coreutils")
def test_tables_have_the_long_options_that_their_programs_list() -> None:
    """No more and no fewer, wherever the installed version is the one that the table is about."""
    compared = [entry for entry in documented() if all(is_described(entry, name) for name in entry.programs)]
    if not compared:
        pytest.skip("other versions are installed than those that the tables are about")

    assert {entry.programs: options for entry in compared if (options := differences(entry)) != (set(), set())} == {}


def is_described(entry: TableEntry, program: str) -> bool:
    """Whether the installed program has the version that the table is about."""
    found = re.search(r"[\d.]*\d", entry.source)
    assert found is not None
    return found[0] in output_of(program, "--version")


def differences(entry: TableEntry) -> tuple[set[str], set[str]]:
    """The options that are listed and not known, and those that are known and not even mentioned."""
    listed, mentioned = set[str](), set[str]()
    for program in entry.programs:
        text = output_of(program, "--help")
        mentioned |= {*LONG_OPTION.findall(text)}
        for line in text.splitlines():
            if line.lstrip().startswith("-"):
                listed |= {*LONG_OPTION.findall(re.split(r"(?<=\S)  +", line.strip())[0])}
    listed -= {"--GTYPE-group-format", "--LTYPE-line-format"}
    known = {option for option in entry.table.options if option.startswith("--")}
    return listed - known, known - mentioned - UNLISTED


def output_of(program: str, option: str) -> str:
    # `env`, since a shell's builtin of the same name is another program.
    argv = ["env", "LC_ALL=C", program, option]
    return subprocess.run(argv, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL).stdout


def table_text(*programs: str, rest: str = "") -> str:
    names = ", ".join(f'"{program}"' for program in programs)
    return f'programs = [{names}]\nsource = "a manual"\n{rest}'


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "one.toml").write_text(table_text("one", "two"))
    (folder / "three.toml").write_text(table_text("three"))
    (folder / "notes.txt").write_text("no table")
    return Tables(folder)


def test_program_is_found_by_its_file_or_by_its_first_line(tables: Tables) -> None:
    """Both names of a family give one table; what nobody has written gives none."""
    one = tables.find("one")

    assert one is not None
    assert (one.programs, one.source) == (("one", "two"), "a manual")
    assert tables.find("two") is one
    assert tables.find("notes") is None
    assert tables.find("../tables/one") is None
    assert tables.find("") is None
    assert tables.programs() == ("one", "three", "two")


def test_second_program_is_found_first(tables: Tables) -> None:
    """Without its family's first having been looked up."""
    found = tables.find("two")

    assert found is not None
    assert found.programs == ("one", "two")


def test_added_files_join_the_others(tables: Tables, tmp_path: Path) -> None:
    """More than once; the tables before stay as they were."""
    (tmp_path / "four.toml").write_text(table_text("four"))
    (tmp_path / "five.toml").write_text(table_text("five"))

    more = tables.with_added([tmp_path / "four.toml"]).with_added([tmp_path / "five.toml"])

    assert more.programs() == ("five", "four", "one", "three", "two")
    assert tables.find("four") is None
    four = more.find("four")
    assert four is not None
    assert four.file == str(tmp_path / "four.toml")


def test_program_with_two_tables_is_an_error_naming_both_files(tables: Tables, tmp_path: Path) -> None:
    """Whether the other is core's or another plugin's."""
    mine, more = tmp_path / "mine.toml", tmp_path / "more.toml"
    mine.write_text(table_text("two"))
    more.write_text(table_text("four"))

    with pytest.raises(TableError) as caught:
        tables.with_added([mine])
    with pytest.raises(TableError) as caught_twice:
        tables.with_added([more]).with_added([more])

    assert str(caught.value) == f"{mine}: 'two' has a table already, in {tmp_path}/tables/one.toml."
    assert str(caught_twice.value) == f"{more}: 'four' has a table already, in {more}."


def test_folder_with_two_tables_of_a_program_is_an_error(tables: Tables, tmp_path: Path) -> None:
    """As soon as all names are looked at."""
    (tmp_path / "tables" / "zero.toml").write_text(table_text("zero", "three"))

    with pytest.raises(TableError) as caught:
        tables.find("nobody")

    folder = tmp_path / "tables"
    assert str(caught.value) == f"{folder}/zero.toml: 'three' has a table already, in {folder}/three.toml."


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(None, id="absent"),
        pytest.param(b"programs = [\xff]", id="no text"),
        pytest.param(b"programs = [", id="no TOML"),
    ],
)
def test_file_that_cannot_be_read_is_an_error_naming_it(tables: Tables, tmp_path: Path, content: bytes | None) -> None:
    """A plugin's faults come when it is added."""
    file = tmp_path / "more.toml"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(TableError, match=f"^{re.escape(str(file))}: "):
        tables.with_added([file])
