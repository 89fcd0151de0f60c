"""docs/commands.md says what the commands themselves say."""

import re

import click
import pytest
from click.testing import CliRunner
from tests.rows import each_row

from toolcharter.cli.group import COMMANDS
from toolcharter.cli.group import toolcharter as group


@pytest.fixture(scope="module")
def page(project_root) -> str:
    return (project_root / "docs/commands.md").read_text()


def test_table_lists_every_command(page) -> None:
    """Names and sentences are those of `toolcharter --help`."""
    listed = re.findall(r"^\| `(\w+)` \| (.*) \|$", page, re.MULTILINE)

    assert dict(listed) == COMMANDS


@each_row("name", COMMANDS)
def test_section_shows_the_help(page, name) -> None:
    """Each command's help stands in its section, word by word."""
    command = group.get_command(click.Context(group), name)
    assert command is not None
    parent = click.Context(group, info_name="toolcharter", **group.context_settings)
    context = click.Context(command, info_name=name, parent=parent, terminal_width=80)

    section = re.search(rf"^## {name}\n\n```text\n(.*?)\n```$", page, re.MULTILINE | re.DOTALL)

    assert section is not None
    assert section[1] == command.get_help(context)


def test_example_of_a_check_is_what_the_command_says(page, tmp_path, monkeypatch) -> None:
    """The profile of the page, judged by the command: every warning, then the table."""
    section = page[page.index("## profiles\n") :]
    shown = re.search(r"```console\n\$ toolcharter (.*?)\n(.*?)```", section, re.DOTALL)
    profile = re.search(r"```yaml\n(.*?)```", section, re.DOTALL)
    assert shown is not None
    assert profile is not None
    (tmp_path / "reader.yaml").write_text(profile[1])
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOOLCHARTER_ADMIN_POLICY", raising=False)
    monkeypatch.delenv("ALLOWED_TOOL_PERMS", raising=False)

    result = CliRunner().invoke(group, shown[1].split())

    assert (result.stderr + result.stdout, result.exit_code) == (shown[2], 0)
