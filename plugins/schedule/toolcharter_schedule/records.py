"""What is kept: jobs, and each time that one was due.

A job's `due` is indexed, so that what is due next is found however many jobs there are. A run is written under its job and
the time that it was due at, and only where there is none yet: that is what makes each time run once, in however many
processes.
"""

from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Literal

from toolcharter import Allowance, Caller, Delegation, RecordKind, StoreRecord
from toolcharter_schedule.timing import NEVER, SECOND, At, Cron, Every, described, shown

State = Literal["waiting", "running", "ok", "error", "denied", "missed", "lost", "ended"]
"""Of a run. `waiting`: it is due, perhaps again after it has failed. `missed`: nobody was there in time, or the run before it
had not ended. `lost`: the process that ran it is gone. `ended`: it was not to run any more, as its process has ended."""
_ASKED = "f"
OPEN: tuple[State, ...] = ("waiting", "running")


class Retry(StoreRecord):
    """How often a run that has failed is tried again, and when."""

    times: int = 3
    least_ms: int = SECOND
    most_ms: int = 30 * SECOND
    jitter: float = 0.25
    """By what part of itself a wait varies."""

    def wait_ms(self, attempt: int, chance: float) -> int:
        """How long to wait after *attempt* attempts; *chance* is at least 0 and below 1."""
        wait = min(self.least_ms * 2 ** min(attempt - 1, 30), self.most_ms)
        varied = wait * (1 + self.jitter * (2 * chance - 1))
        return int(min(max(varied, self.least_ms), self.most_ms))


class Creator(StoreRecord):
    """Who made a job, and what they could see then: a run of it gets no tool besides."""

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
    """The only tools that whoever started them had left them; None for an agent that a host has started."""

    @classmethod
    def of(cls, caller: Caller) -> "Creator":
        """*caller* as a record keeps it."""
        facts = asdict(replace(caller, delegation=None))
        del facts["delegation"]
        return cls(**facts, left=None if caller.delegation is None else caller.delegation.tools)

    def caller(self) -> Caller:
        """The creator, as they called."""
        caller = Caller(**self.model_dump(exclude={"left"}))
        return caller if self.left is None else replace(caller, delegation=Delegation(caller, self.left))


def place_of(profile: str, workspace: Path) -> str:
    """Where jobs run: in a toolbox of the same profile and workspace, in whichever process."""
    return sha256(f"{len(profile)}:{profile}:{workspace}".encode("utf-8", "surrogateescape")).hexdigest()


def owner_of(caller: Caller) -> str:
    """Whose jobs a caller sees: those of the same agent and user."""
    return f"{len(caller.agent or '')}:{caller.agent or ''}:{caller.user or ''}"


class Permitted(StoreRecord):
    """An `Allowance` as a record keeps it."""

    base: str
    deny: tuple[str, ...]
    ask: tuple[str, ...]
    allow: tuple[str, ...]
    extensions: dict[str, str]
    tools: dict[str, str]

    @classmethod
    def of(cls, allowance: Allowance) -> "Permitted":
        """*allowance* to be kept."""
        return cls.model_validate(allowance._asdict())

    def allowance(self) -> Allowance:
        """What was kept."""
        return Allowance(**self.model_dump())


class Job(StoreRecord):
    """Something to do at times to come."""

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
    allowance: Permitted | None = None
    """What the profile permitted its creator then; None: nothing is known, and no task runs."""
    deny: tuple[str, ...] = ()
    """What a task never gets."""
    retry: Retry = Retry()
    grace_ms: int
    """How late a run may begin."""
    deliver: bool = False
    channel: str = ""
    to: str = ""
    agent: str = ""
    """Which agent runs a task, where it is not the creator's."""
    delete_after_run: bool = False
    process: str = ""
    """The handle of the process with which the job ends."""
    enabled: bool = True
    created_ms: int
    due: int
    """When it is due next; `NEVER` where it is not."""
    running: str = ""
    """The time of the run that has not ended yet."""
    fired: tuple[tuple[int, int], ...] = ()
    """In which stretches of time it has been due: no time in them counts again, however clocks are set."""
    last_state: str = ""
    last_error: str = ""

    def shown(self) -> dict[str, Any]:
        """What its owner is told of it."""
        zone = self.timing.zone if isinstance(self.timing, Cron) else "UTC"
        return {
            "id": self.id,
            "name": self.name,
            "when": described(self.timing),
            "work": self.work,
            "text": self.text,
            "enabled": self.enabled,
            "next": shown(self.due, zone) if self.due < NEVER else None,
            "running": bool(self.running),
            "last_state": self.last_state or None,
            "last_error": self.last_error or None,
            "deliver": self.deliver,
            "channel": self.channel or None,
            "to": self.to or None,
            "agent": self.agent or self.creator.agent,
            "delete_after_run": self.delete_after_run,
            "process_handle": self.process or None,
            "created": shown(self.created_ms),
        }


class Run(StoreRecord):
    """One time that a job was due."""

    store_kind: ClassVar[RecordKind] = RecordKind("schedule_run", key=("job", "time"), indexed=("at", "job", "place"))

    job: str
    place: str = ""
    time: str
    """When it was due, as digits that sort; with an `f` where somebody asked for it."""
    due: int
    at: int
    """When something is to be done about it next: begun, tried again, or given up; `NEVER` when it has ended."""
    state: State
    attempt: int = 0
    """How often it was begun."""
    worker: str = ""
    began_ms: int = 0
    ended_ms: int = 0
    text: str = ""
    """What came of it."""
    error: str = ""

    @property
    def is_asked(self) -> bool:
        """Whether somebody asked for it, besides the times of its job."""
        return self.time.endswith(_ASKED)

    def shown(self) -> dict[str, Any]:
        """What the owner of its job is told of it."""
        return {
            "due": shown(self.due),
            "state": self.state,
            "attempts": self.attempt,
            "began": shown(self.began_ms) if self.began_ms else None,
            "ended": shown(self.ended_ms) if self.ended_ms else None,
            "text": self.text or None,
            "error": self.error or None,
        }


def time_key(due_ms: int, *, asked: bool = False) -> str:
    """The key of the run that is due at *due_ms*."""
    return f"{due_ms:016d}{_ASKED if asked else ''}"
