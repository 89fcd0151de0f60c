"""Makes jobs from the arguments of a call, for both tools."""

from collections.abc import Collection
from pathlib import Path
from typing import Any, Literal, NamedTuple

from toolcharter import Ask, Call, Denied, ToolError, ToolRuntime
from toolcharter_schedule.jobs import new_id
from toolcharter_schedule.policy import JobsPolicy
from toolcharter_schedule.reasons import ScheduleReason
from toolcharter_schedule.records import Creator, Job, Retry, owner_of, place_of
from toolcharter_schedule.run_history import next_due
from toolcharter_schedule.timing import At, Cron, Every, milliseconds

PROCESSES = "background_process"
SCHEDULER = "scheduler"
"""The extension that runs jobs."""


class JobRequest(NamedTuple):
    """The job that a call requests."""

    made_by: Literal["schedule", "cron", "heartbeat"]
    name: str
    timing: At | Every | Cron
    work: Literal["message", "task"]
    text: str
    retry: Retry
    process: str = ""


def with_current_rights(rt: ToolRuntime, job: Job) -> Job:
    """Return *job* with its creator's current rights, which limit its runs. Call it after `policy_passed`."""
    return job.model_copy(update={"allowance": rt.extension(SCHEDULER).permitted(rt.caller)})


def with_fewer_rights(rt: ToolRuntime, job: Job) -> Job:
    """Return *job* without the tools that the caller who changes it does not have, for example a subagent."""
    now = rt.extension(SCHEDULER).permitted(rt.caller)
    if job.allowance is None or now is None:
        return job.model_copy(update={"allowance": None})
    tools = dict(job.allowance.tools.items() & now.tools.items())
    return job.model_copy(update={"allowance": job.allowance.model_copy(update={"tools": tools})})


def require_allowed(action: str, allowed: Collection[str]) -> None:
    """Refuse an action that the policy does not list.

    Raises:
        Denied: `action_not_allowed`.
    """
    if action not in allowed:
        raise Denied(ScheduleReason.ACTION_NOT_ALLOWED, hint=f"Allowed: {', '.join(sorted(allowed)) or 'nothing'}.")


def require_text(work: str, text: str, policy: JobsPolicy) -> None:
    """Refuse a job whose work the policy does not allow, or whose text is empty or too long.

    Raises:
        Denied: `tasks_not_allowed`.
        ToolError: `invalid_job`.
    """
    if work == "task" and not policy.allow_tasks:
        raise Denied(ScheduleReason.TASKS_NOT_ALLOWED, hint="Jobs may deliver a message only.")
    if not text.strip() or len(text) > policy.max_chars:
        what = f"The text of a job has 1 to {policy.max_chars} characters, and this one has {len(text)}."
        raise ToolError(what, reason=ScheduleReason.INVALID_JOB)


def make_job(rt: ToolRuntime, policy: JobsPolicy, request: JobRequest, workspace: Path, now_ms: int) -> Job:
    """Make the job that the current caller requests, without storing it.

    Raises:
        Denied: `tasks_not_allowed`; `not_available`, if the profile does not list the extension `scheduler`.
        ToolError: `invalid_job`.
    """
    require_text(request.work, request.text, policy)
    rt.extension(SCHEDULER)
    caller = rt.caller
    return Job(
        id=new_id(),
        owner=owner_of(caller),
        creator=Creator.of(caller),
        made_by=request.made_by,
        name=request.name,
        timing=request.timing,
        work=request.work,
        text=request.text,
        profile=rt.profile,
        place=place_of(rt.profile, workspace),
        deny=policy.task_deny,
        retry=request.retry,
        grace_ms=milliseconds(policy.grace_s),
        process=request.process,
        created_ms=now_ms,
        due=next_due(request.timing, (), now_ms),
    )


def require_process(rt: ToolRuntime, handle: str) -> None:
    """Refuse a handle that is none of the caller's running processes. Call it after `policy_passed`: it makes a call.

    Raises:
        ToolError: `unknown_process`.
    """
    result = rt.call(PROCESSES, {"action": "status", "handle": handle})
    if result.outcome != "ok" or not is_running(result.data):
        what = f"There is no running process {handle[:60]!r} to end with: {result.reason or 'it has ended'}."
        raise ToolError(what, reason=ScheduleReason.UNKNOWN_PROCESS)


def is_running(data: Any) -> bool:
    """Return whether the data of `background_process` means that a process runs."""
    return isinstance(data, dict) and data.get("state") in {"running", "elsewhere"}


def ask_for_later_acts(policy: JobsPolicy, call: Call) -> Ask | None:
    """Ask a person about each job, unless the policy waives it: a web page may have ordered the job."""
    if policy.unattended or call.args["action"] not in {"create", "add", "update", "run"}:
        return None
    return Ask(ScheduleReason.ACTS_LATER, "The agent wants to act later, when perhaps no person is watching.")


def restrict_actions(allowed: Collection[str], schema: dict[str, Any]) -> dict[str, Any]:
    """Return *schema* with only the actions in *allowed*."""
    properties = schema.get("properties", {})
    action = properties.get("action", {})
    usable = [name for name in action.get("enum", ()) if name in allowed]
    return {**schema, "properties": {**properties, "action": {**action, "enum": usable}}}
