"""Agents that tools start, run by the real Agents SDK against a server on the loopback that speaks the Responses interface."""

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agents")

from toolcharter import AgentRequest, AgentResult, Caller, LiveToolbox, ToolError, open_live
from toolcharter.gate.agents import AgentLauncher, AgentThread
from toolcharter.testing.contract import find_undocumented_fields
from toolcharter.testing.readme import documented_defaults
from toolcharter_openai.run_agent import SPEC

from .servers import ScriptedServer, serving

KEY = "TOOLCHARTER_TEST_KEY"
Start = Callable[..., AgentThread]


def answer(*output: dict[str, Any]) -> dict[str, Any]:
    """An answer of the Responses interface, which has used 3 and 4 tokens. Source: OpenAI, "Create a model response"."""
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "model": "scripted",
        "output": list(output),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7, **details},
    }


def asks_for(name: str, **args: Any) -> dict[str, Any]:
    return answer({"type": "function_call", "call_id": "c1", "name": name, "arguments": json.dumps(args)})


def says(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return answer({"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [part]})


class Model:
    """Asks for one call, again and again or until it has an output; may hold its answer back."""

    def __init__(self) -> None:
        self.call = asks_for("read_file", path="notes.txt")
        self.is_endless = False
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.was_asked = threading.Event()

    def __call__(self, _path: str, body: dict[str, Any]) -> dict[str, Any]:
        self.was_asked.set()
        self.may_answer.wait(120)
        found = outputs(body)
        return says(found[-1]) if found and not self.is_endless else self.call


def outputs(body: dict[str, Any]) -> list[str]:
    """What the model is shown of its calls."""
    return [
        one["output"] for one in body["input"] if isinstance(one, dict) and one.get("type") == "function_call_output"
    ]


@pytest.fixture
def model() -> Iterator[Model]:
    one = Model()
    yield one
    one.may_answer.set()


@pytest.fixture
def server(model: Model) -> Iterator[ScriptedServer]:
    with serving(model) as running:
        yield running
        model.may_answer.set()


@pytest.fixture
def live(tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveToolbox]:
    monkeypatch.setenv(KEY, "none")
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws/notes.txt").write_text("first\n")
    host = {"model": "small", "base_url": server.url, "key_env": KEY}
    profile = tmp_path / "p.yaml"
    tools: dict[str, Any] = {"read_file": {}, "delete_file": {}}
    profile.write_text(json.dumps({"profile": "p", "tools": tools, "extensions": {"openai_agents": host}}))
    with open_live(profile, workspace=tmp_path / "ws", caller=Caller(agent="ada"), events=lambda _: None) as opened:
        yield opened


@pytest.fixture
def start(live: LiveToolbox) -> Start:
    def begin(**settings: Any) -> AgentThread:
        request = AgentRequest(**{"message": "go", "timeout_s": 120.0, **settings})
        return AgentLauncher(live._base, Caller(agent="ada"), None).start(request)

    return begin


def ended(agent: AgentThread) -> AgentResult:
    assert agent.wait(120)
    return agent.result()


def test_an_agent_calls_its_tools_and_answers(start: Start, server: ScriptedServer) -> None:
    """Prompt, message, model and tools reach the model; text, tokens and iterations come back."""
    result = ended(start(prompt="Be brief.", model="large", tools=("read_file",)))

    assert "first" in result.text
    assert result[1:] == (6, 8, 2, False)
    first = server.asked[0]
    assert (first["instructions"], first["model"]) == ("Be brief.", "large")
    assert [tool["name"] for tool in first["tools"]] == ["read_file"]
    assert "go" in json.dumps(first["input"])


def test_the_model_reads_why_a_call_was_denied(start: Start, model: Model, server: ScriptedServer) -> None:
    model.call = asks_for("read_file", path=".env")

    ended(start())

    assert "ERROR: denied_by_policy reason=protected_path" in outputs(server.asked[1])[0]
    assert server.asked[0]["model"] == "small"


def test_who_uses_up_its_iterations_is_told_so(start: Start, model: Model, server: ScriptedServer) -> None:
    model.is_endless = True

    result = ended(start(max_iterations=3))

    assert result[1:] == (9, 12, 3, True)
    assert len(server.asked) == 3


@pytest.mark.parametrize("reason", ["cancelled", "timed_out"])
def test_one_that_waits_for_its_model_ends_at_once(
    start: Start, model: Model, server: ScriptedServer, reason: str
) -> None:
    """Cancelled, or at its deadline; the answer that comes too late leads to no call."""
    model.may_answer.clear()
    # On a busy machine the time may be up before its model is asked.
    for timeout_s in (1.0, 15, 60) if reason == "timed_out" else (120,):
        agent = start(timeout_s=timeout_s)
        if model.was_asked.wait(timeout_s):
            break
    assert model.was_asked.is_set()
    if reason == "cancelled":
        agent.cancel()

    assert agent.wait(60)
    with pytest.raises(ToolError) as stopped:
        agent.result()

    assert stopped.value.reason == reason
    model.may_answer.set()
    assert len(server.asked) == 1


def test_without_a_key_it_fails(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY)
    agent = start()
    assert agent.wait(120)
    with pytest.raises(ToolError, match="has no key"):
        agent.result()


def test_its_page_has_each_field() -> None:
    page = (Path(__file__).parents[2] / "plugins/openai/README.md").read_text()
    documented = documented_defaults(page)

    assert set(documented) == {*SPEC.policy.model_fields}
    assert find_undocumented_fields(SPEC, documented) == []
