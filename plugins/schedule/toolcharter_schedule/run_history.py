"""Remembers in which stretches of time a job has run, so that no due time runs twice when clocks are set. Pure."""

from toolcharter_schedule.timing import At, Cron, Every, latest_until, next_after

Fired = tuple[tuple[int, int], ...]
"""Stretches in order, each from its first to its last due time; the job has run at all its due times in between."""
MAX_FIRED = 16
"""How many stretches are remembered: only downtime and clock changes cause more than one."""


def has_fired(fired: Fired, time_ms: int) -> bool:
    """Return whether *time_ms* is in one of the stretches."""
    return any(first <= time_ms <= last for first, last in fired)


def with_time(fired: Fired, timing: At | Every | Cron, time_ms: int) -> Fired:
    """Add *time_ms*, a due time of *timing* that is in none of the stretches."""
    before = [stretch for stretch in fired if stretch[1] < time_ms]
    after = [stretch for stretch in fired if stretch[0] > time_ms]
    if before and next_after(timing, before[-1][1]) == time_ms:
        before[-1] = (before[-1][0], time_ms)
    else:
        before.append((time_ms, time_ms))
    joined = [*before, *after]
    while (
        len(joined) > MAX_FIRED
    ):  # times between the two oldest stretches now count as having run: rather too rarely than twice
        joined[:2] = [(joined[0][0], joined[1][1])]
    return tuple(joined)


def next_due(timing: At | Every | Cron, fired: Fired, after_ms: int) -> int:
    """Return the first due time after *after_ms* at which the job has not run yet, or `NEVER`."""
    found = next_after(timing, after_ms)
    for first, last in fired:
        if first <= found <= last:
            found = next_after(timing, last)
    return found


def to_run(timing: At | Every | Cron, fired: Fired, due_ms: int, now_ms: int, grace_ms: int) -> int | None:
    """Return the due time for which a job that is due since *due_ms* runs now: the last one within its grace period.

    Returns:
        None if all due times are older: the job has missed them.
    """
    oldest = now_ms - grace_ms
    latest = latest_until(timing, max(due_ms, oldest), now_ms)
    if latest is not None and not has_fired(fired, latest):
        return latest
    return due_ms if due_ms >= oldest and not has_fired(fired, due_ms) else None
