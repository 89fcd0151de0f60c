"""An agent's own tools behind the gate."""

import json
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from dataclasses import replace
from typing import Any

from strands.interrupt import InterruptException
from strands.middleware import ExecuteToolContext, ToolResultEvent, TypedEvent
from strands.types.tools import ToolResult, ToolUse

from toolcharter import ApprovalAnswer, Caller, ToolError
from toolcharter.hosts import Host, HostResult
from toolcharter_strands.approvals import NAME, Approvals
from toolcharter_strands.tools import ProfileTool, to_strands_result

Next = Callable[[ExecuteToolContext], AsyncIterable[TypedEvent]]


class Govern:
    """Sends every call of a tool that is not a profile's through the gate: rules, approvals, limits, events, scrubbing.

    Register it with `agent.add_middleware(ExecuteToolStage, Govern(host))`. The profile has to allow such a tool by its
    name, `allow: ["custom:NAME"]`. The text and the JSON of a result reach the model as text; images and documents are
    passed on unchanged. Events that a tool streams are passed on when the tool has ended.

    Args:
        host: The host of the profile.
        caller: Returns who makes a call, given its context; by default the host's own caller.
    """

    def __init__(self, host: Host, *, caller: Callable[[ExecuteToolContext], Caller | None] | None = None) -> None:
        self._host = host
        self._caller = caller
        self._approvals = Approvals()

    async def __call__(self, context: ExecuteToolContext, next_fn: Next) -> AsyncGenerator[TypedEvent, None]:
        """Make the call if the gate allows it, and yield its events."""
        if isinstance(context.tool, ProfileTool):
            async for event in next_fn(context):
                yield event
            return
        held = _HeldEvents()
        name, args, call_id = context.tool_use["name"], context.tool_use["input"], context.tool_use["toolUseId"]
        caller, given = self._caller and self._caller(context), dict(args)
        schema = None if context.tool is None else context.tool.tool_spec["inputSchema"]["json"]

        async def body(judged: dict[str, Any]) -> str:
            # The gate's own copy: the context's arguments are shared, and may have changed since they were judged.
            use: ToolUse = {**context.tool_use, "name": name, "input": {**given, **judged}}
            return await held.keep(next_fn(replace(context, tool_use=use)))

        async def make() -> HostResult:
            ids: dict[str, Any] = {"call_id": call_id, "caller": caller}
            return await self._host.agovern(name, args, body, parameters=schema, **ids)

        async def answer(state: str, said: ApprovalAnswer) -> HostResult:
            return await self._host.aanswer(state, said, body=body, parameters=schema)

        def interrupt(question: dict[str, Any]) -> Any:
            return context.interrupt(NAME, reason=question).response

        result = await self._approvals.call(call_id, name, args, caller, make, interrupt, answer)
        for event in held.events:
            yield event
        if not held.is_interrupted():
            yield ToolResultEvent(held.result_for_model(result, call_id))


class _HeldEvents:
    """What the tool itself has streamed, kept apart from the gate's result."""

    def __init__(self) -> None:
        self.events = list[TypedEvent]()
        self._rest = list[Any]()
        self._stop: InterruptException | None = None

    async def keep(self, events: AsyncIterable[TypedEvent]) -> str:
        """Keep the tool's events, and return the text of its result for the gate.

        Raises:
            ToolError: The tool has failed, or has interrupted the agent.
        """
        last: TypedEvent | None = None
        try:
            async for event in events:
                last = event
                self.events.append(event)
        except InterruptException as stop:
            self._stop = stop
            raise ToolError("The tool has interrupted the agent.", reason="interrupted") from stop
        if not isinstance(last, ToolResultEvent):
            raise ToolError("The tool has interrupted the agent.", reason="interrupted")
        self.events.pop()
        result = last.tool_result
        text = "\n".join(_text(block) for block in result["content"] if "text" in block or "json" in block)
        self._rest = [block for block in result["content"] if "text" not in block and "json" not in block]
        if result["status"] == "error":
            raise ToolError(text, reason="tool_failed")
        return text

    def is_interrupted(self) -> bool:
        """Return whether one of the streamed events interrupts the agent.

        Raises:
            InterruptException: The tool has interrupted the agent by this exception.
        """
        if self._stop is not None:
            raise self._stop
        return any("tool_interrupt_event" in event for event in self.events)

    def result_for_model(self, result: HostResult, call_id: str) -> ToolResult:
        """Return the result that the model sees."""
        shown = to_strands_result(result, call_id)
        return {**shown, "content": [*shown["content"], *([] if result.is_error else self._rest)]}


def _text(block: Any) -> str:
    return str(block["text"]) if "text" in block else json.dumps(block["json"], ensure_ascii=False)
