"""Samples of set 002 of what an agent's file says: tools, capabilities, names of modes, numbers out of range."""

from typing import Any

import pytest
import yaml
from tests.cases.conftest import Bench, make_tool
from tests.samples import row_params, sample_rows

from toolcharter import ConfigurationError

ROWS = sample_rows("seeds/002-agent-policy")
# Rows whose keys our profiles do not have, or read otherwise: each with the sentence of the design. What is asserted is
# ours.
SUPERSEDED = {
    "002-agent-policy-002": 'design, section 4: "absent = no restriction, `[]` = nothing, `["*"]` = all".',
    "002-agent-policy-008": 'design, section 1: "profile: one YAML file"; a model\'s instructions are none of its keys.',
    "002-agent-policy-022": 'design, section 4: "an unknown or duplicate key, a wrong type: all faults ... nothing built".',
    "002-agent-policy-024": 'design, section 4: "an unknown or duplicate key, a wrong type: all faults ... nothing built".',
}
# Our word for a capability, by the source's.
CAPABILITIES = {"Patch": "fs:write", "Finalize": "registry:write", "Delegate": "agent:spawn"}


def params(*, given: str = "", expected: str = "") -> list[Any]:
    return row_params(
        [row for row in ROWS if (not given or given in row["input"]) and (not expected or expected in row["expect"])]
    )


@pytest.mark.parametrize("row", params(given="delegate_targets"))
def test_empty_list_grants_nothing(row: dict[str, Any], bench: Bench) -> None:
    """An empty list is nobody, `["*"]` everybody, and one that names some is those."""
    names = [name for name in row["expect"] if name != "any_agent"] or ["coder"]
    tools = [make_tool(name) for name in [*names, "another"]]

    def seen(**entry: Any) -> list[str]:
        return [*bench.open({"availability": [entry]}, *tools)]

    assert "only when" in row["unified"]["any_agent"]
    assert seen(tools=row["input"]["delegate_targets"]) == row["input"]["delegate_targets"]
    assert seen(tools=["*"]) == [*names, "another"]
    assert seen(tools=[name.upper() for name in names]) == names


@pytest.mark.parametrize("row", params(expected="allow_count"))
def test_capabilities_count_once(row: dict[str, Any], bench: Bench) -> None:
    """A capability that is written twice permits what it permits once; what is not written is refused."""
    written = [CAPABILITIES[name] for name in yaml.safe_load(row["input"]["yaml"])]
    tools = [make_tool(name, capabilities=[word]) for name, word in CAPABILITIES.items()]

    toolbox = bench.open({"capabilities": {"allow": written}}, *tools)

    assert len(toolbox) == row["expect"]["allow_count"] == len(set(written))
    assert {name: toolbox.decide(name, {}).reason for name in CAPABILITIES} == {
        name: None if word in written else "capability_not_allowed" for name, word in CAPABILITIES.items()
    }


@pytest.mark.parametrize("row", params(given="md"))
def test_tools_of_an_agent(row: dict[str, Any], bench: Bench) -> None:
    """Of all tools there are, the agent has those that its file lists; another is unknown to it."""
    front = yaml.safe_load(row["input"]["md"].split("---")[1])
    tools = [make_tool(name, "bash" if name == "Bash" else "builtin") for name in front["tools"]]
    profile = {"profile": front["name"], "description": front["description"], "mode": "dangerous"}

    toolbox = bench.open(profile, *tools)

    assert (toolbox.profile, list(toolbox)) == (row["expect"]["name"], row["expect"]["tools"])
    assert {toolbox.call(name.lower(), {}).outcome for name in front["tools"]} == {"ok"}
    assert toolbox.call("Delegate", {}).reason == "unknown_tool"


@pytest.mark.parametrize("row", params(expected="names"))
def test_names_of_modes(row: dict[str, Any], bench: Bench) -> None:
    """The source's names are ours; others, in other letters too, stop the start."""

    def opens(mode: Any) -> bool:
        try:
            bench.open(
                {"session_guards": {"read_before_write": {"mode": mode}}},
                *map(make_tool, ("read_file", "write_file", "edit_file")),
            )
        except ConfigurationError:
            return False
        return True

    assert [mode for mode in [*row["expect"]["names"], "Strict", "on", "", None, False] if opens(mode)] == row[
        "expect"
    ]["names"]


@pytest.mark.parametrize("row", params(expected="error_contains"))
def test_numbers_out_of_range(row: dict[str, Any], bench: Bench) -> None:
    """A profile has no such key: the start stops, as it does with the source, and names it."""
    (key,) = row["input"]

    with pytest.raises(ConfigurationError, match=key):
        bench.open(row["input"])


@pytest.mark.parametrize("row", params(expected="ok"))
def test_defaults_are_in_order(row: dict[str, Any], bench: Bench) -> None:
    """A profile that says nothing is one, and has no tools."""
    assert (list(bench.open(row["input"])) == []) is row["expect"]["ok"]


@pytest.mark.parametrize("number", [0, -1, 1.5, "5", True, None])
@pytest.mark.parametrize("key", ["calls_per_minute", "calls_per_hour", "calls_per_session", "max_output_chars"])
def test_more_numbers_out_of_range(key: str, number: Any, bench: Bench) -> None:
    """Our own numbers have ranges, too."""
    with pytest.raises(ConfigurationError, match="a whole number above 0"):
        bench.open({"limits": {key: number}})


def test_every_row_is_run() -> None:
    """No row is passed over in silence."""
    shown = [param.id for key in ("delegate_targets", "md") for param in params(given=key)]
    shown += [param.id for key in ("allow_count", "names", "error_contains", "ok") for param in params(expected=key)]

    assert sorted(shown) == [row["id"] for row in ROWS]
    assert SUPERSEDED.keys() <= set(shown)
