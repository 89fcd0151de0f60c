"""The tool `schedule`: makes reminders and tasks for one time, at an interval or by a cron expression."""

import json
from collections.abc import Callable
from pathlib import Path
from time import time
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from toolcharter import ToolError, ToolRuntime, ToolSpec
from toolcharter_schedule.jobs import Jobs
from toolcharter_schedule.new_jobs import (
    JobRequest,
    ask_for_later_acts,
    make_job,
    require_allowed,
    require_process,
    restrict_actions,
    with_current_rights,
)
from toolcharter_schedule.policy import ScheduleAction, SchedulePolicy
from toolcharter_schedule.reasons import ScheduleReason
from toolcharter_schedule.records import Retry
from toolcharter_schedule.timing import SECOND, At, Cron, Every, cron_times, every_time, format_time, parse_at

Delay = Annotated[int, Field(ge=SECOND, le=30 * SECOND)]


def build(
    workspace: Path, policy: SchedulePolicy, rt: ToolRuntime, clock: Callable[[], float] = time
) -> Callable[..., str]:
    """Make the tool for one policy."""
    jobs = Jobs(rt, policy, clock)

    def schedule(  # noqa: PLR0913, PLR0917 - one tool with an action, as in its source
        action: ScheduleAction,
        at: str = "",
        every_seconds: Annotated[int, Field(ge=1)] | None = None,
        cron: str = "",
        message: str = "",
        task: str = "",
        max_retries: Annotated[int, Field(ge=0, le=10)] = 3,
        retry_delay_ms: Delay = SECOND,
        max_retry_delay_ms: Delay = 30 * SECOND,
        process_handle: str = "",
        schedule_id: str = "",
    ) -> str:
        """Deliver a message or run a task later. Repeat it only if the user asked for that.

        Args:
            action: create (one of at, every_seconds, cron; one of message, task); list; cancel (schedule_id).
            at: Once, at a time in ISO 8601: `2026-01-30T16:00:00Z`.
            every_seconds: Repeatedly, at this interval in seconds.
            cron: Repeatedly, by the five fields of a cron expression: `0 9 * * MON-FRI`.
            message: A text to deliver unchanged; no model is asked.
            task: A task for an agent with its tools; its answer is delivered.
            max_retries: How often a failed run is retried.
            retry_delay_ms: The wait before the first retry, in milliseconds; it doubles with each retry.
            max_retry_delay_ms: The longest wait before a retry, in milliseconds.
            process_handle: A process of `background_process`; when it has ended, the schedule is cancelled.
            schedule_id: The schedule's identifier, from create or list.
        """
        ctx = rt.start("schedule", action=action)
        require_allowed(action, policy.allowed_actions)
        if action == "list":
            ctx.policy_passed()
            found = [job.describe() for job in jobs.all() if job.enabled]
            text = "Active schedules:\n" + json.dumps(found, indent=2) if found else "No active schedules."
            return ctx.ok(text, data={"schedules": found})
        if action == "cancel":
            jobs.own(schedule_id)
            ctx.policy_passed()
            jobs.cancel(schedule_id)
            return ctx.ok(f"Cancelled schedule: {schedule_id}", data={"id": schedule_id})
        jobs.require_not_made_by_a_job()
        timing = _timing(at, every_seconds, cron, policy, jobs.now_ms)
        retry = Retry(times=max_retries, least_ms=retry_delay_ms, most_ms=max(retry_delay_ms, max_retry_delay_ms))
        if bool(message) == bool(task):
            raise ToolError("Give one of `message` and `task`.", reason=ScheduleReason.INVALID_JOB)
        work: Literal["message", "task"] = "message" if message else "task"
        request = JobRequest("schedule", "", timing, work, message or task, retry, process_handle)
        job = make_job(rt, policy, request, workspace, jobs.now_ms)
        ctx.policy_passed()
        if process_handle:
            require_process(rt, process_handle)
        jobs.create(with_current_rights(rt, job))
        kind = "one-shot" if isinstance(timing, At) else "recurring"
        return ctx.ok(f"Created {kind} schedule: {job.id}, due {format_time(job.due)}", data=job.describe())

    return schedule


def _timing(at: str, every_seconds: int | None, cron: str, policy: SchedulePolicy, now_ms: int) -> At | Every | Cron:
    if [bool(at), every_seconds is not None, bool(cron)].count(True) != 1:
        raise ToolError("Give one of `at`, `every_seconds` and `cron`.", reason=ScheduleReason.INVALID_JOB)
    if at:
        return parse_at(at, now_ms, policy.bounds())
    if every_seconds is not None:
        return every_time(every_seconds * SECOND, now_ms, policy.bounds())
    return cron_times(cron, policy.timezone, now_ms, policy.bounds())


def advertise(policy: SchedulePolicy, schema: dict[str, Any]) -> dict[str, Any]:
    """Show the model the actions that its profile allows."""
    return restrict_actions(policy.allowed_actions, schema)


_OF_CRON = {
    ScheduleReason.OTHER_AGENT,
    ScheduleReason.DELIVERY_NOT_ALLOWED,
    ScheduleReason.IS_RUNNING,
    ScheduleReason.UNKNOWN_ZONE,
}
"""The reasons that only `cron` can give."""
CAPABILITIES = dict.fromkeys(get_args(ScheduleAction), frozenset({"schedule"}))

SPEC = ToolSpec(
    "schedule",
    SchedulePolicy,
    build,
    reasons=set(ScheduleReason) - _OF_CRON,
    capabilities=CAPABILITIES,
    safety="high",
    staged=True,
    group="automation",
    advertise=advertise,
    asks=ask_for_later_acts,
)
