"""Programs that run other programs, under every name they are installed by."""

from collections.abc import Iterator
from importlib.resources import files

from tests.rows import each_row

from toolcharter.gate.approvals.always_offered import is_launcher
from toolcharter.guards.shell.programs.launchers import STARTERS
from toolcharter.guards.shell.programs.table import STARTING, Table
from toolcharter.guards.shell.programs.tables import CORE_TABLES

NAMES_OF_COMPILERS = {"i386", "i686", "x86_64"}
"""What they start is a second command; and `x86_64-linux-gnu-objdump` is no launcher."""


@each_row(
    "program",
    [
        "sh", "bash", "/bin/sh", "python", "python3", "python3.11", "python3.13t", "python2.7-dbg", "PYTHON.EXE",
        "perl5.36", "env", "nice", "nohup", "timeout", "time", "xargs", "setsid", "stdbuf", "sudo", "doas", "su", "ssh",
        "find", "git", "make", "npm", "npx", "yarn", "pnpm", "busybox", "gcc-12", "x86_64-linux-gnu-gcc-12",
        "ld-linux-x86-64.so.2", "R", "bear", "opam", "coverage", "pandoc", "node18", ".", "x" * 256,
    ],
)  # fmt: skip
def test_launchers(program) -> None:
    """Interpreters and wrappers, under every name they are installed by."""
    assert is_launcher(program)


@each_row("program", ["ls", "wc", "pytest", "cargo", "ruff", "mypy", "md5sum", "bzip2", "e2fsck", "diff", "sort", "7"])
def test_programs_that_are_none(program) -> None:
    """What does its own work may be allowed for good."""
    assert not is_launcher(program)


@each_row("program", sorted(STARTERS))
def test_what_the_guard_looks_through_is_a_launcher(program: str) -> None:
    """Whatever `launchers.py` knows to start another program."""
    assert is_launcher(program)


def parts(table: Table) -> Iterator[Table]:
    """*table* and those of its subcommands."""
    yield table
    for part in (*table.subcommands.values(), *(pattern[1] for pattern in table.patterns)):
        yield from parts(part)
    yield from () if table.behind is None else parts(table.behind)


def starts_others(program: str) -> bool:
    """Whether the table of *program* says of one of its operands that it is a command."""
    entry = CORE_TABLES.find(program)
    assert entry is not None
    ways = [way for part in parts(entry.table) for way in (part.operands, *(way for _, way in part.operands_if))]
    kinds = {role.kind for way in ways for role in (*way.first, way.rest, *way.last) if role is not None}
    return not kinds.isdisjoint({*STARTING, "exec", "script"})


def test_programs_whose_tables_start_others_are_launchers() -> None:
    """The two places know the same programs, aliases such as `gxargs` and `yarnpkg` included."""
    starting = {program for program in CORE_TABLES.programs() if starts_others(program)}

    assert len(starting) > 100
    assert {program for program in starting if not is_launcher(program)} == NAMES_OF_COMPILERS


def test_the_list_repeats_nothing() -> None:
    """Each name stands in one place: a second one would lag behind."""
    text = files("toolcharter.gate.approvals").joinpath("launchers.txt").read_text("ascii")
    words = [word for line in text.splitlines() for word in line.partition("#")[0].split()]

    assert (len(words), STARTERS & {*words}) == (len({*words}), set())
