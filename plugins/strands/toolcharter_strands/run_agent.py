"""The extension `strands`: runs agents that tools start.

Source: strands-agents 1.62, `agent`, `models/bedrock.py`, `models/openai.py`.
"""

import os
from collections.abc import AsyncGenerator
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from botocore.config import Config  # type: ignore[import-untyped]  # botocore has no types
from pydantic import Field
from strands import Agent
from strands.hooks import BeforeModelCallEvent
from strands.middleware import ToolResultEvent
from strands.models import BedrockModel, Model
from strands.types.exceptions import EventLoopException
from strands.types.tools import AgentTool, ToolSpec, ToolUse

from toolcharter import (
    AgentResult,
    AgentTask,
    ConfigurationError,
    ExtensionPolicy,
    ExtensionSpec,
    Fault,
    ToolError,
    hookimpl,
    lazy,
)
from toolcharter.hosts import HostTool, described

if TYPE_CHECKING:
    from strands.models import openai
else:
    openai = lazy("strands.models.openai")


class StrandsPolicy(ExtensionPolicy):
    """Which model runs agents, and at which API."""

    model: str
    """The model for agents that name no model."""
    provider: Literal["bedrock", "openai"] = "bedrock"
    """Amazon Bedrock, with the credentials that boto3 finds; or OpenAI's Chat Completions, also of other servers (extra
    `openai`)."""
    base_url: str = ""
    """The base URL of the API; the provider's own by default."""
    region: str = ""
    """Bedrock's region; by default the region that boto3 finds."""
    key_env: str = Field(default="OPENAI_API_KEY", pattern="^[A-Za-z_][A-Za-z0-9_]*$")
    """The environment variable that holds OpenAI's key."""


class StrandsAgents:
    """Implements `run_agent`."""

    def __init__(self, policy: StrandsPolicy) -> None:
        """Import the provider's modules now, so that this does not use up an agent's time.

        Raises:
            ConfigurationError: The extra `openai` is not installed.
        """
        self._policy = policy
        if policy.provider == "openai":
            try:
                openai.OpenAIModel  # noqa: B018 - imports the module
            except ImportError as error:
                what = f"the client for OpenAI's models is not installed ({error})."
                fix = "Install toolcharter-strands with its extra: toolcharter-strands[openai]."
                raise ConfigurationError([Fault("", "extensions.strands.provider", what, fix)]) from error

    @hookimpl
    async def run_agent(self, task: AgentTask) -> AgentResult:
        """Run *task* with the framework. A request to the model that fails is not retried.

        Raises:
            ToolError: There is no key, or the agent was cancelled.
        """
        agent = Agent(
            self._model_of(task),
            tools=[_TaskTool(task, described(task.toolbox[name])) for name in task.toolbox],
            system_prompt=task.prompt or None,
            name=task.agent or None,
            callback_handler=None,
            retry_strategy=None,
        )
        counter = _RequestCounter(task)
        agent.add_hook(counter, BeforeModelCallEvent)
        try:
            ran = await agent.invoke_async(task.message, limits={"turns": task.max_iterations})
        except EventLoopException as failed:
            raise failed.original_exception from failed
        is_exhausted = ran.stop_reason == "limit_turns"
        text = "It has used up its iterations." if is_exhausted else str(ran)
        used = agent.event_loop_metrics.accumulated_usage
        return AgentResult(text, used["inputTokens"], used["outputTokens"], counter.count, is_exhausted)

    def _model_of(self, task: AgentTask) -> Model:
        """Make the task's model. It does not stream, because no one reads the answer before it is complete."""
        policy, name = self._policy, task.model or self._policy.model
        if policy.provider == "bedrock":
            return BedrockModel(
                # A cancelled request continues in a thread of Strands: this ends it with the task's time at the latest.
                boto_client_config=Config(
                    read_timeout=max(1.0, task.deadline - monotonic()), retries={"total_max_attempts": 1}
                ),
                region_name=policy.region or None,
                endpoint_url=policy.base_url or None,
                model_id=name,
                streaming=False,
            )
        key = os.environ.get(policy.key_env)
        if not key:
            raise ToolError(f"The environment has no key {policy.key_env!r}.")
        client = {"api_key": key, "base_url": policy.base_url or None, "max_retries": 0}
        return openai.OpenAIModel(client_args=client, model_id=name, stream=False)


class _RequestCounter:
    """Counts the requests to the model, and ends the agent before the next request if it was cancelled."""

    def __init__(self, task: AgentTask) -> None:
        self.count = 0
        self._task = task

    def __call__(self, event: BeforeModelCallEvent) -> None:  # noqa: ARG002 - Strands's name
        if self._task.is_cancelled():
            raise ToolError("The agent was cancelled.", reason="cancelled")
        self.count += 1


class _TaskTool(AgentTool):
    """One of the agent's tools. The model reads why a call was refused."""

    def __init__(self, task: AgentTask, shown: HostTool) -> None:
        super().__init__()
        self._task = task
        self._shown = shown

    @property
    def tool_name(self) -> str:
        """The tool's name."""
        return self._shown.name

    @property
    def tool_spec(self) -> ToolSpec:
        """The name, description and schema for the model."""
        schema = {"json": self._shown.parameters}
        return {"name": self._shown.name, "description": self._shown.description, "inputSchema": schema}

    @property
    def tool_type(self) -> str:
        """The kind of tool, for displays."""
        return "toolcharter"

    async def stream(
        self,
        tool_use: ToolUse,
        invocation_state: dict[str, Any],  # noqa: ARG002 - Strands's name
        **_: Any,
    ) -> AsyncGenerator[ToolResultEvent, None]:
        """Make one governed call; its result is the only event."""
        call_id, parent_id = tool_use["toolUseId"], self._task.parent_id
        made = await self._task.toolbox.acall(self.tool_name, tool_use["input"], call_id=call_id, parent_id=parent_id)
        status: Literal["success", "error"] = "success" if made.outcome == "ok" else "error"
        yield ToolResultEvent({"toolUseId": call_id, "status": status, "content": [{"text": made.text}]})


def build(workspace: Path, policy: StrandsPolicy) -> StrandsAgents:  # noqa: ARG001 - the same for every workspace
    """Return the extension that runs the agents of one toolbox."""
    return StrandsAgents(policy)


SPEC = ExtensionSpec("strands", StrandsPolicy, build)


@hookimpl
def register_extensions() -> list[ExtensionSpec[StrandsPolicy]]:
    """The one extension of this distribution."""
    return [SPEC]
