"""The first step of every call: its identity, and its place below the call that makes it."""

from time import monotonic

from toolcharter.errors import ToolError
from toolcharter.gate.context import CURRENT, CallContext
from toolcharter.gate.shared import new_call_id
from toolcharter.gate.shown import shown_id
from toolcharter.spec.call import Caller
from toolcharter.spec.reasons import Reason


def begin(
    tool: str, caller: Caller, timeout_s: float, call_id: str | None, parent_id: str | None, *, dry: bool = False
) -> CallContext:
    """Make the context of a call that comes through a toolbox.

    Args:
        tool: Its name, as events show it.
        caller: Who calls.
        timeout_s: How long it may take, in seconds.
        call_id: The host's identifier; one of ours if it brings none.
        parent_id: The host's identifier of the parent; the call whose body runs here, if any.
        dry: The call is only rehearsed.

    Raises:
        ToolError: A body that is being rehearsed would make a real call.
    """
    started = monotonic()
    identifier = new_call_id() if call_id is None else shown_id(call_id) or new_call_id()
    ctx = CallContext(tool, caller, identifier, started, started + timeout_s)
    parent = CURRENT.get()
    if parent is not None:
        if parent.dry and not dry:
            raise ToolError("a tool called another one before ctx.policy_passed()", reason=Reason.UNEXPECTED_FAILURE)
        ctx.nesting = parent.nesting + 1
        ctx.parent_id = parent.call_id
        ctx.root = parent.root
    if parent_id is not None:
        ctx.parent_id = shown_id(parent_id)
    if dry:
        ctx.dry = True
    return ctx
