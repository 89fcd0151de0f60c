"""A profile's tools as a toolset."""

import secrets
from collections.abc import Callable
from typing import Any

from pydantic_ai import RunContext, ToolFailed
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from toolcharter import ApprovalAnswer, Caller
from toolcharter.hosts import Host, HostResult
from toolcharter_pydantic_ai.approvals import Approvals

MARK = secrets.token_hex(16)
"""Marks the profile's tools in their metadata. It is random, so that no other tool can pass for one of them."""
# The gate validates the arguments instead: it has the tool's own model, and its faults have reasons.
_ANY_OBJECT = SchemaValidator(core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema()))


class ProfileToolset(AbstractToolset[Any]):
    """The tools of a host, for `Agent(toolsets=[...])`.

    The model reads refusals and errors as failed calls, and no call is retried automatically. A call that needs a
    person is deferred: make `DeferredToolRequests` an output of the agent, and continue with `DeferredToolResults`.

    Args:
        host: The host of the profile.
        caller: Returns who calls, given the run's context; by default the host's own caller.
        id: Distinguishes the toolsets of one agent.
    """

    def __init__(
        self,
        host: Host,
        *,
        caller: Callable[[RunContext[Any]], Caller | None] | None = None,
        id: str = "toolcharter",  # noqa: A002 - the framework's name
    ) -> None:
        self._host = host
        self._caller = caller
        self._id = id
        self._approvals = Approvals()

    @property
    def id(self) -> str:
        """The name that distinguishes the toolsets of one agent."""
        return self._id

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Return the tools that the caller may see."""
        return {
            tool.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=tool.parameters,
                    return_schema=tool.output_schema,
                    strict=False,
                    metadata={"toolcharter": MARK},
                ),
                max_retries=0,
                args_validator=_ANY_OBJECT,
            )
            for tool in self._host.tools(self._caller and self._caller(ctx))
        }

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[Any],
        tool: ToolsetTool[Any],  # noqa: ARG002 - the framework's signature
    ) -> str:
        """Make one governed call.

        Raises:
            ToolFailed: The call was refused, or failed; the model reads why.
            ApprovalRequired: The call needs a person.
        """
        caller = self._caller and self._caller(ctx)

        async def make() -> HostResult:
            return await self._host.acall(name, tool_args, call_id=ctx.tool_call_id, caller=caller)

        async def answer(state: str, said: ApprovalAnswer) -> HostResult:
            return await self._host.aanswer(state, said)

        result = await self._approvals.call(ctx, name, tool_args, caller, make, answer)
        if result.is_error:
            raise ToolFailed(result.text)
        return result.text
