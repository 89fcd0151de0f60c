"""Stage 3: which stage decides, by which rule, and what modes and ceilings make of a call."""

from dataclasses import replace
from itertools import product
from typing import Any
from unittest.mock import Mock
from unittest.mock import call as made

import pytest
from tests.core.policy.samples import BASH, CODE, DEPLOY, GIT, LS, NOTHING, policy, rules
from tests.rows import each_row

from toolcharter.api.call import Decision, RuleRef
from toolcharter.api.reasons import Reason
from toolcharter.policy.availability import Hidden
from toolcharter.policy.evaluate import ALLOWED, NAMED_STAGES, Permission, Policy, by_mode, unknown_tool
from toolcharter.policy.rule_input import NO_REQUIREMENTS, Refusal, Requirements, RuleInput, ToolFacts
from toolcharter.profile.rules import parse_rule
from toolcharter.profile.settings import MODES, Capabilities, Ceiling, Mode

TABLE = {
    # mode: bounded and covered, bounded, unbounded and covered, unbounded
    "policy": ("allow", "allow", "allow", "deny"),
    "restrict": ("allow", "deny", "allow", "deny"),
    "ask": ("allow", "ask", "allow", "ask"),
    "dangerous": ("allow", "allow", "allow", "allow"),
}
"""The table of docs/profiles.md, "Modes"."""
CASES = [(True, True), (True, False), (False, True), (False, False)]
STRICTNESS = ("allow", "ask", "deny")


@pytest.mark.parametrize("mode", MODES)
def test_the_mode_table(mode: Mode) -> None:
    """Whether the tool is bounded, and whether a rule covers the call."""
    assert tuple(by_mode(mode, bounded=bounded, covered=covered) for bounded, covered in CASES) == TABLE[mode]


def verdict(facts: ToolFacts, covered: bool, mode: Mode, *ceilings: Mode | None) -> Decision:  # noqa: FBT001 - a table's row
    held = tuple(Ceiling(f"ceiling {number}", mode=one) for number, one in enumerate(ceilings))
    allow = (facts.name,) if covered else ()
    return policy(allow=allow, mode=mode, ceilings=held).for_tool(facts).decide(NOTHING)


@each_row(("mode", "other"), list(product(MODES, MODES)))
def test_of_two_modes_the_strictest_answer_wins(mode: Mode, other: Mode) -> None:
    """A ceiling's mode is a second look-up in the table over the profile's own `allow`."""
    for row, (bounded, covered) in enumerate(CASES):
        expected = max(TABLE[mode][row], TABLE[other][row], key=STRICTNESS.index)

        found = verdict(GIT if bounded else DEPLOY, covered, mode, other)

        assert found.outcome == expected
        assert verdict(GIT if bounded else DEPLOY, covered, mode, None, other) == found


ASKS = Decision("ask", "mode", Reason.NOT_IN_ALLOW, "A person has to agree: no rule of the profile allows it.")
NO_RULE = Decision("deny", "mode", Reason.NOT_IN_ALLOW, "No rule of the profile allows this call.")
NO_RULE_FOR_PROGRAMS = Decision(
    "deny", "mode", Reason.NOT_IN_ALLOW, "No rule of the profile allows this call, whose arguments are programs."
)


@each_row(
    ("facts", "mode", "allow", "decision"),
    [
        pytest.param(GIT, "policy", (), ALLOWED, id="bounded"),
        pytest.param(GIT, "policy", ("git",), ALLOWED, id="bounded: a rule has no effect"),
        pytest.param(GIT, "restrict", (), NO_RULE, id="restrict, bounded"),
        pytest.param(
            GIT,
            "restrict",
            ("g*", "git"),
            Decision("allow", "mode", rule=RuleRef("g*", "p.yaml:1:5")),
            id="restrict, covered",
        ),
        pytest.param(DEPLOY, "policy", ("dep*",), NO_RULE_FOR_PROGRAMS, id="unbounded"),
        pytest.param(
            DEPLOY,
            "ask",
            ("x", "cli:*"),
            Decision("allow", "mode", rule=RuleRef("cli:*", "p.yaml:2:5")),
            id="ask, covered",
        ),
        pytest.param(DEPLOY, "ask", (), ASKS, id="ask"),
        pytest.param(GIT, "ask", (), ASKS, id="ask, bounded"),
        pytest.param(DEPLOY, "dangerous", (), ALLOWED, id="dangerous"),
    ],
)
def test_a_mode_s_decision_names_the_rule_that_was_needed(facts, mode, allow, decision) -> None:
    """And only then."""
    assert policy(allow=allow, mode=mode).for_tool(facts).decide(NOTHING) == decision


def test_every_mode_that_holds_is_told_with_its_source() -> None:
    """The profile's first; a ceiling without a mode has none."""
    held = Policy(mode="dangerous", ceilings=[Ceiling("a", mode="ask"), Ceiling("b"), Ceiling("c", mode="restrict")])

    assert list(held.for_tool(GIT).permissions(covered=False)) == [
        Permission("dangerous", "profile", "allow"),
        Permission("ask", "a", "ask"),
        Permission("restrict", "c", "deny"),
    ]


REFUSED = RuleInput(refusal=Refusal(Reason.NOT_UNDERSTOOD, "What is this?"))
FLOOR = Decision("deny", "floor", Reason.NOT_UNDERSTOOD, "What is this?")
DENIED = Decision(
    "deny", "deny", Reason.DENIED_BY_RULE, "A rule of the profile denies this call.", rule=RuleRef("git", "p.yaml:1:5")
)
HIDDEN = Hidden("deny", "group:team", "narrow", "p.yaml:9:3")
UNAVAILABLE = Decision(
    "deny",
    "availability",
    Reason.NOT_AVAILABLE,
    "The tool 'git' is not available to this caller.",
    rule=RuleRef("group:team", "p.yaml:9:3"),
)
TOO_MUCH = Decision("deny", "capability", Reason.CAPABILITY_NOT_ALLOWED, "The tool needs net, which is not permitted.")


@pytest.mark.parametrize("mode", MODES)
def test_the_first_stage_that_objects_decides_in_every_mode(mode: Mode) -> None:
    """Floor, deny rules, availability, capabilities, and then the mode; `allow` undoes none of them."""
    bounds = Capabilities(())

    def decide(call: RuleInput, hidden: Hidden | None, capabilities: Capabilities, *deny: str) -> Decision:
        return policy(deny, ("git",), mode, capabilities).for_tool(GIT, hidden).decide(call)

    assert [
        decide(REFUSED, HIDDEN, bounds, "git"),
        decide(NOTHING, HIDDEN, bounds, "git"),
        decide(NOTHING, HIDDEN, bounds),
        decide(NOTHING, None, bounds),
        decide(NOTHING, None, Capabilities(), "x").outcome,
    ] == [FLOOR, DENIED, UNAVAILABLE, TOO_MUCH, "allow"]


def test_a_rule_s_own_reason_and_message_are_told() -> None:
    """A rule's author knows better."""
    written = {"rule": "git", "reason": "no_git", "message": "Use the forge."}

    assert policy((written,)).for_tool(GIT).decide(NOTHING) == Decision(
        "deny", "deny", "no_git", "Use the forge.", rule=RuleRef("git", "p.yaml:1:5")
    )


def test_the_reported_rule_is_the_ceilings_first() -> None:
    """Ceilings in their order, then the file's rules."""
    ceilings = [Ceiling(name, deny=rules("x", "g*", file=name)) for name in ("admin", "workspace")]
    held = Policy(rules("git"), ceilings=ceilings)

    assert held.for_tool(GIT).decide(NOTHING).rule == RuleRef("g*", "admin:2:5")
    assert Policy(rules("git"), ceilings=ceilings[1:]).for_tool(GIT).decide(NOTHING).rule == RuleRef(
        "g*", "workspace:2:5"
    )


@each_row(
    ("facts", "settings", "hidden", "hidden_because"),
    [
        pytest.param(GIT, {}, None, None, id="shown"),
        pytest.param(GIT, {"deny": ("git",)}, None, DENIED, id="denied by name"),
        pytest.param(GIT, {"deny": ("git:push", "git(a=b)")}, None, None, id="denied at times"),
        pytest.param(GIT, {}, HIDDEN, UNAVAILABLE, id="not available"),
        pytest.param(GIT, {"deny": ("git",)}, HIDDEN, DENIED, id="denied before not available"),
        pytest.param(GIT, {"capabilities": Capabilities(())}, None, TOO_MUCH, id="capability"),
        pytest.param(
            GIT._replace(capabilities={"push": frozenset({"net"})}),
            {"capabilities": Capabilities(("net",))},
            None,
            None,
            id="capability of another action",
        ),
        pytest.param(
            GIT._replace(capabilities={"push": frozenset({"net"})}),
            {"capabilities": Capabilities(())},
            None,
            Decision(
                "deny",
                "capability",
                Reason.CAPABILITY_NOT_ALLOWED,
                "The action 'push' needs net, which is not permitted.",
            ),
            id="capability of every action",
        ),
        pytest.param(
            GIT._replace(capabilities={"push": frozenset({"net"}), "log": frozenset({"fs"})}),
            {"capabilities": Capabilities(("fs",))},
            None,
            None,
            id="capability of the first action",
        ),
        pytest.param(GIT, {"mode": "restrict"}, None, NO_RULE, id="no rule could cover it"),
        pytest.param(GIT, {"mode": "restrict", "allow": ("git:push",)}, None, None, id="a rule could cover it"),
        pytest.param(DEPLOY, {"allow": ("dep*",)}, None, NO_RULE_FOR_PROGRAMS, id="unbounded, no rule could"),
        pytest.param(DEPLOY, {"allow": ("cli:*",)}, None, None, id="unbounded, a rule could"),
        pytest.param(DEPLOY, {"mode": "ask"}, None, None, id="a person could"),
        pytest.param(DEPLOY, {"mode": "dangerous"}, None, None, id="dangerous"),
        pytest.param(
            DEPLOY,
            {"mode": "ask", "ceilings": (Ceiling("a", mode="policy"),)},
            None,
            NO_RULE_FOR_PROGRAMS,
            id="ceiling",
        ),
    ],
)
def test_a_tool_is_hidden_if_no_call_of_it_can_pass(facts, settings: dict[str, Any], hidden, hidden_because) -> None:
    """By a name, the caller, what every action touches, or no rule that could match."""
    assert policy(**settings).for_tool(facts, hidden).hidden_because == hidden_because


@each_row(
    ("facts", "settings", "hidden", "constant"),
    [
        pytest.param(GIT, {}, None, ALLOWED, id="nothing can matter"),
        pytest.param(GIT, {"allow": ("git",)}, None, ALLOWED, id="allow has no effect"),
        pytest.param(DEPLOY, {"mode": "dangerous"}, None, ALLOWED, id="dangerous"),
        pytest.param(GIT, {}, HIDDEN, None, id="not available"),
        pytest.param(GIT, {"deny": ("x",)}, None, None, id="a deny rule"),
        pytest.param(GIT, {"capabilities": Capabilities(("*",))}, None, None, id="capabilities"),
        pytest.param(DEPLOY, {}, None, None, id="needs a rule"),
        pytest.param(GIT, {"mode": "ask"}, None, None, id="needs a rule or a person"),
        pytest.param(BASH, {"mode": "dangerous"}, None, None, id="a line may not be understood"),
    ],
)
def test_what_depends_on_nothing_is_decided_beforehand(facts, settings, hidden, constant) -> None:
    """The gate's short cut for calls on which no rule could have a say."""
    assert policy(**settings).for_tool(facts, hidden).constant_decision == constant


def test_what_rules_say_of_a_tool_is_shared_by_its_callers() -> None:
    """Availability is the caller's; the rules are the tool's."""
    held = policy(("git:push",))
    one, other = held.for_tool(GIT), held.for_tool(GIT, HIDDEN)

    assert (one.denials is other.denials, one.permits is other.permits) == (True, True)
    assert (one.hidden, other.hidden) == (None, HIDDEN)


@pytest.mark.parametrize(
    "other",
    [
        GIT._replace(capabilities=None),
        GIT._replace(aliases=()),
        GIT._replace(groups=frozenset()),
        GIT._replace(kind="cli"),
    ],
    ids=["capabilities", "aliases", "groups", "kind"],
)
def test_a_tool_of_the_same_name_is_another_tool(other: ToolFacts) -> None:
    """Whatever else differs is looked up anew."""
    held = policy(allow=("git",), mode="restrict")
    first = held.for_tool(GIT)

    assert held.for_tool(other).permits is not first.permits


def test_an_unknown_name_reads_differently_from_a_denied_one() -> None:
    """The model can mend it; the hint says how."""
    assert unknown_tool("gti", "Did you mean 'git'?") == Decision(
        "deny", "name", Reason.UNKNOWN_TOOL, "There is no tool named 'gti'.", "Did you mean 'git'?"
    )


def test_a_policy_of_nothing_lets_bounded_tools_decide() -> None:
    """The default mode is `policy`."""
    assert Policy().for_tool(GIT).decide(NOTHING) == ALLOWED == Decision("allow", "mode")
    message = f"{NO_RULE_FOR_PROGRAMS.message} Not covered: 'ls -l'."
    assert Policy().for_tool(BASH).decide(LS) == replace(NO_RULE_FOR_PROGRAMS, message=message)


@each_row(
    ("subject", "doubt"),
    [
        (RuleInput(), ""),
        (RuleInput(commands=("ls", "rm x")), " Not covered: 'rm x'."),
        (RuleInput(commands=("y" * 201,)), f" Not covered: '{'y' * 200}...'."),
        (RuleInput(commands=("y" * 200,)), f" Not covered: '{'y' * 200}'."),
        (
            RuleInput(
                commands=("ls", "sort -o x"), needs=(NO_REQUIREMENTS, Requirements(frozenset({"-o"}), "-o writes"))
            ),
            " Not covered: 'sort -o x'. A rule would have to mention more: -o writes.",
        ),
        (
            RuleInput(
                commands=("sort -o x -o 'a 2'",), needs=(Requirements(frozenset({"'a 2'", "-o 2"}), "-o writes"),)
            ),
            " Not covered: \"sort -o x -o 'a 2'\". A rule would have to mention more: -o writes. In all: '-o', \"'a 2'\".",
        ),
        (
            RuleInput(commands=("sort a b c d e f",), needs=(Requirements(frozenset("abcdef"), "much"),)),
            (
                " Not covered: 'sort a b c d e f'. A rule would have to mention more: much."
                " In all: 'a', 'b', 'c', 'd', 'e', 'f'."
            ),
        ),
        (
            RuleInput(commands=("sort g f e d c b a",), needs=(Requirements(frozenset("abcdefg"), "much"),)),
            " Not covered: 'sort g f e d c b a'. A rule would have to mention more: much.",
        ),
        (RuleInput(commands=("ls",), unsupported="Odd."), " No rule can: Odd."),
        (
            RuleInput(commands=("time ls", "rm"), needs=(Requirements(is_exempt=True), NO_REQUIREMENTS)),
            " Not covered: 'rm'.",
        ),
    ],
)
@each_row("mode", ["policy", "ask"])
def test_the_first_command_without_a_rule_is_told(subject: RuleInput, doubt: str, mode: Mode) -> None:
    """Cut where it is long, and what a rule that matches would have to mention."""
    decision = Policy(allow=rules("bash:ls", "bash:sort *"), mode=mode).for_tool(BASH).decide(subject)

    begin = "No rule of the profile allows this call, whose arguments are programs."
    if mode == "ask":
        begin = "A person has to agree: no rule of the profile allows it."
    assert decision == Decision("deny" if mode == "policy" else "ask", "mode", Reason.NOT_IN_ALLOW, begin + doubt)


def test_commands_of_a_bounded_tool_are_told_too() -> None:
    """No rule on commands covers them."""
    subject = RuleInput(commands=("git log", "ls"))

    message = "No rule of the profile allows this call. Not covered: 'git log'."
    decision = Policy(allow=rules("bash:git log"), mode="restrict").for_tool(GIT).decide(subject)
    assert decision == Decision("deny", "mode", Reason.NOT_IN_ALLOW, message)


def test_stages_have_the_names_that_decisions_bear() -> None:
    """In the order in which they are asked."""
    assert [name for name, _ in NAMED_STAGES] == ["floor", "deny", "availability", "capability", "ask"]


@pytest.mark.parametrize(("place", "whose"), [("deny", "of the profile"), ("ceiling", "beside the profile")])
def test_a_denial_says_whose_rule_it_is_and_no_more(place, whose) -> None:
    """The model is not told the path of an administrator's file."""
    rules = (parse_rule("git", "/secret/admin.yaml:1:1"),)
    held = Policy(rules) if place == "deny" else Policy(ceilings=[Ceiling("/secret/admin.yaml", rules)])

    decision = held.for_tool(ToolFacts("git")).decide(RuleInput())

    assert decision.message == f"A rule {whose} denies this call."


@each_row(
    ("held", "looks"),
    [
        pytest.param(Policy(rules("git"), rules("bash:ls"), ask=rules("git")), False, id="none"),
        pytest.param(Policy(rules("bash:ls")), True, id="deny"),
        pytest.param(Policy(ask=rules("bash:ls")), True, id="ask"),
        pytest.param(Policy(ceilings=[Ceiling("admin", ask=rules("bash:ls"))]), True, id="ask of a ceiling"),
        pytest.param(Policy(ceilings=[Ceiling("admin", rules("bash:ls"))]), True, id="deny of a ceiling"),
    ],
)
def test_a_view_knows_whether_deny_or_ask_looks_at_commands(held: Policy, looks) -> None:
    """In each of its lists."""
    assert held.for_tool(GIT).matches_commands is looks


def test_a_tool_s_own_allow_rules_stand_behind_the_profile_s() -> None:
    """They permit it what the profile's leave open, and no other tool anything."""
    listed = rules("bash:ls*")
    own = rules("bash:*-l", "bash:wc *", file="own.yaml")
    held = Policy(allow=listed, tool_rules={"bash": own})

    found = [held.for_tool(BASH).permits.first(RuleInput(commands=(one,))) for one in ("ls -l", "wc x", "rm x")]
    others = held.for_tool(CODE).permits.first(RuleInput(commands=("wc x",)))

    assert (found, others) == ([listed[0], own[1], None], None)


def test_a_question_of_a_ceiling_stands_where_the_profile_s_mode_would_permit() -> None:
    """An `ask` rule takes the place of an `allow` rule in the profile's mode only."""
    asked = rules("deploy", file="asked.yaml")

    own = Policy(ask=asked).for_tool(DEPLOY)
    above = Policy(ceilings=[Ceiling("admin", ask=asked)]).for_tool(DEPLOY)

    assert (own.decide(NOTHING).outcome, own.decide(NOTHING).stage) == ("ask", "ask")
    assert (above.decide(NOTHING).outcome, above.decide(NOTHING).stage) == ("deny", "mode")


def test_whether_a_call_could_pass_is_looked_up_once_for_each_tool(monkeypatch) -> None:
    """And anew where another tool has the name by now."""
    held = policy(deny=("vcs",), mode="dangerous")
    for_tool = Mock(side_effect=held.for_tool)
    monkeypatch.setattr(held, "for_tool", for_tool)
    renamed = GIT._replace(aliases=())

    found = [held.could_pass(facts) for facts in (GIT, GIT, BASH, renamed, renamed, GIT)]

    assert found == [False, False, True, True, True, False]
    assert for_tool.mock_calls == [made(GIT), made(BASH), made(renamed), made(GIT)]
