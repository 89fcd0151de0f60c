"""The extension `pydantic_ai`: runs agents that tools start. Source: pydantic-ai 2.68, `agent`, `usage.py`."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, RunContext, Tool, ToolFailed, UsageLimitExceeded, UsageLimits
from pydantic_ai.models import Model, infer_model
from pydantic_ai.usage import RunUsage

from toolcharter import AgentResult, AgentTask, ExtensionPolicy, ExtensionSpec, ToolError, hookimpl
from toolcharter.hosts import HostTool, described


class PydanticAIPolicy(ExtensionPolicy):
    """Which model runs agents."""

    model: str
    """The model for agents that name no model, in Pydantic AI's notation."""


class PydanticAIAgents:
    """Implements `run_agent`.

    Args:
        policy: The extension's settings in the profile.
        model_of: Returns the model for a name.
    """

    def __init__(self, policy: PydanticAIPolicy, model_of: Callable[[str], Model] = infer_model) -> None:
        self._policy = policy
        self._model_of = model_of

    @hookimpl
    async def run_agent(self, task: AgentTask) -> AgentResult:
        """Run *task* with the framework.

        Raises:
            ToolError: The agent was cancelled.
        """
        used = RunUsage()
        tools = [_tool(described(task.toolbox[name]), task) for name in task.toolbox]
        model = self._model_of(task.model or self._policy.model)
        agent = Agent(model, instructions=task.prompt or None, name=task.agent or None, tools=tools, retries=0)
        limits = UsageLimits(request_limit=task.max_iterations)
        try:
            async with agent.iter(task.message, usage=used, usage_limits=limits) as run:
                async for _ in run:
                    _refuse_if_cancelled(task)
        except UsageLimitExceeded:
            return _result("It has used up its iterations.", used, is_exhausted=True)
        return _result("" if run.result is None else str(run.result.output), used)


def _refuse_if_cancelled(task: AgentTask) -> None:
    if task.is_cancelled():
        raise ToolError("The agent was cancelled.", reason="cancelled")


def _tool(shown: HostTool, task: AgentTask) -> Tool[None]:
    """Make one of the agent's tools. The model reads why a call was refused, and is not asked to try again."""

    def make_invoker() -> Callable[..., Awaitable[str]]:
        async def invoke(ctx: RunContext[None], /, **args: Any) -> str:
            result = await task.toolbox.acall(shown.name, args, call_id=ctx.tool_call_id, parent_id=task.parent_id)
            if result.outcome != "ok":
                raise ToolFailed(result.text)
            return str(result.text)

        return invoke

    return Tool.from_schema(make_invoker(), shown.name, shown.description, shown.parameters, takes_ctx=True)


def _result(text: str, used: RunUsage, *, is_exhausted: bool = False) -> AgentResult:
    return AgentResult(text, used.input_tokens, used.output_tokens, used.requests, is_exhausted)


def build(workspace: Path, policy: PydanticAIPolicy) -> PydanticAIAgents:  # noqa: ARG001 - the same for every workspace
    """Return the extension that runs the agents of one toolbox."""
    return PydanticAIAgents(policy)


SPEC = ExtensionSpec("pydantic_ai", PydanticAIPolicy, build)


@hookimpl
def register_extensions() -> list[ExtensionSpec[PydanticAIPolicy]]:
    """The one extension of this distribution."""
    return [SPEC]
