"""The command itself: help, version, names."""

import os
import subprocess
import sys

import click
import pytest

import toolcharter
from toolcharter.cli.group import COMMANDS, Group
from toolcharter.cli.group import toolcharter as group

HEAVY = {"pydantic", "rich", "yaml", "pluggy", "structlog", "asyncio", "re2", "subprocess"}


def command_named(name: str) -> click.Command:
    command = group.get_command(click.Context(group), name)
    assert command is not None
    return command


@pytest.mark.usefixtures("site")
def test_names_are_in_the_order_of_the_table() -> None:
    """Shell completion offers them like this; those of plugins follow."""
    names = group.list_commands(click.Context(group))

    assert names == list(COMMANDS)


def test_version_is_shown(run) -> None:
    """The version is the package's."""
    result = run("--version")

    assert (result.stdout, result.exit_code) == (f"toolcharter {toolcharter.__version__}\n", 0)


def test_help_lists_every_command(run) -> None:
    """The help has the commands in the order of the table."""
    result = run("--help")

    listed = [line.split(maxsplit=1) for line in result.stdout.partition("Commands:\n")[2].splitlines()]
    assert (listed, result.exit_code) == ([[name, text] for name, text in COMMANDS.items()], 0)


@pytest.mark.parametrize("name", COMMANDS)
def test_command_says_what_the_table_says(run, name) -> None:
    """A command's own help begins with the sentence that the group shows, and takes the common options."""
    command = command_named(name)

    options = {option for parameter in command.params for option in parameter.opts}
    first = (command.help or "").partition("\n\n")[0]
    assert command.name == name
    assert first.split()[:2] == COMMANDS[name].split()[:2]
    assert {"--workspace", "--events"} <= options


def test_unknown_command_names_the_nearest(run) -> None:
    """A misspelt command is usage, with a guess."""
    result = run("cal")

    usage = "Usage: toolcharter [OPTIONS] COMMAND [ARGS]...\nTry 'toolcharter --help' for help.\n"
    assert (result.stderr, result.exit_code) == (f"{usage}\nError: No such command 'cal'. Did you mean 'call'?\n", 2)


def test_unknown_option_is_usage(run) -> None:
    """What begins with a dash is taken for an option."""
    result = run("--nope")

    assert ("No such option" in result.stderr, result.exit_code) == (True, 2)


def test_group_knows_no_other_command() -> None:
    """Only names of the table are imported."""
    found = Group().get_command(click.Context(group), "os")

    assert found is None


def test_option_where_a_command_belongs_is_left_to_click(run) -> None:
    """After `--`, a word with a dash is a command that does not exist."""
    result = run("--", "--nope")

    assert (result.stdout, result.exit_code) == ("", 2)


@pytest.mark.parametrize(
    ("words", "heavy"),
    [
        (("--help",), {*HEAVY, "dataclasses", "toolcharter.errors"}),
        (("--version",), {*HEAVY, "dataclasses", "toolcharter.errors", "toolcharter.loader.scan"}),
        (("call", "--help"), HEAVY),
    ],
)
def test_help_imports_nothing_heavy(words: tuple[str, ...], heavy: set[str]) -> None:
    """Help and version cost click and next to nothing more."""
    program = (
        "import sys\nfrom toolcharter.cli import main\n"
        f"sys.argv = ['toolcharter', *{words!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"print(sorted({heavy!r} & set(sys.modules)), file=sys.stderr)"
    )

    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, env=os.environ)

    assert ran.stderr == "[]\n"
