"""Rules of `ask`: what they match waits for a person, whatever mode and `allow` say; what is denied stays denied."""

from typing import Any

import pytest
from tests.core.policy.samples import BASH, DEPLOY, GIT, LS, NOTHING, policy, rules, usual_call
from tests.rows import each_row

from toolcharter.api.call import Decision, RuleRef
from toolcharter.api.explanation import RuleNote, Step
from toolcharter.api.reasons import Reason
from toolcharter.policy.availability import Hidden
from toolcharter.policy.command_verdicts import CommandVerdict, command_verdicts
from toolcharter.policy.evaluate import ALLOWED, Policy
from toolcharter.policy.explain import explain
from toolcharter.policy.rule_input import Refusal, Requirements, RuleInput, ToolFacts
from toolcharter.profile.settings import MODES, Capabilities, Ceiling, Mode

NO_RULE = "No rule of the profile allows this call, whose arguments are programs."


@each_row("mode", MODES)
@each_row("allow", [(), ("*", "cli:*", "bash")])
@each_row("facts", [GIT, DEPLOY, BASH])
def test_a_match_asks_in_every_mode_whatever_allow_says(facts: ToolFacts, allow: Any, mode: Mode) -> None:
    """Of a tool of any kind, bounded or not, with its rule, its message and its reason."""
    plain = policy(ask=(facts.name,), allow=allow, mode=mode).for_tool(facts).decide(usual_call(facts))
    long = {"rule": "*", "reason": "release", "message": "Is it time?"}
    named = policy(ask=(long,), allow=allow, mode=mode).for_tool(facts).decide(usual_call(facts))

    assert plain == Decision(
        "ask",
        "ask",
        Reason.ASKED_BY_RULE,
        "A rule of the profile wants a person to agree.",
        rule=RuleRef(facts.name, "p.yaml:1:5"),
    )
    assert named == Decision("ask", "ask", "release", "Is it time?", rule=RuleRef("*", "p.yaml:1:5"))


@each_row(
    ("held", "hidden", "subject", "stage"),
    [
        pytest.param({}, None, NOTHING._replace(refusal=Refusal(Reason.NOT_UNDERSTOOD, "What?")), "floor", id="floor"),
        pytest.param({"deny": ("git",)}, None, NOTHING, "deny", id="deny"),
        pytest.param({}, Hidden("deny", "git", None, "p.yaml:9:3"), NOTHING, "availability", id="availability"),
        pytest.param({"capabilities": Capabilities(deny=("net",))}, None, NOTHING, "capability", id="capability"),
        pytest.param({"ceilings": (Ceiling("a", rules("git")),)}, None, NOTHING, "deny", id="a ceiling's deny"),
    ],
)
def test_what_another_stage_denies_nobody_is_asked_about(held, hidden, subject, stage) -> None:
    """An ask rule undoes no denial of these stages."""
    decision = policy(ask=("git",), **held).for_tool(GIT, hidden).decide(subject)

    assert (decision.outcome, decision.stage) == ("deny", stage)


@pytest.mark.parametrize(
    ("rule", "needs"),
    [
        pytest.param("bash:git push*", (), id="one command of several"),
        pytest.param("*:*GIT PUSH*", (), id="any tool's command, without case"),
        pytest.param(
            "bash:push",
            (Requirements(), Requirements(deny_forms=("push",))),
            id="the command without what stands around it",
        ),
    ],
)
def test_of_a_line_one_command_suffices(rule: str, needs: tuple[Requirements, ...]) -> None:
    """As in `deny`: the glob alone counts, not what a rule of `allow` would have to mention."""
    line = RuleInput(commands=("ls", "git push origin"), needs=needs)

    for mode in MODES:
        assert policy(ask=(rule,), allow=("bash",), mode=mode).for_tool(BASH).decide(line).outcome == "ask"
        assert policy(ask=(rule,), allow=("bash",), mode=mode).for_tool(BASH).decide(LS).outcome == "allow"


def test_conditions_of_an_ask_rule_hold_or_it_does_not_match() -> None:
    """Globs over arguments and JSON Schemas, as in the other lists."""
    view = policy(ask=("git(path=*secret*)", {"rule": "git", "when": {"n": {"minimum": 3}}})).for_tool(GIT)

    decisions = [view.decide(RuleInput(args=args)) for args in ({"path": "a", "n": 1}, {"path": "my secret"}, {"n": 3})]

    assert [(one.outcome, one.rule and one.rule.source) for one in decisions] == [
        ("allow", None),
        ("ask", "p.yaml:1:5"),
        ("ask", "p.yaml:2:5"),
    ]


def test_the_ask_rule_of_a_ceiling_goes_first_and_is_not_named_by_its_path() -> None:
    """The model is not told the path of an administrator's file."""
    above = Ceiling("/secret/admin.yaml", ask=rules("git", file="/secret/admin.yaml"))

    decision = policy(ask=("git",), ceilings=(above,)).for_tool(GIT).decide(NOTHING)

    assert decision == Decision(
        "ask",
        "ask",
        Reason.ASKED_BY_RULE,
        "A rule beside the profile wants a person to agree.",
        rule=RuleRef("git", "/secret/admin.yaml:1:5"),
    )


@each_row(
    ("mode", "above", "own", "ceiling_asks", "outcome"),
    [
        pytest.param("policy", None, False, True, "deny", id="a ceiling's ask permits nothing"),
        pytest.param("restrict", None, False, True, "deny", id="nor in mode restrict"),
        pytest.param("ask", None, False, True, "ask", id="in mode ask a person is asked anyway"),
        pytest.param("policy", None, True, True, "ask", id="the profile's own takes the place of allow"),
        pytest.param("policy", "policy", True, False, "deny", id="but not in the mode of a ceiling"),
        pytest.param("dangerous", "restrict", True, True, "deny", id="nor if both ask"),
        pytest.param("policy", "ask", True, False, "ask", id="a ceiling's mode that asks asks"),
        pytest.param("policy", "dangerous", True, False, "ask", id="a ceiling's mode that lets all through"),
    ],
)
def test_ceilings_only_tighten(mode, above, own, ceiling_asks, outcome) -> None:
    """Of an unbounded tool that no allow rule covers: the strictest of what the profile and each ceiling say."""
    ceiling = Ceiling("admin", mode=above, ask=rules("deploy") if ceiling_asks else ())
    asks = ("deploy",) if own else ()

    decision = policy(ask=asks, mode=mode, ceilings=(ceiling,)).for_tool(DEPLOY).decide(NOTHING)
    covered = policy(ask=asks, allow=("deploy",), mode=mode, ceilings=(ceiling,)).for_tool(DEPLOY).decide(NOTHING)

    assert decision.outcome == outcome
    assert outcome == "ask" or (decision.stage, decision.message) == ("mode", NO_RULE)
    assert (covered.outcome, covered.stage) == ("ask", "ask")


@each_row(
    ("rule", "facts", "is_seen"),
    [
        pytest.param("deploy", DEPLOY, True, id="by name"),
        pytest.param("deploy:push", DEPLOY, True, id="one action"),
        pytest.param("cap:net", DEPLOY, True, id="by capability"),
        pytest.param("cap:fs", DEPLOY, False, id="by another capability"),
        pytest.param("group:team", DEPLOY, True, id="by group"),
        pytest.param("group:x", DEPLOY, False, id="by another group"),
        pytest.param("bash:ls", BASH, True, id="by command"),
        pytest.param("git", DEPLOY, False, id="another tool"),
    ],
)
def test_a_tool_that_a_person_may_permit_is_shown(rule: str, facts: ToolFacts, is_seen: bool) -> None:  # noqa: FBT001 - a row
    """Without a rule that could match it stays hidden, and so it does where a ceiling wants an allow rule."""
    view = policy(ask=(rule,)).for_tool(facts)
    held = policy(ask=(rule,), ceilings=(Ceiling("a", mode="restrict"),)).for_tool(facts)
    above = policy(ceilings=(Ceiling("a", ask=rules(rule)),)).for_tool(facts)

    assert (view.hidden_because is None, held.hidden_because is None, above.hidden_because is None) == (
        is_seen,
        False,
        False,
    )


def test_a_policy_with_ask_rules_is_looked_at_for_each_call() -> None:
    """No decision is made beforehand, not even where the rules are a ceiling's."""
    assert Policy().for_tool(GIT).constant_decision == ALLOWED
    assert policy(ask=("x",)).for_tool(GIT).constant_decision is None
    assert policy(ceilings=(Ceiling("a", ask=rules("x")),)).for_tool(GIT).constant_decision is None


@each_row(
    ("held", "may_ask"),
    [
        ({}, False),
        ({"mode": "ask"}, True),
        ({"ask": ("git",)}, True),
        ({"ceilings": (Ceiling("a", ask=rules("git")),)}, True),
        ({"ceilings": (Ceiling("a", mode="ask"),)}, True),
    ],
)
def test_whether_anybody_may_be_asked_is_known_beforehand(held, may_ask) -> None:
    """By a mode or a rule, of the profile or of a ceiling."""
    assert policy(**held).may_ask is may_ask


def test_the_explanation_names_each_ask_rule_and_who_can_change_it() -> None:
    """The first that matches decides; what a ceiling asks only its owner can change."""
    above = Ceiling("/etc/admin.yaml", ask=rules("g*", file="/etc/admin.yaml"))
    view = policy(ask=("git", "deploy"), ceilings=(above,)).for_tool(GIT)

    step = next(one for one in explain(view, NOTHING) if one.stage == "ask")

    owner = "that is for the ceiling '/etc/admin.yaml', which only its owner can change"
    assert step == Step(
        "ask",
        "ask rules: 3, 1 of them from ceilings",
        "ask",
        view.decide(NOTHING),
        decides=True,
        rules=(
            RuleNote("g*", "/etc/admin.yaml:1:5", "matches", decides=True),
            RuleNote("git", "p.yaml:1:5", "matches"),
        ),
        changes=(
            f"remove the ask rule 'g*' at /etc/admin.yaml:1:5, or narrow it: {owner}",
            "remove the ask rule 'git' at p.yaml:1:5, or narrow it",
        ),
    )


def test_the_explanation_tells_of_an_ask_rule_that_a_mode_overrules() -> None:
    """It matches and does not decide, for the call lacks an allow rule."""
    view = policy(ceilings=(Ceiling("a", ask=rules("deploy", file="a")),)).for_tool(DEPLOY)

    step = next(one for one in explain(view, NOTHING) if one.stage == "ask")

    said = "matches, but a mode denies the call, which no allow rule covers"
    assert step == Step(
        "ask", "ask rules: 1, 1 of them from ceilings", "pass", rules=(RuleNote("deploy", "a:1:5", said),)
    )


def test_each_command_that_a_person_is_asked_about_is_told() -> None:
    """Those decide; the others have their allow rules."""
    view = policy(ask=("bash:git*",), allow=("bash:ls",), deny=("bash:rm",)).for_tool(BASH)
    line = RuleInput(commands=("ls", "git push", "wc"))

    assert command_verdicts(view, line, view.decide(line)) == (
        CommandVerdict("covered by 'bash:ls' at p.yaml:1:5"),
        CommandVerdict("a person is asked because of 'bash:git*' at p.yaml:1:5", decides=True),
        CommandVerdict("covered by no allow rule"),
    )
