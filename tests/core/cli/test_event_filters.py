"""Which events `--since`, `--until` and the filters by field choose."""

from datetime import UTC, datetime, timedelta
from typing import Any

import click
import pytest
from tests.rows import each_row

from toolcharter.cli.event_filters import ALL_EVENTS, build_filter, filter_options, parse_time

NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)


def read(given: str | None) -> datetime | None:
    return parse_time(click.Context(click.Command("x")), click.Option(["--since"]), given)


@each_row(
    ("given", "moment"),
    [
        (None, None),
        ("2026-11-24", NOON - timedelta(hours=12)),
        ("2026-11-24T12:00", NOON),
        ("2026-11-24 12:00:00.000", NOON),
        ("2026-11-24T12:00:00Z", NOON),
        ("2026-11-24T13:00+01:00", NOON),
    ],
)
def test_a_moment_without_a_zone_is_utc(given: str | None, moment: datetime | None) -> None:
    """As the moments of events are."""
    assert read(given) == moment


@each_row(
    ("given", "age"),
    [
        ("0s", timedelta()),
        ("90s", timedelta(seconds=90)),
        ("15m", timedelta(minutes=15)),
        ("2h", timedelta(hours=2)),
        ("7d", timedelta(days=7)),
    ],
)
def test_an_age_is_counted_back_from_now(given: str, age: timedelta) -> None:
    """In seconds, minutes, hours or days."""
    before = datetime.now(UTC)
    found = read(given)
    after = datetime.now(UTC)

    assert found is not None
    assert before - age <= found <= after - age


@pytest.mark.parametrize("given", ["", "yesterday", "15", "15 m", "-5m", "1w", "999999999d", "2026-13-01", "\u0661m"])
def test_what_is_no_time_is_told_with_the_ways_to_write_one(given: str) -> None:
    """An age that reaches behind all calendars is none, either."""
    with pytest.raises(
        click.BadParameter, match=r"is not a time. Write 2026-11-24, .* or how long ago it was: 90s, 15m"
    ):
        read(given)


@each_row(
    ("event", "chosen"),
    [
        ({"ts": "2026-11-24T11:59:59.999Z"}, False),
        ({"ts": "2026-11-24T12:00:00.000Z"}, True),
        ({"ts": "2026-11-24T12:00:00"}, True),
        ({"ts": "2026-11-24T13:59:59.999+01:00"}, True),
        ({"ts": "2026-11-24T13:00:00.000Z"}, False),
        ({"ts": "soon"}, False),
        ({"ts": 5}, False),
        ({}, False),
    ],
)
def test_the_first_moment_is_within_and_the_last_is_not(event: dict[str, Any], chosen: bool) -> None:  # noqa: FBT001 - a column
    """An event without a moment is at none."""
    assert build_filter(NOON, NOON + timedelta(hours=1))(event) is chosen
    assert ALL_EVENTS(event)


def test_either_end_may_be_open() -> None:
    """Since then, or until then."""
    events = [{"ts": moment} for moment in ("2026-11-24T11:00Z", "2026-11-24T12:00Z", "2026-11-24T13:00Z")]

    assert list(map(build_filter(since=NOON), events)) == [False, True, True]
    assert list(map(build_filter(until=NOON), events)) == [True, False, False]


def test_all_fields_have_to_match() -> None:
    """With case, as events have them; a rule by its text."""
    event = {"tool": "git", "agent": None, "rule": {"text": "git:*", "source": "p.yaml:1:1"}}

    assert build_filter(tool="g?t", rule="git:[*]")(event)
    assert not build_filter(tool="GIT")(event)
    assert not build_filter(tool="git", agent="*")(event)
    assert not build_filter(tool="git", rule="p.yaml*")(event)


def test_each_field_is_an_option() -> None:
    """In the order that is given, and the times behind them."""
    command = click.command("x")(filter_options("tool", "call_id")(lambda **_: None))

    assert [option.opts for option in command.params] == [["--tool"], ["--call-id"], ["--since"], ["--until"]]
