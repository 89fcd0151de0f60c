"""Running a profile's cases, and what a result says."""

from pathlib import Path

import pytest

from toolcharter.api.call import Decision, RuleRef
from toolcharter.gate.build.open import plan_profile
from toolcharter.profile.model import Case
from toolcharter.testing.cases import CaseResult, case_name, run_cases, unique_names

PROFILE = """\
profile: greeter
tools: {greet: {allowed_names: [Ann]}}
cases:
  - {tool: greet, args: {name: Ann}, expect: allow}
  - {tool: greet, args: {name: Bob}, expect: deny, reason: name_not_allowed, stage: tool}
  - {tool: greet, args: {name: ""}, expect: error, reason: name_empty}
  - {tool: nope, expect: deny, reason: unknown_tool}
  - {tool: greet, args: {name: Ann}, expect: deny}
"""


def test_each_case_is_decided_in_order(site: Path, tmp_path: Path) -> None:
    """Nothing is executed; each result has its case, the decision, and whether they agree."""
    (tmp_path / "greeter.yaml").write_text(PROFILE)
    plan = plan_profile(tmp_path / "greeter.yaml")

    results = run_cases(plan, workspace=tmp_path)

    assert [(result.decision.outcome, result.decision.reason, result.passed) for result in results] == [
        ("allow", None, True),
        ("deny", "name_not_allowed", True),
        ("error", "name_empty", True),
        ("deny", "unknown_tool", True),
        ("allow", None, False),
    ]
    assert [result.case for result in results] == list(plan.profile.cases)


@pytest.mark.parametrize(
    ("case", "passed"),
    [
        pytest.param(Case("t", {}, "deny"), True, id="outcome-alone"),
        pytest.param(Case("t", {}, "allow"), False, id="other-outcome"),
        pytest.param(Case("t", {}, "deny", "odd", "tool"), True, id="all-three"),
        pytest.param(Case("t", {}, "deny", "even"), False, id="other-reason"),
        pytest.param(Case("t", {}, "deny", "odd", "mode"), False, id="other-stage"),
    ],
)
def test_what_a_case_leaves_out_is_not_compared(case: Case, passed: bool) -> None:  # noqa: FBT001 - a table's column
    """Outcome always, reason and stage where the case gives them."""
    assert CaseResult(case, Decision("deny", "tool", "odd")).passed is passed


@pytest.mark.parametrize(
    ("case", "name"),
    [
        pytest.param(Case("git", {"action": "push"}, "deny", name="a\n  push"), "a push", id="own-name"),
        pytest.param(
            Case("git", {"action": "push", "n": 1}, "deny", "odd"), "git action=push n=1: odd", id="call-and-reason"
        ),
        pytest.param(Case("git", {}, "allow"), "git: allow", id="no-arguments"),
        pytest.param(Case("git", {"text": "x\n" * 200}, "allow"), f"git text={'x ' * 55}x: allow", id="long"),
    ],
)
def test_a_case_has_a_name_on_one_line(case: Case, name: str) -> None:
    """Its own, or the call and what is expected of it."""
    assert CaseResult(case, Decision("allow", "mode")).name == case_name(case) == name


def test_names_are_unique_and_can_be_chosen() -> None:
    """Pytest could not choose between equal ids, nor one with its own separator in it."""
    cases = (Case("a", {}, "allow"), Case("a", {}, "allow"), Case("b", {}, "allow", name="x::y"))

    assert [name for name, _ in unique_names(cases)] == ["a: allow", "a: allow (2)", "x:y"]


def test_explanation_tells_all_there_is() -> None:
    """Place, call, both sides, rule, message, hint, and what the tool's own checks said."""
    case = Case("git", {"action": "push"}, "allow", place="p.yaml:3:5")
    rule = RuleRef("git:push", "p.yaml:1:1")

    explained = CaseResult(case, Decision("deny", "deny", "odd", "No.", "Ask.", rule, "passed")).explain()

    assert explained.splitlines() == [
        "p.yaml:3:5: git action=push: allow",
        '  call        git {"action":"push"}',
        "  expected    allow",
        "  got         deny, reason odd, stage deny",
        "  rule        git:push (p.yaml:1:1)",
        "  message     No.",
        "  hint        Ask.",
        "  tool checks passed",
    ]


def test_explanation_says_that_a_body_was_not_entered() -> None:
    """Who expects a denial by a tool that is not staged learns why none came."""
    explained = CaseResult(Case("t", {}, "deny", "odd", "tool"), Decision("allow", "mode")).explain()

    assert explained.splitlines() == [
        "case: t: odd",
        "  call        t {}",
        "  expected    deny, reason odd, stage tool",
        "  got         allow, stage mode",
        "  tool checks not evaluated: the tool is not staged, so no dry run enters its body",
    ]


def test_explanation_of_an_early_end_leaves_the_tool_out() -> None:
    """A call that never came to the tool says nothing of its checks."""
    explained = CaseResult(Case("t", {}, "allow"), Decision("deny", "name", "unknown_tool")).explain()

    assert explained.splitlines()[-1] == "  got         deny, reason unknown_tool, stage name"


def test_a_name_shows_what_a_terminal_would_obey() -> None:
    """The name of a case is one line of printable characters, whatever its arguments hold."""
    case = Case("echo", {"word": "a\x1b[31m\nb", "list": ["\u202e"]}, "deny")

    assert case_name(case) == r"echo word=a\x1b[31m b list=[\"\u202e\"]: deny".replace(r"\"", '"')
