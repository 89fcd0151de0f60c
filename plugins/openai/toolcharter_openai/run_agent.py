"""The extension `openai_agents`: runs agents that tools start with the Agents SDK.

Source: openai-agents 0.24, `run.py`, `exceptions.py`.
"""

import os
from pathlib import Path
from typing import Any

from agents import Agent, FunctionTool, MaxTurnsExceeded, OpenAIProvider, RunConfig, RunHooks, Runner, Usage
from openai import AsyncOpenAI
from pydantic import Field

from toolcharter import AgentResult, AgentTask, ExtensionPolicy, ExtensionSpec, ToolError, hookimpl
from toolcharter.hosts import arguments_of, described


class OpenAIAgentsPolicy(ExtensionPolicy):
    """Which model runs agents, and at which API."""

    model: str
    """The model for agents that name no model."""
    base_url: str = ""
    """The base URL of the API; OpenAI's own by default."""
    key_env: str = Field(default="OPENAI_API_KEY", pattern="^[A-Za-z_][A-Za-z0-9_]*$")
    """The environment variable that holds the key."""
    use_responses: bool = True
    """Whether to use the Responses API; otherwise Chat Completions."""


class OpenAIAgents:
    """Implements `run_agent`."""

    def __init__(self, policy: OpenAIAgentsPolicy) -> None:
        self._policy = policy

    @hookimpl
    async def run_agent(self, task: AgentTask) -> AgentResult:
        """Run *task* with the SDK, without its traces, which it would send to OpenAI.

        Raises:
            ToolError: There is no key, or the agent was cancelled.
        """
        key = os.environ.get(self._policy.key_env)
        if not key:
            raise ToolError(f"The environment has no key {self._policy.key_env!r}.")
        async with AsyncOpenAI(api_key=key, base_url=self._policy.base_url or None, max_retries=0) as client:
            return await self._run(task, OpenAIProvider(openai_client=client, use_responses=self._policy.use_responses))

    async def _run(self, task: AgentTask, provider: OpenAIProvider) -> AgentResult:
        agent = Agent[Any](
            name=task.agent or "agent",
            instructions=task.prompt or None,
            model=task.model or self._policy.model,
            tools=[*_tools_of(task)],
        )
        counter, settings = _RequestCounter(task), RunConfig(model_provider=provider, tracing_disabled=True)
        try:
            ran = await Runner.run(
                agent, task.message, max_turns=task.max_iterations, hooks=counter, run_config=settings
            )
        except MaxTurnsExceeded as stop:
            used = Usage() if stop.run_data is None else stop.run_data.context_wrapper.usage
            return _result("It has used up its iterations.", used, counter.count, is_exhausted=True)
        return _result(str(ran.final_output), ran.context_wrapper.usage, counter.count)


class _RequestCounter(RunHooks[Any]):
    """Counts the requests to the model, and ends the agent before the next request if it was cancelled."""

    def __init__(self, task: AgentTask) -> None:
        self.count = 0
        self._task = task

    async def on_llm_start(self, *_: Any, **__: Any) -> None:
        if self._task.is_cancelled():
            raise ToolError("The agent was cancelled.", reason="cancelled")
        self.count += 1


def _tools_of(task: AgentTask) -> list[FunctionTool]:
    """Return the agent's tools. The model reads why a call was refused as the tool's output."""

    def make_invoker(name: str) -> Any:
        async def invoke(ctx: Any, written: str) -> str:
            args = arguments_of(written)
            result = await task.toolbox.acall(name, args, call_id=ctx.tool_call_id, parent_id=task.parent_id)
            return str(result.text)

        return invoke

    shown = (described(task.toolbox[name]) for name in task.toolbox)
    return [
        FunctionTool(one.name, one.description, one.parameters, make_invoker(one.name), strict_json_schema=False)
        for one in shown
    ]


def _result(text: str, used: Usage, iterations: int, *, is_exhausted: bool = False) -> AgentResult:
    return AgentResult(text, used.input_tokens, used.output_tokens, iterations, is_exhausted)


def build(workspace: Path, policy: OpenAIAgentsPolicy) -> OpenAIAgents:  # noqa: ARG001 - the same for every workspace
    """Return the extension that runs the agents of one toolbox."""
    return OpenAIAgents(policy)


SPEC = ExtensionSpec("openai_agents", OpenAIAgentsPolicy, build)


@hookimpl
def register_extensions() -> list[ExtensionSpec[OpenAIAgentsPolicy]]:
    """The one extension of this distribution."""
    return [SPEC]
