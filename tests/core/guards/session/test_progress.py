"""Calls that bring nothing new, and reading without end."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.core.guards.session.conftest import call_of
from tests.rows import each_row

from toolcharter.api.call import Deny
from toolcharter.guards.session import ActiveSessionGuards
from toolcharter.guards.session.progress import LATEST
from toolcharter.profile.settings import ReadStreak, Repeats


def same(number: int) -> str:
    return f"'build' was called {number} times with the same arguments and returned the same result each time"


def test_the_same_answer_is_warned_of_and_then_refused(make_agent) -> None:
    """The warning comes with its result, the refusal with the call after the last; what was between does not matter."""
    agent = make_agent(no_progress=Repeats(warn=2, deny=3))
    told = []

    for _ in range(4):
        told.append(agent("build", action="status", text="running"))
        agent("glob", pattern=str(len(told)), text=str(len(told)))

    assert told == [
        (),
        (f"NOTE: {same(2)}; try another way.",),
        (f"NOTE: {same(3)}; try another way.",),
        Deny("repeated_call", f"{same(3)}.", "Do something else, or change the arguments."),
    ]


def test_another_answer_is_progress(make_agent) -> None:
    """Who asks again and is told something else is not stopped, and what was told before counts no more."""
    agent = make_agent(no_progress=Repeats(deny=2))

    assert [agent("build", text=text) for text in "abababa"[:3]] == [(), (), ()]
    assert isinstance(agent("build", text="a"), Deny)
    assert agent("build", action="status", text="b") == ()


def test_only_the_latest_calls_count(make_agent) -> None:
    """A call that was refused may be made again once others have come after it."""
    agent = make_agent(no_progress=Repeats(deny=1))
    agent("build")
    assert isinstance(agent("build"), Deny)

    for number in range(LATEST):
        agent("glob", pattern=str(number))

    assert agent("build") == ()


READ = frozenset({"fs:read"})
Calls = Callable[..., Any]


@pytest.fixture
def make_calls(make_memory) -> Callable[[ReadStreak], Calls]:
    """One session of calls by their capabilities."""

    def make(settings: ReadStreak) -> Calls:
        memory: ActiveSessionGuards = make_memory(read_streak=settings)

        def call(path: str = "", *, words: Any = READ, kind: str = "builtin", refused: bool = False) -> str | None:
            made = call_of("read_file", {"path": path}, words, kind)
            verdict = memory.before("s", made)
            if refused:
                return None
            entered = memory.entered("s", made, has_effects=words is None or any(":read" not in word for word in words))
            assert entered == (verdict if isinstance(verdict, Deny) else None)
            memory.after("s", made, "ok", "text")
            if isinstance(verdict, Deny):
                assert verdict.reason == "repeated_call"
                return "critical"
            return "warning" if verdict else None

        return call

    return make


USUAL = ReadStreak(8, 12, exploring=Repeats(24, 36))


@each_row(
    ("reads", "different", "level"),
    [
        pytest.param(7, 1, None, id="few"),
        pytest.param(8, 1, "warning", id="the-same"),
        pytest.param(12, 1, "critical", id="the-same-to-the-end"),
        pytest.param(10, 6, "warning", id="at-the-share"),
        pytest.param(12, 7, "critical", id="below-the-share"),
        pytest.param(12, 8, None, id="above-the-share"),
        pytest.param(23, 23, None, id="explores"),
        pytest.param(24, 24, "warning", id="explores-long"),
        pytest.param(36, 36, "critical", id="explores-to-the-end"),
    ],
)
def test_reading_on(reads, different, level, make_calls) -> None:
    """The first reads are of different things, the rest of the first again."""
    call = make_calls(USUAL)

    levels = [call(str(number if number < different else 0)) for number in range(reads)]

    assert levels[-1] == level


@each_row(
    ("words", "kind", "counts"),
    [
        pytest.param({"fs:read"}, "builtin", 6, id="reads"),
        pytest.param({"fs:write"}, "builtin", 0, id="writes"),
        pytest.param({"fs:read", "fs:write"}, "builtin", 0, id="reads-and-writes"),
        pytest.param(None, "builtin", 0, id="undeclared"),
        pytest.param({"text"}, "builtin", 5, id="computes"),
        pytest.param({"proc:exec"}, "bash", 5, id="program"),
        pytest.param({"fs:read"}, "mcp", 5, id="another-server"),
    ],
)
def test_what_ends_a_streak(words, kind, counts, make_calls) -> None:
    """A change ends it, and what nobody can tell the effect of counts neither way."""
    call = make_calls(USUAL)
    for _ in range(5):
        call()

    call("x", words=words, kind=kind)

    following = [call() for _ in range(8 - counts)]
    assert following == [None] * (7 - counts) + ["warning"]


def test_the_streak_of_a_dry_run_is_forgotten(make_calls) -> None:
    """To ask what a call would meet is no read."""
    call = make_calls(ReadStreak(deny=2))

    assert [call(refused=True) for _ in range(3)] == [None, None, None]
    assert [call(), call(), call()] == [None, "critical", "critical"]
