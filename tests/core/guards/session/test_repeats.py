"""Identical calls in a row."""

import pytest

from toolcharter.api.call import Deny
from toolcharter.profile.settings import Repeats

WARNED = "NOTE: This is call {} in a row of 'grep' with the same arguments; it will hardly return anything new."


def denied(number):
    message = f"This is call {number} in a row of 'grep' with the same arguments."
    return Deny("repeated_call", message, "Do something else first, or change the arguments.")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param(
            Repeats(3, 5), [(), (), (WARNED.format(3),), (WARNED.format(4),), denied(5), denied(6)], id="both"
        ),
        pytest.param(Repeats(warn=2), [(), (WARNED.format(2),), (WARNED.format(3),)], id="warn-only"),
        pytest.param(Repeats(deny=2), [(), denied(2), denied(3)], id="deny-only"),
        pytest.param(Repeats(warn=4, deny=2), [(), denied(2)], id="deny-before-warn"),
        pytest.param(Repeats(deny=1), [denied(1), denied(2)], id="never"),
    ],
)
def test_limits_hold_from_their_number_on(make_agent, settings, expected) -> None:
    """Each limit holds at its number and past it, and a refused call goes on being refused."""
    agent = make_agent(repeated_calls=settings)

    assert [agent("grep", pattern="x") for _ in expected] == expected


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(("grep", {"pattern": "y"}), id="other-arguments"),
        pytest.param(("glob", {"pattern": "x"}), id="other-tool"),
        pytest.param(("grep", {"pattern": "x", "path": None}), id="more-arguments"),
    ],
)
def test_another_call_ends_the_row(make_agent, other) -> None:
    """After any other call, the refused one may be made again."""
    agent = make_agent(repeated_calls=Repeats(deny=2))
    agent("grep", pattern="x")
    refused = agent("grep", pattern="x")
    agent(other[0], **other[1])

    assert (refused, agent("grep", pattern="x")) == (denied(2), ())


@pytest.mark.parametrize("outcome", ["ok", "error", "denied"])
def test_the_outcome_does_not_matter(make_agent, outcome) -> None:
    """A call was made, whatever came of it."""
    agent = make_agent(repeated_calls=Repeats(deny=2))

    assert [agent("grep", outcome=outcome), agent("grep", outcome=outcome)] == [(), denied(2)]


def test_order_of_keys_does_not_matter(make_agent) -> None:
    """Arguments are the same in whatever order they, and the keys in them, were written."""
    agent = make_agent(repeated_calls=Repeats(deny=2))

    assert [agent("grep", a=1, b={"c": 2, "d": 3}), agent("grep", b={"d": 3, "c": 2}, a=1)] == [(), denied(2)]


def test_sessions_have_rows_of_their_own(make_agent, agent_of) -> None:
    """What one session repeats does not count for another."""
    one = make_agent(repeated_calls=Repeats(deny=2))
    two = agent_of(one.memory, "other")

    assert [one("grep"), two("grep"), one("grep"), two("grep")] == [(), (), denied(2), denied(2)]
