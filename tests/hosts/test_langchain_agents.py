"""Agents that tools start, run by the real LangChain with a scripted model."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain")

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool

from toolcharter import AgentRequest, AgentResult, Caller, LiveToolbox, ToolError, open_live
from toolcharter.gate.agents import AgentLauncher, AgentThread
from toolcharter.testing.contract import find_undocumented_fields
from toolcharter.testing.readme import documented_defaults
from toolcharter_langchain.run_agent import SPEC, LangChainAgents, LangChainPolicy

Start = Callable[..., AgentThread]
USED = UsageMetadata(input_tokens=3, output_tokens=4, total_tokens=7)


class Script:
    """Asks for one call, again and again or until it has an output; may hold its answer back."""

    def __init__(self) -> None:
        self.name, self.args = "read_file", {"path": "notes.txt"}
        self.is_endless = False
        self.is_held = False
        self.failure: Exception | None = None
        self.was_asked = threading.Event()
        self.asked: list[list[BaseMessage]] = []
        self.models: list[str] = []
        self.tools: list[str] = []

    def model_of(self, name: str) -> BaseChatModel:
        self.models.append(name)
        return Scripted(script=self)

    async def answer(self, messages: list[BaseMessage]) -> AIMessage:
        self.asked.append([*messages])
        self.was_asked.set()
        if self.failure is not None:
            raise self.failure
        if self.is_held:
            await asyncio.sleep(600)  # the agent's end cancels it
        found = outputs(messages)
        if found and not self.is_endless:
            return AIMessage(found[-1], usage_metadata=USED)
        return AIMessage("", tool_calls=[{"name": self.name, "args": self.args, "id": "c1"}], usage_metadata=USED)


class Scripted(BaseChatModel):
    """Says what its script says."""

    script: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> "Scripted":
        self.script.tools = [tool.name for tool in tools if isinstance(tool, BaseTool)]
        return self

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError

    async def _agenerate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=await self.script.answer(messages))])


def outputs(messages: list[BaseMessage]) -> list[str]:
    """What the model is shown of its calls."""
    return [one.text for one in messages if isinstance(one, ToolMessage)]


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def events() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def live(tmp_path: Path, events: list[dict[str, Any]]) -> Iterator[LiveToolbox]:
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws/notes.txt").write_text("first\n")
    profile = tmp_path / "p.yaml"
    tools: dict[str, Any] = {"read_file": {}, "delete_file": {}}
    profile.write_text(json.dumps({"profile": "p", "tools": tools, "extensions": {"langchain": {"model": "small"}}}))
    with open_live(profile, workspace=tmp_path / "ws", caller=Caller(agent="ada"), events=events.append) as opened:
        yield opened


@pytest.fixture
def start(live: LiveToolbox, script: Script) -> Start:
    assert live._base.agent_host is not None  # the extension's own
    live._base.agent_host = LangChainAgents(LangChainPolicy(model="small"), script.model_of).run_agent

    def begin(**settings: Any) -> AgentThread:
        request = AgentRequest(**{"message": "go", "timeout_s": 120.0, **settings})
        return AgentLauncher(live._base, Caller(agent="ada"), None).start(request)

    return begin


def ended(agent: AgentThread) -> AgentResult:
    assert agent.wait(120)
    return agent.result()


def test_an_agent_calls_its_tools_and_answers(start: Start, script: Script) -> None:
    """Prompt, message, model and tools reach the model; text, tokens and iterations come back."""
    result = ended(start(prompt="Be brief.", model="large", tools=("read_file",)))

    assert "first" in result.text
    assert result[1:] == (6, 8, 2, False)
    assert (script.models, script.tools) == (["large"], ["read_file"])
    prompt, message = script.asked[0]
    assert isinstance(prompt, SystemMessage)
    assert (prompt.text, message.text) == ("Be brief.", "go")


@pytest.mark.parametrize(
    ("name", "args", "reason"),
    [("read_file", {"path": ".env"}, "protected_path"), ("no_such_tool", {}, "unknown_tool")],
    ids=["denied", "unknown"],
)
def test_the_model_reads_why_a_call_was_refused(
    start: Start, script: Script, events: list[dict[str, Any]], name: str, args: dict[str, Any], reason: str
) -> None:
    """The gate answers, and writes the events, even where there is no such tool."""
    script.name, script.args = name, args

    ended(start())

    [message] = [one for one in script.asked[1] if isinstance(one, ToolMessage)]
    assert f"reason={reason}" in message.text
    assert message.status == "error"
    assert events[-1]["reason"] == reason
    assert script.models == ["small"]


def test_who_uses_up_its_iterations_is_told_so(start: Start, script: Script) -> None:
    script.is_endless = True

    result = ended(start(max_iterations=3))

    assert result[1:] == (9, 12, 3, True)
    assert len(script.asked) == 3


@pytest.mark.parametrize("reason", ["cancelled", "timed_out"])
def test_one_that_waits_for_its_model_ends_at_once(start: Start, script: Script, reason: str) -> None:
    """Cancelled, or at its deadline."""
    script.is_held = True
    # On a busy machine the time may be up before its model is asked.
    for timeout_s in (1.5, 15, 60) if reason == "timed_out" else (120,):
        agent = start(timeout_s=timeout_s)
        if script.was_asked.wait(timeout_s):
            break
    assert script.was_asked.is_set()
    if reason == "cancelled":
        agent.cancel()

    assert agent.wait(60)
    with pytest.raises(ToolError) as stopped:
        agent.result()

    assert stopped.value.reason == reason
    assert len(script.asked) == 1


def test_what_its_model_raises_is_named(start: Start, script: Script) -> None:
    """Once: nothing is asked anew."""
    script.failure = ConnectionRefusedError("no model there")
    agent = start()
    assert agent.wait(120)

    with pytest.raises(ToolError, match="The agent failed: ConnectionRefusedError") as failed:
        agent.result()

    assert failed.value.reason == "tool_error"
    assert len(script.asked) == 1


def test_its_page_has_each_field() -> None:
    page = (Path(__file__).parents[2] / "plugins/langchain/README.md").read_text()
    documented = documented_defaults(page)

    assert set(documented) == {*SPEC.policy.model_fields}
    assert find_undocumented_fields(SPEC, documented) == []
