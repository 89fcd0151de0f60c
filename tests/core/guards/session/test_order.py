"""Calls that need an earlier one."""

import pytest

from toolcharter.api.call import Deny
from toolcharter.guards.session import order
from toolcharter.profile.rules import parse_rule
from toolcharter.profile.settings import DependsOn

PUSH = DependsOn(parse_rule("git:push"), parse_rule("run_tests"))
OURS = "'git' needs an earlier, successful call that matches 'run_tests'."


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


HANDLE = DependsOn(parse_rule("process:send_keys"), parse_rule("process:capture"), args=("handle",))


@pytest.mark.parametrize(
    ("earlier", "met"),
    [
        pytest.param({"handle": "a"}, True, id="same"),
        pytest.param({"handle": "b"}, False, id="another"),
        pytest.param({}, False, id="absent"),
    ],
)
def test_both_calls_share_the_arguments_that_the_profile_names(make_agent, earlier, met) -> None:
    """Who looks at one process may not type into another."""
    agent = make_agent(depends_on=(HANDLE,))
    agent("process", action="capture", **earlier)
    message = "'process' needs an earlier, successful call that matches 'process:capture' with the same 'handle'."

    told = agent("process", action="send_keys", handle="a", keys="ls")

    assert told == (() if met else Deny("precondition_failed", message))


def test_oldest_need_is_forgotten_first(make_agent, monkeypatch) -> None:
    """A session remembers so many needs as met; the one before must be met again."""
    monkeypatch.setattr(order, "MAX_NEEDS", 1)
    agent = make_agent(depends_on=(HANDLE,))
    for handle in ("a", "b"):
        agent("process", action="capture", handle=handle)

    told = [agent("process", action="send_keys", handle=handle) for handle in ("b", "a")]

    assert (told[0], isinstance(told[1], Deny)) == ((), True)
