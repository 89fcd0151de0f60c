"""Calls whose result the session already has."""

import pytest

from toolcharter.api.call import Deny
from toolcharter.guards.session import repeats
from toolcharter.profile.rules import parse_rule
from toolcharter.profile.settings import SkipDuplicate

RECALL = SkipDuplicate(parse_rule("memory:recall"), ("days",))
DENIED = Deny(
    "repeated_call",
    "'memory' was called like this before; you already have the result, further up.",
    "Use the earlier result.",
)


@pytest.fixture
def agent(make_agent):
    return make_agent(skip_duplicate=(RECALL,))


def recall(agent, days=7, **more):
    return agent("memory", action="recall", days=days, **more)


@pytest.mark.parametrize(
    ("first", "denied"),
    [
        pytest.param("ok", True, id="ok"),
        pytest.param("error", False, id="error"),
        pytest.param("denied", False, id="denied"),
    ],
)
def test_only_an_ok_call_is_not_repeated(agent, first, denied) -> None:
    """What has no result may be tried again."""
    recall(agent, outcome=first)

    assert recall(agent) == (DENIED if denied else ())


@pytest.mark.parametrize(
    ("args", "denied"),
    [
        pytest.param({"days": 7, "query": "x"}, True, id="argument-not-chosen"),
        pytest.param({"days": 8}, False, id="another-value"),
        pytest.param({"days": "7"}, False, id="another-type"),
        pytest.param({"days": None}, False, id="null"),
    ],
)
def test_the_chosen_arguments_decide(agent, args, denied) -> None:
    """Two calls are the same if the arguments that the profile chose are."""
    recall(agent)

    assert agent("memory", action="recall", **args) == (DENIED if denied else ())


def test_absent_argument_is_null(agent) -> None:
    """As to rules, an absent argument is null."""
    agent("memory", action="recall")

    assert recall(agent, days=None) == DENIED


def test_without_a_choice_all_arguments_decide(make_agent) -> None:
    """None chosen: every argument must be the same."""
    agent = make_agent(skip_duplicate=(SkipDuplicate(parse_rule("memory")),))

    told = [recall(agent), recall(agent, query="x"), recall(agent, query="x"), agent("memory", action="forget", days=7)]

    assert told == [(), (), DENIED, ()]


def test_other_tools_and_actions_of_one_pattern_are_no_duplicates(make_agent) -> None:
    """An entry that covers several actions compares each with itself."""
    agent = make_agent(skip_duplicate=(SkipDuplicate(parse_rule("memory"), ("days",)),))

    assert [recall(agent), agent("memory", action="forget", days=7)] == [(), ()]


@pytest.mark.parametrize(
    ("between", "denied"),
    [
        pytest.param({"effects": True, "outcome": "ok"}, False, id="effect"),
        pytest.param({"effects": True, "outcome": "error"}, False, id="failed-effect"),
        pytest.param({"effects": True, "outcome": "denied"}, True, id="denied-effect"),
        pytest.param({"effects": False, "outcome": "ok"}, True, id="reading"),
    ],
)
def test_an_effect_in_between_makes_the_call_legitimate(agent, between, denied) -> None:
    """Nobody is sent back to an answer that may be stale."""
    recall(agent)
    agent("bash", **between)

    assert recall(agent) == (DENIED if denied else ())


def test_an_effect_on_its_way_makes_the_call_legitimate(agent) -> None:
    """What runs may already have changed something; once it has ended, a new answer counts."""
    recall(agent)
    running = agent.begin("bash", effects=True)
    told = [recall(agent), recall(agent)]
    agent.end(running)

    assert [*told, recall(agent), recall(agent)] == [(), (), (), DENIED]


def test_answer_that_an_effect_overtook_does_not_count(agent) -> None:
    """A call that began before an effect and ended after it may have seen either world."""
    overtaken = agent.begin("memory", action="recall", days=7)
    agent("bash", effects=True)
    agent.end(overtaken)

    assert [recall(agent), recall(agent)] == [(), DENIED]


def test_own_effect_is_not_in_between(make_agent) -> None:
    """A call with effects is not repeated either, until another one has run."""
    agent = make_agent(skip_duplicate=(SkipDuplicate(parse_rule("memory")),))

    told = [agent("memory", effects=True), agent("memory", effects=True)]
    agent("bash", effects=True)

    assert [*told, agent("memory", effects=True)] == [(), DENIED, ()]


def test_two_at_the_same_time_both_run(agent) -> None:
    """Neither has a result that the other could use."""
    first, second = (agent.begin("memory", action="recall", days=7) for _ in range(2))

    assert [agent.end(first), agent.end(second), recall(agent)] == [(), (), DENIED]


def test_oldest_call_is_forgotten_first(agent, monkeypatch) -> None:
    """A session remembers so many calls; one more and the oldest may be made again."""
    monkeypatch.setattr(repeats, "MAX_CALLS", 2)
    for days in (1, 2, 3):
        recall(agent, days)

    assert [recall(agent, 2), recall(agent, 3), recall(agent, 1)] == [DENIED, DENIED, ()]
