"""The tool `cron`: manages named jobs."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from time import time
from typing import Annotated, Any, Literal, NotRequired, TypedDict, get_args

from pydantic import Field

from toolcharter import Denied, ToolContext, ToolError, ToolRuntime, ToolSpec
from toolcharter_schedule.delivery import require_delivery
from toolcharter_schedule.jobs import Jobs
from toolcharter_schedule.new_jobs import (
    SCHEDULER,
    JobRequest,
    ask_for_later_acts,
    make_job,
    require_allowed,
    require_text,
    restrict_actions,
    with_current_rights,
    with_fewer_rights,
)
from toolcharter_schedule.policy import CronAction, CronPolicy
from toolcharter_schedule.reasons import ScheduleReason
from toolcharter_schedule.records import Job, Retry
from toolcharter_schedule.run_history import next_due
from toolcharter_schedule.timing import NEVER, SECOND, At, Cron, Every, at_time, cron_times, every_time, format_time

RETRY = Retry(times=3, least_ms=2 * SECOND, most_ms=30 * SECOND, jitter=0.25)
MAX_NAME = 100
Limit = Annotated[int, Field(ge=1, le=100)]


class When(TypedDict):
    """When a job is due: `atMs` in Unix milliseconds, `everyMs`, or `expr` with five fields and `tz`."""

    kind: Literal["at", "every", "cron"]
    atMs: NotRequired[int]
    everyMs: NotRequired[int]
    expr: NotRequired[str]
    tz: NotRequired[str]


class JobFields(TypedDict):
    """A job for `add`."""

    name: str
    schedule: When
    message: str
    deliver: NotRequired[bool]
    channel: NotRequired[str]
    to: NotRequired[str]
    agentId: NotRequired[str]
    deleteAfterRun: NotRequired[bool]


class Patch(TypedDict, total=False):
    """The fields that `update` changes."""

    name: str
    schedule: When
    message: str
    deliver: bool
    channel: str
    to: str
    agentId: str
    deleteAfterRun: bool
    disabled: bool


class CronArguments(TypedDict):
    """The arguments of an action."""

    job: JobFields | None
    jobId: str
    patch: Patch | None
    runMode: str
    includeDisabled: bool
    limit: int


class CronJobs:
    """The actions, each for the caller of the current call."""

    def __init__(self, workspace: Path, policy: CronPolicy, rt: ToolRuntime, jobs: Jobs) -> None:
        self._workspace = workspace
        self._policy = policy
        self._rt = rt
        self._jobs = jobs

    def status(self, ctx: ToolContext, _args: CronArguments) -> Any:
        """Return how many jobs there are, and when the next job is due."""
        ctx.policy_passed()
        jobs = [job for job in self._jobs.all() if job.enabled]
        due = min((job.due for job in jobs), default=NEVER)
        return {"jobs": len(jobs), "running": sum(bool(job.running) for job in jobs), "next": _due_text(due)}

    def list(self, ctx: ToolContext, args: CronArguments) -> Any:
        """Return the caller's jobs."""
        ctx.policy_passed()
        jobs = [job.describe() for job in self._jobs.all() if job.enabled or args["includeDisabled"]]
        return {"jobs": jobs, "count": len(jobs)}

    def add(self, ctx: ToolContext, args: CronArguments) -> Any:
        """Make a new job."""
        self._jobs.require_not_made_by_a_job()
        fields = args["job"]
        if fields is None:
            raise ToolError("`add` needs `job`.", reason=ScheduleReason.INVALID_JOB)
        now = self._jobs.now_ms
        timing = self._timing(fields["schedule"], now)
        request = JobRequest("cron", _name(fields["name"]), timing, "task", fields["message"], RETRY)
        job = make_job(self._rt, self._policy, request, self._workspace, now)
        job = job.model_copy(
            update={
                "deliver": fields.get("deliver", False),
                "channel": fields.get("channel", ""),
                "to": fields.get("to", ""),
                "agent": self._agent(fields.get("agentId", "")),
                "delete_after_run": fields.get("deleteAfterRun", isinstance(timing, At)),
            }
        )
        job = require_delivery(job, self._policy)
        ctx.policy_passed()
        return {"job": self._jobs.create(with_current_rights(self._rt, job)).describe()}

    def update(self, ctx: ToolContext, args: CronArguments) -> Any:
        """Change a job's name, time, text or delivery; `disabled: false` resumes a stopped job."""
        self._jobs.require_not_made_by_a_job()
        patch = args["patch"]
        if patch is None:
            raise ToolError("`update` needs `patch`.", reason=ScheduleReason.INVALID_JOB)
        key = args["jobId"]
        self._patched(self._jobs.own(key).record, patch)
        self._rt.extension(SCHEDULER)
        ctx.policy_passed()
        return {
            "job": self._jobs.change(key, lambda job: with_fewer_rights(self._rt, self._patched(job, patch))).describe()
        }

    def _patched(self, job: Job, patch: Patch) -> Job:
        now = self._jobs.now_ms
        changes: dict[str, Any] = {}
        if "name" in patch:
            changes["name"] = _name(patch["name"])
        if "message" in patch:
            require_text(job.work, patch["message"], self._policy)
            changes["text"] = patch["message"]
        if "agentId" in patch:
            changes["agent"] = self._agent(patch["agentId"])
        if "deleteAfterRun" in patch:
            changes["delete_after_run"] = patch["deleteAfterRun"]
        changes |= {name: patch.get(name) for name in ("deliver", "channel", "to") if name in patch}
        if "disabled" in patch:
            changes["enabled"] = not patch["disabled"]
        if "schedule" in patch:
            changes |= {"timing": self._timing(patch["schedule"], now), "fired": (), "enabled": True, **changes}
        changed = job.model_copy(update=changes)
        due = next_due(changed.timing, changed.fired, now) if changed.enabled else NEVER
        if changed.enabled and due == NEVER:
            what = f"The job was due at {format_time(job.created_ms)} or later and has run: give another `schedule`."
            raise ToolError(what, reason=ScheduleReason.TIME_PASSED)
        return require_delivery(changed.model_copy(update={"due": due}), self._policy)

    def remove(self, ctx: ToolContext, args: CronArguments) -> Any:
        """Delete a job and its runs."""
        self._jobs.own(args["jobId"])
        ctx.policy_passed()
        self._jobs.remove(args["jobId"])
        return {"deleted": True, "jobId": args["jobId"]}

    def run(self, ctx: ToolContext, args: CronArguments) -> Any:
        """Run a job now: with `force` in any case, with `due` only if it is due."""
        self._jobs.require_not_made_by_a_job()
        self._jobs.own(args["jobId"])
        ctx.policy_passed()
        ran = self._jobs.start(args["jobId"], even_if_not_due=args["runMode"] == "force")
        return {"ran": ran, "jobId": args["jobId"], **({} if ran else {"reason": "not-due"})}

    def runs(self, ctx: ToolContext, args: CronArguments) -> Any:
        """Return the outcomes of a job's runs, latest first."""
        ctx.policy_passed()
        found, total = self._jobs.runs(args["jobId"], args["limit"])
        return {"entries": [run.describe() for run in found], "count": len(found), "total": total}

    def _timing(self, when: When, now: int) -> At | Every | Cron:
        kind, bounds = when["kind"], self._policy.bounds()
        if kind == "at" and "atMs" in when:
            return at_time(when["atMs"], now, bounds)
        if kind == "every" and "everyMs" in when:
            return every_time(when["everyMs"], now, bounds)
        if kind == "cron" and "expr" in when:
            return cron_times(when["expr"], when.get("tz") or self._policy.timezone, now, bounds)
        needed = {"at": "atMs", "every": "everyMs", "cron": "expr"}[kind]
        raise ToolError(f"A schedule of kind {kind!r} needs `{needed}`.", reason=ScheduleReason.INVALID_JOB)

    def _agent(self, agent: str) -> str:
        """Return the agent that a job is for; empty for the caller's own agent.

        Raises:
            Denied: `other_agent`.
        """
        if not agent or agent == self._rt.caller.agent:
            return ""
        if agent not in self._policy.agents:
            raise Denied(ScheduleReason.OTHER_AGENT, "The profile does not allow jobs for this agent.")
        return agent


def _due_text(due: int) -> str | None:
    return format_time(due) if due < NEVER else None


def _name(name: str) -> str:
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable():
        what = f"The name of a job has 1 to {MAX_NAME} printable characters."
        raise ToolError(what, reason=ScheduleReason.INVALID_JOB)
    return name


ACTIONS: Mapping[str, Callable[[CronJobs, ToolContext, CronArguments], Any]] = {
    "status": CronJobs.status,
    "list": CronJobs.list,
    "add": CronJobs.add,
    "update": CronJobs.update,
    "remove": CronJobs.remove,
    "run": CronJobs.run,
    "runs": CronJobs.runs,
}


def build(
    workspace: Path, policy: CronPolicy, rt: ToolRuntime, clock: Callable[[], float] = time
) -> Callable[..., str]:
    """Make the tool for one policy."""
    jobs = CronJobs(workspace, policy, rt, Jobs(rt, policy, clock))

    def cron(
        action: CronAction,
        job: JobFields | None = None,
        jobId: str = "",  # noqa: N803 - the source's name
        patch: Patch | None = None,
        runMode: Literal["due", "force"] = "due",  # noqa: N803 - as above
        includeDisabled: bool = False,  # noqa: FBT001, FBT002, N803 - as above
        limit: Limit = 20,
    ) -> str:
        """Manage jobs that run at a time, at an interval or by cron. Each acts with at most the rights of its creator.

        Args:
            action: status; list (includeDisabled); add (job); update (jobId, patch); remove (jobId);
                run (jobId, runMode); runs (jobId, limit).
            job: The job that add makes: name, schedule, message; deliver, channel, to (where the answer goes; by
                default to this conversation), agentId, deleteAfterRun. A schedule is {kind: at, atMs}, {kind: every,
                everyMs} or {kind: cron, expr, tz}.
            jobId: The job's identifier, from add or list.
            patch: What update changes: fields of job, or disabled.
            runMode: due runs a job only if its time has come, force runs it now.
            includeDisabled: Whether list shows stopped jobs, too.
            limit: How many runs to show.
        """
        ctx = rt.start("cron", action=action)
        require_allowed(action, policy.allowed_actions)
        args = CronArguments(
            job=job, jobId=jobId, patch=patch, runMode=runMode, includeDisabled=includeDisabled, limit=limit
        )
        data = ACTIONS[action](jobs, ctx, args)
        return ctx.ok(json.dumps(data, indent=2), data=data)

    return cron


def advertise(policy: CronPolicy, schema: dict[str, Any]) -> dict[str, Any]:
    """Show the model the actions that its profile allows."""
    return restrict_actions(policy.allowed_actions, schema)


SPEC = ToolSpec(
    "cron",
    CronPolicy,
    build,
    reasons=set(ScheduleReason) - {ScheduleReason.INVALID_TIME, ScheduleReason.UNKNOWN_PROCESS},  # those of `schedule`
    capabilities=dict.fromkeys(get_args(CronAction), frozenset({"schedule"})),
    safety="high",
    staged=True,
    group="automation",
    argument_aliases={"id": "jobId"},
    advertise=advertise,
    asks=ask_for_later_acts,
)
