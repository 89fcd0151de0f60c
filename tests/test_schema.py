"""The shipped profiles, as an editor checks them: with the policies of the plugins of this repository."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema_rs import Draft202012Validator
from tests.rows import each_row

from toolcharter.cli.group import toolcharter as command_group
from toolcharter.profile.find import shipped_profiles
from toolcharter.profile.nodes import to_plain
from toolcharter.profile.parse import parse_yaml

PROFILES = sorted(shipped_profiles().glob("*.yaml"))


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    """What `toolcharter schema` prints."""
    printed: dict[str, Any] = json.loads(CliRunner().invoke(command_group, ["schema"]).stdout)
    return printed


def values_in(file: Path) -> Any:
    node = parse_yaml(file.read_text(), str(file), [])
    assert node is not None
    return to_plain(node)


@each_row("file", PROFILES, ids=lambda file: file.stem)
def test_shipped_profiles_fit_the_schema(schema, file) -> None:
    """An editor has nothing to say about them."""
    assert [str(error) for error in Draft202012Validator(schema).iter_errors(values_in(file))] == []


@each_row("file", PROFILES, ids=lambda file: file.stem)
def test_a_misspelt_field_of_a_shipped_profile_does_not(schema, file) -> None:
    """The policy of each tool that a shipped profile lists is in the schema."""
    values = values_in(file)
    validator = Draft202012Validator(schema)

    for name in values["tools"]:
        broken = {**values, "tools": {**values["tools"], name: {**values["tools"][name], "max_bites": 1}}}
        assert not validator.is_valid(broken)


def test_the_actions_of_each_tool_are_a_closed_set(schema) -> None:
    """An editor offers them, and `--check` finds others."""
    lists = {
        name.removeprefix("tools."): policy["properties"]["allowed_actions"]
        for name, policy in schema["$defs"].items()
        if "allowed_actions" in policy.get("properties", {})
    }
    assert {"git", "browser", "cron", "memory", "web"} <= lists.keys()
    assert [name for name, one in lists.items() if not one["items"].get("enum")] == []
