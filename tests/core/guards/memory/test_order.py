"""Calls that need an earlier one."""

import pytest

from toolcharter.profile.rules import parse_rule
from toolcharter.profile.settings import DependsOn
from toolcharter.spec.call import Deny

PUSH = DependsOn(parse_rule("git:push"), parse_rule("run_tests"))
OURS = "'git' needs an earlier call that matches 'run_tests' and ends well."


def test_call_without_the_earlier_one_is_denied(make_agent) -> None:
    """The denial names what is missing."""
    agent = make_agent(depends_on=(PUSH,))

    assert agent("git", action="push") == Deny("precondition_failed", OURS)


def test_message_of_the_profile_replaces_ours(make_agent) -> None:
    """Who wrote the profile knows best what to say."""
    agent = make_agent(depends_on=(PUSH._replace(message="Run the tests first."),))

    assert agent("git", action="push") == Deny("precondition_failed", "Run the tests first.")


@pytest.mark.parametrize(
    ("outcome", "met"),
    [
        pytest.param("ok", True, id="ok"),
        pytest.param("error", False, id="error"),
        pytest.param("denied", False, id="denied"),
    ],
)
def test_only_an_ok_call_meets_the_need(make_agent, outcome, met) -> None:
    """What failed or was refused has not been done."""
    agent = make_agent(depends_on=(PUSH,))
    agent("run_tests", outcome=outcome)

    assert agent("git", action="push") == (() if met else Deny("precondition_failed", OURS))


def test_once_met_is_met_for_the_session(make_agent, agent_of) -> None:
    """One earlier call serves all later ones of its session, and of no other."""
    one = make_agent(depends_on=(PUSH,))
    two = agent_of(one.memory, "other")
    one("run_tests")

    told = [one("git", action="push"), one("git", action="push"), two("git", action="push")]

    assert told == [(), (), Deny("precondition_failed", OURS)]


def test_call_that_still_runs_has_met_nothing(make_agent) -> None:
    """The need is met when the earlier call has ended."""
    agent = make_agent(depends_on=(PUSH,))
    tests = agent.begin("run_tests")
    early = agent("git", action="push")
    agent.end(tests)

    assert [early, agent("git", action="push")] == [Deny("precondition_failed", OURS), ()]


def test_other_calls_need_nothing(make_agent) -> None:
    """A call that no entry matches passes."""
    assert make_agent(depends_on=(PUSH,))("git", action="log") == ()


def test_every_need_must_be_met(make_agent) -> None:
    """Two entries for one call are two needs, reported in the order of the file."""
    review = DependsOn(parse_rule("git:push"), parse_rule("review"), "Ask for a review.")
    agent = make_agent(depends_on=(PUSH, review))
    told = [agent("git", action="push")]
    for tool in ("run_tests", "review"):
        agent(tool)
        told.append(agent("git", action="push"))

    assert told == [Deny("precondition_failed", OURS), Deny("precondition_failed", "Ask for a review."), ()]
