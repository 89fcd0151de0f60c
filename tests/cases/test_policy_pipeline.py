"""Sample set 004's tool policy pipeline: each of its keys becomes entries of `availability` in a profile."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.cases.conftest import Bench, make_tool
from tests.samples import row_params, sample_rows

from toolcharter import ConfigurationError, Toolbox
from toolcharter.api.call import Caller
from toolcharter.policy.availability import AvailabilityPlan, ToolCatalog, availability_faults
from toolcharter.policy.toolsets import GROUPS
from toolcharter.profile.nodes import Places
from toolcharter.profile.read import read_profile
from toolcharter.profile.settings import Availability

ROWS = sample_rows("seeds/004-policy-pipeline")
KEYS = {"global", "agent", "provider", "subagent", "registered", "extra_groups"}

# Rows that another part shows, each with the sentence of the design that it rests on.
ELSEWHERE = {
    **{
        f"004-policy-pipeline-0{number}": "section 5, 1: a canonical tool name; what a host puts before it, it takes off."
        for number in range(82, 87)
    },
}
# What the source registers, where a row does not say.
REGISTERED = [
    *("agents_list", "browser", "canvas", "cron", "edit_file", "exec", "gateway", "glob", "image", "list_files"),
    *("memory_get", "memory_search", "message", "nodes", "process", "read_file", "search", "session_status"),
    *("sessions_history", "sessions_list", "sessions_send", "sessions_spawn", "skill_search", "spawn", "subagents"),
    *("tts", "web_fetch", "web_search", "write_file"),
]
ALIASES = {"bash": "exec"}
SHELL = "shell"


class Sample(NamedTuple):
    entries: tuple[Availability, ...]
    universe: ToolCatalog
    caller: Caller
    places: Places


def policy(who: dict[str, Any], written: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The entries that stand for one of the source's policies; its `byProvider` is for the same agents."""
    if "profile" in written:
        yield {"for": who, "tools": [f"toolset:{written['profile']}"]}
    for theirs, ours in (("allow", "tools"), ("deny", "deny"), ("alsoAllow", "also_allow")):
        if theirs in written:
            yield {"for": who, ours: written[theirs]}
    for provider, below in written.get("byProvider", {}).items():
        yield from policy({**who, "provider": provider}, below)


def universe(registered: list[str], groups: dict[str, list[str]]) -> ToolCatalog:
    members = {name: frozenset(group for group, names in groups.items() if name in names) for name in registered}
    return ToolCatalog(members, {alias: name for alias, name in ALIASES.items() if name in members})


def entries_of(given: dict[str, Any]) -> list[dict[str, Any]]:
    """The row's configuration as `availability`, with the lists for subagents that the source always has."""
    return [
        *policy({}, given.get("global", {})),
        *policy({"agent": "ours"}, given.get("agent", {})),
        {"for": {"depth": ">=1"}, "deny": ["toolset:subagent-deny"]},
        {"for": {"depth": ">=2"}, "deny": ["toolset:leaf-deny"]},
    ]


def caller_of(given: dict[str, Any]) -> Caller:
    return Caller(agent="ours", provider=given.get("provider"), depth=int(given.get("subagent", False)))


def our_names(given: dict[str, Any]) -> dict[str, str]:
    """What the row's names are in a toolbox: tools of MCP servers, and so their groups, are known by their full names.

    `bash` cannot be an alias here, since it begins rules; `shell` stands for it.
    """
    remote = given.get("extra_groups", {}).get("mcp", [])
    names = {name: f"mcp__{name}" if name in remote else name for name in given.get("registered", REGISTERED)}
    return {**names, **dict.fromkeys(ALIASES, SHELL)}


def open_sample(bench: Bench, given: dict[str, Any]) -> Toolbox:
    """The toolbox of a profile with the row's configuration, as the row's caller sees it."""
    ours, aliases = our_names(given), dict.fromkeys(ALIASES.values(), (SHELL,))
    text = json.dumps(entries_of(given))
    for theirs, name in ours.items():
        text = text.replace(json.dumps(theirs), json.dumps(name))
    tools = [
        make_tool(ours[name], "mcp" if name != ours[name] else "builtin", aliases=aliases.get(name, ()))
        for name in given.get("registered", REGISTERED)
    ]
    groups = {group: names for group, names in given.get("extra_groups", {}).items() if not group.startswith("mcp")}
    profile = {"mode": "dangerous", "availability": json.loads(text), "groups": groups}
    return bench.open(profile, *tools).for_caller(caller_of(given))


def sample(given: dict[str, Any], folder: Path) -> Sample:
    """The row's configuration as a profile, and who asks for the list of tools."""
    assert given.keys() <= KEYS
    file = folder / "profile.yaml"
    file.write_text(json.dumps({"profile": "pipeline", "availability": entries_of(given)}))
    read = read_profile(file)
    assert (read.faults, read.profile is None) == ([], False)
    assert read.profile is not None
    there = universe(given.get("registered", REGISTERED), given.get("extra_groups", {}))
    return Sample(read.profile.availability, there, caller_of(given), read.places)


def seen(given: Sample) -> list[str]:
    view = AvailabilityPlan(given.entries, given.universe).of(given.caller)
    return sorted(tool for tool, hidden in view.items() if hidden is None)


def faults(given: Sample) -> list[str]:
    return [fault.what for fault in availability_faults(given.entries, given.universe, (), given.places.of)]


def wanted(row: dict[str, Any]) -> dict[str, Any]:
    return {**row["expect"], **row.get("unified", {})}


def params(expected: str) -> list[Any]:
    """The rows that expect this and nothing that outweighs it."""
    rows = [row for row in ROWS if row["id"] not in ELSEWHERE and expected in wanted(row)]
    return row_params([row for row in rows if expected == "error" or "error" not in wanted(row)])


@pytest.mark.parametrize("row", params("tools"))
def test_who_sees_which_tools(row: dict[str, Any], tmp_path: Path) -> None:
    """As the source or, where its rules differ, the unified design says."""
    given = sample(row["input"], tmp_path)

    assert faults(given) == []
    assert seen(given) == wanted(row)["tools"]


@pytest.mark.parametrize("row", params("tools"))
def test_what_is_shown_and_what_runs(row: dict[str, Any], bench: Bench) -> None:
    """A toolbox shows the same tools, and no others can be called."""
    toolbox = open_sample(bench, row["input"])
    ours = our_names(row["input"])
    names = [ours[name] for name in row["input"].get("registered", REGISTERED)]

    results = {name: toolbox.call(name, {}) for name in names}

    assert sorted(toolbox) == sorted(ours[name] for name in wanted(row)["tools"])
    assert list(toolbox) == [name for name in names if name in toolbox]
    assert {name for name, result in results.items() if result.outcome == "ok"} == set(toolbox)
    assert {results[name].reason for name in names if name not in toolbox} <= {"not_available"}


@pytest.mark.parametrize("row", params("decision"))
def test_calls_of_hidden_tools(row: dict[str, Any], bench: Bench) -> None:
    """What a caller is not shown is denied to it, by any of its names. The source's reason has another word."""
    toolbox = open_sample(bench, {key: row["input"][key] for key in row["input"].keys() & KEYS})
    names = [row["input"]["call"], *(SHELL for name in ALIASES.values() if name == row["input"]["call"])]

    results = [toolbox.call(name, {}) for name in names]

    assert row["input"]["call"] not in toolbox
    assert {(result.outcome, result.reason) for result in results} == {("denied", "not_available")}
    assert {toolbox.decide(name, {}).outcome for name in names} == {wanted(row)["decision"]}


@pytest.mark.parametrize("row", params("error"))
def test_nothing_is_built_with_unknown_names(row: dict[str, Any], bench: Bench) -> None:
    """The start says which name."""
    with pytest.raises(ConfigurationError, match=wanted(row)["error"].split()[-1]):
        open_sample(bench, row["input"])


@pytest.mark.parametrize("row", params("error"))
def test_unknown_names_stop_the_start(row: dict[str, Any], tmp_path: Path) -> None:
    """The fault says what is unknown, and its name; who starts all the same sees nothing more."""
    given = sample(row["input"], tmp_path)
    _, kind, name = wanted(row)["error"].split()

    (told,) = faults(given)

    assert kind in told
    assert told.endswith(f" {name!r}.")
    assert seen(given) == row["expect"]["tools"]


def members(items: str, there: ToolCatalog) -> list[str]:
    view = AvailabilityPlan([Availability(tools=(items,))], there).of(Caller())
    return [tool for tool, hidden in view.items() if hidden is None]


@pytest.mark.parametrize("row", params("agent_a sees"))
def test_groups_belong_to_one_toolbox(row: dict[str, Any]) -> None:
    """What another agent's toolbox has in a group of the same name plays no part."""
    names = {agent: text.removeprefix("group mcp = ") for agent, text in row["input"].items()}
    toolboxes = {agent: universe([name], {"mcp": [name]}) for agent, name in names.items()}

    found = {agent: members("group:mcp", there) for agent, there in toolboxes.items()}

    assert found == {agent: [name] for agent, name in names.items()}
    assert found["agent_a"] == [wanted(row)["agent_a sees"]]


@pytest.mark.parametrize("row", params("order"))
def test_tools_keep_their_order(row: dict[str, Any], tmp_path: Path, bench: Bench) -> None:
    """A list of tools comes in the order of registration, every time."""
    given = sample({**row["input"], "registered": REGISTERED[::-1]}, tmp_path)

    assert "registration order" in wanted(row)["order"]
    assert list(AvailabilityPlan(given.entries, given.universe).of(given.caller)) == REGISTERED[::-1]
    assert list(open_sample(bench, {"registered": REGISTERED[::-1]})) == REGISTERED[::-1]


@pytest.mark.parametrize("row", params("members"))
def test_groups_come_and_go_with_their_tools(row: dict[str, Any]) -> None:
    """A group without tools covers nothing, and naming it is a fault."""
    ((group, names),) = row["input"]["register"].items()
    before, after = universe([*names, "exec"], row["input"]["register"]), universe(["exec"], {})
    entry = Availability(tools=(f"group:{group}",))

    assert members(f"group:{group}", before) == names
    assert len(names) == wanted(row)["members"]
    assert members(f"group:{group}", after) == []
    assert [fault.what for fault in availability_faults([entry], before, (), lambda *_: "")] == []
    assert [fault.what for fault in availability_faults([entry], after, (), lambda *_: "")] == [
        f"there is no group {group!r}."
    ]


@pytest.mark.parametrize("row", params("original"))
def test_a_copy_with_other_groups_changes_nothing(row: dict[str, Any]) -> None:
    """What there is to name is a value."""
    names = [*row["input"]["original"]["mcp"], *row["input"]["clone_sets"]["mcp"]]
    original = universe(names, row["input"]["original"])
    copy = original._replace(tools=universe(names, row["input"]["clone_sets"]).tools)

    assert members("group:mcp", copy) == row["input"]["clone_sets"]["mcp"]
    assert members("group:mcp", original) == wanted(row)["original"]


@pytest.mark.parametrize("row", params("memory_contains"))
def test_groups_that_come_along(row: dict[str, Any]) -> None:
    """The source's groups have the source's members."""
    for key, members in wanted(row).items():
        assert set(members) <= set(GROUPS[key.removesuffix("_contains")])


def test_every_row_is_accounted_for() -> None:
    """No row is passed over in silence."""
    kinds = ("tools", "decision", "error", "agent_a sees", "order", "members", "original", "memory_contains")
    shown = {param.id for kind in kinds for param in params(kind)}

    assert ELSEWHERE.keys() <= {row["id"] for row in ROWS}
    assert {row["id"] for row in ROWS} == shown | ELSEWHERE.keys()
