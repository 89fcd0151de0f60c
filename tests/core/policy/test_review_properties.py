"""Whatever a review says does nothing does nothing: whoever removes it changes no decision."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcharter.api.call import Caller
from toolcharter.policy.availability import AvailabilityPlan, ToolCatalog
from toolcharter.policy.evaluate import Policy
from toolcharter.policy.lint.ceilings import ceiling_findings
from toolcharter.policy.lint.coverage import ToolSignature
from toolcharter.policy.lint.rules import Finding, LintedProfile, rule_findings
from toolcharter.policy.matching import Matcher
from toolcharter.policy.rule_input import RuleInput, ToolFacts
from toolcharter.profile.model import Profile
from toolcharter.profile.rules import Rule, parse_rule
from toolcharter.profile.settings import AfterCall, Availability, CallerPattern, Ceiling, SessionGuards

TEXTS = [
    *("git", "g*", "*", "git:push", "git:push*", "git:*", "*:push", "g*sh", "alias:push", "git:log", "GIT:Push", "*a*"),
    *("bash", "bash:ls", "bash:ls *", "bash:ls -l*", "bash:*sudo*", "bash:python *", "*:*", "*:ls*", "*:git", "*:s:*"),
    *("builtin:git", "builtin:g*", "cli:git", "custom:*", "mcp:s:*", "mcp:s:t", "mcp:*", "mcp__s__t", "run", "run:go"),
    *("group:fs", "group:*", "group:web", "cap:fs:read", "cap:fs:*", "cap:*", "cap:net"),
    *("git(path=*a*)", "git(path=a)", "*(path=*)", "git(pth=*)", "git:push(path=*)", "run(path=x*, to=a)", "run(to=*)"),
]
CONDITIONS = [{"n": {"minimum": 3}}, {"path": {"const": "a"}}, {"zz": {"type": "null"}}, {"zz": {"type": "string"}}]
CAPABILITIES = [
    None,
    frozenset[str](),
    frozenset({"fs:read"}),
    frozenset({"fs:read", "net"}),
    {"push": frozenset({"net"}), "log": frozenset({"fs:read"})},
]
FACTS = st.builds(
    ToolFacts,
    st.sampled_from(["git", "run", "mcp__s__t", "Bash"]),
    st.sampled_from(["builtin", "bash", "cli", "mcp", "custom"]),
    st.sampled_from([(), ("alias",)]),
    st.sampled_from([frozenset[str](), frozenset({"fs"})]),
    st.sampled_from(CAPABILITIES),
)
TOOLS = st.builds(
    ToolSignature,
    FACTS,
    st.sampled_from([None, frozenset({"path", "n", "to"}), frozenset({"path"})]),
    st.sampled_from([None, frozenset[str](), frozenset({"push", "log"}), frozenset({"push"})]),
    st.booleans(),
)
RULES = st.lists(st.tuples(st.sampled_from(TEXTS), st.none() | st.sampled_from(CONDITIONS)), max_size=6)
MODES = st.sampled_from(["policy", "restrict", "ask", "dangerous"])
COMMANDS = ["ls", "ls -l", "ls -la x", "git push", "git", "x sudo y", "python a", "s:t"]


def written(rules: list[tuple[str, Any]], file: str) -> tuple[Rule, ...]:
    return tuple(parse_rule(text, f"{file}:{line}:1", when=when) for line, (text, when) in enumerate(rules, 1))


def _call(action: str | None, args: dict[str, Any], commands: tuple[str, ...]) -> RuleInput:
    return RuleInput(action, args, commands)  # `st.builds` would make up the rest


def subjects(tool: ToolSignature) -> st.SearchStrategy[RuleInput]:
    """Calls of *tool*, as far as it is known."""
    actions = ["push", "log", "go", "", "x:y"] if tool.actions is None else sorted(tool.actions)
    names = ["path", "n", "to", "zz", "pth"] if tool.arguments is None else sorted(tool.arguments)
    values: dict[str, Any] = {name: st.sampled_from(["a", "xa", "", None, 5, 1]) for name in names}
    commands = st.lists(st.sampled_from(COMMANDS), max_size=2 if tool.gives_commands else 0).map(tuple)
    arguments = st.fixed_dictionaries({}, optional=values)
    return st.builds(_call, st.sampled_from([None, *actions]), arguments, commands)


def without(rules: tuple[Rule, ...], gone: set[str]) -> tuple[Rule, ...]:
    return tuple(rule for rule in rules if rule.source not in gone)


def idle(findings: list[Finding]) -> set[str]:
    return {found.place for found in findings if found.word in {"never_matches", "never_matters"}}


@pytest.mark.slow
@settings(deadline=None)
@given(RULES, RULES, RULES, MODES, st.none() | MODES, st.lists(TOOLS, min_size=1, max_size=3), st.data())
def test_what_is_said_to_do_nothing_does_nothing(deny, ask, allow, mode, above, tools, data) -> None:
    """Without all rules that a review says never match or never matter, each call meets the same decision."""
    ceilings = () if above is None else (Ceiling("above", mode=above),)
    lists: dict[str, Any] = {
        "deny": written(deny, "deny"),
        "ask": written(ask, "ask"),
        "allow": written(allow, "allow"),
    }
    profile = Profile("p", **lists, mode=mode)
    gone = idle(list(rule_findings(LintedProfile(profile, tools, ceilings))))
    tool = data.draw(st.sampled_from(tools))
    subject = data.draw(subjects(tool))

    left: dict[str, Any] = {key: without(rules, gone) for key, rules in lists.items()}
    whole = Policy(**lists, mode=mode, ceilings=ceilings)
    less = Policy(**left, mode=mode, ceilings=ceilings)

    assert less.for_tool(tool.facts).decide(subject) == whole.for_tool(tool.facts).decide(subject)


@pytest.mark.slow
@settings(deadline=None)
@given(RULES, st.lists(TOOLS, min_size=1, max_size=3), st.data())
def test_pattern_that_can_never_match_matches_nothing(patterns, tools, data) -> None:
    """No call is matched by a guard's pattern of which a review says so."""
    rules = written(patterns, "session_guards")
    memory = SessionGuards(after_call=tuple(AfterCall(rule, "Test it.") for rule in rules))
    gone = idle(list(rule_findings(LintedProfile(Profile("p", session_guards=memory), tools))))
    tool = data.draw(st.sampled_from(tools))
    subject = data.draw(subjects(tool))

    matching = [rule.text for rule in rules if rule.source in gone and Matcher(rule).denies(tool.facts, subject)]

    assert matching == []


@pytest.mark.slow
@settings(deadline=None)
@given(RULES, RULES, MODES, st.lists(TOOLS, min_size=1, max_size=3), st.data())
def test_what_a_ceiling_takes_away_is_gone(above, allow, mode, tools, data) -> None:
    """No call of a hidden tool passes, nor one of a closed action; a rule that is taken away changes no decision any more."""
    ceiling = Ceiling("admin", deny=written(above, "admin"), mode="restrict")
    profile = Profile("p", allow=written(allow, "allow"), mode=mode)
    places = LintedProfile(profile, tools, (ceiling,), place_of=lambda *path: ".".join(path))
    findings = [*ceiling_findings(places)]
    taken = {found.place for found in findings}
    tool = data.draw(st.sampled_from(tools))
    subject = data.draw(subjects(tool))

    whole = Policy((), profile.allow, mode, None, (ceiling,)).for_tool(tool.facts).decide(subject)
    less = Policy((), without(profile.allow, taken), mode, None, (ceiling,)).for_tool(tool.facts).decide(subject)

    alone = [one for one in tools if one.facts.name == tool.facts.name] == [tool]
    assert less == whole
    of_tool = [found.what for found in findings if alone and found.place == f"tools.{tool.facts.name}"]
    closed = [text for text in of_tool if "closes an action" in text]
    hidden = len(of_tool) > len(closed)
    assert whole.outcome == "deny" or not (hidden or any(f"every call of {subject.action!r}." in one for one in closed))


CALLERS = st.builds(
    CallerPattern,
    provider=st.none(),
    group=st.none(),
    channel=st.none(),
    chat=st.none(),
    peer=st.none(),
    agent_type=st.none(),
    agent=st.sampled_from([None, (), ("a*",), ("*",)]),
    depth=st.sampled_from([None, (("<", 0),), ((">=", 2), ("<", 2)), ((">", 0),), (("==", 1), ("<=", 1))]),
)
ENTRIES = st.builds(
    Availability,
    CALLERS,
    st.sampled_from([None, (), ("git",), ("*",)]),
    st.sampled_from([(), ("git",), ("run",)]),
    st.sampled_from([(), ("run",)]),
    st.sampled_from([None, "first", "second"]),
    st.sampled_from([None, "first", "second"]),
)


def placed(entries: list[Availability]) -> list[Availability]:
    """Entries of different names, each replacing one in front of it at most."""
    names: list[str | None] = []
    found = []
    for line, entry in enumerate(entries, 1):
        name = entry.name if entry.name not in names else None
        replaces = entry.replaces if entry.replaces in names else None
        found.append(entry._replace(name=name, replaces=replaces, place=f"p:{line}:1"))
        names.append(name)
    return found


@settings(deadline=None)
@given(
    st.lists(ENTRIES, max_size=4).map(placed), st.builds(Caller, st.sampled_from(["a", "b"]), depth=st.integers(0, 3))
)
def test_availability_entry_that_does_nothing_does_nothing(entries, caller) -> None:
    """Without the entries of which a review says so, each caller sees the same tools."""
    catalog = ToolCatalog({"git": frozenset(), "run": frozenset()}, {})
    gone = idle(list(rule_findings(LintedProfile(Profile("p", availability=tuple(entries)), ()))))
    left = [entry for entry in entries if entry.place not in gone]
    names = {entry.name for entry in left}

    less = AvailabilityPlan([one if one.replaces in names else one._replace(replaces=None) for one in left], catalog)

    seen = {name: hidden is None for name, hidden in AvailabilityPlan(entries, catalog).of(caller).items()}
    assert {name: hidden is None for name, hidden in less.of(caller).items()} == seen
