"""Chooses events by their fields and their time: the options that `events tail`, `stats` and `diff` share."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
EventFilter = Callable[[Mapping[str, Any]], bool]
CALL_FIELDS = ("tool", "action", "profile", "agent", "user", "session", "call_id")
"""The fields that all events of a call have."""
_AGE = re.compile(r"([0-9]{1,9})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def parse_time(_: click.Context, __: click.Parameter, given: str | None) -> datetime | None:
    """Parse an option that is a date, a time, or an age such as `15m`. Without a time zone it is UTC, as in events.

    Raises:
        BadParameter: *given* is none of these.
    """
    if given is None:
        return None
    try:
        if age := _AGE.fullmatch(given):
            return datetime.now(UTC) - timedelta(**{_UNITS[age[2]]: int(age[1])})
        return _to_utc(datetime.fromisoformat(given))
    except (ValueError, OverflowError):
        raise click.BadParameter(
            f"{given!r} is not a time. Write 2026-11-24, 2026-11-24T10:15 or 2026-11-24T10:15:30+01:00, "
            "or how long ago it was: 90s, 15m, 2h, 7d."
        ) from None


def filter_options(*fields: str) -> Callable[[F], F]:
    """Add `--FIELD GLOB` for each of *fields*, `--since` and `--until`; `build_filter` takes their values."""

    def decorate(function: F) -> F:
        until = click.option("--until", metavar="TIME", callback=parse_time, help="Only events before this moment.")
        since = click.option(
            "--since",
            metavar="TIME",
            callback=parse_time,
            help="Only events from this moment on, such as 2026-11-24 or 15m.",
        )
        function = since(until(function))
        for field in reversed(fields):
            option = f"--{field.replace('_', '-')}"
            function = click.option(option, metavar="GLOB", help=f"Only events whose {field} matches.")(function)
        return function

    return decorate


def build_filter(since: datetime | None = None, until: datetime | None = None, **globs: str | None) -> EventFilter:
    """Choose events from *since* on and before *until* whose fields match their globs; null matches no glob."""
    given = {field: glob for field, glob in globs.items() if glob is not None}

    def matches(event: Mapping[str, Any]) -> bool:
        return all(_field_matches(event.get(field), glob) for field, glob in given.items()) and (
            (since is None and until is None) or _is_between(event.get("ts"), since, until)
        )

    return matches


def has_passed(until: datetime | None) -> bool:
    """Whether *until* has passed, so that no later event can be before it."""
    return until is not None and until <= datetime.now(UTC)


ALL_EVENTS = build_filter()
"""Chooses all events."""


def _field_matches(value: Any, glob: str) -> bool:
    text = value.get("text") if isinstance(value, dict) else value
    return isinstance(text, str) and fnmatchcase(text, glob)


def _is_between(ts: Any, since: datetime | None, until: datetime | None) -> bool:
    try:
        moment = _to_utc(datetime.fromisoformat(ts))
    except (TypeError, ValueError):
        return False
    return (since is None or moment >= since) and (until is None or moment < until)


def _to_utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
