"""An agent's own tools behind the gate."""

import json
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from pydantic_ai import ModelRetry, RunContext, ToolFailed, ToolReturn
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ToolFailedError, ToolRetryError
from pydantic_ai.messages import TextContent, ToolCallPart
from pydantic_ai.tools import ToolDefinition
from pydantic_core import to_jsonable_python

from toolcharter import ApprovalAnswer, Caller, ToolError, scrub_text
from toolcharter.hosts import Host, HostResult
from toolcharter_pydantic_ai.approvals import Approvals
from toolcharter_pydantic_ai.toolset import MARK

_DEFERRALS = (ApprovalRequired, CallDeferred)
_RETRIES = (ModelRetry, ToolRetryError)
# The framework has converted both failures to its own exceptions before a capability sees them.
_STOPS = (*_DEFERRALS, *_RETRIES, ToolFailed, ToolFailedError)

_JUDGED_ARGS: ContextVar[dict[str, Any] | None] = ContextVar("judged", default=None)
"""The judged arguments of the call whose body runs in this context."""


class Govern(AbstractCapability[Any]):
    """Sends every call of a tool that is not a profile's through the gate: rules, approvals, limits, events, scrubbing.

    The profile has to allow such a tool by its name, `allow: ["custom:NAME"]`. Rules see the arguments as the tool gets
    them, as JSON, at every depth: also what validation, a person or another capability has changed. This capability
    comes after all others. The model gets the tool's result as text or as JSON data; binary content is passed on
    unchanged.

    Args:
        host: The host of the profile.
        caller: Returns who calls, given the run's context; by default the host's own caller.
    """

    def __init__(self, host: Host, *, caller: Callable[[RunContext[Any]], Caller | None] | None = None) -> None:
        self._host = host
        self._caller = caller
        self._approvals = Approvals()

    def get_ordering(self) -> CapabilityOrdering:
        """Return the innermost position, so that no other capability changes the arguments after they were judged."""
        return CapabilityOrdering(position="innermost")

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Callable[[dict[str, Any]], Awaitable[Any]],
    ) -> Any:
        """Make the call if the gate allows it.

        Raises:
            ToolFailed: The call was refused, or failed; the model reads why.
            ModelRetry: The tool asks the model to try again.
            ApprovalRequired: The call needs a person.
            CallDeferred: The tool itself has deferred the call.
        """
        if (tool_def.metadata or {}).get("toolcharter") == MARK:
            return await handler(args)
        schema = tool_def.parameters_json_schema
        tool_outcome, given = _ToolOutcome(), _validated_args(call.args_as_dict(), args, schema)
        caller = self._caller and self._caller(ctx)

        async def body(_: dict[str, Any]) -> Any:
            _JUDGED_ARGS.set(given)
            try:
                return tool_outcome.keep_value(await handler(args))
            except _STOPS as stop:
                raise tool_outcome.keep_exception(stop) from stop

        async def make() -> HostResult:
            ids: dict[str, Any] = {"call_id": call.tool_call_id, "caller": caller}
            return await self._host.agovern(call.tool_name, given, body, parameters=schema, **ids)

        async def answer(state: str, said: ApprovalAnswer) -> HostResult:
            return await self._host.aanswer(state, said, body=body, parameters=schema)

        return tool_outcome.result_for_model(
            await self._approvals.call(ctx, call.tool_name, given, caller, make, answer)
        )

    async def before_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any]
    ) -> dict[str, Any]:
        """Judge the arguments again if another capability's `before_tool_execute` has changed them.

        Raises:
            ToolFailed: The profile does not allow the call with the changed arguments.
        """
        judged = _JUDGED_ARGS.get()
        if judged is None or (tool_def.metadata or {}).get("toolcharter") == MARK:
            return args
        schema = tool_def.parameters_json_schema
        now = _validated_args(judged, args, schema)
        if not _is_same(now, judged):
            more: dict[str, Any] = {"kind": "custom", "caller": self._caller and self._caller(ctx)}
            decision = await self._host.adecide(call.tool_name, now, parameters=schema, **more)
            if decision.outcome != "allow":
                said = f"reason={decision.reason}\nAnother capability has changed the arguments."
                raise ToolFailed(f"ERROR: denied_by_policy {said} {decision.message or ''}".rstrip())
        return args


class _ToolOutcome:
    """What the tool itself returned or raised, kept apart from the gate's result."""

    def __init__(self) -> None:
        self._return: ToolReturn[Any] | None = None
        self._is_text = False
        self._stop: Exception | None = None

    def keep_value(self, value: Any) -> Any:
        """Return *value* for the gate, as text or JSON data; keep a `ToolReturn`."""
        if isinstance(value, ToolReturn):
            self._return = value
            value = value.return_value
        self._is_text = isinstance(value, str)
        return value if self._is_text else to_jsonable_python(value)

    def keep_exception(self, stop: Exception) -> ToolError:
        """Keep the exception that the tool raised, and return the error that the gate gets instead."""
        self._stop = stop
        deferred = isinstance(stop, _DEFERRALS)
        return ToolError(
            "The tool answers later." if deferred else str(stop), reason="deferred" if deferred else "tool_failed"
        )

    def result_for_model(self, result: HostResult) -> Any:
        """Return what the framework shows its model, or raise the tool's own exception again."""
        if isinstance(self._stop, _RETRIES):
            raise ModelRetry(result.result.message or result.text)
        if isinstance(self._stop, _DEFERRALS):
            raise self._stop
        if result.is_error:
            raise ToolFailed(result.text)
        value = result.text if self._is_text else result.result.data
        if self._return is None:
            return value
        content = self._return.content
        if content is not None:
            content = _scrub_part(content) if isinstance(content, str) else [_scrub_part(part) for part in content]
        return replace(self._return, return_value=value, content=content)


def _validated_args(written: dict[str, Any], args: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments as the tool gets them, as JSON."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    now: dict[str, Any] = to_jsonable_python(args, fallback=repr)
    if len(now) == 1 and now.keys().isdisjoint((*properties, *written)):
        # The only argument is an object, and the schema shows the model its fields as the arguments.
        [only] = now.values()
        now = only if isinstance(only, dict) else now
    return {
        name: value
        for name, value in now.items()
        # The gate fills in a default from the schema, or None.
        if name in written or not _is_same(value, properties.get(name, {}).get("default"))
    }


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two values are the same JSON; `1`, `1.0` and `true` differ."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _scrub_part(part: Any) -> Any:
    """Scrub one part of the content that a tool sends in addition to its value: a text, a text object or a file."""
    if isinstance(part, str):
        return scrub_text(part)[0]
    if isinstance(part, TextContent):
        text, found = scrub_text(part.content)
        return TextContent(text, metadata=part.metadata) if found else part  # without the unscrubbed value
    return part
