"""Agents that tools start, run by the real Pydantic AI with a scripted model."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai")

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from toolcharter import AgentRequest, AgentResult, Caller, LiveToolbox, ToolError, open_live
from toolcharter.gate.agents import AgentLauncher, AgentThread
from toolcharter.testing.contract import find_undocumented_fields
from toolcharter.testing.readme import documented_defaults
from toolcharter_pydantic_ai.run_agent import SPEC, PydanticAIAgents, PydanticAIPolicy

Start = Callable[..., AgentThread]


class Script:
    """Asks for one call, again and again or until it has an output; may hold its answer back."""

    def __init__(self) -> None:
        self.call = ToolCallPart("read_file", {"path": "notes.txt"}, "c1")
        self.is_endless = False
        self.is_held = False
        self.was_asked = threading.Event()
        self.asked: list[tuple[list[ModelMessage], AgentInfo]] = []
        self.names: list[str] = []

    def model_of(self, name: str) -> FunctionModel:
        self.names.append(name)
        return FunctionModel(self.answer)

    async def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.asked.append(([*messages], info))
        self.was_asked.set()
        if self.is_held:
            await asyncio.sleep(600)  # the agent's end cancels it
        found = outputs(messages)
        return ModelResponse([TextPart(found[-1]) if found and not self.is_endless else self.call])


def outputs(messages: list[ModelMessage]) -> list[str]:
    """What the model is shown of its calls."""
    return [str(part.content) for one in messages for part in one.parts if isinstance(part, ToolReturnPart)]


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def live(tmp_path: Path, script: Script) -> Iterator[LiveToolbox]:
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws/notes.txt").write_text("first\n")
    profile = tmp_path / "p.yaml"
    tools: dict[str, Any] = {"read_file": {}, "delete_file": {}}
    profile.write_text(json.dumps({"profile": "p", "tools": tools, "extensions": {"pydantic_ai": {"model": "test"}}}))
    with open_live(profile, workspace=tmp_path / "ws", caller=Caller(agent="ada"), events=lambda _: None) as opened:
        yield opened


@pytest.fixture
def start(live: LiveToolbox, script: Script) -> Start:
    assert live._base.agent_host is not None  # the extension's own
    live._base.agent_host = PydanticAIAgents(PydanticAIPolicy(model="small"), script.model_of).run_agent

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
    assert (result.iterations, result.is_exhausted) == (2, False)
    assert min(result.input_tokens, result.output_tokens) > 0
    messages, info = script.asked[0]
    assert script.names == ["large"]
    assert info.instructions == "Be brief."
    assert [tool.name for tool in info.function_tools] == ["read_file"]
    assert "go" in str(messages)


def test_the_model_reads_why_a_call_was_denied(start: Start, script: Script) -> None:
    script.call = ToolCallPart("read_file", {"path": ".env"}, "c1")

    ended(start())

    assert "ERROR: denied_by_policy reason=protected_path" in outputs(script.asked[1][0])[0]
    assert script.names == ["small"]


def test_who_uses_up_its_iterations_is_told_so(start: Start, script: Script) -> None:
    script.is_endless = True

    result = ended(start(max_iterations=3))

    assert (result.iterations, result.is_exhausted) == (3, True)
    assert len(script.asked) == 3


@pytest.mark.parametrize("reason", ["cancelled", "timed_out"])
def test_one_that_waits_for_its_model_ends_at_once(start: Start, script: Script, reason: str) -> None:
    """Cancelled, or at its deadline."""
    script.is_held = True
    # On a busy machine the time may be up before its model is asked.
    for timeout_s in (1.0, 15, 60) if reason == "timed_out" else (120,):
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


def test_its_page_has_each_field() -> None:
    page = (Path(__file__).parents[2] / "plugins/pydantic_ai/README.md").read_text()
    documented = documented_defaults(page)

    assert set(documented) == {*SPEC.policy.model_fields}
    assert find_undocumented_fields(SPEC, documented) == []
