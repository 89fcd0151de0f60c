"""From a profile, its ceilings and its tools' specs to one policy."""

from typing import Any

from tests.core.policy.samples import rules

from toolcharter.api.call import Caller
from toolcharter.api.policy import ToolPolicy
from toolcharter.api.tool import ToolSpec
from toolcharter.policy.capability import compile_limit
from toolcharter.policy.compile import (
    build_catalog,
    collect_tool_facts,
    compile_availability,
    compile_policy,
    find_unknown_names,
)
from toolcharter.profile.model import Limits, Profile
from toolcharter.profile.settings import Availability, Capabilities, Ceiling, ReadBeforeWrite, SessionGuards


def spec(name: str, **facts: Any) -> ToolSpec[ToolPolicy]:
    return ToolSpec(name, ToolPolicy, lambda _workspace, _policy, _rt: print, **facts)


SPECS = [
    spec("Read_File"),
    spec("git", group="Dev", aliases=["vcs"]),
    spec("mcp__gh__issue", kind="mcp"),
    spec("report", kind="custom"),
]
PROFILE = Profile(
    "p",
    deny=rules("git:push", "gti"),
    allow=rules("custom:*"),
    mode="ask",
    capabilities=Capabilities(("net",)),
    groups={"Work": ("git", "group:fs"), "idle": ()},
    toolsets={"mine": ("git",)},
    availability=(Availability(tools=("toolset:mine", "nope"), place="p.yaml:9:3"),),
    missing_ok=("later",),
)
CEILINGS = (
    Ceiling("admin", deny=rules("x", file="admin"), mode="restrict", capabilities=Capabilities(None, ("fs",))),
    Ceiling("env", deny=rules("y", file="env"), capabilities=Capabilities(max_safety="low")),
)


def test_the_universe_is_what_entries_can_name() -> None:
    """Tools with their own groups in the profile's order, aliases, the profile's lists."""
    catalog = build_catalog(PROFILE, iter(SPECS))

    assert list(catalog.tools.items()) == [
        ("Read_File", frozenset()),
        ("git", frozenset({"dev"})),
        ("mcp__gh__issue", frozenset({"mcp", "mcp:gh"})),
        ("report", frozenset()),
    ]
    assert catalog[1:] == ({"vcs": "git"}, PROFILE.toolsets, PROFILE.groups, frozenset({"later"}), ())
    assert build_catalog(PROFILE, SPECS, ["mcp__*"])[-1] == ("mcp__*",)


def test_a_tool_is_in_its_own_groups_the_shipped_and_the_profile_s() -> None:
    """All without case; groups that hold groups included."""
    facts = collect_tool_facts(build_catalog(PROFILE, SPECS), SPECS)

    assert {name: set(one.groups) for name, one in facts.items()} == {
        "Read_File": {"fs", "goclaw", "work"},
        "git": {"dev", "work"},
        "mcp__gh__issue": {"mcp", "mcp:gh"},
        "report": set(),
    }
    assert [(one.name, one.kind, one.aliases) for one in facts.values()] == [
        ("Read_File", "builtin", ()),
        ("git", "builtin", ("vcs",)),
        ("mcp__gh__issue", "mcp", ()),
        ("report", "custom", ()),
    ]


def test_a_policy_holds_the_profile_and_all_ceilings() -> None:
    """Rules of ceilings first, every mode and every bound beside the profile's; `allow` is the profile's alone."""
    policy = compile_policy(PROFILE, CEILINGS)

    assert [one.rule.source for one in policy.deny.matchers] == ["admin:1:5", "env:1:5", "p.yaml:1:5", "p.yaml:2:5"]
    assert [one.rule.text for one in policy.allow.matchers] == ["custom:*"]
    assert policy.modes == (("ask", "profile"), ("restrict", "admin"))
    assert policy.capability_limits.limits == (
        compile_limit("profile", Capabilities(("net",))),
        compile_limit("admin", Capabilities(None, ("fs",))),
        compile_limit("env", Capabilities(max_safety="low")),
    )


def test_availability_is_the_profile_s() -> None:
    """Over the tools there are."""
    view = compile_availability(PROFILE, build_catalog(PROFILE, SPECS)).of(Caller())

    assert [name for name, hidden in view.items() if hidden is None] == ["git"]


def test_names_in_rules_and_availability_are_told_together() -> None:
    """What specs, installed tools, aliases and groups provide is none of them."""
    profile = Profile(
        "p",
        deny=rules(
            "gti", "git", "vcs", "installed", "later", "group:dev", "group:work", "group:fs", "group:mcp:gh", "group:no"
        ),
        groups=PROFILE.groups,
        availability=PROFILE.availability,
        toolsets=PROFILE.toolsets,
        missing_ok=PROFILE.missing_ok,
    )
    ceilings = [Ceiling("admin", deny=rules("nobody", file="admin"))]

    found = find_unknown_names(profile, ceilings, build_catalog(profile, SPECS), ["installed"], lambda *_: "p.yaml:9:3")

    assert [(fault.place, fault.path, fault.what) for fault in found] == [
        ("p.yaml:1:5", "deny", "nothing provides a tool named 'gti'."),
        ("p.yaml:10:5", "deny", "there is no group 'no'."),
        ("admin:1:5", "deny", "nothing provides a tool named 'nobody'."),
        ("p.yaml:9:3", "availability.0.tools.1", "nothing provides a tool named 'nope'."),
    ]


def test_limits_and_guards_of_what_there_is_not_are_told_too() -> None:
    """A name that nothing provides would limit nobody: the profile's, the ceiling's and the guard's."""
    profile = Profile(
        "p",
        tools={"Read_File": {}, "git": {}},
        tool_limits={
            "gitt": Limits(),
            "vcs": Limits(),
            "read_file": Limits(),
            "later": Limits(),
            "installed": Limits(),
            "report": Limits(),  # of a discoverer: the profile does not list it
        },
        session_guards=SessionGuards(
            read_before_write=ReadBeforeWrite("warn", reads=("read_file", "raed"), writes=("write_file", "zz"))
        ),
        missing_ok=("later",),
    )
    ceilings = [Ceiling("admin", tool_limits={"nobody": Limits(), "git": Limits()})]

    found = find_unknown_names(
        profile, ceilings, build_catalog(profile, SPECS), ["installed"], lambda *path: f"at {'.'.join(path)}"
    )

    no_tool, not_listed = "nothing provides a tool named {!r}.", "the profile lists no tool named {!r}."
    assert [(fault.place, fault.path, fault.what) for fault in found] == [
        ("at limits.tools.gitt", "limits.tools.gitt", not_listed.format("gitt")),
        ("at limits.tools.installed", "limits.tools.installed", not_listed.format("installed")),
        ("admin", "limits.tools.nobody", no_tool.format("nobody")),
        ("at session_guards.read_before_write.reads", "session_guards.read_before_write.reads", no_tool.format("raed")),
        ("at session_guards.read_before_write.writes", "session_guards.read_before_write.writes", no_tool.format("zz")),
    ]


def test_tools_that_may_come_can_be_named_already() -> None:
    """In rules, limits, guards and availability, by their names and their groups; others stay unknown."""
    profile = Profile(
        "p",
        deny=rules("mcp__files__read", "group:mcp:files", "MCP__Files__X", "mcp__other__read", "group:mcp:other"),
        tool_limits={"mcp__files__read": Limits(), "mcp__other__read": Limits()},
        availability=(
            Availability(tools=("mcp__files__read", "group:mcp:files", "mcp__other__x"), place="p.yaml:9:3"),
        ),
        session_guards=SessionGuards(
            read_before_write=ReadBeforeWrite("warn", reads=("mcp__files__read", "raed"), writes=())
        ),
    )

    found = find_unknown_names(profile, (), build_catalog(profile, [], ["mcp__files__*"]), [], lambda *_: "p.yaml:9:3")

    assert [fault.what for fault in found] == [
        "nothing provides a tool named 'mcp__other__read'.",
        "there is no group 'mcp:other'.",
        "the profile lists no tool named 'mcp__other__read'.",
        "nothing provides a tool named 'raed'.",
        "nothing provides a tool named 'mcp__other__x'.",
    ]
