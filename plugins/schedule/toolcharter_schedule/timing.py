"""When a job is due: once, at an interval, or by five fields of cron in a time zone. Pure: the time is an argument.

All times are whole milliseconds of Unix time, so that no change of the clocks of a zone makes two of them one. Summer time
is treated as Debian's cron does: what lies in the hour that is left out comes at its end, what lies in the hour that comes
twice comes once; expressions whose minutes or hours begin with `*` go by elapsed time.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from itertools import islice, pairwise
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from cronsim import CronSim, CronSimError
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from toolcharter import ToolError
from toolcharter_schedule.reasons import ScheduleReason

SECOND = 1_000
NEVER = 2**53 - 1
"""Later than every time that a job may be due at; also the greatest whole number that JSON carries everywhere."""
MAX_EXPRESSION_CHARS = 200
DAY_MINUTES = 24 * 60
_FIRST_S, _LAST_S = -62_135_510_400, 253_402_214_400
"""The second day of year 1 and the last but one of year 9999: a zone may lie a day before or behind."""
_FIELDS = 5
_LOOKED_AT = 50
"""How many times of a day are looked at one by one."""


class _Timing(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class At(_Timing):
    """Once."""

    kind: Literal["at"] = "at"
    at_ms: int


class Every(_Timing):
    """At an interval that is counted from its anchor."""

    kind: Literal["every"] = "every"
    every_ms: Annotated[int, Field(gt=0)]
    anchor_ms: int


class Cron(_Timing):
    """Five fields, in a time zone."""

    kind: Literal["cron"] = "cron"
    expression: str
    zone: str


Timing = Annotated[At | Every | Cron, Field(discriminator="kind")]
TIMING: TypeAdapter[At | Every | Cron] = TypeAdapter(Timing)


class Bounds(_Timing):
    """What a profile lets jobs be."""

    least_s: float
    """The least time between two runs of a job, in seconds."""
    ahead_s: float
    """How far ahead a job may be due for the first time, in seconds."""


def next_after(timing: At | Every | Cron, after_ms: int) -> int:
    """The first time after *after_ms*, or `NEVER`."""
    if isinstance(timing, At):
        return timing.at_ms if timing.at_ms > after_ms else NEVER
    if isinstance(timing, Every):
        count = (after_ms - timing.anchor_ms) // timing.every_ms + 1  # below 1 where the clock was set back since
        return timing.anchor_ms + count * timing.every_ms
    return next(_times(timing, after_ms), NEVER)


def _times(timing: Cron, after_ms: int) -> Iterator[int]:
    """The times of *timing* after *after_ms*, each later than the one before.

    Where clocks are set back, what comes next by the clock may have been already; where they are set forward, several
    times of the hour that is left out are one. Both are passed over.
    """
    last = after_ms
    for moment in CronSim(timing.expression, moment_of(after_ms, timing.zone)):
        found = int(moment.timestamp()) * SECOND
        if found > last:
            last = found
            yield found


def moment_of(at_ms: int, zone: str = "UTC") -> datetime:
    """*at_ms* as clocks in *zone* show it; what no calendar shows as the nearest time that it does."""
    seconds = min(max(at_ms // SECOND, _FIRST_S), _LAST_S)
    return datetime.fromtimestamp(seconds, UTC).astimezone(UTC if zone == "UTC" else ZoneInfo(zone))


def shown(at_ms: int, zone: str = "UTC") -> str:
    """*at_ms* as text, to the second: `2026-11-25T03:00:00Z`."""
    if at_ms >= NEVER:
        return "never"
    return moment_of(at_ms, zone).isoformat(timespec="seconds").replace("+00:00", "Z")


def described(timing: At | Every | Cron) -> str:
    """*timing* in a few words."""
    if isinstance(timing, At):
        return f"at {shown(timing.at_ms)}"
    if isinstance(timing, Every):
        return f"every {timing.every_ms / SECOND:g} s"
    return f"cron {timing.expression} ({timing.zone})"


def at_time(at_ms: int, now_ms: int, bounds: Bounds) -> At:
    """A job that is due once.

    Raises:
        ToolError: `time_passed` or `time_too_far`, with the next time that is possible.
    """
    if at_ms <= now_ms:
        what = f"{shown(at_ms)} has passed: it is {shown(now_ms)}. The next possible time is {_soonest(now_ms)}."
        raise ToolError(what, reason=ScheduleReason.TIME_PASSED)
    _require_near(at_ms, now_ms, bounds)
    return At(at_ms=at_ms)


def at_text(text: str, now_ms: int, bounds: Bounds) -> At:
    """As `at_time`, for a time as ISO 8601 writes it, with its offset from UTC.

    Raises:
        ToolError: `invalid_time` besides.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
        at_ms = None if moment.tzinfo is None else int(moment.timestamp() * SECOND)
    except (ValueError, OverflowError):
        what = f"{text[:60]!r} is no time. Write it as ISO 8601 does; the next possible time is {_soonest(now_ms)!r}."
        raise ToolError(what, reason=ScheduleReason.INVALID_TIME) from None
    if at_ms is None:
        what = f"{text[:60]!r} says nothing of its zone. Add `Z` or an offset; the next possible time is {_soonest(now_ms)!r}."
        raise ToolError(what, reason=ScheduleReason.INVALID_TIME)
    return at_time(at_ms, now_ms, bounds)


def _soonest(now_ms: int) -> str:
    return shown(now_ms + SECOND)


def _require_near(at_ms: int, now_ms: int, bounds: Bounds) -> None:
    last = now_ms + int(bounds.ahead_s * SECOND)
    if at_ms > last:
        what = f"{shown(at_ms)} is too far ahead. The last possible time is {shown(last)}."
        raise ToolError(what, reason=ScheduleReason.TIME_TOO_FAR)


def every_time(every_ms: int, now_ms: int, bounds: Bounds) -> Every:
    """A job that is due at an interval, first when that has passed.

    Raises:
        ToolError: `too_frequent` or `time_too_far`, with the next interval or time that is possible.
    """
    least_ms = int(bounds.least_s * SECOND)
    if every_ms < least_ms:
        what = (
            f"Every {every_ms / SECOND:g} s is too frequent: the least is {bounds.least_s:g} s. "
            f"The next possible time is {shown(now_ms + least_ms)}."
        )
        raise ToolError(what, reason=ScheduleReason.TOO_FREQUENT)
    timing = Every(every_ms=every_ms, anchor_ms=now_ms)
    _require_near(next_after(timing, now_ms), now_ms, bounds)
    return timing


def cron_times(expression: str, zone: str, now_ms: int, bounds: Bounds) -> Cron:
    """A job that is due by five fields of cron.

    Raises:
        ToolError: `invalid_cron`, `unknown_zone`, `never_due`, `too_frequent` or `time_too_far`; the last three with what
            is possible instead.
    """
    require_zone(zone)
    words = expression.split()
    if len(words) != _FIELDS or len(expression) > MAX_EXPRESSION_CHARS:
        what = f"{expression[:60]!r} has {len(words)} fields, and cron has five: minute, hour, day, month, day of the week."
        raise ToolError(what, reason=ScheduleReason.INVALID_CRON)
    timing = Cron(expression=" ".join(words), zone=zone)
    try:
        first = next_after(timing, now_ms)
    except CronSimError as error:
        if str(error) == "Bad day-of-month" and _is_read(words):
            first = NEVER
        else:
            what = f"{expression[:60]!r} is no expression of cron: {str(error).lower()}."
            raise ToolError(what, reason=ScheduleReason.INVALID_CRON) from None
    if first == NEVER:
        raise ToolError(_never(words, zone, now_ms), reason=ScheduleReason.NEVER_DUE)
    least_ms = int(bounds.least_s * SECOND)
    gap = _least_gap(timing, now_ms)
    if gap < least_ms:
        what = (
            f"{timing.expression!r} comes every {gap / SECOND:g} s at times, which is too frequent: the least is "
            f"{bounds.least_s:g} s. After {shown(first, zone)} the next possible time is {shown(first + least_ms, zone)}."
        )
        raise ToolError(what, reason=ScheduleReason.TOO_FREQUENT)
    _require_near(first, now_ms, bounds)
    return timing


def require_zone(zone: str) -> None:
    """Refuse a zone that nobody knows.

    Raises:
        ToolError: `unknown_zone`.
    """
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        near = get_close_matches(zone[:60], available_timezones(), n=1)
        hint = f"Did you mean {near[0]!r}?" if near else "Write a name such as 'Europe/Berlin'."
        what = f"{zone[:60]!r} is no time zone. {hint}"
        raise ToolError(what, reason=ScheduleReason.UNKNOWN_ZONE) from None


def _is_read(words: list[str]) -> bool:
    """Whether the field of the days can be read, so that it is the months that do not have such days."""
    try:
        CronSim(" ".join((*words[:3], "*", "*")), datetime.now(UTC))
    except CronSimError:
        return False
    return True


def _never(words: list[str], zone: str, now_ms: int) -> str:
    """What to say of days that no month has: the last day of those months is what comes nearest."""
    instead = " ".join((*words[:2], "L", *words[3:]))
    what = f"{' '.join(words)!r} never comes: no such month has that day."
    try:
        return f"{what} The next possible time is {shown(next(_times(Cron(expression=instead, zone=zone), now_ms)), zone)} ({instead!r})."
    except (CronSimError, StopIteration):
        return what


def _least_gap(timing: Cron, now_ms: int) -> int:
    """The least time between two runs, in milliseconds: of minutes and hours as written, and of the next times.

    The next times alone would miss two days a month apart; minutes and hours alone would take the last run of a day and the
    first of the next for neighbours where the days are no neighbours.
    """
    parsed = CronSim(timing.expression, moment_of(now_ms, timing.zone))
    minutes = sorted(hour * 60 + minute for hour in parsed.hours for minute in parsed.minutes)
    within = min((later - sooner for sooner, later in pairwise(minutes)), default=DAY_MINUTES) * 60 * SECOND
    times = list(islice(_times(timing, now_ms), 2 * min(len(minutes), _LOOKED_AT)))
    over_midnight = (minutes[0] + DAY_MINUTES - minutes[-1]) * 60 * SECOND if len(minutes) > _LOOKED_AT else within
    return min([within, over_midnight, *(later - sooner for sooner, later in pairwise(times))])


def latest_until(timing: At | Every | Cron, from_ms: int, until_ms: int) -> int | None:
    """The last time from *from_ms* to *until_ms*, both included; None if there is none."""
    if isinstance(timing, At):
        return timing.at_ms if from_ms <= timing.at_ms <= until_ms else None
    if isinstance(timing, Every):
        count = (until_ms - timing.anchor_ms) // timing.every_ms
        found = timing.anchor_ms + count * timing.every_ms
        return found if found >= from_ms else None
    latest = None
    for found in _times(timing, from_ms - 1):
        if found > until_ms:
            break
        latest = found
    return latest


def timing_of(document: dict[str, Any]) -> At | Every | Cron:
    """A timing as a record keeps it."""
    return TIMING.validate_python(document)


def milliseconds(seconds: float) -> int:
    """*seconds* of Unix time in whole milliseconds."""
    return int(timedelta(seconds=seconds) / timedelta(milliseconds=1))
