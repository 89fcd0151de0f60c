"""A profile's tools as tools of Strands."""

from collections.abc import AsyncGenerator, Callable
from typing import Any

from strands import ToolContext
from strands.middleware import ToolResultEvent
from strands.types.tools import AgentTool, ToolResult, ToolResultContent, ToolSpec, ToolUse

from toolcharter import ApprovalAnswer, Caller
from toolcharter.hosts import Host, HostResult, HostTool
from toolcharter_strands.approvals import NAME, Approvals

CallerOf = Callable[[dict[str, Any]], Caller | None]
"""Returns who calls, given the `invocation_state` of the run. None means the host's own caller."""


def strands_tools(host: Host, *, caller: CallerOf | None = None) -> list[AgentTool]:
    """Return the tools of *host* for `Agent(tools=...)`.

    Args:
        host: The host of the profile.
        caller: Returns who calls; by default the host's own caller.
    """
    approvals = Approvals()
    return [ProfileTool(host, tool, caller, approvals) for tool in host.tools()]


class ProfileTool(AgentTool):
    """One tool of a profile. The result of a refused call has the status `error`, and the reason in its text."""

    def __init__(self, host: Host, tool: HostTool, caller: CallerOf | None, approvals: Approvals) -> None:
        super().__init__()
        self._host = host
        self._tool = tool
        self._caller = caller
        self._approvals = approvals

    @property
    def tool_name(self) -> str:
        """The tool's name."""
        return self._tool.name

    @property
    def tool_spec(self) -> ToolSpec:
        """The name, description and schema for the model."""
        schema = {"json": self._tool.parameters}
        return {"name": self._tool.name, "description": self._tool.description, "inputSchema": schema}

    @property
    def tool_type(self) -> str:
        """The kind of tool, for displays."""
        return "toolcharter"

    async def stream(
        self, tool_use: ToolUse, invocation_state: dict[str, Any], **_: Any
    ) -> AsyncGenerator[ToolResultEvent, None]:
        """Make one governed call; its result is the only event."""
        call_id, args = tool_use["toolUseId"], tool_use["input"]
        caller = self._caller and self._caller(invocation_state)

        async def make() -> HostResult:
            return await self._host.acall(self.tool_name, args, call_id=call_id, caller=caller)

        def interrupt(question: dict[str, Any]) -> Any:
            return ToolContext(tool_use, invocation_state["agent"], invocation_state).interrupt(NAME, question)

        async def answer(state: str, said: ApprovalAnswer) -> HostResult:
            return await self._host.aanswer(state, said)

        result = await self._approvals.call(call_id, self.tool_name, args, caller, make, interrupt, answer)
        yield ToolResultEvent(to_strands_result(result, call_id))


def to_strands_result(result: HostResult, call_id: str) -> ToolResult:
    """Convert *result* to Strands's form."""
    content: list[ToolResultContent] = [{"text": result.text}]
    return {"toolUseId": call_id, "status": "error" if result.is_error else "success", "content": content}
