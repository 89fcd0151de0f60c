"""Approvals: the question to a person about a call, and the person's answer."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from toolcharter.api.call import Caller

Answer = Literal["allow_once", "allow_always", "deny"]


class ApprovalRequest(NamedTuple):
    """The whole of one call that waits for a person's approval. `[12 characters masked]` replaces a secret."""

    tool: str
    action: str | None
    args: Mapping[str, Any]
    """The validated arguments, JSON types only, without those that were omitted or have their default."""
    commands: tuple[str, ...]
    """The commands that it would run, in normal form; empty for tools that run no programs."""
    workspace: Path
    """The folder that it would run in."""
    profile: str
    caller: Caller
    call_id: str
    digest: str
    """SHA-256 of tool, canonical arguments, workspace and profile digest. The approval holds only for this digest."""
    reason: str
    """Why a person is asked."""
    message: str | None
    always: bool
    """Whether `allow_always` is offered, which also approves the same call in the future."""
    why_not_always: str | None
    """Why `allow_always` is not offered, as a sentence for the person; None if it is."""
    always_until: str | None
    """When `allow_always` would expire, as a UTC date and time; None if it is not offered."""
    timeout_s: float
    """How long the answer may take, in seconds."""


class ApprovalAnswer(NamedTuple):
    """A person's answer, and who gave it."""

    answer: Answer
    approver: str | None = None
    """The person's name, which the gate can compare with the profile's `approvals: {approvers: [...]}`."""
    message: str | None = None
    """A text for the model, in case of a denial."""


class ApprovalHandedOn(Exception):
    """Raised by an approver if another process continues the call. Here the call ends with `approval_handed_on`."""


Approver: TypeAlias = Callable[
    [ApprovalRequest], ApprovalAnswer | Answer | Awaitable[ApprovalAnswer | Answer | None] | None
]
"""Asks a person, from synchronous or asynchronous code. Returns None if no person can be asked."""
