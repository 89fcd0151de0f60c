"""When jobs are due: summer time as Debian's cron treats it, and times that cannot be."""

from datetime import UTC, datetime
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter import ToolError
from toolcharter_schedule.cron_tool import RETRY as CRON_RETRY
from toolcharter_schedule.records import Retry
from toolcharter_schedule.run_history import MAX_FIRED, has_fired, next_due, to_run, with_time
from toolcharter_schedule.timing import (
    NEVER,
    At,
    Bounds,
    Cron,
    Every,
    cron_times,
    describe_timing,
    every_time,
    format_time,
    latest_until,
    milliseconds,
    next_after,
    parse_at,
)

BOUNDS = Bounds(least_s=60, ahead_s=366 * 86_400)
NOW = milliseconds(datetime(2026, 11, 25, 3, 30, tzinfo=UTC).timestamp())
BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str, zone: ZoneInfo = BERLIN, fold: int = 0) -> int:
    return milliseconds(datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold).timestamp())


def times(expression: str, after: int, count: int, zone: str = "Europe/Berlin") -> list[str]:
    """The next times as clocks in the zone show them."""
    timing, found = Cron(expression=expression, zone=zone), []
    for _ in range(count):
        after = next_after(timing, after)
        found.append(datetime.fromtimestamp(after / 1000, ZoneInfo(zone)).strftime("%m-%d %H:%M %z"))
    return found


@each_row(
    "expression, after, expected",
    [
        pytest.param("30 2 * * *", "2026-03-28T12:00", ["03-29 03:00 +0200", "03-30 02:30 +0200"], id="left out"),
        pytest.param("0,30 2 * * *", "2026-03-28T12:00", ["03-29 03:00 +0200", "03-30 02:00 +0200"], id="both once"),
        pytest.param(
            "*/30 * * * *", "2026-03-29T01:10", ["03-29 01:30 +0100", "03-29 03:00 +0200"], id="by elapsed time"
        ),
        pytest.param("30 2 * * *", "2026-10-24T12:00", ["10-25 02:30 +0200", "10-26 02:30 +0100"], id="twice"),
        pytest.param(
            "*/30 2 * * *",
            "2026-10-25T01:00",
            ["10-25 02:00 +0200", "10-25 02:30 +0200", "10-25 02:00 +0100", "10-25 02:30 +0100"],
            id="a star goes by elapsed time, as often as clocks show it",
        ),
        pytest.param("0 0 13 * 5", "2026-11-01T00:00", ["11-06 00:00 +0100", "11-13 00:00 +0100"], id="either day"),
        pytest.param("0 12 * * MON-FRI", "2026-11-27T13:00", ["11-30 12:00 +0100"], id="names"),
    ],
)
def test_cron_with_a_zone(expression: str, after: str, expected: list[str]) -> None:
    """What lies in the hour that is left out comes at its end; what comes twice by the clock runs once."""
    assert times(expression, at(after), len(expected)) == expected


def test_from_the_second_of_two_equal_hours_nothing_comes_again() -> None:
    """A time that is next by the clock alone lies in the past."""
    second = at("2026-10-25T02:10", fold=1)

    found = next_after(Cron(expression="30 2 * * *", zone="Europe/Berlin"), second)

    assert (found > second, format_time(found, "Europe/Berlin")) == (True, "2026-10-26T02:30:00+01:00")


@given(
    st.sampled_from(["30 2 * * *", "*/7 * * * *", "0 0 29 2 *", "15 1,2,3 * * SUN", "0 */5 1-7 * *"]),
    st.sampled_from(["UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Pacific/Apia"]),
    st.integers(1_500_000_000, 1_900_000_000),
)
def test_each_time_is_later_than_the_one_before(expression: str, zone: str, after_s: int) -> None:
    """In no zone, at no change of clocks, does a time come again or go back."""
    timing, last = Cron(expression=expression, zone=zone), after_s * 1000
    for _ in range(5):
        found = next_after(timing, last)
        assert found > last
        last = found


@each_row(
    "text, reason, says",
    [
        ("2026-11-25T03:29:59Z", "time_passed", "The next possible time is 2026-11-25T03:30:01Z."),
        ("2026-11-25T03:30:00Z", "time_passed", "The next possible time is 2026-11-25T03:30:01Z."),
        ("tomorrow", "invalid_time", "the next possible time is '2026-11-25T03:30:01Z'."),
        ("2026-02-30T00:00:00Z", "invalid_time", "the next possible time is '2026-11-25T03:30:01Z'."),
        ("2026-12-01T00:00:00", "invalid_time", "the next possible time is '2026-11-25T03:30:01Z'."),
        ("2027-11-26T03:30:01Z", "time_too_far", "The last possible time is 2027-11-26T03:30:00Z."),
        ("9999-12-31T23:59:59-23:59", "time_too_far", "The last possible time is 2027-11-26T03:30:00Z."),
        ("0001-01-01T00:00:00+23:59", "time_passed", "The next possible time is 2026-11-25T03:30:01Z."),
    ],
)
def test_times_that_cannot_be(text: str, reason: str, says: str) -> None:
    """The error names the time that is possible instead."""
    with pytest.raises(ToolError) as raised:
        parse_at(text, NOW, BOUNDS)

    assert (raised.value.reason, says in raised.value.message) == (reason, True)


def test_the_first_and_the_last_time_that_can_be() -> None:
    assert parse_at("2026-11-25T03:30:01Z", NOW, BOUNDS) == At(at_ms=NOW + 1000)
    assert parse_at("2027-11-26T04:30:00+01:00", NOW, BOUNDS) == At(at_ms=NOW + 366 * 86_400_000)


@each_row(
    "expression, zone, reason, says",
    [
        ("* * * *", "UTC", "invalid_cron", "has 4 fields"),
        ("* * * * * *", "UTC", "invalid_cron", "has 6 fields"),
        ("61 * * * *", "UTC", "invalid_cron", "bad minute"),
        ("0 0 32 * *", "UTC", "invalid_cron", "bad day-of-month"),
        ("0 0 30 2 *", "UTC", "never_due", "The next possible time is 2027-02-28T00:00:00Z ('0 0 L 2 *')."),
        ("0 0 31 4,6 *", "UTC", "never_due", "The next possible time is 2027-04-30T00:00:00Z"),
        ("0 0 * * *", "Europe/Berln", "unknown_zone", "Did you mean 'Europe/Berlin'?"),
        ("0 0 * * *", "../etc", "unknown_zone", "is no time zone"),
        ("0 0 29 2 *", "UTC", "time_too_far", "The last possible time is 2027-11-26T03:30:00Z."),
        (f"{'1,' * 200}1 * * * *", "UTC", "invalid_cron", "cron has five"),
    ],
)
def test_expressions_that_cannot_be(expression: str, zone: str, reason: str, says: str) -> None:
    with pytest.raises(ToolError) as raised:
        cron_times(expression, zone, NOW, BOUNDS)

    assert raised.value.reason == reason
    assert says in raised.value.message


@each_row(
    "expression, gap_s",
    [
        ("* * * * *", 60),
        ("0,1 12 * * *", 60),
        ("59 23 * * *", 86_400),
        ("0,59 0,23 * * *", 60),
        ("*/20 * * * *", 1_200),
        ("0 0 1,2 * *", 86_400),
    ],
)
def test_how_often_an_expression_comes_at_the_most(expression: str, gap_s: int) -> None:
    """The two runs that lie closest together count, however rarely they come."""
    cron_times(expression, "UTC", NOW, Bounds(least_s=gap_s, ahead_s=1e9))

    with pytest.raises(ToolError, match=r"the next possible time is") as raised:
        cron_times(expression, "UTC", NOW, Bounds(least_s=gap_s + 1, ahead_s=1e9))
    assert raised.value.reason == "too_frequent"


def test_an_interval_counts_from_when_it_was_made() -> None:
    timing = every_time(90_000, NOW, BOUNDS)

    assert [next_after(timing, NOW + late) - NOW for late in (0, 89_999, 90_000)] == [90_000, 90_000, 180_000]
    assert latest_until(timing, NOW + 1, NOW + 200_000) == NOW + 180_000
    assert latest_until(timing, NOW + 1, NOW + 89_999) is None
    with pytest.raises(ToolError, match="Every 59 s is too frequent: the least is 60 s"):
        every_time(59_000, NOW, BOUNDS)
    with pytest.raises(ToolError, match="too far ahead"):
        every_time(367 * 86_400_000, NOW, BOUNDS)


def test_what_is_shown() -> None:
    assert describe_timing(At(at_ms=NOW)) == "at 2026-11-25T03:30:00Z"
    assert describe_timing(Every(every_ms=90_000, anchor_ms=NOW)) == "every 90 s"
    assert describe_timing(Cron(expression="0 9 * * *", zone="UTC")) == "cron 0 9 * * * (UTC)"
    assert format_time(NEVER) == "never"


HOURLY = Every(every_ms=3_600_000, anchor_ms=0)


@given(st.lists(st.integers(1, 60), max_size=40), st.integers(0, 60))
def test_no_time_is_due_that_has_been(hours: list[int], after: int) -> None:
    """Whatever jumps the clock makes: what has run is never next, and what is next was never forgotten to be told."""
    fired: tuple[tuple[int, int], ...] = ()
    ran = set()
    for hour in hours:
        time = hour * 3_600_000
        if not has_fired(fired, time):
            fired = with_time(fired, HOURLY, time)
            ran.add(time)

    found = next_due(HOURLY, fired, after * 3_600_000)

    assert all(has_fired(fired, time) for time in ran)
    assert (found in ran, len(fired) <= MAX_FIRED) == (False, True)


def test_times_one_after_the_other_are_one_stretch() -> None:
    fired: tuple[tuple[int, int], ...] = ()
    for time in islice(range(3_600_000, 10**9, 3_600_000), 100):
        fired = with_time(fired, HOURLY, time)

    assert fired == ((3_600_000, 360_000_000),)


@each_row(
    "due_h, now_h, grace_h, expected_h",
    [
        pytest.param(9, 9.01, 1, 9, id="in time"),
        pytest.param(9, 12.5, 1, 12, id="after a downtime once, for the last time"),
        pytest.param(9, 10.0, 1, 10, id="at the limit"),
        pytest.param(9, 9.9, 0.5, None, id="too late"),
        pytest.param(9, 12.9, 0.5, None, id="all too late"),
        pytest.param(9, 12.5, 0.5, 12, id="the last one at the limit"),
    ],
)
def test_what_runs_after_a_downtime(due_h: float, now_h: float, grace_h: float, expected_h: float | None) -> None:
    hour = 3_600_000
    found = to_run(HOURLY, (), int(due_h * hour), int(now_h * hour), int(grace_h * hour))

    assert found == (None if expected_h is None else expected_h * hour)


@each_row(
    ("retry", "waits"),
    [
        (CRON_RETRY, [(1_500, 2_499), (3_000, 4_999), (6_000, 9_999), (22_500, 30_000)]),
        (Retry(jitter=0.25), [(1_000, 1_249), (1_500, 2_499), (3_000, 4_999), (22_500, 30_000)]),
    ],
    ids=["cron", "schedule"],
)
def test_waits_double_and_vary_by_a_quarter(retry: Retry, waits: list[tuple[int, int]]) -> None:
    """From 2 s, or from 1 s, to 30 s at the most, and never less than the first; three times."""
    shortest, longest = ([retry.wait_ms(attempt, chance) for attempt in (1, 2, 3, 20)] for chance in (0.0, 0.9999))

    assert retry.times == 3
    assert shortest == [max(least, retry.least_ms) for least, _ in waits]
    assert [abs(found - most) <= 5 for found, (_, most) in zip(longest, waits, strict=True)] == [True] * 4
