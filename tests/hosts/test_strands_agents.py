"""Agents that tools start, run by the real Strands against a server on the loopback that speaks its providers' interfaces."""

import json
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("strands")

from toolcharter import AgentRequest, AgentResult, Caller, ConfigurationError, LiveToolbox, ToolError, open_live
from toolcharter._lazy import forget_names
from toolcharter.gate.agents import AgentLauncher, AgentThread
from toolcharter.testing.contract import find_undocumented_fields
from toolcharter.testing.readme import documented_defaults
from toolcharter_strands.run_agent import SPEC

from .servers import ScriptedServer, serving

KEY = "TOOLCHARTER_TEST_KEY"
Start = Callable[..., AgentThread]


class Asked(NamedTuple):
    """What a question to the model says, whatever the interface."""

    model: str
    prompt: str
    tools: list[str]
    outputs: list[str]


class Bedrock:
    """Amazon Bedrock's Converse. Source: Amazon Bedrock API Reference, "Converse"."""

    def says(self, text: str) -> dict[str, Any]:
        return self._answer({"text": text}, "end_turn")

    def asks_for(self, name: str, **args: Any) -> dict[str, Any]:
        return self._answer({"toolUse": {"toolUseId": "c1", "name": name, "input": args}}, "tool_use")

    def _answer(self, block: dict[str, Any], stop: str) -> dict[str, Any]:
        return {
            "output": {"message": {"role": "assistant", "content": [block]}},
            "stopReason": stop,
            "usage": {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7},
            "metrics": {"latencyMs": 1},
        }

    def asked(self, path: str, body: dict[str, Any]) -> Asked:
        blocks = [block for message in body["messages"] for block in message["content"]]
        outputs = [block["toolResult"]["content"][0]["text"] for block in blocks if "toolResult" in block]
        tools = [tool["toolSpec"]["name"] for tool in body.get("toolConfig", {}).get("tools", [])]
        return Asked(path.split("/")[2], "".join(one["text"] for one in body.get("system", [])), tools, outputs)


class ChatCompletions:
    """OpenAI's Chat Completions. Source: OpenAI, "Create chat completion"."""

    def says(self, text: str) -> dict[str, Any]:
        return self._answer({"content": text}, "stop")

    def asks_for(self, name: str, **args: Any) -> dict[str, Any]:
        call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
        return self._answer({"content": None, "tool_calls": [call]}, "tool_calls")

    def _answer(self, message: dict[str, Any], stop: str) -> dict[str, Any]:
        return {
            "id": "chat_1",
            "object": "chat.completion",
            "created": 0,
            "model": "scripted",
            "choices": [{"index": 0, "finish_reason": stop, "message": {"role": "assistant", **message}}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
        }

    def asked(self, _path: str, body: dict[str, Any]) -> Asked:
        said = {role: [_text(one) for one in body["messages"] if one["role"] == role] for role in ("system", "tool")}
        tools = [tool["function"]["name"] for tool in body.get("tools", [])]
        return Asked(body["model"], "".join(said["system"]), tools, said["tool"])


def _text(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


class Model:
    """Asks for one call, again and again or until it has an output; may hold its answer back."""

    def __init__(self, speech: Bedrock | ChatCompletions) -> None:
        self.speech = speech
        self.call: dict[str, Any] | tuple[int, dict[str, Any]] = speech.asks_for("read_file", path="notes.txt")
        self.is_endless = False
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.was_asked = threading.Event()
        self.asked: list[Asked] = []

    def __call__(self, path: str, body: dict[str, Any]) -> dict[str, Any] | tuple[int, dict[str, Any]]:
        self.asked.append(asked := self.speech.asked(path, body))
        self.was_asked.set()
        self.may_answer.wait(120)
        return self.speech.says(asked.outputs[-1]) if asked.outputs and not self.is_endless else self.call


@pytest.fixture(params=[Bedrock, ChatCompletions], ids=["bedrock", "openai"])
def model(request: pytest.FixtureRequest) -> Iterator[Model]:
    one = Model(request.param())
    yield one
    one.may_answer.set()


@pytest.fixture
def server(model: Model) -> Iterator[ScriptedServer]:
    with serving(model) as running:
        yield running
        model.may_answer.set()


@pytest.fixture
def live(
    tmp_path: Path, server: ScriptedServer, model: Model, monkeypatch: pytest.MonkeyPatch
) -> Iterator[LiveToolbox]:
    for name in (KEY, "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "none")
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws/notes.txt").write_text("first\n")
    provider = "bedrock" if isinstance(model.speech, Bedrock) else "openai"
    host = {"model": "small", "provider": provider, "base_url": server.url, "region": "eu-west-1", "key_env": KEY}
    profile = tmp_path / "p.yaml"
    tools: dict[str, Any] = {"read_file": {}, "delete_file": {}}
    profile.write_text(json.dumps({"profile": "p", "tools": tools, "extensions": {"strands": host}}))
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


def test_an_agent_calls_its_tools_and_answers(start: Start, model: Model, server: ScriptedServer) -> None:
    """Prompt, message, model and tools reach the model; text, tokens and iterations come back."""
    result = ended(start(prompt="Be brief.", model="large", tools=("read_file",)))

    assert "first" in result.text
    assert result[1:] == (6, 8, 2, False)
    assert model.asked[0] == Asked("large", "Be brief.", ["read_file"], [])
    assert "go" in json.dumps(server.asked[0]["messages"])


def test_the_model_reads_why_a_call_was_denied(start: Start, model: Model) -> None:
    model.call = model.speech.asks_for("read_file", path=".env")

    ended(start())

    assert "ERROR: denied_by_policy reason=protected_path" in model.asked[1].outputs[0]
    assert model.asked[0].model == "small"


def test_who_uses_up_its_iterations_is_told_so(start: Start, model: Model) -> None:
    model.is_endless = True

    result = ended(start(max_iterations=3))

    assert result[1:] == (9, 12, 3, True)
    assert len(model.asked) == 3


@pytest.mark.parametrize("reason", ["cancelled", "timed_out"])
def test_one_that_waits_for_its_model_ends_at_once(start: Start, model: Model, reason: str) -> None:
    """Cancelled, or at its deadline; the answer that comes too late leads to no call."""
    model.may_answer.clear()
    # On a busy machine the time may be up before its model is asked.
    for timeout_s in (1.5, 15, 60) if reason == "timed_out" else (120,):
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
    assert len(model.asked) == 1


def test_what_the_provider_cannot_answer_is_named(start: Start, model: Model) -> None:
    """The error that ended it, not Strands' own around it; asked once, since nothing is repeated."""
    model.call = 500, {"message": "broken"}
    agent = start()
    assert agent.wait(120)

    with pytest.raises(ToolError, match=r"The agent failed: (ClientError|InternalServerError)") as failed:
        agent.result()

    assert failed.value.reason == "tool_error"
    assert len(model.asked) == 1


@pytest.mark.parametrize("model", [ChatCompletions], ids=["openai"], indirect=True)
def test_without_a_key_it_fails(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY)
    agent = start()
    assert agent.wait(120)
    with pytest.raises(ToolError, match="has no key"):
        agent.result()


def test_openai_without_its_extra_stops_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is missed before any agent waits for it."""
    monkeypatch.setitem(sys.modules, "strands.models.openai", None)
    forget_names()
    host = {"model": "small", "provider": "openai"}
    profile = tmp_path / "p.yaml"
    profile.write_text(json.dumps({"profile": "p", "tools": {"read_file": {}}, "extensions": {"strands": host}}))

    with pytest.raises(ConfigurationError, match=r"toolcharter-strands\[openai\]"):
        open_live(profile, workspace=tmp_path, events=lambda _: None)


def test_its_page_has_each_field() -> None:
    page = (Path(__file__).parents[2] / "plugins/strands/README.md").read_text()
    documented = documented_defaults(page)

    assert set(documented) == {*SPEC.policy.model_fields}
    assert find_undocumented_fields(SPEC, documented) == []
