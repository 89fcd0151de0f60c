"""What sample set 004's limiter does, row by row; its rows about the registry are shown by other tests or superseded."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cases.conftest import Bench, make_tool
from tests.samples import sample_rows

from toolcharter import Caller, ConfigurationError, ToolError, ToolPolicy, ToolSpec
from toolcharter.guards.rates import BoundLimits, RateKeys, RateLimits
from toolcharter.profile.read import load_profile
from toolcharter.profile.settings import Rate, Rates

KEYS = RateKeys("session", "agent")

# The rows about the registry: the test that shows what they want, or the sentence of the design that decides otherwise.
ELSEWHERE = {
    "004-registry-limiter-017": "tests/core/gate/test_toolbox.py: a tool answers to its name.",
    "004-registry-limiter-034": 'Design, section 8: "A toolbox never changes: a reload makes a new one".',
    "004-registry-limiter-038": "tests/core/loader/test_select.py: two distributions with one tool name are refused.",
    "004-registry-limiter-043": "tests/core/loader/test_select.py: the same; no tool takes the place of another.",
    "004-registry-limiter-048": 'Design, section 4: "A tool that is not listed does not exist for the profile".',
}


def rows() -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in sample_rows("seeds/004-registry-limiter")}


def row(number: str) -> dict[str, Any]:
    return rows()[f"004-registry-limiter-{number}"]


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def per_hour(clock: Clock) -> Callable[[int], BoundLimits]:
    def per_hour(number: int) -> BoundLimits:
        bound = RateLimits([Rates(Rate(calls_per_hour=number))], clock).bind("tool", None)
        assert bound is not None
        return bound

    return per_hour


def test_no_limit_is_written_by_leaving_it_out(tmp_path: Path) -> None:
    """Row 001. The source reads 0 as no limit; here 0 is an error of the profile, for some would read it as none."""
    profile = tmp_path / "p.yaml"
    profile.write_text(f"profile: p\nlimits: {{calls_per_hour: {row('001')['input']['max_per_hour']}}}\n")

    with pytest.raises(ConfigurationError, match="a whole number above 0"):
        load_profile(profile)
    assert RateLimits([Rates()]).bind("tool", None) is row("001")["expect"]["limiter"]


def test_calls_within_the_window_are_kept_and_older_ones_are_not(clock: Clock, per_hour) -> None:
    """Row 008, its window stretched to an hour: of two calls one still counts."""
    facts = row("008")["input"]
    scale = 3600 / facts["window_ms"]
    take = per_hour(len(facts["calls_at_ms"])).acquire
    for at_ms in facts["calls_at_ms"]:
        clock.now = at_ms * scale
        take(KEYS)
    clock.now = facts["cleanup_at_ms"] * scale

    room = [take(KEYS) for _ in facts["calls_at_ms"]].count(None)

    assert len(facts["calls_at_ms"]) - room == row("008")["expect"]["entries"]


@pytest.mark.parametrize("off_s", [pytest.param(-0.5, id="just before"), pytest.param(0.0, id="at its end")])
def test_window_is_an_hour(clock: Clock, per_hour, off_s: float) -> None:
    """Row 012."""
    take = per_hour(1).acquire
    take(KEYS)
    clock.now = row("012")["expect"]["window_s"] + off_s

    assert (take(KEYS) is None) is (off_s == 0)


def test_call_counts_when_it_enters_however_it_ends(per_hour) -> None:
    """Row 013: what is taken before the body is never given back after it."""
    facts = row("013")
    take = per_hour(facts["input"]["max"]).acquire

    assert [take(KEYS) is None for _ in facts["input"]["calls"]] == facts["expect"]["allowed"]


def failing(name: str) -> ToolSpec[ToolPolicy]:
    """A tool that enters and fails."""

    def tool() -> str:
        raise ToolError("It fails.")

    return ToolSpec(name, ToolPolicy, lambda *_: tool)


def test_failing_call_counts_at_the_gate(bench: Bench) -> None:
    """Row 013 through a toolbox: each call that enters counts, and the one past the limit does not enter."""
    facts = row("013")
    calls = facts["input"]["calls"]
    tools = [failing(name) if name == "fails" else make_tool(name) for name in dict.fromkeys(calls)]
    toolbox = bench.open({"limits": {"calls_per_hour": facts["input"]["max"]}}, *tools)

    results = [toolbox.call(name, {}) for name in calls]

    assert [result.reason != "rate_limited" for result in results] == facts["expect"]["allowed"]
    assert {result.outcome for result in results if result.reason == "rate_limited"} == {"denied"}


def test_what_the_gate_refuses_does_not_count(bench: Bench) -> None:
    """A call that a rule or a limit refuses, or whose arguments do not fit, leaves the room to the next."""
    toolbox = bench.open({"limits": {"calls_per_hour": 1}, "deny": ["no"]}, make_tool("no"), make_tool("yes"))

    refused = [toolbox.call(*call).reason for call in (("no", {}), ("yes", {"stranger": 1}), ("nobody", {}))]
    reasons = [toolbox.call("yes", {}).reason for _ in range(3)]

    assert refused == ["denied_by_rule", "invalid_arguments", "unknown_tool"]
    assert reasons == [None, "rate_limited", "rate_limited"]


@pytest.mark.parametrize("key", ["session", "agent"])
def test_subagents_have_their_parents_limit(key: str, bench: Bench) -> None:
    """The source gives subagents no key, and so no limit; here depth makes no difference to whose calls count together."""
    toolbox = bench.open({"limits": {"calls_per_hour": 2, "per": key}}, make_tool("tool"))
    callers = [Caller(session="s", agent="a", depth=depth) for depth in (0, 1, 2)]

    reasons = [toolbox.for_caller(caller).call("tool", {}).reason for caller in callers]

    assert reasons == [None, None, "rate_limited"]


def test_memory_is_bounded_however_many_keys_there_are(clock: Clock) -> None:
    """Row 014: old keys are dropped without being asked to."""
    limits = RateLimits([Rates(Rate(calls_per_hour=1))], clock)
    bound = limits.bind("tool", None)
    assert bound is not None
    for number in range(20_000):
        clock.now += 10
        bound.acquire(RateKeys(str(number), "agent"))

    (counter,) = limits._counters.values()

    assert row("014")["unified"] == {"memory": "bounded"}
    assert len(counter.entries) <= 2 * 360 + 1


def test_every_row_is_shown_here_or_elsewhere() -> None:
    """A row that is added asks for a test."""
    here = {f"004-registry-limiter-{number}" for number in ("001", "008", "012", "013", "014")}

    assert set(rows()) == here | set(ELSEWHERE)
