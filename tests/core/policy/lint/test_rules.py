"""What a review says of a profile, word by word, and where it stays silent."""

from collections.abc import Sequence
from typing import Any

import pytest
from tests.rows import each_row

from toolcharter.api.call import Decision
from toolcharter.policy.lint.coverage import ToolSignature
from toolcharter.policy.lint.rules import Finding, LintedProfile, format_names, rule_findings, why_hidden
from toolcharter.policy.rule_input import ToolFacts
from toolcharter.profile.model import Profile
from toolcharter.profile.rules import Rule, parse_rule
from toolcharter.profile.settings import (
    AfterCall,
    Availability,
    CallerPattern,
    Capabilities,
    Ceiling,
    Notify,
    SessionGuards,
)

READ = ToolSignature(
    ToolFacts("read_file", "builtin", ("cat",), frozenset({"fs"}), frozenset({"fs:read"}), "low"),
    frozenset({"path", "max_bytes"}),
    frozenset(),
    textless=frozenset({"max_bytes"}),
)
GIT = ToolSignature(
    ToolFacts("git", "builtin", capabilities={"push": frozenset({"net"}), "log": frozenset({"fs:read"})}),
    frozenset({"action", "remote"}),
)
ENUM = ToolSignature(ToolFacts("enum", capabilities=frozenset[str]()), frozenset({"action"}), frozenset({"on", "off"}))
BASH = ToolSignature(
    ToolFacts("bash", "bash", (), frozenset(), frozenset({"proc:exec"})), None, None, gives_commands=True
)
CLI = ToolSignature(ToolFacts("deploy", "cli", (), frozenset({"ops"}), frozenset({"net"})))
OPEN = ToolSignature(ToolFacts("open", "builtin", (), frozenset(), frozenset({"x"})))
JIRA = ToolSignature(ToolFacts("mcp__jira__find", "mcp", (), frozenset({"mcp", "mcp:jira"}), frozenset({"net"})))
MUTE = ToolSignature(ToolFacts("mute"))
ALL = (READ, GIT, ENUM, BASH, CLI, OPEN, JIRA)


def rules(file: str, texts: Sequence[str | dict[str, Any]]) -> tuple[Rule, ...]:
    long = [{"rule": text} if isinstance(text, str) else dict(text) for text in texts]
    return tuple(parse_rule(rule.pop("rule"), f"{file}:{line}:5", **rule) for line, rule in enumerate(long, 1))


def said(
    tools: Sequence[ToolSignature] = ALL,
    deny: Sequence[str | dict[str, Any]] = (),
    allow: Sequence[str | dict[str, Any]] = (),
    *,
    ask: Sequence[str | dict[str, Any]] = (),
    ceilings: Sequence[Ceiling] = (),
    pending: Sequence[str] = (),
    **settings: Any,
) -> list[Finding]:
    """What the review says of the rules; tools that nobody sees are another matter, and left out."""
    settings |= {"deny": rules("deny", deny), "ask": rules("ask", ask), "allow": rules("allow", allow)}
    profile = Profile("p", **settings)
    subject = LintedProfile(
        profile, tools, ceilings, pending, lambda *path: f"p:{path[1]}", {"python", "env"}.__contains__
    )
    return [finding for finding in rule_findings(subject) if finding.word != "hidden"]


def never(text: str, what: str, fix: str, path: str = "deny") -> list[Finding]:
    return [Finding("never_matches", f"{path}:1:5", path, f"{text!r} can never match: {what}", fix)]


@each_row(
    ("rule", "what", "fix"),
    [
        pytest.param(
            "glob", "the profile does not list 'glob'.", "List it under `tools`, or remove the rule.", id="not-listed"
        ),
        pytest.param(
            "read_fil:x",
            "the profile does not list 'read_fil'.",
            "Did you mean 'read_file'? List it under `tools`, or remove the rule.",
            id="like-a-listed-one",
        ),
        pytest.param(
            "write*",
            "no tool of the profile has such a name.",
            "Tools: 'read_file', 'git', 'enum', 'bash', 'deploy', 'open' and 1 more.",
            id="no-name-matches",
        ),
        pytest.param(
            "builtin:deploy",
            "no tool of the profile has such a name.",
            "Tools: 'read_file', 'git', 'enum', 'bash', 'deploy', 'open' and 1 more.",
            id="another-kind",
        ),
        pytest.param(
            "custom:*",
            "no tool of the profile is of kind 'custom'.",
            "List one under `tools`, or remove the rule.",
            id="no-such-kind",
        ),
        pytest.param(
            "mcp:slack:*",
            "no tool of the profile has such a name.",
            "Tools: 'read_file', 'git', 'enum', 'bash', 'deploy', 'open' and 1 more.",
            id="another-server",
        ),
        pytest.param(
            "group:web",
            "no tool of the profile is in such a group.",
            "Groups: 'fs', 'mcp', 'mcp:jira', 'ops'.",
            id="group",
        ),
        pytest.param(
            "enum:of", "no action of 'enum' has that name.", "Did you mean 'off'? Actions: 'off', 'on'.", id="action"
        ),
        pytest.param("cat:*", "no action of 'read_file' has that name.", "Actions: none.", id="no-actions"),
        pytest.param(
            "read_file(pth=*secret*)",
            "no argument of 'read_file' is named 'pth'.",
            "Did you mean 'path'? Arguments: 'max_bytes', 'path'.",
            id="argument",
        ),
        pytest.param(
            {"rule": "enum:on", "when": {"force": {"const": True}}},
            "no argument of 'enum' is named 'force'.",
            "Arguments: 'action'.",
            id="when",
        ),
        pytest.param(
            {"rule": "read_file(path=*)", "when": {"path": True, "remote": {"type": "string"}}},
            "no argument of 'read_file' is named 'remote'.",
            "Arguments: 'max_bytes', 'path'.",
            id="selector-and-when",
        ),
        pytest.param(
            "read_file(pth=a, remote=b)",
            "no argument of 'read_file' is named 'pth'.",
            "Did you mean 'path'? Arguments: 'max_bytes', 'path'.",
            id="the-first-of-two-arguments",
        ),
        pytest.param(
            "cli:cat",
            "no tool of the profile has such a name.",
            "Tools: 'read_file', 'git', 'enum', 'bash', 'deploy', 'open' and 1 more.",
            id="another-name-of-another-kind",
        ),
    ],
)
def test_rule_that_can_never_match_is_told_with_the_reason(rule, what, fix) -> None:
    """The first thing that nothing fulfils is named, and what there is instead."""
    text = rule if isinstance(rule, str) else rule["rule"]

    assert said(deny=[rule]) == never(text, what, fix)


@each_row(
    ("tools", "rule", "path", "what", "fix"),
    [
        pytest.param(
            (READ,),
            "bash:*sudo*",
            "deny",
            "no tool of the profile has commands.",
            "List such a tool under `tools`, or remove the rule.",
            id="no-commands",
        ),
        pytest.param(
            (CLI._replace(gives_commands=True),),
            "bash:ls",
            "allow",
            "no tool of the profile of kind 'bash' has commands.",
            "List such a tool under `tools`, or remove the rule.",
            id="allow-is-for-kind-bash",
        ),
        pytest.param((), "group:fs", "deny", "no tool of the profile is in such a group.", "Groups: none.", id="bare"),
        pytest.param((), "*", "deny", "no tool of the profile has such a name.", "Tools: none.", id="no-tools"),
        pytest.param(
            (READ, CLI),
            "cap:net:write",
            "deny",
            "no tool of the profile declares such a capability.",
            "Capabilities: 'fs:read', 'net'.",
            id="capability",
        ),
        pytest.param(
            (READ, GIT._replace(facts=GIT.facts._replace(aliases=("grad",)))),
            "*r*(path=a, remote=b)",
            "deny",
            "none of 'read_file', 'git' has all the arguments that the rule needs.",
            "",
            id="never-together",
        ),
        *(
            pytest.param(
                (BASH,),
                f"{kind}:*",
                "deny",
                f"no tool of the profile is of kind {kind!r}.",
                "List one under `tools`, or remove the rule.",
                id=f"no-{kind}",
            )
            for kind in ("builtin", "cli", "mcp", "custom")
        ),
        pytest.param(
            (ENUM._replace(actions=frozenset({"set", "get", "add", "put", "list", "drop"})),),
            "enum:zzz",
            "deny",
            "no action of 'enum' has that name.",
            "Actions: 'add', 'drop', 'get', 'list', 'put', 'set'.",
            id="actions-in-order",
        ),
        pytest.param(
            (READ._replace(arguments=frozenset()),),
            "read_file(path=a)",
            "deny",
            "no argument of 'read_file' is named 'path'.",
            "Arguments: none.",
            id="no-arguments",
        ),
        pytest.param(
            (CLI._replace(facts=CLI.facts._replace(capabilities=frozenset("edbca"))),),
            "cap:net",
            "deny",
            "no tool of the profile declares such a capability.",
            "Capabilities: 'a', 'b', 'c', 'd', 'e'.",
            id="capabilities-in-order",
        ),
        pytest.param(
            (ENUM,),
            "cap:net",
            "deny",
            "no tool of the profile declares such a capability.",
            "Capabilities: none.",
            id="no-capabilities",
        ),
    ],
)
def test_rule_that_needs_other_tools_is_told(tools, rule, path, what, fix) -> None:
    """What a rule can match depends on the tools that the profile lists."""
    assert said(tools, **{path: [rule]}, mode="restrict") == never(rule, what, fix, path)


@each_row(
    "rule",
    [
        "git:push",
        "open:whatever",
        "o*:x",
        "open(any=*)",
        "cat",
        "READ_FILE",
        "*:ls -l",
        "bash:rm *",
        "cli:deploy",
        "mcp:jira:*",
        "group:mcp:jira",
        "group:*",
        "enum:o*",
        "cap:net",
        "git(remote=*)",
        {"rule": "git:push", "when": {"remote": {"const": "origin"}}},
        {"rule": "*", "when": {"remote": {"type": ["null", "string"]}}},
        "*(max_bytes=9)",
    ],
)
def test_rule_that_could_match_is_no_finding(rule) -> None:
    """Nothing is said of what might be meant."""
    assert said(deny=[rule]) == []


@each_row(
    ("tools", "rule"),
    [
        pytest.param(
            (GIT, GIT._replace(facts=GIT.facts._replace(name="gut", capabilities={"zz": frozenset({"net"})}))),
            "g*t:zz",
            id="an-action-of-one-of-two",
        ),
        pytest.param((BASH._replace(actions=frozenset({"run"})),), "bash:ls", id="a-command-is-no-action"),
    ],
)
def test_a_rule_that_could_match_one_tool_is_no_finding(tools, rule) -> None:
    """What only one tool has, or does in another way, is enough."""
    assert said(tools, deny=[rule]) == []


def test_nothing_is_said_of_what_may_come_later() -> None:
    """Of a tool in `missing_ok`, nothing is known; a name that it does not have is judged all the same."""
    texts = ["later:x", "lat*", "bash:sudo", "group:web", "cap:none", "mcp:*", "glob"]

    assert said([READ], deny=texts, pending=["Later"]) == [
        Finding(
            "never_matches",
            "deny:7:5",
            "deny",
            "'glob' can never match: the profile does not list 'glob'.",
            "List it under `tools`, or remove the rule.",
        )
    ]


def test_ask_rules_are_judged_like_denials() -> None:
    """What can never match, what `deny` or an earlier rule of `ask` takes before, and what hardly means what it says."""
    format_names = "the profile does not list 'glob'."
    found = said(
        deny=["git:push"],
        ask=["glob", "git:push", "read_file", "read_file(path=a)", "read_file(max_bytes=9)", "bash:git *"],
    )

    textless = (
        "'read_file(max_bytes=9)': no call of 'read_file' has text in 'max_bytes', and a glob matches nothing else."
    )
    assert found == [
        *never("glob", format_names, "List it under `tools`, or remove the rule.", "ask"),
        Finding(
            "never_matters",
            "ask:2:5",
            "ask",
            "'git:push' has no effect: every call that a person would be asked about is denied by 'git:push' (deny:1:5).",
            "Remove it.",
        ),
        *idle(
            "read_file(path=a)",
            "every call that it asks about is already asked about by 'read_file' (ask:3:5).",
            "Remove it.",
            line=4,
            path="ask",
        ),
        *idle(
            "read_file(max_bytes=9)",
            "every call that it asks about is already asked about by 'read_file' (ask:3:5).",
            "Remove it.",
            line=5,
            path="ask",
        ),
    ]
    assert said(ask=["read_file(max_bytes=9)"]) == [
        Finding("risky", "ask:1:5", "ask", textless, "Write the long form with `when`.")
    ]


def test_allow_after_which_a_person_is_asked_all_the_same_is_told() -> None:
    """One that the ask rules cover wholly; it is not said to do nothing, for what it covers is confined."""
    what = "every call that 'bash:git push *' would allow waits for a person, by 'bash:git p*' (ask:1:5)."
    fix = "`ask` comes before `allow`: narrow the ask rule, or remove this one."

    assert said([BASH], allow=["bash:git push *", "bash:git *"], ask=["bash:git p*"]) == [
        Finding("asked", "allow:1:5", "allow", what, fix)
    ]


@each_row(
    ("deny", "ask", "allow"),
    [
        pytest.param(["deploy"], ["*"], [], id="one tool is denied, the others are asked about"),
        pytest.param([], ["git"], ["builtin:*"], id="a person is asked about one tool, the others are allowed"),
        pytest.param(["git", "*"], [], [], id="one tool is denied before, the others are not"),
    ],
)
def test_a_rule_taken_from_one_tool_keeps_its_effect_on_others(deny, ask, allow) -> None:
    """Only what is taken from every tool that the rule reaches is told."""
    assert said(deny=deny, ask=ask, allow=allow, mode="restrict") == []


def test_a_rule_is_held_against_the_tools_that_it_reaches_alone() -> None:
    """That other tools are not denied, or not asked about, gives it no effect."""
    by = "by 'group:fs' (deny:1:5)."
    asked = f"every call that a person would be asked about is denied {by}"

    assert said(deny=["group:fs"], ask=["read_file"]) == idle("read_file", asked, "Remove it.", path="ask")
    assert said(deny=["group:fs", "read_file"]) == idle(
        "read_file", f"every call that it denies is already denied {by}", "Remove it.", line=2, path="deny"
    )


def test_a_glob_over_names_denies_tools_of_every_kind() -> None:
    """What only in `allow` needs the tool's own name."""
    what = "every call that it denies is already denied by 'mcp__*' (deny:1:5)."

    assert said(deny=["mcp__*", "mcp__jira__find"]) == idle("mcp__jira__find", what, "Remove it.", line=2, path="deny")


def test_a_star_also_stands_for_characters_that_hardly_anybody_writes() -> None:
    """A rule on such a character does not cover one with a star."""
    assert said(deny=["open:\ue000", "open:*"]) == []


def test_a_tool_that_only_a_person_permits_is_not_said_to_be_hidden() -> None:
    """In mode policy, a rule of `ask` stands in for one of `allow`."""
    profile = Profile("p", ask=rules("ask", ["deploy"]))

    assert list(rule_findings(LintedProfile(profile, (CLI,)))) == []


def test_patterns_are_judged_like_denials() -> None:
    """Guards and notifications name their rules by the key they stand under."""
    match = rules("match", ["git(remot=x)", "gti", "bash:*"])
    memory = SessionGuards(after_call=(AfterCall(match[0], "Run the tests."),))

    found = said([GIT, BASH], session_guards=memory, notify=(Notify(match[1:]),))

    assert [(one.word, one.place, one.path) for one in found] == [
        ("never_matches", "match:1:5", "session_guards.after_call"),
        ("never_matches", "match:2:5", "notify"),
    ]


def idle(text: str, what: str, fix: str, *, line: int = 1, path: str = "allow") -> list[Finding]:
    return [Finding("never_matters", f"{path}:{line}:5", path, f"{text!r} has no effect: {what}", fix)]


@each_row(
    ("rule", "mode", "what", "fix"),
    [
        pytest.param(
            "git",
            "policy",
            "in mode 'policy' bounded tools, such as 'git', need no rule.",
            "Bound it by its policy or by `deny`, or choose the mode 'restrict' or 'ask'.",
            id="bounded",
        ),
        pytest.param(
            "bash:ls *",
            "dangerous",
            "in mode 'dangerous' no call needs a rule.",
            "Remove it, or choose another mode.",
            id="dangerous",
        ),
        pytest.param(
            "d*",
            "policy",
            "a glob allows no unbounded tool, such as 'deploy'.",
            "Write the tool's own name, or a rule that begins with 'cli:'.",
            id="glob",
        ),
        pytest.param(
            "group:ops",
            "restrict",
            "'group:' allows no unbounded tool, such as 'deploy'.",
            "Write the tool's own name, or a rule that begins with 'cli:'.",
            id="group",
        ),
        pytest.param(
            "*:mcp__*",
            "ask",
            "'*:' allows no unbounded tool, such as 'mcp__jira__find'.",
            "Write the tool's own name, or a rule that begins with 'mcp:'.",
            id="all-kinds",
        ),
        pytest.param(
            "cap:proc:*",
            "restrict",
            "'cap:' allows no unbounded tool, such as 'bash'.",
            "Write the tool's own name, or a rule that begins with 'bash:'.",
            id="capability-of-an-unbounded-tool",
        ),
        pytest.param(
            "cap:fs:wirte",
            "restrict",
            "no tool of the profile declares such a capability.",
            "Capabilities: 'fs:read', 'net'.",
            id="capability-of-nobody",
        ),
    ],
)
def test_allow_that_permits_nothing_new_is_told(rule, mode, what, fix) -> None:
    """The mode table, and what never allows an unbounded tool."""
    assert said(allow=[rule], mode=mode) == idle(rule, what, fix)


def by_action(**actions: Any) -> ToolSignature:
    """An unbounded tool that declares the capabilities of these actions, and not of others."""
    return ToolSignature(
        ToolFacts("deploy", "cli", capabilities={name: frozenset(one) for name, one in actions.items()})
    )


@each_row(
    ("tools", "rule", "what", "fix"),
    [
        pytest.param(
            (CLI, JIRA, BASH, ToolSignature(ToolFacts("report", "custom", capabilities=frozenset({"x"})))),
            "*",
            "a glob allows no unbounded tool, such as 'deploy', 'mcp__jira__find', 'bash', 'report'.",
            "Write the tool's own name, or a rule that begins with 'bash:' or 'cli:' or 'custom:' or 'mcp:'.",
            id="kinds-in-order",
        ),
        pytest.param(
            (by_action(go={"net"}),),
            "cap:net",
            "'cap:' allows no unbounded tool, such as 'deploy'.",
            "Write the tool's own name, or a rule that begins with 'cli:'.",
            id="capability-of-one-action",
        ),
        pytest.param(
            (by_action(go={"b", "d"}, stop={"a", "c", "e"}),),
            "cap:net",
            "no tool of the profile declares such a capability.",
            "Capabilities: 'a', 'b', 'c', 'd', 'e'.",
            id="capability-of-no-action",
        ),
        pytest.param(
            (by_action(go=()),),
            "cap:net",
            "no tool of the profile declares such a capability.",
            "Capabilities: none.",
            id="actions-that-touch-nothing",
        ),
    ],
)
def test_allow_that_permits_nothing_of_these_tools_is_told(tools, rule, what, fix) -> None:
    """The kinds that would permit them, or what they declare, are named in the order of the alphabet."""
    assert said(tools, allow=[rule], mode="restrict") == idle(rule, what, fix)


@each_row(
    ("rule", "mode"),
    [
        ("git", "restrict"),
        ("read_*", "ask"),
        ("deploy", "policy"),
        ("deploy:*", "policy"),
        ("cli:*", "policy"),
        ("mcp:jira:*", "restrict"),
        ("cap:net", "restrict"),
        ("group:fs", "ask"),
        ("bash:ls *", "policy"),
    ],
)
def test_allow_that_permits_something_is_no_finding(rule, mode) -> None:
    """Rules that the mode asks for."""
    assert said(allow=[rule], mode=mode) == []


def test_ceiling_may_give_a_rule_its_effect() -> None:
    """A mode that asks for rules is enough, whoever sets it."""
    assert said(allow=["git"], ceilings=[Ceiling("admin", mode="restrict")]) == []


@each_row(
    ("deny", "allow", "by"),
    [
        pytest.param("bash:git *", "bash:git push *", "'bash:git *' (deny:1:5)", id="command"),
        pytest.param("*:*", "bash:ls", "'*:*' (deny:1:5)", id="anything"),
        pytest.param("*:LS*", "bash:ls -l *", "'*:LS*' (deny:1:5)", id="without-case"),
        pytest.param("bash:*", "bash:ls *", "'bash:*' (deny:1:5)", id="all-commands"),
        pytest.param("git", "git:push", "'git' (deny:1:5)", id="name"),
        pytest.param("g*:p*", "git:push*", "'g*:p*' (deny:1:5)", id="glob"),
        pytest.param("enum:o*", "enum:on", "'enum:o*' (deny:1:5)", id="listed-action"),
        pytest.param("group:fs", "read_file(path=a)", "'group:fs' (deny:1:5)", id="group"),
        pytest.param("cap:*", "cap:fs:read", "'cap:*' (deny:1:5)", id="capability"),
        pytest.param("git(remote=*)", "git(remote=a*)", "'git(remote=*)' (deny:1:5)", id="narrower-argument"),
        pytest.param("mcp:jira:*", "mcp:jira:find", "'mcp:jira:*' (deny:1:5)", id="mcp"),
    ],
)
def test_allow_that_deny_takes_back_is_told(deny, allow, by) -> None:
    """A denial of every call that a rule could allow."""
    found = said(deny=[deny], allow=[allow], mode="restrict")

    assert found == idle(allow, f"every call that it would allow is denied by {by}.", "Remove it.")


@each_row(
    ("deny", "allow"),
    [
        pytest.param("bash:git push*", "bash:git *", id="wider-command"),
        pytest.param("git:push", "git", id="one-action"),
        pytest.param("git(remote=a)", "git", id="only-with-an-argument"),
        pytest.param("git(remote=a*)", "git(remote=*)", id="wider-argument"),
        pytest.param("git(remote=*)", "git(action=*)", id="another-argument"),
        pytest.param("cap:net", "git", id="only-some-actions"),
        pytest.param("enum:on", "enum:o*", id="one-of-two-actions"),
        pytest.param("enum:on", "*:o*", id="other-tools-remain"),
        pytest.param("deploy", "cli:*", id="another-tool-of-that-kind"),
        pytest.param("bash:ls", "deploy", id="commands-of-others"),
    ],
)
def test_allow_of_which_something_remains_is_no_finding(deny, allow) -> None:
    """What is denied in part only has its effect."""
    tools = (*ALL, ToolSignature(ToolFacts("other", "cli", capabilities=frozenset({"x"}))))

    assert said(tools, deny=[deny], allow=[allow], mode="restrict") == []


def test_conditions_are_the_same_if_they_are_the_same_json() -> None:
    """To Python, true is 1; to a schema it is not."""
    when = [{"rule": "git", "when": {"remote": {"const": value}}} for value in (True, 1, True)]

    found = said(deny=when)

    assert found == idle(
        "git", "every call that it denies is already denied by 'git' (deny:1:5).", "Remove it.", line=3, path="deny"
    )


def test_repeated_rules_are_told_with_those_in_front() -> None:
    """A rule of the same list that comes first and matches whatever the later one does; never the other way round."""
    found = said(
        deny=["git:push", "git:p*", "git:pull", "open:x", "open"],
        allow=["bash:ls *", "cap:fs:*", "bash:ls -l*", "cap:fs:read", "bash:ls -a*", "bash:l*"],
        mode="restrict",
    )

    assert [(one.place, one.what) for one in found] == [
        ("deny:3:5", "'git:pull' has no effect: every call that it denies is already denied by 'git:p*' (deny:2:5)."),
        (
            "allow:3:5",
            "'bash:ls -l*' has no effect: every call that it allows is already allowed by 'bash:ls *' (allow:1:5).",
        ),
        (
            "allow:4:5",
            "'cap:fs:read' has no effect: every call that it allows is already allowed by 'cap:fs:*' (allow:2:5).",
        ),
        (
            "allow:5:5",
            "'bash:ls -a*' has no effect: every call that it allows is already allowed by 'bash:ls *' (allow:1:5).",
        ),
    ]


def test_allow_repeats_only_what_permits() -> None:
    """A glob in front names an unbounded tool, and does not permit it."""
    found = said(allow=["d*", "deploy", "cli:*", "cap:n*", "mcp:*", "mcp:jira:find"], mode="restrict")

    assert [(one.place, one.what) for one in found] == [
        ("allow:1:5", "'d*' has no effect: a glob allows no unbounded tool, such as 'deploy'."),
        ("allow:3:5", "'cli:*' has no effect: every call that it allows is already allowed by 'deploy' (allow:2:5)."),
        (
            "allow:6:5",
            "'mcp:jira:find' has no effect: every call that it allows is already allowed by 'mcp:*' (allow:5:5).",
        ),
    ]


def test_several_rules_may_cover_one_together() -> None:
    """Each tool that a rule concerns has a rule in front of its own."""
    found = said([READ, OPEN], deny=["open", "read_file", "*"])

    what = "every call that it denies is already denied by 'read_file' (deny:2:5) and 'open' (deny:1:5)."
    assert found == idle("*", what, "Remove it.", line=3, path="deny")


@each_row(
    ("rule", "what", "fix"),
    [
        pytest.param(
            "git:pushh",
            "'git:pushh': 'git' declares no such action.",
            "Did you mean 'push'? Actions: 'log', 'push'.",
            id="action",
        ),
        pytest.param(
            "read_file(max_bytes=9)",
            "'read_file(max_bytes=9)': no call of 'read_file' has text in 'max_bytes', and a glob matches nothing else.",
            "Write the long form with `when`.",
            id="no-text",
        ),
        pytest.param("git:zz*", "'git:zz*': 'git' declares no such action.", "Actions: 'log', 'push'.", id="glob"),
        pytest.param(
            {"rule": "read_file", "when": {"pth": {"type": ["null", "string"]}}},
            "'read_file' asks of 'pth', which no argument of 'read_file' is named: that always holds.",
            "Did you mean 'path'? Arguments: 'max_bytes', 'path'.",
            id="always-holds",
        ),
        pytest.param(
            "cap:fs:wirte",
            "no tool of the profile declares what 'cap:fs:wirte' names: it matches only actions that declare nothing.",
            "Capabilities: 'fs:read', 'net', 'proc:exec', 'x'.",
            id="capability",
        ),
    ],
)
def test_rule_that_hardly_means_what_it_says_is_told(rule, what, fix) -> None:
    """It could match, so that it is not said to do nothing."""
    assert said(deny=[rule]) == [Finding("risky", "deny:1:5", "deny", what, fix)]


@each_row(
    ("tool", "rule", "what", "fix"),
    [
        pytest.param(
            READ._replace(textless=frozenset({"path", "max_bytes"})),
            "read_file(path=a, max_bytes=9)",
            "'read_file(path=a, max_bytes=9)': no call of 'read_file' has text in 'path', and a glob matches nothing else.",
            "Write the long form with `when`.",
            id="the-first-without-text",
        ),
        pytest.param(
            READ,
            {"rule": "read_file", "when": {"pth": {"type": "null"}, "remote": {"type": "null"}}},
            "'read_file' asks of 'pth', which no argument of 'read_file' is named: that always holds.",
            "Did you mean 'path'? Arguments: 'max_bytes', 'path'.",
            id="the-first-that-always-holds",
        ),
        pytest.param(
            READ._replace(arguments=frozenset()),
            {"rule": "read_file", "when": {"pth": {"type": "null"}}},
            "'read_file' asks of 'pth', which no argument of 'read_file' is named: that always holds.",
            "Arguments: none.",
            id="no-arguments",
        ),
        pytest.param(
            by_action(go=()),
            "cap:x",
            "no tool of the profile declares what 'cap:x' names: it matches only actions that declare nothing.",
            "Capabilities: none.",
            id="no-capabilities",
        ),
    ],
)
def test_rule_that_hardly_means_what_it_says_of_a_tool_is_told(tool, rule, what, fix) -> None:
    """Of several such arguments the first is named, and what there is instead."""
    assert said([tool], deny=[rule]) == [Finding("risky", "deny:1:5", "deny", what, fix)]


@each_row(
    ("rule", "what"),
    [
        ("bash:python *", "'python' can run any other program, and 'bash:python *' leaves its arguments open."),
        ("bash:python*", "'python' can run any other program, and 'bash:python*' leaves its arguments open."),
        (
            "bash:A=1 B=2 env *",
            "'env' can run any other program, and 'bash:A=1 B=2 env *' leaves its arguments open.",
        ),
        ("bash:*", "the star of 'bash:*' means any program, interpreters included."),
        ("bash:/usr/bin/*", "the star of 'bash:/usr/bin/*' means any program, interpreters included."),
    ],
)
def test_allow_of_an_interpreter_with_a_star_is_told(rule, what) -> None:
    """What the star stands for is a program of its own."""
    fix = "Write the commands out, without a star."

    assert said(allow=[rule]) == [Finding("risky", "allow:1:5", "allow", what, fix)]


@each_row(
    ("rule", "sign"),
    [
        ("bash:cat [ab].md", "[ab]"),
        ("bash:cat notes[0-9]", "[0-9]"),
        ("bash:cat ?.md", "?"),
        ("bash:cat {a,b}.md", "{a,b}"),
        ("read_file(path=src/?.py)", "?"),
    ],
)
def test_signs_of_a_shell_s_globs_are_plain_characters_in_a_rule(rule: str, sign: str) -> None:
    """An author who means a glob is told that the rule matches the sign itself."""
    what = f"{sign!r} in {rule!r} means itself: only `*` is special."

    assert said(deny=[rule]) == [Finding("risky", "deny:1:5", "deny", what, "Write a star, or a rule for each.")]


@each_row("rule", ["bash:[ -f *", "bash:[ -f a ]", "bash:[[ -f a ]]", "bash:cat *", "bash:find * -exec wc {} +"])
def test_brackets_that_are_words_are_no_globs(rule: str) -> None:
    """`[` and `[[` are names of programs, `{}` is a word of `find`."""
    assert [one for one in said(deny=[rule]) if "special" in one.what] == []


def test_allow_of_a_tool_that_starts_what_it_is_told_is_told() -> None:
    """Its bare name covers every command of it, as the star of a command rule does; a condition may say which."""
    process = ToolSignature(BASH.facts._replace(name="background_process"), gives_commands=True)

    what = "'background_process' means any program that 'background_process' may start, interpreters included."
    fix = "Write the commands out: `bash:git status`."
    assert said([process], allow=["background_process"]) == [Finding("risky", "allow:1:5", "allow", what, fix)]
    assert said([process], allow=["background_process(action=list)"]) == []


@each_row(
    "tool",
    [
        BASH._replace(facts=BASH.facts._replace(name="background_process"), gives_commands=False),
        CLI._replace(gives_commands=True),
    ],
)
def test_allow_of_a_tool_that_starts_nothing_by_command_is_no_finding(tool) -> None:
    """Only of kind bash, and with commands to look at, it can be written command by command."""
    assert said([tool], allow=[tool.facts.name]) == []


@pytest.mark.parametrize("rule", ["bash:/bin/wc *", "bash:python -V", "bash:wc *", "bash:ls*", "deploy"])
def test_allow_of_a_plain_program_is_no_finding(rule) -> None:
    """A program that runs no other, or an interpreter with all its words."""
    assert said(allow=[rule]) == []


@each_row(
    ("rule", "program"),
    [
        ("bash:cargo *", "cargo"),
        ("bash:A=1 cargo build *", "cargo"),
        ("bash:cargo build", None),
        ("bash:ls *", None),
        ("bash:car* build", "car"),
    ],
)
def test_allow_of_a_program_without_a_table_is_told(rule: str, program: str | None) -> None:
    """Nobody knows which of its options write or run something; a rule without a star says itself what runs."""
    subject = LintedProfile(Profile("p", allow=(parse_rule(rule, "p:1:5"),)), (BASH,), has_table={"ls"}.__contains__)

    what = f"nothing is known about {program!r}: {rule!r} covers all its options, and only paths are confined."
    expected = [Finding("risky", "p:1:5", "allow", what, "Write the commands out, without a star.")] if program else []
    assert list(rule_findings(subject)) == expected


def test_interpreters_are_told_of_even_where_tools_may_come() -> None:
    """A program is judged by its name alone."""
    assert [one.word for one in said(allow=["bash:python *"], pending=["later"])] == ["risky"]


def test_tools_that_say_too_little_or_nobody_sees_are_told() -> None:
    """Each at its place in the profile, for the profile alone."""
    profile = Profile("p", deny=rules("deny", ["open"]), capabilities=Capabilities(deny=("fs:*",), max_safety="low"))
    subject = LintedProfile(profile, (MUTE, READ, OPEN, BASH), place_of=lambda *path: ".".join(path))

    assert list(rule_findings(subject)) == [
        Finding(
            "undeclared",
            "tools.mute",
            "tools.mute",
            "declares no capabilities, so it counts as touching everything, at the highest safety level.",
            "The plugin's author has to declare them.",
        ),
        Finding(
            "hidden",
            "tools.mute",
            "tools.mute",
            "no caller sees it: The tool does not declare what it touches, and not everything is permitted.",
        ),
        Finding(
            "hidden",
            "tools.read_file",
            "tools.read_file",
            "no caller sees it: The tool needs fs:read, which is not permitted.",
        ),
        Finding(
            "hidden",
            "tools.bash",
            "tools.bash",
            "no caller sees it: The call counts as 'high', and no more than 'low' is permitted.",
        ),
    ]


def test_tool_that_no_rule_could_cover_is_told() -> None:
    """An unbounded tool without an `allow` rule."""
    subject = LintedProfile(Profile("p"), (BASH, READ), place_of=lambda *_: "p:2:3")

    what = "no caller sees it: it needs an `allow` rule, and there is none that could cover it."
    assert list(rule_findings(subject)) == [Finding("hidden", "p:2:3", "tools.bash", what)]


def test_what_is_not_known_of_a_profile_s_places_is_left_out() -> None:
    """Without a file there is no place, and some findings have nothing to mend."""
    assert [(one.place, one.fix) for one in rule_findings(LintedProfile(Profile("p"), (BASH,)))] == [("", "")]


def test_a_decision_without_message_is_told_by_its_reason() -> None:
    """The sentence ends with a word at least."""
    assert why_hidden(Decision("deny", "capability", "over_limit")) == "over_limit."


def entry(line: int, **fields: Any) -> Availability:
    return Availability(**{"deny": ("git",), **fields}, place=f"p:{line}:3")


@each_row(
    ("entries", "whats"),
    [
        pytest.param([entry(1, callers=CallerPattern(agent=()))], {1: "no caller matches its `for`."}, id="nobody"),
        pytest.param(
            [entry(1, callers=CallerPattern(provider=())), entry(2, callers=CallerPattern(group=()))],
            {1: "no caller matches its `for`.", 2: "no caller matches its `for`."},
            id="no provider, no group",
        ),
        pytest.param([entry(1, deny=(), also_allow=("git",))], {}, id="it only undoes"),
        pytest.param(
            [entry(1, callers=CallerPattern(depth=((">=", 2), ("<", 2))))],
            {1: "no caller matches its `for`."},
            id="no-depth",
        ),
        pytest.param(
            [entry(1, callers=CallerPattern(depth=(("<", 0),)))], {1: "no caller matches its `for`."}, id="below-zero"
        ),
        pytest.param([entry(1, callers=CallerPattern(depth=((">", 1), ("<", 3))))], {}, id="one-depth"),
        pytest.param(
            [entry(1, deny=())],
            {1: "it has neither `tools` nor `deny` nor `also_allow`, so it changes nothing."},
            id="hollow",
        ),
        pytest.param([entry(1, deny=(), tools=())], {}, id="nothing-is-something"),
        pytest.param(
            [entry(1, name="base"), entry(2, replaces="base")],
            {1: "the entry at p:2:3 always replaces it."},
            id="replaced-for-all",
        ),
        pytest.param(
            [
                entry(1, name="base", callers=CallerPattern(agent=("a",))),
                entry(2, replaces="base", callers=CallerPattern(agent=("a",))),
            ],
            {1: "the entry at p:2:3 always replaces it."},
            id="replaced-for-the-same",
        ),
        pytest.param(
            [entry(1, name="base"), entry(2, replaces="base", callers=CallerPattern(agent=("a",)))],
            {},
            id="replaced-for-some",
        ),
        pytest.param(
            [entry(1, name="base"), entry(2, replaces="base", deny=())],
            {1: "the entry at p:2:3 always replaces it."},
            id="by-nothing",
        ),
    ],
)
def test_availability_that_does_nothing_is_told(entries, whats) -> None:
    """Simple cases only; the first of several reasons."""
    assert said((), availability=tuple(entries)) == [
        Finding("never_matters", f"p:{line}:3", f"availability.{line - 1}", what, "Remove it, or correct it.")
        for line, what in whats.items()
    ]


def test_long_lists_are_cut() -> None:
    """A message stays readable."""
    assert format_names("abcdef") == "'a', 'b', 'c', 'd', 'e', 'f'"
    assert (format_names("abc"), format_names("abcdefgh")) == (
        "'a', 'b', 'c'",
        "'a', 'b', 'c', 'd', 'e', 'f' and 2 more",
    )
