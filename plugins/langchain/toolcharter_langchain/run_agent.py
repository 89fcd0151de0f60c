"""The extension `langchain`: runs agents that tools start.

Source: langchain 1.4, `agents/factory.py`, `agents/middleware/types.py`.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain.chat_models import init_chat_model
from langchain.tools.tool_node import ToolCallRequest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.types import Command

from toolcharter import AgentResult, AgentTask, ExtensionPolicy, ExtensionSpec, ToolError, hookimpl
from toolcharter.hosts import HostTool, described


class LangChainPolicy(ExtensionPolicy):
    """Which model runs agents."""

    model: str
    """The model for agents that name no model, in the notation of `init_chat_model`."""


class LangChainAgents:
    """Implements `run_agent`.

    Args:
        policy: The extension's settings in the profile.
        model_of: Returns the chat model for a name.
    """

    def __init__(self, policy: LangChainPolicy, model_of: Callable[[str], BaseChatModel] = init_chat_model) -> None:
        self._policy = policy
        self._model_of = model_of

    @hookimpl
    async def run_agent(self, task: AgentTask) -> AgentResult:
        """Run *task* with the framework.

        Raises:
            ToolError: The agent was cancelled.
        """
        agent_run = _AgentRun(task)
        tools = [_to_shown_tool(described(task.toolbox[name])) for name in task.toolbox]
        model = self._model_of(task.model or self._policy.model)
        agent: Any = create_agent(model, tools, system_prompt=task.prompt or None, middleware=[agent_run])
        try:
            state = await agent.ainvoke({"messages": [("user", task.message)]})
        except _IterationsUsedUpError:
            return agent_run.result("It has used up its iterations.", is_exhausted=True)
        return agent_run.result(state["messages"][-1].text)


class _IterationsUsedUpError(Exception):
    """The agent has used up its iterations."""


class _AgentRun(AgentMiddleware[Any, Any, Any]):
    """Counts the requests to the model and their tokens, makes the agent's calls, and ends the agent on time."""

    def __init__(self, task: AgentTask) -> None:
        super().__init__()
        self._task = task
        self._count = self._input = self._output = 0

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Send one request to the model, unless the agent was cancelled or has used up its iterations."""
        if self._task.is_cancelled():
            raise ToolError("The agent was cancelled.", reason="cancelled")
        if self._count >= self._task.max_iterations:
            raise _IterationsUsedUpError
        self._count += 1
        answer = await handler(request)
        used = [
            reply.usage_metadata for reply in answer.result if isinstance(reply, AIMessage) and reply.usage_metadata
        ]
        self._input += sum(each["input_tokens"] for each in used)
        self._output += sum(each["output_tokens"] for each in used)
        return answer

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],  # noqa: ARG002 - LangChain's name
    ) -> ToolMessage:
        """Make one governed call, also if no tool has its name. The model reads why a call was refused."""
        call = request.tool_call
        result = await self._task.toolbox.acall(
            call["name"], call["args"], call_id=call["id"], parent_id=self._task.parent_id
        )
        status = "success" if result.outcome == "ok" else "error"
        return ToolMessage(result.text, tool_call_id=call["id"] or "", name=call["name"], status=status)

    def result(self, text: str, *, is_exhausted: bool = False) -> AgentResult:
        """Return the agent's result, with its tokens and iterations."""
        return AgentResult(text, self._input, self._output, self._count, is_exhausted)


class _ShownTool(BaseTool):
    """A tool's name, description and schema for the model. The middleware makes its calls."""

    def _run(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def _to_shown_tool(tool: HostTool) -> BaseTool:
    return _ShownTool(name=tool.name, description=tool.description, args_schema=tool.parameters)


def build(workspace: Path, policy: LangChainPolicy) -> LangChainAgents:  # noqa: ARG001 - the same for every workspace
    """Return the extension that runs the agents of one toolbox."""
    return LangChainAgents(policy)


SPEC = ExtensionSpec("langchain", LangChainPolicy, build)


@hookimpl
def register_extensions() -> list[ExtensionSpec[LangChainPolicy]]:
    """The one extension of this distribution."""
    return [SPEC]
