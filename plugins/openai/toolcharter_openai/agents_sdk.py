"""Gives a profile's tools to agents of the OpenAI Agents SDK, and puts an agent's own tools behind the gate.

`agent_tools` makes `FunctionTool`s of a profile's tools. `govern_tools` takes the tools that an agent has already, and
sends each of their calls through every stage of the gate. Calls that need a person become the SDK's interruptions.
Source: openai-agents 0.24, `tool.py`, `tool_context.py`, `tool_guardrails.py`.
"""

import copy
import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from agents import (
    FunctionTool,
    RunContextWrapper,
    Tool,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    ToolInputGuardrailData,
)
from agents.tool_context import ToolContext

from toolcharter import ApprovalAnswer, Caller
from toolcharter.hosts import Host, HostResult, arguments_of

CallerOf = Callable[[RunContextWrapper[Any]], Caller | None]
"""Returns who calls, given the SDK's context. None means the host's own caller."""


def agent_tools(host: Host, *, caller: CallerOf | None = None) -> list[FunctionTool]:
    """Return the tools of *host* for `Agent(tools=...)`.

    The schemas are not those of strict mode, which would make arguments with a default required.

    Args:
        host: The host of the profile.
        caller: Returns who calls; by default the host's own caller.
    """
    return [
        FunctionTool(
            name=tool.name,
            description=tool.description,
            params_json_schema=tool.parameters,
            on_invoke_tool=_ProfileToolInvoker(host, tool.name, caller),
            strict_json_schema=False,
            needs_approval=_NeedsApproval(host, tool.name, None, caller),
        )
        for tool in host.tools()
    ]


def govern_tools(host: Host, tools: Iterable[Tool], *, caller: CallerOf | None = None) -> list[Tool]:
    """Return copies of an agent's own *tools* whose calls pass the gate: rules, approvals, limits, events, scrubbing.

    Only function tools can be governed. A tool that OpenAI runs, such as web search, never reaches this process.

    Args:
        host: The host of the profile, which has to allow the tools by name.
        tools: The agent's tools; they are not changed.
        caller: Returns who calls; by default the host's own caller.

    Raises:
        TypeError: One of *tools* is no `FunctionTool`. Leave it out, or decide that the agent may use it ungoverned.
    """
    governed = list[Tool]()
    for tool in tools:
        if not isinstance(tool, FunctionTool):
            raise TypeError(
                f"The tool {tool.name!r} is no FunctionTool: OpenAI runs it, and no call of it can be governed."
            )
        copied = copy.copy(tool)
        copied.on_invoke_tool = _ForeignToolInvoker(host, tool, caller)
        copied.needs_approval = _NeedsApproval(host, tool.name, tool, caller)
        governed.append(copied)
    return governed


def input_guardrail(host: Host, *, caller: CallerOf | None = None) -> ToolInputGuardrail[Any]:
    """Return a guardrail that rejects what the profile would deny, for `tool_input_guardrails` of an agent's own tool.

    It only decides: it writes no event, applies no limit, scrubs nothing, and rejects a call that needs a person.
    `govern_tools` does all of that.
    """

    async def toolcharter(data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        ctx = data.context
        args = arguments_of(ctx.tool_arguments)
        decision = await host.adecide(ctx.tool_name, args, kind="custom", caller=caller and caller(ctx))
        if decision.outcome == "allow":
            return ToolGuardrailFunctionOutput.allow(decision.reason)
        message = f"ERROR: denied_by_policy reason={decision.reason}\n{decision.message or ''}".rstrip()
        return ToolGuardrailFunctionOutput.reject_content(message, decision.reason)

    return ToolInputGuardrail(toolcharter)


class _NeedsApproval:
    """`needs_approval` of one tool: whether the gate would ask a person about a call."""

    def __init__(self, host: Host, name: str, tool: FunctionTool | None, caller: CallerOf | None) -> None:
        self._host = host
        self._name = name
        self._tool = tool
        self._caller = caller
        self._own = tool.needs_approval if tool is not None else False

    async def __call__(self, ctx: RunContextWrapper[Any], args: dict[str, Any], call_id: str) -> bool:
        own = await self._own(ctx, args, call_id) if callable(self._own) else self._own
        if own:
            return True
        caller = self._caller and self._caller(ctx)
        if self._tool is None:
            decision = await self._host.adecide(self._name, args, caller=caller)
        else:
            schema = self._tool.params_json_schema
            decision = await self._host.adecide(self._name, args, parameters=schema, kind="custom", caller=caller)
        return decision.outcome == "ask"


class _ProfileToolInvoker:
    """`on_invoke_tool` of one of the profile's tools."""

    def __init__(self, host: Host, name: str, caller: CallerOf | None) -> None:
        self._host = host
        self._name = name
        self._caller = caller

    async def __call__(self, ctx: ToolContext[Any], arguments: str) -> str:
        caller = self._caller and self._caller(ctx)
        result = await self._host.acall(self._name, arguments_of(arguments), call_id=ctx.tool_call_id, caller=caller)
        return await _redeem_if_approved(ctx, result, self._host.aanswer)


class _ForeignToolInvoker:
    """`on_invoke_tool` of one of the agent's own tools."""

    def __init__(self, host: Host, tool: FunctionTool, caller: CallerOf | None) -> None:
        self._host = host
        self._tool = tool
        self._caller = caller

    async def __call__(self, ctx: ToolContext[Any], arguments: str) -> str:
        async def body(args: dict[str, Any]) -> str:
            output = await self._tool.on_invoke_tool(ctx, json.dumps(args))
            return output if isinstance(output, str) else str(output)

        async def answer(state: str, said: ApprovalAnswer) -> HostResult:
            return await self._host.aanswer(state, said, body=body, parameters=parameters)

        parameters = self._tool.params_json_schema
        result = await self._host.agovern(
            self._tool.name,
            arguments_of(arguments),
            body,
            parameters=parameters,
            call_id=ctx.tool_call_id,
            caller=self._caller and self._caller(ctx),
        )
        return await _redeem_if_approved(ctx, result, answer)


async def _redeem_if_approved(
    ctx: ToolContext[Any], result: HostResult, answer: Callable[[str, ApprovalAnswer], Awaitable[HostResult]]
) -> str:
    """Return the text of *result*. If it waits for a person who has approved the call in the SDK, redeem it first."""
    if result.pending is not None and ctx.is_tool_approved(ctx.tool_name, ctx.tool_call_id):
        result = await answer(result.pending.state, ApprovalAnswer("allow_once"))
    return result.text
