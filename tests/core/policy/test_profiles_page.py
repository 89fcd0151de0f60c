"""docs/profiles.md: what its tables say about modes, rules and `extends` is what the engine does."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.rows import each_row

from pages import quoted, rows
from toolcharter.api.words import KINDS, RULE_PREFIXES
from toolcharter.events import notify
from toolcharter.gate.approvals.always_offered import is_launcher, why_not_offered
from toolcharter.gate.commands import analyse_commands
from toolcharter.guards.rates import binding
from toolcharter.guards.session import state
from toolcharter.policy.evaluate import Policy
from toolcharter.policy.rule_input import RuleInput, ToolFacts, facts_of
from toolcharter.policy.toolsets import GROUPS
from toolcharter.profile.ceilings import ADMIN_POLICY, ALLOWED_PERMS, WORKSPACE_POLICY
from toolcharter.profile.dump import profile_values
from toolcharter.profile.forms import keys_of
from toolcharter.profile.model import Profile
from toolcharter.profile.read import load_profile
from toolcharter.profile.schema import CeilingFile, ProfileFile, ProfileLimits, ToolLimits, WorkspaceFile
from toolcharter.profile.settings import MODES, Rate
from toolcharter_git.tool import SPEC as GIT
from toolcharter_webhook import sender

PAGE = (Path(__file__).parents[3] / "docs/profiles.md").read_text()
FS = frozenset({"fs:read"})
TOOLS = {
    facts.name: facts
    for facts in (
        ToolFacts("read_file", groups=frozenset({"fs"}), capabilities=FS, safety="low"),
        ToolFacts("glob", groups=frozenset({"fs"}), capabilities=FS, safety="low"),
        facts_of(GIT),
        ToolFacts("bash", "bash", groups=frozenset({"runtime"}), capabilities=frozenset({"proc:exec"})),
        ToolFacts("docker", "cli", capabilities=frozenset({"proc:exec"})),
        ToolFacts("review", "custom"),
        ToolFacts("mcp__jira__search", "mcp", groups=frozenset({"mcp", "mcp:jira"})),
        ToolFacts("mcp__jira__delete_issue", "mcp", groups=frozenset({"mcp", "mcp:jira"})),
    )
}
VERDICTS = {"denied": "deny", "runs": "allow", "a person is asked": "ask"}
DENY, ALLOW = rows(PAGE, "rule of `deny`"), rows(PAGE, "rule of `allow`")


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Profile]:
    """Reads a profile as any other is read; rules reach the engine with the escapes of the page."""

    def read(**keys: Any) -> Profile:
        file = tmp_path / "row.yaml"
        file.write_text(yaml.safe_dump({"profile": "row", **keys}))
        return load_profile(file)

    return read


def called(call: str) -> tuple[ToolFacts, RuleInput]:
    """A call as the page writes it, such as `git {action: push}`."""
    name, _, text = call.partition(" ")
    args = yaml.safe_load(text)
    assert isinstance(args, dict)
    commands = analyse_commands((args["command"],) if name == "bash" else (), "/ws").commands
    return TOOLS[name], RuleInput(args.get("action"), args, commands)


def decided(profile: Profile, call: str) -> str:
    facts, subject = called(call)
    policy = Policy(profile.deny, profile.allow, profile.mode, ask=profile.ask)
    return policy.for_tool(facts).decide(subject).outcome


@each_row("row", [pytest.param(row, id=" ".join(row[:2])) for row in rows(PAGE, "mode")])
@each_row(
    ("column", "lists"),
    [
        pytest.param(2, {key: ["git", "docker"] for key in ("deny", "ask", "allow")}, id="denied by a rule"),
        pytest.param(
            3, {key: ["git", "docker"] for key in ("ask", "allow")}, id="asked by a rule that goes before allow"
        ),
        pytest.param(3, {"ask": ["git", "docker"]}, id="asked by a rule"),
        pytest.param(4, {"allow": ["git", "docker"]}, id="covered"),
        pytest.param(5, {}, id="none of them"),
    ],
)
def test_rows_of_the_mode_table_are_what_happens(row: list[str], column: int, lists: dict[str, Any], read) -> None:
    """Each mode with each kind of tool and each rule that could matter."""
    call = {"bounded": "git {action: log}", "unbounded": "docker {action: ps}"}[row[1]]

    assert decided(read(mode=quoted(row[0])[0], **lists), call) == VERDICTS[row[column]]


def test_every_mode_has_its_rows() -> None:
    """No mode is missing, for neither sort of tool."""
    assert [(quoted(row[0])[0], row[1]) for row in rows(PAGE, "mode")] == [
        (mode, kind) for mode in MODES for kind in ("bounded", "unbounded")
    ]
    assert f"of the kinds {', '.join(f'`{kind}`' for kind in KINDS[1:-1])} and `{KINDS[-1]}` are *unbounded*" in PAGE


@each_row("row", [pytest.param(row, id=" ".join(row[:2])) for row in DENY])
@each_row("key", ["deny", "ask"])
def test_rules_of_deny_and_ask_match_what_the_page_says(row: list[str], key: str, read) -> None:
    """What nothing else would refuse or ask about, with the rule as it stands there."""
    profile = read(mode="dangerous", **{key: [row[0].strip("`")]})

    assert [decided(profile, call) for call in quoted(row[1])[:1]] == [key]
    assert [decided(profile, call) for call in quoted(row[2])[:1]] in ([], ["allow"])


@each_row("row", [pytest.param(row, id=" ".join(row[:3])) for row in ALLOW])
def test_rules_of_allow_cover_what_the_page_says(row: list[str], read) -> None:
    """What would be refused without the rule."""
    profile = read(mode="restrict", allow=[row[0].strip("`")])

    assert [decided(profile, call) for call in quoted(row[1])[:1]] in ([], ["allow"])
    assert [decided(profile, call) for call in quoted(row[2])[:1]] in ([], ["deny"])


def test_of_several_commands_one_suffices_to_deny_and_each_is_needed_to_allow(read) -> None:
    """As the page says of tools that run several."""
    both = RuleInput(commands=("git log", "git push"))

    def outcome(**keys: Any) -> str:
        profile = read(**keys)
        return Policy(profile.deny, profile.allow, profile.mode).for_tool(TOOLS["bash"]).decide(both).outcome

    assert outcome(mode="dangerous", deny=["bash:git push"]) == "deny"
    assert outcome(mode="policy", allow=["bash:git log"]) == "deny"
    assert outcome(mode="policy", allow=["bash:git log", "bash:git push"]) == "allow"


def test_every_prefix_has_an_example() -> None:
    """One that matches and one that does not."""
    complete = {row[0].strip("`") for row in DENY if row[1] and row[2]}

    assert {rule.partition(":")[0] for rule in complete if ":" in rule} >= RULE_PREFIXES
    assert f"one of {', '.join(f'`{word}`' for word in _in_order(RULE_PREFIXES))};" in PAGE


def _in_order(prefixes: frozenset[str]) -> list[str]:
    return sorted(prefixes, key=["bash", "builtin", "cli", "mcp", "custom", "*", "group", "cap"].index)


def test_the_groups_of_the_examples_are_the_shipped_ones() -> None:
    """The page says no more of `group:fs` and `group:runtime` than is so."""
    assert {tool for tool in TOOLS if tool in GROUPS["fs"]} == {
        name for name, one in TOOLS.items() if "fs" in one.groups
    }
    assert "bash" in GROUPS["runtime"]


def test_keys_of_ceilings_are_listed() -> None:
    """What each may hold, and where it comes from."""
    workspace, administrator, environment = rows(PAGE, "ceiling")

    assert (quoted(workspace[0]), quoted(administrator[0]), quoted(environment[0])) == (
        [str(WORKSPACE_POLICY)],
        [ADMIN_POLICY],
        [ALLOWED_PERMS],
    )
    assert set(quoted(workspace[2])) - {"log"} == set(keys_of(WorkspaceFile))
    assert set(quoted(administrator[2])) == set(keys_of(CeilingFile))


PARENT = """
profile: parent
description: Above.
mode: ask
tools: {git: {allow_push: true}, glob: {}}
deny: [glob]
allow: [git]
capabilities: {allow: ["fs:*"], max_safety: low}
availability: [{name: above, deny: [glob]}]
toolsets: {mine: [git, glob]}
groups: {ours: [git]}
approvals: {always: false, keep_days: 2}
session_guards: {repeated_calls: {warn: 2}, depends_on: [{match: git, needs: glob}]}
limits: {timeout_s: 9, tools: {git: {timeout_s: 5, calls_per_hour: 8}}}
notify: ["*"]
extensions: {one: {a: 1, b: 2}}
plugins: {one: ">1"}
events: {args: none, required: true}
cases: [{tool: git, expect: deny}]
missing_ok: [later]
"""
CHILD = """
profile: child
extends: [parent.yaml]
tools: {git: {max_files: 3}}
deny: [git]
allow: [glob]
capabilities: {max_safety: high}
availability: [{name: below, deny: [git]}]
toolsets: {mine: [glob]}
groups: {ours: [glob]}
approvals: {keep_days: 3}
session_guards: {repeated_calls: {deny: 4}, depends_on: [{match: glob, needs: git}]}
limits: {max_output_chars: 7, tools: {git: {timeout_s: 6}}}
notify: ["git"]
extensions: {one: {a: 3}}
plugins: {two: ">2"}
events: {args: shape}
cases: [{tool: glob, expect: deny}]
missing_ok: [never]
"""


def test_parents_and_child_are_put_together_as_the_page_says(tmp_path: Path) -> None:
    """One pair of files with every key in both."""
    (tmp_path / "parent.yaml").write_text(PARENT)
    (tmp_path / "child.yaml").write_text(CHILD)

    assert profile_values(load_profile(tmp_path / "child.yaml")) == {
        "profile": "child",
        "description": "Above.",
        "mode": "ask",
        "tools": {"git": {"max_files": 3}, "glob": {}},
        "deny": ["glob", "git"],
        "allow": ["git", "glob"],
        "capabilities": {"allow": ["fs:*"], "max_safety": "high"},
        "availability": [{"for": {}, "name": "above", "deny": ["glob"]}, {"for": {}, "name": "below", "deny": ["git"]}],
        "toolsets": {"mine": ["glob"]},
        "groups": {"ours": ["git", "glob"]},
        "approvals": {"always": False, "keep_days": 3.0},
        "session_guards": {
            "repeated_calls": {"warn": 2, "deny": 4},
            "depends_on": [{"match": "git", "needs": "glob"}, {"match": "glob", "needs": "git"}],
        },
        "limits": {"timeout_s": 9.0, "max_output_chars": 7, "tools": {"git": {"timeout_s": 6.0, "calls_per_hour": 8}}},
        "notify": [{"match": ["*"]}, {"match": ["git"]}],
        "extensions": {"one": {"a": 3}},
        "plugins": {"one": ">1", "two": ">2"},
        "events": {"args": "shape", "required": True},
        "cases": [{"tool": "git", "expect": "deny"}, {"tool": "glob", "expect": "deny"}],
        "missing_ok": ["later", "never"],
    }


def test_every_key_says_how_it_is_put_together() -> None:
    """Each stands in one row of the table."""
    assert sorted(name for row in rows(PAGE, "keys") for name in quoted(row[0])) == sorted(
        keys_of(ProfileFile).keys() - {"extends"}
    )


def test_limits_of_tools_and_agents_take_what_the_page_says() -> None:
    """A tool takes all but what is about several tools or calls; an agent takes numbers of calls."""
    assert keys_of(ProfileLimits).keys() - keys_of(ToolLimits).keys() == {"tools", "agents", "per", "store"}
    assert set(keys_of(Rate)) == {"calls_per_minute", "calls_per_hour", "calls_per_session"}


def test_always_is_offered_for_none_of_the_programs_that_the_page_names() -> None:
    """The page's examples of programs that start others, and of a script that is kept as it is."""
    named = re.search(r"programs\s+that\s+start\s+others\s+\(([^)]*)\)", PAGE)
    script = re.search(r"one\s+script\s+of\s+the\s+project,\s+such\s+as\s+`([^`]*)`", PAGE)

    assert named is not None
    assert script is not None
    assert all(map(is_launcher, quoted(named[1])))
    assert why_not_offered(script[1], (script[1],), Path("/srv")) is None


def test_numbers_of_notifications_and_stores_are_those_of_the_code() -> None:
    """Words on the page for numbers in the modules."""
    said = re.sub(r"\s+", " ", PAGE)

    assert (sender.ATTEMPTS, notify.DRAIN_S, binding.TIMEOUT_S) == (3, 5.0, 2.0)
    assert "in up to three attempts" in said
    assert "have five seconds" in said
    assert "does not answer within two seconds" in said
    assert f"the logger `{notify.LOGGER}`" in said
    assert f"`{state.PREFIX}` and the message" in said
