"""`CallContext`: the state of one call while it lasts, for the gate and for its tool; `begin_call` makes it."""

import os
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from itertools import count
from time import monotonic
from types import MappingProxyType, NoneType
from typing import Any

from pydantic_core import to_jsonable_python

from toolcharter._fork import renew_in_child
from toolcharter.api.call import Ask, Call, Caller, Decision, Outcome, RuleRef, Stage, ToolResult
from toolcharter.api.reasons import Reason
from toolcharter.errors import ToolError
from toolcharter.gate.redact import redact_id
from toolcharter.policy.evaluate import ALLOWED

OUTCOMES = frozenset({"ok", "error", "denied"})
MAX_NESTING = 16
"""How deep calls of tools by tools may be nested. Deeper nesting is treated as a runaway."""
_JSON_TYPES = frozenset({str, int, float, bool, NoneType})
_NO_FIELDS: Mapping[str, Any] = MappingProxyType({})


class MarkReached(BaseException):
    """Ends a dry run at the mark. It is no `Exception`, so that `except Exception` in a tool does not catch it."""


class CallContext:
    """One call. Defaults are class attributes, so that a call only pays for the attributes that it sets."""

    outcome: Outcome | None = None
    """None until the outcome is decided; set once."""
    text = ""
    user_text: str | None = None
    data: Any = None
    reason: str | None = None
    message: str | None = None
    hint: str | None = None
    retryable = False
    is_final = False
    """Whether a retry is useless, although the call's reason is retryable in general."""
    exit_code: int | None = None
    fields: Mapping[str, Any] = _NO_FIELDS
    stage: Stage | None = None
    rule: RuleRef | None = None
    faults: tuple[str, ...] = ()
    abandoned = False
    action: str | None = None
    commands: tuple[str, ...] = ()
    """The commands that it would run, in normal form."""
    is_asked_by_check = False
    """Whether a check, or a virtual file that the call would change, requires approval, whatever policy decides."""
    question: Ask | None = None
    """In a dry run, the question about a file that the call would change; in a real call, the question that was
    approved.
    """
    decision: Decision = ALLOWED
    """The decision of policy. If it denies, the call has ended."""
    seen: Call | None = None
    """The call as checks and guards see it, once one of them has looked."""
    parent_id: str | None = None
    values: Mapping[str, Any] = _NO_FIELDS
    """The validated arguments."""
    tail = b""
    """The call's base fields, encoded for its events."""
    first_half_written = False
    claimed = False
    """Whether the body has called `rt.start` for its own call."""
    passed = False
    """Whether the body has called `policy_passed`."""
    changed = False
    """Whether the body has changed a file of the workspace."""
    dry = False
    closed = False
    nesting = 0
    """How many calls of this process contain this call."""
    parent: "CallContext | None" = None
    """The call that opened this child by `rt.start`."""
    truncated = False
    """Whether the tool has already shortened the text, before the gate truncates it."""
    audit_lost = False
    """Whether a required sink has lost events of this call or of its children."""
    children: "list[CallContext] | None" = None
    """Child calls that `rt.start` opened; some may still be open."""
    close_child: "Callable[[CallContext], object] | None" = None
    """For a child call: closes it as soon as its outcome is decided, because no pipeline does."""

    def __init__(self, tool: str, caller: Caller, call_id: str, started: float, deadline: float) -> None:
        self.tool = tool
        self.caller = self.root = caller
        self.call_id = call_id
        self.started = started
        self.deadline = deadline
        self.live_key = id(self)

    def policy_before(self, **fields: Any) -> None:
        """Add *fields* to the event's `fields`. For tools that mark where their checks begin."""
        if fields:
            self.fields = {**self.fields, **fields}

    def policy_passed(self) -> None:
        """Set the mark: the code after this call may act. Ends a dry run, unless this is a child call within it."""
        self.passed = True
        if self.dry and self.close_child is None:
            raise MarkReached

    def ok(
        self,
        text: str,
        /,
        *,
        data: Any = None,
        user_text: str | None = None,
        exit_code: int | None = None,
        truncated: bool = False,
        **fields: Any,
    ) -> str:
        """Record success and return *text*."""
        if self._set_outcome("ok", fields):
            self.text, self.data, self.user_text, self.exit_code = text, data, user_text, exit_code
            self.truncated = truncated
            self._close_child_call()
        return text

    def error(
        self,
        message: str,
        /,
        *,
        reason: str = Reason.TOOL_ERROR,
        hint: str | None = None,
        retryable: bool = False,
        data: Any = None,
        exit_code: int | None = None,
        truncated: bool = False,
        **fields: Any,
    ) -> str:
        """Record a failure and return the text for the model: *message*, prefixed by `ERROR: ` unless it is already."""
        text = message if message.startswith("ERROR:") else f"ERROR: {message}"
        if self._set_outcome("error", fields):
            self.text, self.message = text, message
            self.reason, self.hint, self.retryable = str(reason), hint, retryable
            self.data, self.exit_code, self.truncated = data, exit_code, truncated
            self.stage = "tool"
            self._close_child_call()
        return text

    def deny(self, reason: str, /, message: str | None = None, *, hint: str | None = None, **fields: Any) -> str:
        """Record that policy forbids the call and return the text for the model."""
        text = denial_text(reason, message)
        if self._set_outcome("denied", fields):
            self.refuse("tool", reason, message, hint=hint)
            self._close_child_call()
        return text

    def refuse(self, stage: Stage, reason: str, message: str | None, *, hint: str | None = None) -> None:
        """Deny the call on behalf of the gate's *stage*."""
        self.outcome = "denied"
        self.text = denial_text(reason, message)
        self.stage, self.reason, self.message, self.hint = stage, str(reason), message, hint

    def copy_outcome(self, other: "CallContext") -> None:
        """End the call with the outcome of *other*, a dry run of it."""
        self.outcome, self.text, self.stage = other.outcome, other.text, other.stage
        self.reason, self.message, self.hint, self.retryable = other.reason, other.message, other.hint, other.retryable

    def fail(self, stage: Stage, reason: str, message: str) -> None:
        """End the call with an error on behalf of the gate's *stage*."""
        self.outcome = "error"
        self.text = f"ERROR: {reason}\n{message}"
        self.stage, self.reason, self.message = stage, str(reason), message
        self.hint, self.retryable = None, False

    def adopt(self, result: ToolResult) -> None:
        """End the call with the outcome of *result*, the result of another call."""
        if result.outcome not in OUTCOMES or (result.outcome != "ok" and not result.reason):
            self.fail(
                "tool", Reason.UNEXPECTED_FAILURE, "The tool returned a result without a valid outcome and reason."
            )
            return
        self.outcome, self.text, self.data, self.user_text = result.outcome, result.text, result.data, result.user_text
        if result.outcome != "ok":
            self.reason, self.message = result.reason, result.message
        self.hint = result.hint
        self.retryable, self.exit_code, self.truncated = result.retryable, result.exit_code, result.truncated
        self.stage = None if result.outcome == "ok" else "tool"

    def detached_copy(self) -> "CallContext":
        """Return another context for the same call, which the body cannot reach, to end the call with."""
        other = CallContext(self.tool, self.caller, self.call_id, self.started, self.deadline)
        other.action, other.parent_id, other.tail = self.action, self.parent_id, self.tail
        other.first_half_written, other.live_key, other.children = self.first_half_written, self.live_key, self.children
        other.dry, other.root, other.decision = self.dry, self.root, self.decision
        other.commands, other.values, other.seen = self.commands, self.values, self.seen
        return other

    def abandon(self) -> "CallContext":
        """Close this context, so that a late end of the body is ignored. Returns a substitute to end the call with."""
        copy = self.detached_copy()
        copy.abandoned = True
        if not self.try_finish():
            copy.try_finish()  # another thread already writes the call's `tool.after`
        return copy

    def try_finish(self) -> bool:
        """Claim the right to write the call's `tool.after`. Returns True for the first claimant of any thread."""
        mine = object()
        first = self.__dict__.setdefault("claimed_by", mine) is mine  # atomic, because of threads
        self.closed = True
        return first

    def discard_result(self) -> None:
        """Discard the result that the body recorded: it came too late or must not be shown."""
        self.data = self.user_text = self.exit_code = None
        self.truncated = False
        self.outcome = None

    def add_fault(self, word: str) -> None:
        """Record a fault of the tool for the call's `tool.after`."""
        if word not in self.faults:
            self.faults = (*self.faults, word)

    def _set_outcome(self, outcome: Outcome, fields: Mapping[str, Any]) -> bool:
        if self.closed or self.outcome is not None:
            self.add_fault("ended_twice")
            return False
        if fields:
            self.fields = {**self.fields, **fields}
        self.outcome = outcome
        return True

    def _close_child_call(self) -> None:
        """Close a child call with its outcome: no pipeline would close it."""
        if self.close_child is not None:
            self.close_child(self)


CURRENT: ContextVar[CallContext | None] = ContextVar("toolcharter_call", default=None)
"""The call whose body is running in this thread or task."""


def denial_text(reason: str, message: str | None) -> str:
    """Return the text of a denial for the model."""
    return f"ERROR: denied_by_policy reason={reason}" + (f"\n{message}" if message else "")


class CallIds:
    """Generates identifiers: a random prefix of the process and a number. Cheaper than a UUID."""

    def __init__(self) -> None:
        self.renew()
        renew_in_child(self)

    def renew(self) -> None:
        """Take another prefix: a forked child must not repeat the parent's identifiers."""
        self._prefix = f"call-{os.urandom(6).hex()}-"
        self._numbers = count(1)

    def __call__(self) -> str:
        """Return the next identifier."""
        return f"{self._prefix}{next(self._numbers)}"


new_call_id = CallIds()


def begin_call(
    tool: str, caller: Caller, timeout_s: float, call_id: str | None, parent_id: str | None, *, dry: bool = False
) -> CallContext:
    """Make the context of a call through a toolbox.

    Args:
        tool: The tool's name, as events show it.
        caller: Who calls.
        timeout_s: The call's time limit, in seconds. A nested call also ends at its parent's deadline.
        call_id: The host's identifier of the call; by default a new one.
        parent_id: The host's identifier of the parent; by default the call whose body runs here, if any.
        dry: Whether this is a dry run.

    Raises:
        ToolError: A body in a dry run tries to make a real call.
    """
    started = monotonic()
    identifier = new_call_id() if call_id is None else redact_id(call_id) or new_call_id()
    ctx = CallContext(tool, caller, identifier, started, started + timeout_s)
    parent = CURRENT.get()
    if parent is not None:
        if parent.dry and not dry:
            raise ToolError("a tool called another one before ctx.policy_passed()", reason=Reason.UNEXPECTED_FAILURE)
        ctx.deadline = min(ctx.deadline, parent.deadline)
        ctx.nesting = parent.nesting + 1
        ctx.parent_id = parent.call_id
        ctx.root = parent.root
    if parent_id is not None:
        ctx.parent_id = redact_id(parent_id)
    if dry:
        ctx.dry = True
    return ctx


def to_json_values(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return validated arguments as JSON types, as rules, approvals and patterns need them.

    A value may be a path or an enumeration by the function's signature; a rule on its text must still match.

    Raises:
        PydanticSerializationError: A value has no JSON form.
    """
    if all(type(value) in _JSON_TYPES for value in values.values()):
        return values
    plain: dict[str, Any] = to_jsonable_python(dict(values))
    return plain
