"""Which limits a profile and its ceilings come to, and how they are called."""

import pytest
from tests.rows import each_row

from toolcharter.guards.rates.limits import Limit, compile_limits
from toolcharter.profile.globs import GlobError, parse_glob
from toolcharter.profile.settings import Rate, Rates

SUB = parse_glob("sub*")


@pytest.mark.parametrize(
    ("limit", "text", "sentence"),
    [
        pytest.param(
            Limit("calls_per_hour", 5, "session"), "calls_per_hour 5", "calls_per_hour is 5", id="of all tools"
        ),
        pytest.param(
            Limit("calls_per_minute", 10, "session", tool="bash"),
            "calls_per_minute 10 for bash",
            "calls_per_minute is 10 for 'bash'",
            id="of a tool",
        ),
        pytest.param(
            Limit("calls_per_minute", 10, "agent", agent=SUB),
            "calls_per_minute 10 for agent sub*",
            "calls_per_minute is 10 for agents 'sub*'",
            id="of agents",
        ),
    ],
)
def test_limit_says_what_it_is_about(limit: Limit, text: str, sentence: str) -> None:
    """In short for logs, in words for the model."""
    assert (limit.text, limit.sentence) == (text, sentence)


@each_row(
    ("limit", "tool", "agent", "concerned"),
    [
        pytest.param(Limit("calls_per_hour", 5, "session"), "bash", None, True, id="every tool"),
        pytest.param(Limit("calls_per_hour", 5, "session", tool="bash"), "bash", "main", True, id="its tool"),
        pytest.param(Limit("calls_per_hour", 5, "session", tool="bash"), "git", "main", False, id="another tool"),
        pytest.param(Limit("calls_per_hour", 5, "session", agent=SUB), "bash", "sub-1", True, id="its agent"),
        pytest.param(Limit("calls_per_hour", 5, "session", agent=SUB), "bash", "main", False, id="another agent"),
        pytest.param(
            Limit("calls_per_hour", 5, "session", agent=parse_glob("*")), "bash", None, False, id="agent without name"
        ),
    ],
)
def test_limit_concerns_its_tool_or_its_agents(limit: Limit, tool: str, agent: str | None, *, concerned: bool) -> None:
    """A limit over all tools concerns every call, also that of an agent without a name."""
    assert limit.concerns(tool, agent) is concerned


def test_profile_becomes_one_limit_for_each_number() -> None:
    """What is not written is no limit; tools have no case; a session's count belongs to the session."""
    rate = Rate(calls_per_minute=1, calls_per_session=3)
    rates = Rates(total=Rate(calls_per_hour=9), tools={"Bash": rate}, agents={"sub*": rate}, per="agent", store="unix:")

    assert compile_limits([rates, Rates()]) == [
        Limit("calls_per_hour", 9, "agent", "unix:"),
        Limit("calls_per_minute", 1, "agent", "unix:", tool="bash"),
        Limit("calls_per_session", 3, "session", "unix:", tool="bash"),
        Limit("calls_per_minute", 1, "agent", "unix:", agent=SUB),
        Limit("calls_per_session", 3, "session", "unix:", agent=SUB),
    ]


@pytest.mark.parametrize(
    "numbers", [pytest.param((5, 3, 4), id="in the middle"), pytest.param((3, 5, 3), id="first and last")]
)
def test_of_several_for_the_same_calls_the_smallest_is_kept(numbers: tuple[int, ...]) -> None:
    """The others could never refuse, and a call counts once."""
    rates = [Rates(total=Rate(calls_per_hour=number)) for number in numbers]

    assert compile_limits(rates) == [Limit("calls_per_hour", 3, "session")]


def test_limits_that_count_apart_are_all_kept() -> None:
    """A profile cannot escape a ceiling by counting elsewhere or by another key."""
    rates = [Rates(total=Rate(calls_per_hour=5), store="unix:/a"), Rates(total=Rate(calls_per_hour=9), per="agent")]

    assert compile_limits(rates) == [
        Limit("calls_per_hour", 5, "session", "unix:/a"),
        Limit("calls_per_hour", 9, "agent"),
    ]


def test_pattern_that_cannot_be_read_is_an_error() -> None:
    """A limit never concerns fewer agents than it looks like."""
    with pytest.raises(GlobError):
        compile_limits([Rates(agents={"sub\\x": Rate(calls_per_hour=1)})])
