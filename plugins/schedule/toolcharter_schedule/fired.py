"""In which stretches of time a job has run: however clocks are set, no time in them counts again. Pure."""

from toolcharter_schedule.timing import At, Cron, Every, latest_until, next_after

Fired = tuple[tuple[int, int], ...]
"""Stretches in order, each from its first time to its last one; the times between are all times of the job."""
MAX_FIRED = 16
"""How many stretches are remembered: more than one come only of downtime and of clocks that jump."""


def has_fired(fired: Fired, time_ms: int) -> bool:
    """Whether *time_ms* lies in one of the stretches."""
    return any(first <= time_ms <= last for first, last in fired)


def with_time(fired: Fired, timing: At | Every | Cron, time_ms: int) -> Fired:
    """*fired* with *time_ms*, a time of *timing* that is in none of them."""
    before = [stretch for stretch in fired if stretch[1] < time_ms]
    after = [stretch for stretch in fired if stretch[0] > time_ms]
    if before and next_after(timing, before[-1][1]) == time_ms:
        before[-1] = (before[-1][0], time_ms)
    else:
        before.append((time_ms, time_ms))
    joined = [*before, *after]
    while (
        len(joined) > MAX_FIRED
    ):  # what lies between the two oldest counts as having run: rather once too few than twice
        joined[:2] = [(joined[0][0], joined[1][1])]
    return tuple(joined)


def next_due(timing: At | Every | Cron, fired: Fired, after_ms: int) -> int:
    """The first time after *after_ms* at which the job has not run yet, or `NEVER`."""
    found = next_after(timing, after_ms)
    for first, last in fired:
        if first <= found <= last:
            found = next_after(timing, last)
    return found


def to_run(timing: At | Every | Cron, fired: Fired, due_ms: int, now_ms: int, grace_ms: int) -> int | None:
    """Which time a job that is due since *due_ms* runs for now: the last one that is no older than its grace.

    Returns:
        None if all are older: the job has missed them.
    """
    oldest = now_ms - grace_ms
    latest = latest_until(timing, max(due_ms, oldest), now_ms)
    if latest is not None and not has_fired(fired, latest):
        return latest
    return due_ms if due_ms >= oldest and not has_fired(fired, due_ms) else None
