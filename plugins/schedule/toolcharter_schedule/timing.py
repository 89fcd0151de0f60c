"""Computes when a job is due: once, at an interval, or by cron in a time zone. Pure: the time is an argument.

All times are whole milliseconds of Unix time, so that a change of a zone's clocks cannot make two of them equal.
Daylight saving time is handled as in Debian's cron: a due time in the hour that is skipped comes at the end of that
hour, a due time in the hour that occurs twice comes once. Expressions whose minutes or hours begin with `*` follow
elapsed time.
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
"""Later than every possible due time; also the largest integer that is exact in every JSON implementation."""
MAX_EXPRESSION_CHARS = 200
DAY_MINUTES = 24 * 60
_FIRST_S, _LAST_S = -62_135_510_400, 253_402_214_400
"""The second day of year 1 and the second last of year 9999: a zone may be a day ahead or behind."""
_FIELDS = 5
_COMPARED_TIMES = 50
"""How many due times of a day are compared one by one."""


class _Timing(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class At(_Timing):
    """Due once."""

    kind: Literal["at"] = "at"
    at_ms: int


class Every(_Timing):
    """Due at an interval, counted from the anchor."""

    kind: Literal["every"] = "every"
    every_ms: Annotated[int, Field(gt=0)]
    anchor_ms: int


class Cron(_Timing):
    """Due by the five fields of a cron expression, in a time zone."""

    kind: Literal["cron"] = "cron"
    expression: str
    zone: str


Timing = Annotated[At | Every | Cron, Field(discriminator="kind")]
TIMING: TypeAdapter[At | Every | Cron] = TypeAdapter(Timing)


class Bounds(_Timing):
    """A profile's limits for the times of jobs."""

    least_s: float
    """The least time between two runs of a job, in seconds."""
    ahead_s: float
    """How far ahead the first due time of a job may be, in seconds."""


def next_after(timing: At | Every | Cron, after_ms: int) -> int:
    """Return the first due time after *after_ms*, or `NEVER`."""
    if isinstance(timing, At):
        return timing.at_ms if timing.at_ms > after_ms else NEVER
    if isinstance(timing, Every):
        count = (after_ms - timing.anchor_ms) // timing.every_ms + 1  # below 1 if the clock was set back since
        return timing.anchor_ms + count * timing.every_ms
    return next(_times(timing, after_ms), NEVER)


def _times(timing: Cron, after_ms: int) -> Iterator[int]:
    """Yield the due times of *timing* after *after_ms*, in ascending order.

    When clocks are set back, the next due time by the clock may be in the past. When they are set forward, several due
    times of the skipped hour are equal. Both kinds are skipped.
    """
    last = after_ms
    for moment in CronSim(timing.expression, moment_of(after_ms, timing.zone)):
        found = int(moment.timestamp()) * SECOND
        if found > last:
            last = found
            yield found


def moment_of(at_ms: int, zone: str = "UTC") -> datetime:
    """Return *at_ms* as a time in *zone*; a time outside the calendar becomes the nearest one inside."""
    seconds = min(max(at_ms // SECOND, _FIRST_S), _LAST_S)
    return datetime.fromtimestamp(seconds, UTC).astimezone(UTC if zone == "UTC" else ZoneInfo(zone))


def format_time(at_ms: int, zone: str = "UTC") -> str:
    """Format *at_ms*, to the second: `2026-11-25T03:00:00Z`."""
    if at_ms >= NEVER:
        return "never"
    return moment_of(at_ms, zone).isoformat(timespec="seconds").replace("+00:00", "Z")


def describe_timing(timing: At | Every | Cron) -> str:
    """Describe *timing* in a few words."""
    if isinstance(timing, At):
        return f"at {format_time(timing.at_ms)}"
    if isinstance(timing, Every):
        return f"every {timing.every_ms / SECOND:g} s"
    return f"cron {timing.expression} ({timing.zone})"


def at_time(at_ms: int, now_ms: int, bounds: Bounds) -> At:
    """Make the timing of a job that is due once.

    Raises:
        ToolError: `time_passed` or `time_too_far`, with the nearest possible time.
    """
    if at_ms <= now_ms:
        what = f"{format_time(at_ms)} has passed: it is {format_time(now_ms)}. The next possible time is {_soonest(now_ms)}."
        raise ToolError(what, reason=ScheduleReason.TIME_PASSED)
    _require_within_limit(at_ms, now_ms, bounds)
    return At(at_ms=at_ms)


def parse_at(text: str, now_ms: int, bounds: Bounds) -> At:
    """Do the same as `at_time` for a time in ISO 8601 with its offset from UTC.

    Raises:
        ToolError: `invalid_time`; or as `at_time`.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
        at_ms = None if moment.tzinfo is None else int(moment.timestamp() * SECOND)
    except (ValueError, OverflowError):
        what = f"{text[:60]!r} is no time. Write it in ISO 8601; the next possible time is {_soonest(now_ms)!r}."
        raise ToolError(what, reason=ScheduleReason.INVALID_TIME) from None
    if at_ms is None:
        what = f"{text[:60]!r} has no time zone. Add `Z` or an offset; the next possible time is {_soonest(now_ms)!r}."
        raise ToolError(what, reason=ScheduleReason.INVALID_TIME)
    return at_time(at_ms, now_ms, bounds)


def _soonest(now_ms: int) -> str:
    return format_time(now_ms + SECOND)


def _require_within_limit(at_ms: int, now_ms: int, bounds: Bounds) -> None:
    last = now_ms + int(bounds.ahead_s * SECOND)
    if at_ms > last:
        what = f"{format_time(at_ms)} is too far ahead. The last possible time is {format_time(last)}."
        raise ToolError(what, reason=ScheduleReason.TIME_TOO_FAR)


def every_time(every_ms: int, now_ms: int, bounds: Bounds) -> Every:
    """Make the timing of a job that is due at an interval, first after one interval.

    Raises:
        ToolError: `too_frequent` or `time_too_far`, with the nearest possible interval or time.
    """
    least_ms = int(bounds.least_s * SECOND)
    if every_ms < least_ms:
        what = (
            f"Every {every_ms / SECOND:g} s is too frequent: the least is {bounds.least_s:g} s. "
            f"The next possible time is {format_time(now_ms + least_ms)}."
        )
        raise ToolError(what, reason=ScheduleReason.TOO_FREQUENT)
    timing = Every(every_ms=every_ms, anchor_ms=now_ms)
    _require_within_limit(next_after(timing, now_ms), now_ms, bounds)
    return timing


def cron_times(expression: str, zone: str, now_ms: int, bounds: Bounds) -> Cron:
    """Make the timing of a job that is due by the five fields of a cron expression.

    Raises:
        ToolError: `invalid_cron`, `unknown_zone`, `never_due`, `too_frequent` or `time_too_far`; the last three with a
            possible time.
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
        if str(error) == "Bad day-of-month" and _is_valid_alone(words):
            first = NEVER
        else:
            what = f"{expression[:60]!r} is no expression of cron: {str(error).lower()}."
            raise ToolError(what, reason=ScheduleReason.INVALID_CRON) from None
    if first == NEVER:
        raise ToolError(_never_due_message(words, zone, now_ms), reason=ScheduleReason.NEVER_DUE)
    least_ms = int(bounds.least_s * SECOND)
    gap = _least_gap(timing, now_ms)
    if gap < least_ms:
        what = (
            f"{timing.expression!r} comes every {gap / SECOND:g} s at times, which is too frequent: the least is "
            f"{bounds.least_s:g} s. After {format_time(first, zone)} the next possible time is {format_time(first + least_ms, zone)}."
        )
        raise ToolError(what, reason=ScheduleReason.TOO_FREQUENT)
    _require_within_limit(first, now_ms, bounds)
    return timing


def require_zone(zone: str) -> None:
    """Refuse an unknown time zone.

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


def _is_valid_alone(words: list[str]) -> bool:
    """Return whether the field of the days is valid by itself, so that only the months lack such a day."""
    try:
        CronSim(" ".join((*words[:3], "*", "*")), datetime.now(UTC))
    except CronSimError:
        return False
    return True


def _never_due_message(words: list[str], zone: str, now_ms: int) -> str:
    """Return the message for a day that no named month has; it suggests the last day of those months."""
    instead = " ".join((*words[:2], "L", *words[3:]))
    what = f"{' '.join(words)!r} never comes: no such month has that day."
    try:
        return f"{what} The next possible time is {format_time(next(_times(Cron(expression=instead, zone=zone), now_ms)), zone)} ({instead!r})."
    except (CronSimError, StopIteration):
        return what


def _least_gap(timing: Cron, now_ms: int) -> int:
    """Return the least time between two runs, in milliseconds, by the minutes and hours and by the next due times.

    The next due times alone may cover only two days, a month apart. Minutes and hours alone would treat the last run of
    a day and the first run of the next day as neighbours even if the job does not run on two consecutive days.
    """
    parsed = CronSim(timing.expression, moment_of(now_ms, timing.zone))
    minutes = sorted(hour * 60 + minute for hour in parsed.hours for minute in parsed.minutes)
    within = min((later - sooner for sooner, later in pairwise(minutes)), default=DAY_MINUTES) * 60 * SECOND
    times = list(islice(_times(timing, now_ms), 2 * min(len(minutes), _COMPARED_TIMES)))
    over_midnight = (minutes[0] + DAY_MINUTES - minutes[-1]) * 60 * SECOND if len(minutes) > _COMPARED_TIMES else within
    return min([within, over_midnight, *(later - sooner for sooner, later in pairwise(times))])


def latest_until(timing: At | Every | Cron, from_ms: int, until_ms: int) -> int | None:
    """Return the last due time from *from_ms* to *until_ms*, both included; None if there is none."""
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
    """Parse the timing in a record."""
    return TIMING.validate_python(document)


def milliseconds(seconds: float) -> int:
    """Convert *seconds* to whole milliseconds."""
    return int(timedelta(seconds=seconds) / timedelta(milliseconds=1))
