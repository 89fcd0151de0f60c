"""The same result again and again."""

import pytest

from toolcharter.api.call import Deny
from toolcharter.profile.settings import Repeats


def warned(number):
    return (f"NOTE: The last {number} calls of 'grep' had the same result; try another way.",)


def denied(number):
    return Deny("repeated_call", f"The last {number} calls of 'grep' had the same result.", "Use another tool first.")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param(Repeats(2, 4), [(), warned(2), warned(3), warned(4), denied(4), denied(4)], id="both"),
        pytest.param(Repeats(warn=3), [(), (), warned(3), warned(4)], id="warn-only"),
        pytest.param(Repeats(deny=1), [(), denied(1), denied(1)], id="deny-only"),
    ],
)
def test_limits_hold_from_their_number_on(make_agent, settings, expected) -> None:
    """The message comes with the result it is about; the call after the last permitted result is refused."""
    agent = make_agent(same_result=settings)

    assert [agent("grep", pattern=str(number)) for number, _ in enumerate(expected)] == expected


@pytest.mark.parametrize("outcome", ["ok", "error", "denied"])
def test_the_outcome_does_not_matter(make_agent, outcome) -> None:
    """A result is what the model is told, whether all went well or not."""
    agent = make_agent(same_result=Repeats(deny=2))

    assert [agent("grep", outcome=outcome, pattern=pattern) for pattern in "abc"] == [(), (), denied(2)]


@pytest.mark.parametrize(
    ("tool", "text", "effects"),
    [
        pytest.param("grep", "found", False, id="another-result"),
        pytest.param("glob", "done", False, id="another-tool"),
        pytest.param("grep", " \n", True, id="silent-effect"),
    ],
)
def test_row_ends(make_agent, tool, text, effects) -> None:
    """Another result, another tool's result and an effect that says nothing each begin anew."""
    agent = make_agent(same_result=Repeats(deny=2))

    told = [agent("grep"), agent(tool, text=text, effects=effects), agent("grep"), agent("grep"), agent("grep")]

    assert told == [(), (), (), (), denied(2)]


@pytest.mark.parametrize(
    ("outcome", "effects"),
    [pytest.param("error", True, id="failed-effect"), pytest.param("ok", False, id="nothing-found")],
)
def test_empty_results_count(make_agent, outcome, effects) -> None:
    """Nothing found, and a failure without a word, are results like others."""
    agent = make_agent(same_result=Repeats(deny=2))

    assert [agent("grep", outcome=outcome, text="", effects=effects) for _ in range(3)] == [(), (), denied(2)]


def test_refused_tool_is_free_once_another_has_answered(make_agent) -> None:
    """The refusal is a detour, not a dead end."""
    agent = make_agent(same_result=Repeats(deny=1))

    assert [agent("grep"), agent("grep"), agent("glob"), agent("grep")] == [(), denied(1), (), ()]
