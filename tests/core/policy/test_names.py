"""A rule that names what nothing provides stops the start, in `deny` too; a glob may match nothing."""

import pytest
from tests.core.policy.samples import rule
from tests.rows import each_row

from toolcharter.policy.names import (
    limit_faults,
    literal_name,
    name_faults,
    tool_faults,
    written_patterns,
    written_tools,
)
from toolcharter.profile.model import Limits, Profile
from toolcharter.profile.settings import (
    AfterCall,
    Ceiling,
    DependsOn,
    Notify,
    ReadBeforeWrite,
    SessionGuards,
    SkipDuplicate,
)

TOOLS = ("git", "read_file", "VCS")
GROUPS = ("FS", "mcp:gh")


def faults(text: str, *missing_ok: str, tools: tuple[str, ...] = TOOLS, groups: tuple[str, ...] = GROUPS) -> list[str]:
    patterns = [("deny", rule(text, "p.yaml:3:5"))]
    return [str(fault) for fault in name_faults(patterns, tools, groups, missing_ok)]


@each_row(
    "text",
    [
        *("git", "GIT", "vcs", "git:push", "git:nothing", "git:*", "git:p*", "builtin:git", "cli:git:x", "custom:vcs"),
        *("gti*", "*", "*x:*", "*:gti", "bash:gti", "bash", "mcp:nowhere:nothing", "cap:made:up"),
        *("group:fs", "group:MCP:gh", "group:x*", "group:*"),
    ],
)
def test_what_there_is_and_what_may_match_nothing_is_no_fault(text) -> None:
    """Names without case, aliases, globs over names, commands, servers, capabilities."""
    assert faults(text) == []


@each_row(
    ("text", "told"),
    [
        pytest.param(
            "Gti",
            "nothing provides a tool named 'gti'.\nDid you mean 'git'? If it comes later, add 'gti' to `missing_ok`; "
            "a glob may match nothing.",
            id="near match",
        ),
        pytest.param(
            "zzzzz:push",
            "nothing provides a tool named 'zzzzz'.\nIf it comes later, add 'zzzzz' to `missing_ok`; "
            "a glob may match nothing.",
            id="no near match",
        ),
        pytest.param(
            "builtin:gti:p*",
            "nothing provides a tool named 'gti'.\nDid you mean 'git'? If it comes later, add 'gti' to `missing_ok`; "
            "a glob may match nothing.",
            id="behind its kind",
        ),
        pytest.param(
            "cli:zzzzz",
            "nothing provides a tool named 'zzzzz'.\nIf it comes later, add 'zzzzz' to `missing_ok`; "
            "a glob may match nothing.",
            id="another kind",
        ),
        pytest.param(
            "custom:zzzzz",
            "nothing provides a tool named 'zzzzz'.\nIf it comes later, add 'zzzzz' to `missing_ok`; "
            "a glob may match nothing.",
            id="custom",
        ),
        pytest.param(
            "bsah:ls",
            "nothing provides a tool named 'bsah'.\nDid you mean 'bash'? Prefixes: '*', 'bash', 'builtin', 'cap', 'cli', "
            "'custom', 'group', 'mcp'.",
            id="misspelt prefix",
        ),
        pytest.param(
            "bsah",
            "nothing provides a tool named 'bsah'.\nIf it comes later, add 'bsah' to `missing_ok`; "
            "a glob may match nothing.",
            id="misspelt prefix with nothing behind it",
        ),
        pytest.param(
            "group:sf",
            "there is no group 'sf'.\nDid you mean 'fs'? Known groups: 'fs', 'mcp:gh'. If it comes later, add "
            "'group:sf' to `missing_ok`.",
            id="group",
        ),
        pytest.param(
            "group:Zzzzz",
            "there is no group 'zzzzz'.\nKnown groups: 'fs', 'mcp:gh'. If it comes later, add 'group:Zzzzz' to "
            "`missing_ok`.",
            id="group without near match",
        ),
    ],
)
def test_a_name_that_nothing_provides_is_told_with_the_likely_fix(text, told) -> None:
    """Whole message, place and key included."""
    assert faults(text) == [f"p.yaml:3:5: deny: {told}"]


def test_a_near_tool_counts_more_than_a_near_prefix() -> None:
    """`mvp:` beside a tool `mvc` is no misspelt `mcp:`."""
    told = (
        "p.yaml:3:5: deny: nothing provides a tool named 'mvp'.\nDid you mean 'mvc'? If it comes later, add 'mvp' to "
        "`missing_ok`; a glob may match nothing."
    )

    assert (faults("mvp:push", tools=("mvc",)), faults("mvp:push", tools=()) == [told]) == ([told], False)


def test_groups_are_listed_in_order() -> None:
    """Whatever order they come in."""
    assert "Known groups: 'a', 'b', 'c', 'd', 'e', 'f'. " in faults("group:zzzzz", groups=tuple("fbdace"))[0]


def test_a_profile_without_groups_says_so() -> None:
    """Instead of an empty list."""
    assert faults("group:fs", groups=()) == [
        "p.yaml:3:5: deny: there is no group 'fs'.\nKnown groups: none. If it comes later, add 'group:fs' to `missing_ok`."
    ]


@each_row(
    ("text", "missing_ok", "good"),
    [
        pytest.param("later", "LATER", True, id="tool"),
        pytest.param("later:go", "later", True, id="tool with an action"),
        pytest.param("group:later", "group:Later", True, id="group"),
        pytest.param("group:mcp:pg", "group:mcp:pg", True, id="server"),
        pytest.param("group:later", "later", False, id="a tool is no group"),
        pytest.param("later", "group:later", False, id="a group is no tool"),
    ],
)
def test_missing_ok_excepts_what_comes_later(text, missing_ok, good) -> None:
    """Tools by name, groups as `group:NAME`."""
    assert (faults(text, missing_ok) == []) is good


@each_row(
    ("text", "name"),
    [
        ("Git", "git"),
        ("git:push", "git"),
        ("git:*", "git"),
        ("git:p*", "git"),
        ("git:p:q*", "git"),
        ("git*", None),
        ("*", None),
        ("bash:ls", None),
    ],
)
def test_a_literal_name_is_what_stands_before_the_colon(text, name) -> None:
    """If no star stands in it."""
    assert literal_name(rule(text)) == name


def test_every_pattern_of_a_profile_and_its_ceilings_is_looked_at() -> None:
    """With the key that it stands under, in this order."""
    names = iter(f"t{number}" for number in range(20))

    def one():
        return rule(next(names))

    profile = Profile(
        "p",
        deny=(one(), one()),
        ask=(one(),),
        allow=(one(),),
        session_guards=SessionGuards(
            depends_on=(DependsOn(one(), one()),),
            skip_duplicate=(SkipDuplicate(one()),),
            after_call=(AfterCall(one(), "Well."),),
        ),
        notify=(Notify((one(), one())),),
    )
    ceilings = [Ceiling("a", deny=(one(),), ask=(one(),), notify=(Notify((one(),)),)), Ceiling("b", deny=(one(),))]

    assert [(key, found.text) for key, found in written_patterns(profile, ceilings)] == [
        ("deny", "t0"),
        ("deny", "t1"),
        ("ask", "t2"),
        ("allow", "t3"),
        ("session_guards.depends_on", "t4"),
        ("session_guards.depends_on", "t5"),
        ("session_guards.skip_duplicate", "t6"),
        ("session_guards.after_call", "t7"),
        ("notify", "t8"),
        ("notify", "t9"),
        ("deny", "t10"),
        ("ask", "t11"),
        ("notify", "t12"),
        ("deny", "t13"),
    ]


def test_a_limit_or_a_guard_for_what_nothing_provides_is_a_fault() -> None:
    """It would limit nobody; aliases and what may come later are provided, and nobody wrote the guard's defaults."""
    reading = ReadBeforeWrite("strict", reads=("read_file", "loook"), writes=("write_file", "vcs"))
    profile = Profile("p", session_guards=SessionGuards(reading))
    ceiling = Ceiling("policy.yaml", tool_limits={"later": Limits(), "vcs": Limits(), "zzzzz": Limits()})

    written = written_tools(profile, [ceiling], lambda *path: ".".join(path))
    found = [str(fault) for fault in tool_faults(written, TOOLS, ["Later"])]

    assert [fault.split("\n")[0] for fault in found] == [
        "policy.yaml: limits.tools.zzzzz: nothing provides a tool named 'zzzzz'.",
        "session_guards.read_before_write.reads: session_guards.read_before_write.reads: nothing provides a tool named 'loook'.",
    ]
    assert found[0].split("\n")[1] == "If it comes later, add 'zzzzz' to `missing_ok`."


def test_limits_of_what_is_not_listed_are_told() -> None:
    """Names and aliases without case are known, and what comes later; everything else limits nobody."""
    limits = dict.fromkeys(("git", "read_file", "vcs", "later", "gti", "other"), Limits())
    profile = Profile("p", tools={"read_file": {}, "Git": {}}, tool_limits=limits, missing_ok=("Later",))

    found = [str(fault) for fault in limit_faults(profile, ["VCS"], lambda *path: ":".join(path))]

    known = "Listed tools: 'Git', 'read_file'."
    assert found == [
        "limits:tools:gti: limits.tools.gti: the profile lists no tool named 'gti'.\n" + f"Did you mean 'git'? {known}",
        "limits:tools:other: limits.tools.other: the profile lists no tool named 'other'.\n" + known,
    ]


def test_limits_of_a_profile_without_tools_are_told() -> None:
    """There is nothing to choose from."""
    profile = Profile("p", tool_limits={"x": Limits()})

    assert [fault.fix for fault in limit_faults(profile, [], lambda *path: "p")] == ["Listed tools: none."]


def test_names_that_guards_and_ceilings_write_have_no_case() -> None:
    """Both keys of `read_before_write` are looked at, by the letters that count."""
    guard = ReadBeforeWrite("warn", reads=("READ_FILE", "Raed"), writes=("write_file", "Zz"))
    written = written_tools(
        Profile("p", session_guards=SessionGuards(read_before_write=guard)), [], lambda *path: ".".join(path)
    )

    found = [(fault.path, fault.what, fault.fix) for fault in tool_faults(written, ["Read_File", "zzz"], [])]

    assert found == [
        (
            "session_guards.read_before_write.reads",
            "nothing provides a tool named 'Raed'.",
            "If it comes later, add 'Raed' to `missing_ok`.",
        ),
        (
            "session_guards.read_before_write.writes",
            "nothing provides a tool named 'Zz'.",
            "Did you mean 'zzz'? If it comes later, add 'Zz' to `missing_ok`.",
        ),
    ]
