"""docs/commands.md says what the commands themselves say."""

import re

import click
import pytest

from toolcharter.cli.group import COMMANDS
from toolcharter.cli.group import toolcharter as group


@pytest.fixture(scope="module")
def page(project_root) -> str:
    return (project_root / "docs/commands.md").read_text()


def test_table_lists_every_command(page) -> None:
    """Names and sentences are those of `toolcharter --help`."""
    listed = re.findall(r"^\| `(\w+)` \| (.*) \|$", page, re.MULTILINE)

    assert dict(listed) == COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_section_shows_the_help(page, name) -> None:
    """Each command's help stands in its section, word by word."""
    command = group.get_command(click.Context(group), name)
    assert command is not None
    parent = click.Context(group, info_name="toolcharter", **group.context_settings)
    context = click.Context(command, info_name=name, parent=parent, terminal_width=80)

    section = re.search(rf"^## {name}\n\n```text\n(.*?)\n```$", page, re.MULTILINE | re.DOTALL)

    assert section is not None
    assert section[1] == command.get_help(context)
