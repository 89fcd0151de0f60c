"""What a person is asked about a call, and what they answer."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from toolcharter.api.call import Caller

Answer = Literal["allow_once", "allow_always", "deny"]


class ApprovalRequest(NamedTuple):
    """One call that waits for a person: the whole of it, with `[12 characters masked]` in place of a secret."""

    tool: str
    action: str | None
    args: Mapping[str, Any]
    """The validated arguments, JSON types only, without those that are left out or have their default."""
    commands: tuple[str, ...]
    """What it would run, each command in normal form; empty for tools that run no programs."""
    workspace: Path
    """The folder it would run in."""
    profile: str
    caller: Caller
    call_id: str
    digest: str
    """SHA-256 of tool, canonical arguments, workspace and profile digest: the approval is of this and nothing else."""
    reason: str
    """Why a person is asked."""
    message: str | None
    always: bool
    """Whether `allow_always` is offered, which answers for this very call from then on."""
    why_not_always: str | None
    """A sentence for the person, if it is not offered."""
    always_until: str | None
    """How long it would hold: a UTC date and time; None if it is not offered."""
    timeout_s: float
    """How long the answer may take, in seconds."""


class ApprovalAnswer(NamedTuple):
    """What was answered, and by whom."""

    answer: Answer
    approver: str | None = None
    """A name that the profile's `approvals: {approvers: [...]}` can be held against."""
    message: str | None = None
    """Told to the model with a denial."""


class ApprovalHandedOn(Exception):
    """An approver raises it where another process goes on with the call: here it ends with `approval_handed_on`."""


Approver: TypeAlias = Callable[
    [ApprovalRequest], ApprovalAnswer | Answer | Awaitable[ApprovalAnswer | Answer | None] | None
]
"""Asks a person, from synchronous or asynchronous code. None says that no person is there."""
