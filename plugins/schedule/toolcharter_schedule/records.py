"""The records in the store: jobs, and a run for each time that a job was due.

A job's `due` is indexed, so that the next due job is found quickly among many. A run's key is its job and its due time,
and it is only written if there is none yet. So each due time runs once, in however many processes.
"""

from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Literal

from toolcharter import Allowance, Caller, Delegation, RecordKind, StoreRecord
from toolcharter_schedule.timing import NEVER, SECOND, At, Cron, Every, describe_timing, format_time

State = Literal["waiting", "running", "ok", "error", "denied", "missed", "lost", "ended"]
"""The state of a run. `waiting`: it is due, perhaps again after a failure. `missed`: no process ran it in time, or the
previous run had not ended. `lost`: the process that ran it is gone. `ended`: its job was cancelled, or the process that
the job depends on has ended."""
_ASKED = "f"
OPEN: tuple[State, ...] = ("waiting", "running")


class Retry(StoreRecord):
    """How often a run that has failed is tried again, and when."""

    times: int = 3
    least_ms: int = SECOND
    most_ms: int = 30 * SECOND
    jitter: float = 0.25
    """The share of a wait by which it varies at random."""

    def wait_ms(self, attempt: int, chance: float) -> int:
        """Return how long to wait after *attempt* attempts, in milliseconds; *chance* is at least 0 and below 1."""
        wait = min(self.least_ms * 2 ** min(attempt - 1, 30), self.most_ms)
        varied = wait * (1 + self.jitter * (2 * chance - 1))
        return int(min(max(varied, self.least_ms), self.most_ms))


class Creator(StoreRecord):
    """Who made a job, and which tools they had then: a run of the job gets no other tools."""

    agent: str | None = None
    provider: str | None = None
    group: str | None = None
    session: str | None = None
    user: str | None = None
    project: str | None = None
    depth: int = 0
    tenant: str = ""
    channel: str | None = None
    chat: str | None = None
    peer: Literal["direct", "group"] | None = None
    agent_type: Literal["open", "predefined"] | None = None
    left: tuple[str, ...] | None = None
    """The only tools that a parent agent had left to the creator; None for an agent that a host has started."""

    @classmethod
    def of(cls, caller: Caller) -> "Creator":
        """Convert *caller* to a record."""
        facts = asdict(replace(caller, delegation=None))
        del facts["delegation"]
        return cls(**facts, left=None if caller.delegation is None else caller.delegation.tools)

    def caller(self) -> Caller:
        """Return the creator as the caller that made the job."""
        caller = Caller(**self.model_dump(exclude={"left"}))
        return caller if self.left is None else replace(caller, delegation=Delegation(caller, self.left))


def place_of(profile: str, workspace: Path) -> str:
    """Return the key of a profile and workspace: jobs run only in toolboxes of the same two, in any process."""
    return sha256(f"{len(profile)}:{profile}:{workspace}".encode("utf-8", "surrogateescape")).hexdigest()


def owner_of(caller: Caller) -> str:
    """Return the owner whose jobs *caller* sees: the same agent and user."""
    return f"{len(caller.agent or '')}:{caller.agent or ''}:{caller.user or ''}"


class AllowanceRecord(StoreRecord):
    """An `Allowance` as a record."""

    base: str
    deny: tuple[str, ...]
    ask: tuple[str, ...]
    allow: tuple[str, ...]
    extensions: dict[str, str]
    tools: dict[str, str]

    @classmethod
    def of(cls, allowance: Allowance) -> "AllowanceRecord":
        """Convert *allowance* to a record."""
        return cls.model_validate(allowance._asdict())

    def allowance(self) -> Allowance:
        """Return the recorded allowance."""
        return Allowance(**self.model_dump())


class Job(StoreRecord):
    """A message or a task for future times."""

    store_kind: ClassVar[RecordKind] = RecordKind("schedule_job", key=("id",), indexed=("due", "owner", "place"))

    id: str
    owner: str
    creator: Creator
    made_by: Literal["schedule", "cron", "heartbeat"]
    name: str
    timing: At | Every | Cron
    work: Literal["message", "task"]
    text: str
    profile: str
    place: str = ""
    """The profile and the workspace whose toolboxes run it, as `place_of` makes it."""
    allowance: AllowanceRecord | None = None
    """What the profile permitted its creator when the job was made; None if unknown: then no task runs."""
    deny: tuple[str, ...] = ()
    """The tools that a task never gets."""
    retry: Retry = Retry()
    grace_ms: int
    """How late a run may begin, in milliseconds."""
    deliver: bool = False
    channel: str = ""
    to: str = ""
    agent: str = ""
    """The agent that runs a task; empty for the creator's own agent."""
    delete_after_run: bool = False
    process: str = ""
    """The handle of the process whose end cancels the job."""
    enabled: bool = True
    created_ms: int
    due: int
    """When the job is due next, in milliseconds; `NEVER` if it is not."""
    running: str = ""
    """The key of the run that has not ended yet."""
    fired: tuple[tuple[int, int], ...] = ()
    """The stretches of time in which the job has run: no time in them runs again, even if clocks are set."""
    last_state: str = ""
    last_error: str = ""

    def describe(self) -> dict[str, Any]:
        """Return the job's data for its owner."""
        zone = self.timing.zone if isinstance(self.timing, Cron) else "UTC"
        return {
            "id": self.id,
            "name": self.name,
            "when": describe_timing(self.timing),
            "work": self.work,
            "text": self.text,
            "enabled": self.enabled,
            "next": format_time(self.due, zone) if self.due < NEVER else None,
            "running": bool(self.running),
            "last_state": self.last_state or None,
            "last_error": self.last_error or None,
            "deliver": self.deliver,
            "channel": self.channel or None,
            "to": self.to or None,
            "agent": self.agent or self.creator.agent,
            "delete_after_run": self.delete_after_run,
            "process_handle": self.process or None,
            "created": format_time(self.created_ms),
        }


class Run(StoreRecord):
    """One time that a job was due."""

    store_kind: ClassVar[RecordKind] = RecordKind("schedule_run", key=("job", "time"), indexed=("at", "job", "place"))

    job: str
    place: str = ""
    time: str
    """When the run was due, as digits that sort; with an `f` if a caller requested the run."""
    due: int
    at: int
    """When the run has to be started, retried or given up, in milliseconds; `NEVER` if it has ended."""
    state: State
    attempt: int = 0
    """How many attempts have been made."""
    worker: str = ""
    began_ms: int = 0
    ended_ms: int = 0
    text: str = ""
    """The text that the run delivered."""
    error: str = ""

    @property
    def is_asked(self) -> bool:
        """Whether a caller requested the run, in addition to the job's due times."""
        return self.time.endswith(_ASKED)

    def describe(self) -> dict[str, Any]:
        """Return the run's data for the owner of its job."""
        return {
            "due": format_time(self.due),
            "state": self.state,
            "attempts": self.attempt,
            "began": format_time(self.began_ms) if self.began_ms else None,
            "ended": format_time(self.ended_ms) if self.ended_ms else None,
            "text": self.text or None,
            "error": self.error or None,
        }


def time_key(due_ms: int, *, asked: bool = False) -> str:
    """Return the key of the run that is due at *due_ms*."""
    return f"{due_ms:016d}{_ASKED if asked else ''}"
