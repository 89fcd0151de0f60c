"""`Profile`: its values, the smaller of two limits, and the digest."""

import dataclasses
import hashlib
import json

import pytest

from toolcharter.profile.model import Case, Events, Limits, Profile, to_json_values
from toolcharter.profile.read import load_profile
from toolcharter.profile.rules import parse_rule
from toolcharter.profile.settings import Availability, CallerPattern, Capabilities, Ceiling, HiddenGlob, Rate, Rates

TEXT = """\
profile: reviewer
description: Reads.
tools: {git: {allowed_actions: [log]}}
extensions: {principles: {advisory: false}}
plugins: {toolcharter-git: ">=1,<2"}
limits: {timeout_s: 30, max_output_chars: 60000, tools: {Git: {timeout_s: 40, max_output_chars: 5, truncate: tail}}}
events: {args: shape, required: true}
missing_ok: [mcp_x]
cases:
  - {tool: git, args: {action: push}, expect: deny, reason: action_not_allowed, stage: tool, name: No push}
  - {tool: git, expect: allow}
"""
POLICIES = {"git": {"allowed_actions": ["log"], "context_lines": 3}}


@pytest.fixture
def profile(write) -> Profile:
    return load_profile(write("p.yaml", TEXT.replace("tools: {Git", "tools: {git")))


def digest(profile: Profile, policies=POLICIES, extensions=None, distributions=None) -> str:
    return profile.digest(policies, extensions or {}, distributions or {"toolcharter": "0.1.0"})


def test_a_profile_holds_what_was_written(profile) -> None:
    """Each key becomes one attribute; cases keep their place; policies stay as they were written."""
    assert profile == Profile(
        name="reviewer",
        description="Reads.",
        tools={"git": {"allowed_actions": ["log"]}},
        extensions={"principles": {"advisory": False}},
        plugins={"toolcharter-git": ">=1,<2"},
        limits=Limits(30.0, 60000),
        tool_limits={"git": Limits(40.0, 5, "tail")},
        events=Events("shape", required=True),
        cases=(
            Case("git", {"action": "push"}, "deny", "action_not_allowed", "tool", "No push"),
            Case("git", {}, "allow"),
        ),
        missing_ok=("mcp_x",),
    )
    assert [case.place for case in profile.cases] == ["p.yaml:10:5", "p.yaml:11:5"]


def test_a_profile_without_tools_has_none(write) -> None:
    """What is not written lets nothing through and limits nothing."""
    assert load_profile(write("p.yaml", "profile: p")) == Profile("p")


def test_a_profile_cannot_be_changed(profile) -> None:
    """Neither its attributes nor its mappings take another value."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        profile.name = "x"
    with pytest.raises(TypeError, match="does not support item assignment"):
        profile.tools["bash"] = {}


@pytest.mark.parametrize(
    ("tool", "limits"),
    [
        pytest.param("git", Limits(30.0, 5, "tail"), id="smaller of each"),
        pytest.param("GIT", Limits(30.0, 5, "tail"), id="without case"),
        pytest.param("bash", Limits(30.0, 60000), id="the profile's alone"),
    ],
)
def test_the_smaller_limit_wins(profile, tool, limits) -> None:
    """A tool's own limits can only tighten those of the profile."""
    assert profile.limits_for(tool) == limits


def test_limits_without_a_profile_s_are_the_tool_s() -> None:
    """Silence is no limit."""
    assert Limits(1.0, 2, "head").within(Limits()) == Limits(1.0, 2, "head")
    assert Limits().within(Limits(1.0, 2, "head")) == Limits(1.0, 2, "head")


def test_the_digest_is_that_of_canonical_json() -> None:
    """SHA-256 of sorted, compact JSON: another program can compute it."""
    rates = '"agents":{},"per":"session","store":null,"tools":{},"total":' + json.dumps(
        dict.fromkeys(("calls_per_hour", "calls_per_minute", "calls_per_session")), separators=(",", ":")
    )
    text = (
        '{"allow":[],"approvals":{"always":true,"approvers":null,"keep_days":30.0,"timeout_s":120.0},"ask":[],'
        '"availability":[],'
        '"capabilities":{"allow":null,"deny":[],"max_safety":null},"ceilings":[],"deny":["git:push"],'
        '"distributions":{"a":"1"},"events":{"args":"full","required":false},"extensions":{},"groups":{},'
        '"hidden":[{"containing":"KEY","glob":"*.pem"}],"limits":{"max_output_chars":null,"timeout_s":30.0,"truncate":null},"missing_ok":["a","b"],"mode":"policy",'
        '"notify":[],"plugins":{},"profile":"p","rates":{' + rates + '},"runner":null,'
        '"session_guards":{"after_call":[],"cached_reads":{"seconds":null},"depends_on":[],"no_progress":{"deny":null,"warn":null},"read_before_write":{"argument":"path","mode":"off",'
        '"reads":["read_file"],"writes":["write_file","edit_file"]},'
        '"read_streak":{"deny":null,"exploring":{"deny":null,"warn":null},"warn":null},"repeated_calls":{"deny":null,"warn":null},'
        '"same_result":{"deny":null,"warn":null},"skip_duplicate":[]},'
        '"tool_limits":{},'
        '"tools":{"git":{"x":"\\u00e9"}},"toolsets":{}}'
    )
    profile = Profile("p", limits=Limits(30.0), deny=(parse_rule("git:push", "p:1:1"),), missing_ok=("b", "a"))
    profile = dataclasses.replace(profile, hidden=(HiddenGlob("*.pem", "KEY"),))

    assert profile.digest({"git": {"x": "é"}}, {}, {"a": "1"}) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"description": None}, id="description"),
        pytest.param({"cases": ()}, id="cases"),
        pytest.param({"tools": {}}, id="policies as written"),
    ],
)
def test_the_digest_leaves_out_what_permits_nothing(profile, change) -> None:
    """Descriptions and cases may change; policies count as validated, not as written."""
    assert digest(dataclasses.replace(profile, **change)) == digest(profile)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"name": "x"}, id="name"),
        pytest.param({"plugins": {}}, id="pins"),
        pytest.param({"limits": Limits(31.0, 60000)}, id="limits"),
        pytest.param({"tool_limits": {}}, id="limits of tools"),
        pytest.param({"events": Events()}, id="events"),
        pytest.param({"missing_ok": ()}, id="missing_ok"),
        pytest.param({"runner": "host"}, id="runner"),
    ],
)
def test_the_digest_changes_with_the_profile(profile, change) -> None:
    """Every key that decides what may run is in it."""
    assert digest(dataclasses.replace(profile, **change)) != digest(profile)


@pytest.mark.parametrize(
    ("runner", "extensions", "expected"),
    [
        pytest.param(None, {"a": {"x": 1}}, {"a": {"x": 1}}, id="none"),
        pytest.param("host", {}, {}, id="host needs no plugin"),
        pytest.param("bwrap", {"a": {}}, {"a": {}, "bwrap": {}}, id="with its defaults"),
        pytest.param("bwrap", {"bwrap": {"network": True}}, {"bwrap": {"network": True}}, id="with its policy"),
    ],
)
def test_the_runner_is_an_extension(runner, extensions, expected) -> None:
    """It need not be written twice."""
    assert Profile("p", runner=runner, extensions=extensions).all_extensions == expected


EVERY_KEY = """\
profile: every
tools: {git: {}}
mode: restrict
deny: [{rule: git:push, when: {remote: {const: x}}, reason: not_x, message: Not x.}]
allow: ["bash:git log *", {rule: git, when: {action: {enum: [log]}}}]
capabilities: {allow: ["fs:*"], deny: [net], max_safety: medium}
availability:
  - {for: {provider: a, agent: [b*], group: c, depth: ">=1, <3"}, tools: [git], deny: ["group:fs"], name: one}
  - {also_allow: [git], replaces: one}
toolsets: {mine: [git]}
groups: {vcs: [git]}
approvals: {timeout_s: 5, approvers: [ann], always: false, keep_days: 1}
session_guards:
  read_before_write: {mode: strict, reads: [git], writes: [git], argument: file}
  repeated_calls: {warn: 3, deny: 5}
  same_result: {deny: 4}
  no_progress: {warn: 7}
  read_streak: {deny: 12, exploring: {deny: 36}}
  cached_reads: {seconds: 30}
  depends_on: [{match: git:push, needs: git:commit, message: Commit first., args: [branch]}]
  skip_duplicate: [{match: git:log, args: [action]}]
  after_call: [{match: git:commit, message: Push it., outcomes: [ok, error]}]
limits: {calls_per_minute: 1, tools: {git: {calls_per_hour: 2}}, agents: {b*: {calls_per_session: 3}}, per: agent}
notify: ["git:push", {match: ["*"], deliver: webhook, url: "https://a.invalid/", outcomes: denied}]
hidden: [.netrc, {glob: "*.pem", containing: SECRET}]
"""
CHANGES = [
    ("mode: restrict", "mode: ask"),
    ("git:push, when", "git:pull, when"),
    ("const: x", "const: y"),
    ("reason: not_x", "reason: not_y"),
    ("message: Not x.", "message: Not y."),
    ("bash:git log *", "bash:git log -1"),
    ("enum: [log]", "enum: [diff]"),
    ('allow: ["fs:*"]', "allow: []"),
    ('allow: ["fs:*"], ', ""),
    ("deny: [net]", "deny: []"),
    ("max_safety: medium", "max_safety: low"),
    ("provider: a", "provider: b"),
    ("agent: [b*]", "agent: [c*]"),
    ("group: c", "group: d"),
    (">=1, <3", ">=1"),
    ("tools: [git]", "tools: []"),
    ("tools: [git], ", ""),
    ('["group:fs"]', "[]"),
    ("also_allow: [git]", "also_allow: []"),
    (", replaces: one", ""),
    ("mine: [git]", "mine: []"),
    ("vcs: [git]", "vcs: []"),
    ("timeout_s: 5", "timeout_s: 6"),
    ("approvers: [ann]", "approvers: []"),
    ("always: false", "always: true"),
    ("keep_days: 1", "keep_days: 2"),
    ("mode: strict", "mode: warn"),
    ("reads: [git]", "reads: []"),
    ("writes: [git]", "writes: []"),
    ("argument: file", "argument: path"),
    ("{warn: 3, deny: 5}", "{deny: 5}"),
    ("deny: 5", "deny: 6"),
    ("same_result: {deny: 4}", "same_result: {warn: 4}"),
    ("no_progress: {warn: 7}", "no_progress: {deny: 7}"),
    ("{deny: 12, ", "{warn: 12, "),
    ("exploring: {deny: 36}", "exploring: {deny: 37}"),
    ("seconds: 30", "seconds: 31"),
    ("needs: git:commit", "needs: git:add"),
    ("Commit first.", "Add first."),
    ("args: [branch]", "args: []"),
    ("args: [action]", "args: []"),
    (", args: [action]", ""),
    ("message: Push it.", "message: Push."),
    ("[ok, error]", "ok"),
    ("calls_per_minute: 1", "calls_per_minute: 2"),
    ("calls_per_hour: 2", "calls_per_hour: 3"),
    ("calls_per_session: 3", "calls_per_session: 4"),
    ("agents: {b*", "agents: {c*"),
    (", per: agent", ""),
    (", per: agent", ", per: agent, store: 'redis://h/0'"),
    ('notify: ["git:push"', 'notify: ["git:pull"'),
    ("a.invalid", "b.invalid"),
    ("outcomes: denied", "outcomes: error"),
    (".netrc, ", ""),
    ("containing: SECRET", "containing: OTHER"),
    ('\nhidden: [.netrc, {glob: "*.pem", containing: SECRET}]', ""),
]


@pytest.mark.parametrize(("old", "new"), CHANGES, ids=[f"{old} > {new}" for old, new in CHANGES])
def test_the_digest_changes_with_each_key_that_decides(write, old, new) -> None:
    """Whatever a key of the policy says otherwise makes another profile."""
    assert EVERY_KEY.count(old) == 1

    assert digest(load_profile(write("p.yaml", EVERY_KEY.replace(old, new)))) != digest(
        load_profile(write("p.yaml", EVERY_KEY))
    )


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda text: "# One more line.\n\n" + text, id="place"),
        pytest.param(lambda text: text + "description: Says more.\n", id="description"),
        pytest.param(lambda text: text + "cases: [{tool: git, expect: deny}]\n", id="cases"),
        pytest.param(lambda text: text.replace("timeout_s: 5", "timeout_s: 5.0"), id="one number in two spellings"),
        pytest.param(lambda text: text.replace("provider: a", "provider: [a]"), id="one name or a list of it"),
        pytest.param(lambda text: text.replace("<3", " <3 "), id="blanks"),
    ],
)
def test_the_digest_stays_where_nothing_is_decided(write, change) -> None:
    """Neither where a rule stands nor how a value is spelt permits anything."""
    assert digest(load_profile(write("p.yaml", change(EVERY_KEY)))) == digest(load_profile(write("p.yaml", EVERY_KEY)))


def test_the_digest_changes_with_a_ceiling(profile) -> None:
    """What an administrator forbids is part of what was permitted."""
    digests = {
        profile.digest(POLICIES, {}, {}, ceilings)
        for ceilings in (
            (),
            (Ceiling("a"),),
            (Ceiling("a", mode="ask"),),
            (Ceiling("b"),),
            (Ceiling("a"), Ceiling("b")),
        )
    }

    assert len(digests) == 5


def test_values_are_json_types_without_places() -> None:
    """Tuples become lists, settings mappings, rules their text."""
    entry = Availability(CallerPattern(depth=((">=", 1),)), ("a",), place="p:1:1")
    rates = Rates(tools={"git": Rate(1)})

    assert to_json_values(
        {"e": (entry,), "r": parse_rule("git", "p:1:1"), "c": Capabilities(()), "t": rates.tools}
    ) == {
        "e": [
            {
                "callers": {
                    "provider": None,
                    "agent": None,
                    "group": None,
                    "depth": [[">=", 1]],
                    "channel": None,
                    "chat": None,
                    "peer": None,
                    "agent_type": None,
                },
                "tools": ["a"],
                "deny": [],
                "also_allow": [],
                "name": None,
                "replaces": None,
            }
        ],
        "r": "git",
        "c": {"allow": [], "deny": [], "max_safety": None},
        "t": {"git": {"calls_per_minute": 1, "calls_per_hour": None, "calls_per_session": None}},
    }


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"policies": {"git": {"allowed_actions": ["log"], "context_lines": 4}}}, id="a default"),
        pytest.param({"extensions": {"principles": {"advisory": True}}}, id="an extension's policy"),
        pytest.param({"distributions": {"toolcharter": "0.1.1"}}, id="a version"),
    ],
)
def test_the_digest_changes_with_what_is_installed(profile, change) -> None:
    """The same file with another plugin is another profile."""
    assert digest(profile, **change) != digest(profile)


def test_the_digest_does_not_depend_on_the_order_of_keys(profile) -> None:
    """Order means nothing in a profile."""
    turned = {"git": {"context_lines": 3, "allowed_actions": ["log"]}}

    assert digest(profile, turned, distributions={"b": "1", "a": "2"}) == digest(
        profile, POLICIES, distributions={"a": "2", "b": "1"}
    )


def test_a_digest_of_no_json_is_refused(profile) -> None:
    """A number without a canonical form would give a digest that nobody can check."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        digest(profile, {"git": {"x": float("inf")}})
