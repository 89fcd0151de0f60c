"""Profiles, ceilings, tools and calls for hypothesis: few words, so that rules and calls meet often."""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from tests.core.policy.samples import NEEDS, paired

from toolcharter.api.call import Caller
from toolcharter.api.policy import ToolPolicy
from toolcharter.api.reasons import Reason
from toolcharter.api.tool import ToolSpec
from toolcharter.policy.compile import build_catalog, collect_tool_facts, compile_availability, compile_policy
from toolcharter.policy.evaluate import ToolPolicyView
from toolcharter.policy.rule_input import Refusal, RuleInput
from toolcharter.profile.model import Profile
from toolcharter.profile.rules import Rule, parse_rule
from toolcharter.profile.settings import MODES, Availability, CallerPattern, Capabilities, Ceiling


def spec(name: str, **facts: Any) -> ToolSpec[ToolPolicy]:
    return ToolSpec(name, ToolPolicy, lambda _workspace, _policy, _rt: print, **facts)


SPECS = (
    spec("git", aliases=["vcs"], capabilities={"push": ["net", "vcs:write"], "log": ["vcs:read"]}, safety="medium"),
    spec("read_file", capabilities=["fs:read"], safety="low"),
    spec("mystery", group="odd"),
    spec("idle", capabilities=[], safety="low"),
    spec("bash", kind="bash", capabilities=["proc:exec"]),
    spec("execute_code", kind="bash"),
    spec("deploy", kind="cli", capabilities=["net"], safety="medium"),
    spec("mcp__gh__issue", kind="mcp"),
    spec("report", kind="custom", capabilities=["fs:read", "net"], safety="low"),
)
SUBJECTS = (
    *(
        "git",
        "GIT:push",
        "vcs:log",
        "git:*",
        "g*",
        "*",
        "*:*",
        "*:git",
        "*:*sudo*",
        "*:gh:*",
        "builtin:*",
        "builtin:git",
    ),
    *("read_file", "read_file(path=*secret*)", "*(path=a, to=*)", "git(path=a)", "mystery", "idle", "*o*"),
    *(
        "bash",
        "bash:ls*",
        "bash:ls -l",
        "bash:* -l",
        "bash:sudo *",
        "bash:git push",
        "execute_code",
        "deploy",
        "deploy:push",
        "cli:*",
        "dep*",
    ),
    *("mcp:*", "mcp:gh:*", "mcp:pg:*", "custom:*", "report", "group:fs", "group:odd", "group:runtime", "group:mcp:gh"),
    *("group:*", "cap:*", "cap:fs:*", "cap:net", "cap:vcs:*", "cap:vcs:read", "cap:proc:exec", "cap:unknown"),
)
CONDITIONS = ({"n": {"minimum": 3}}, {"path": {"const": "a"}}, {"to": {"type": "null"}}, {"n": False})
RULES: st.SearchStrategy[Rule] = st.builds(
    lambda text, when: parse_rule(text, f"{text} {when}", when=when),
    st.sampled_from(SUBJECTS),
    st.none() | st.none() | st.sampled_from(CONDITIONS),
)
RULE_LISTS = st.lists(RULES, max_size=5).map(tuple)
ASK_LISTS = st.just(()) | st.lists(RULES, max_size=3).map(tuple)
WORDS = st.lists(st.sampled_from(["*", "fs:*", "net", "vcs:*", "vcs:read", "proc:exec", "unknown"]), max_size=3)


def values(kind: Any, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Named tuples with *fields*; `st.builds` would make up those that have a default."""
    return st.fixed_dictionaries(fields).map(lambda drawn: kind(**drawn))


CAPABILITIES = st.just(Capabilities()) | values(
    Capabilities,
    allow=st.none() | WORDS.map(tuple),
    deny=st.just(()) | WORDS.map(tuple),
    max_safety=st.sampled_from([None, "low", "medium", "high"]),
)
LISTED = st.lists(
    st.sampled_from(["git", "VCS", "read_*", "*", "group:fs", "group:runtime", "toolset:coding", "mcp__*"]), max_size=3
).map(tuple)
AVAILABILITY = st.lists(
    values(
        Availability,
        callers=values(CallerPattern, agent=st.sampled_from([None, ("a",), ("*",)])),
        tools=st.none() | st.none() | LISTED,
        deny=st.just(()) | LISTED,
        also_allow=LISTED,
    ),
    max_size=2,
).map(tuple)
PROFILES = values(
    Profile,
    name=st.just("p"),
    mode=st.sampled_from(MODES),
    deny=RULE_LISTS,
    ask=ASK_LISTS,
    allow=RULE_LISTS,
    capabilities=CAPABILITIES,
    availability=st.just(()) | AVAILABILITY,
)
CEILINGS = values(
    Ceiling,
    name=st.sampled_from(["admin", "workspace", "env"]),
    deny=RULE_LISTS,
    ask=ASK_LISTS,
    mode=st.none() | st.sampled_from(MODES),
    capabilities=CAPABILITIES,
)
CALLERS = st.sampled_from([Caller(), Caller(agent="a"), Caller(agent="b", depth=1)])
ARGS = st.fixed_dictionaries(
    {},
    optional={
        "path": st.sampled_from(["a", "my secret", "", None, 5]),
        "to": st.sampled_from(["a", None]),
        "n": st.integers(2, 4),
    },
)
CALLS = st.builds(
    lambda refusal, *drawn: paired(*drawn)._replace(refusal=refusal),
    st.sampled_from([None, None, None, Refusal(Reason.NOT_UNDERSTOOD, "What?")]),
    st.sampled_from([None, "push", "log", "new", ""]),
    ARGS,
    st.lists(st.tuples(st.sampled_from(["ls", "ls -l", "git push", "sudo rm"]), st.sampled_from(NEEDS)), max_size=2),
    st.sampled_from([None, None, None, "what is this?"]),
)
STRICTNESS = ("allow", "ask", "deny")


def views(profile: Profile, *ceilings: Ceiling, caller: Caller = Caller()) -> list[ToolPolicyView]:  # noqa: B008 - frozen
    """What the compiled profile says of each of `SPECS`."""
    catalog = build_catalog(profile, SPECS)
    policy = compile_policy(profile, ceilings)
    hidden = compile_availability(profile, catalog).of(caller)
    return [policy.for_tool(facts, hidden[name]) for name, facts in collect_tool_facts(catalog, SPECS).items()]


def outcomes(found: Sequence[ToolPolicyView], call: RuleInput) -> list[tuple[str, str]]:
    """Outcome and stage for each tool."""
    decisions = [view.decide(call) for view in found]
    return [(decision.outcome, decision.stage) for decision in decisions]


def strictness(found: Sequence[ToolPolicyView], call: RuleInput) -> list[int]:
    """How strict the answer is for each tool, from 0 to 2."""
    return [STRICTNESS.index(view.decide(call).outcome) for view in found]
