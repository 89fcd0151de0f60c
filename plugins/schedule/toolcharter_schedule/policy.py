"""The policies of `schedule`, `cron` and the extension `scheduler`."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from toolcharter import ExtensionPolicy, ToolError, ToolPolicy
from toolcharter_schedule.timing import Bounds, require_zone

Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
ScheduleAction = Literal["create", "list", "cancel"]
CronAction = Literal["status", "list", "add", "update", "remove", "run", "runs"]
HEARTBEAT_FILE = "HEARTBEAT.md"
NEVER_IN_A_TASK = ("cron", "gateway", "schedule")
"""The tools that a job's task never gets by default, because a job could make further jobs."""


class JobsPolicy(ToolPolicy):
    """The settings that both tools share."""

    allow_tasks: bool = False
    """Whether a job may give an agent a task; otherwise it only delivers a fixed text."""
    task_deny: tuple[str, ...] = NEVER_IN_A_TASK
    """Tools that the agent of a task never gets, whatever its creator could use."""
    max_jobs: Count = 20
    """How many active jobs one user of one agent may have."""
    max_chars: Count = 4_000
    """How long the text of a job may be, in characters."""
    least_interval_s: Seconds = 60.0
    """The least time between two runs of a job, in seconds."""
    max_ahead_s: Seconds = 366 * 86_400.0
    """How far ahead the first run of a job may be, in seconds."""
    grace_s: Seconds = 3_600.0
    """How late a run may begin, for example after downtime, in seconds. A later run is recorded as `missed`."""
    unattended: bool = False
    """Whether jobs are made, changed and run at once without asking a person. Then a web page that orders a job
    succeeds if the model obeys."""
    timezone: str = "UTC"
    """The time zone of cron expressions that name no zone."""

    @field_validator("timezone")
    @classmethod
    def _known(cls, zone: str) -> str:
        try:
            require_zone(zone)
        except ToolError as error:
            raise ValueError(error.message) from None
        return zone

    def bounds(self) -> Bounds:
        """Return the limits of a job's times."""
        return Bounds(least_s=self.least_interval_s, ahead_s=self.max_ahead_s)


class SchedulePolicy(JobsPolicy):
    """How far one profile lets `schedule` go."""

    allowed_actions: tuple[ScheduleAction, ...] = ("list", "cancel")
    """The allowed actions; a person has to agree to each `create`, unless `unattended` is true."""


class CronPolicy(JobsPolicy):
    """How far one profile lets `cron` go."""

    allowed_actions: tuple[CronAction, ...] = ("status", "list", "runs")
    """The allowed actions; a person has to agree to each `add`, `update` and `run`, unless `unattended` is true."""
    deliver_to: tuple[str, ...] = ()
    """Globs for `CHANNEL:TO`, the chats that may get results in addition to the creator's own chat. The tool `message`
    has to allow them, too."""
    agents: tuple[str, ...] = ()
    """Other agents that may be named as `agentId`."""


class SchedulerPolicy(ExtensionPolicy):
    """How the jobs of one profile are run."""

    look_s: Annotated[float, Field(gt=0, le=60)] = 1.0
    """How often the store is polled for due jobs, in seconds."""
    concurrent: Count = 4
    """How many jobs run at once in one toolbox."""
    task_timeout_s: Annotated[float, Field(gt=0, le=86_400)] = 600.0
    """How long a task may take, in seconds."""
    max_iterations: Count = 20
    """How often the model of a task may be asked."""
    heartbeat_s: Annotated[float, Field(ge=60, le=31 * 86_400)] | None = None
    """How often an agent follows HEARTBEAT.md, in seconds; None: never."""
    heartbeat_agents: tuple[str, ...] = ()
    """The agents that follow it; empty: the agent that the session was opened for."""

    def takes_orders_from(self) -> tuple[str, ...]:
        """Return HEARTBEAT.md, if an agent follows it."""
        return () if self.heartbeat_s is None else (HEARTBEAT_FILE,)
