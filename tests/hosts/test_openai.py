"""OpenAI: the real client against a server on the loopback, in both interfaces, and the Agents SDK with a scripted model."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
from agents import Agent, FunctionTool, ModelResponse, RunConfig, Runner, Usage, function_tool, set_tracing_disabled
from agents.models.interface import Model
from openai import AsyncOpenAI, OpenAI
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from toolcharter import ApprovalAnswer, Caller
from toolcharter.hosts import Host, PendingApproval
from toolcharter_openai import aanswer_calls, answer_calls, openai_tools
from toolcharter_openai.agents_sdk import agent_tools, govern_tools, input_guardrail

from .contract import Adapter, Call, ForeignContract, HostContract, Place, SeenResult, SynchronousContract
from .readme import run_readme
from .servers import ScriptedServer, serving

set_tracing_disabled(disabled=True)
EXAMPLE = Path(__file__).parents[2] / "examples" / "hosts" / "openai.py"


def _response(output: list[dict[str, Any]]) -> dict[str, Any]:
    """An answer of the Responses interface. Source: OpenAI, "Create a model response"."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "model": "scripted",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def _completion(message: dict[str, Any]) -> dict[str, Any]:
    """An answer of the Chat Completions interface. Source: OpenAI, "Create chat completion"."""
    choice = {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": None, **message}}
    return {"id": "chat_1", "object": "chat.completion", "created": 0, "model": "scripted", "choices": [choice]}


def _script(calls: Sequence[Call]) -> Any:
    """A model that asks for *calls* at once."""

    def script(path: str, _body: dict[str, Any]) -> dict[str, Any]:
        written = [(call.id, call.name, json.dumps(call.args)) for call in calls]
        if path == "/responses":
            kind = "function_call"
            return _response([{"type": kind, "call_id": id_, "name": n, "arguments": a} for id_, n, a in written])
        asked = [{"id": id_, "type": "function", "function": {"name": n, "arguments": a}} for id_, n, a in written]
        return _completion({"tool_calls": asked})

    return script


def _client(server: ScriptedServer) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=server.url, api_key="none", max_retries=0)


class Responses(Adapter):
    """A loop over the Responses interface."""

    async def run(self, calls: Sequence[Call]) -> list[SeenResult]:
        return await self._turn(calls, None)

    async def answer(self, call: Call, *, granted: bool) -> SeenResult:
        async def ask(pending: PendingApproval) -> ApprovalAnswer:
            assert pending.request.args == call.args
            return ApprovalAnswer("allow_once" if granted else "deny")

        [seen] = await self._turn([call], ask)
        return seen

    async def _turn(self, calls: Sequence[Call], ask: Any) -> list[SeenResult]:
        with serving(_script(calls)) as server:
            async with _client(server) as client:
                response = await client.responses.create(
                    model="scripted",
                    input="go",
                    tools=openai_tools(self.host),  # type: ignore[arg-type]
                )
                items = await aanswer_calls(self.host, response, ask=ask)
        assert [item["call_id"] for item in items] == [call.id for call in calls]
        return [SeenResult(item["output"], None) for item in items]


class Chat(Responses):
    """A loop over the Chat Completions interface."""

    async def _turn(self, calls: Sequence[Call], ask: Any) -> list[SeenResult]:
        with serving(_script(calls)) as server:
            async with _client(server) as client:
                response = await client.chat.completions.create(
                    model="scripted",
                    messages=[{"role": "user", "content": "go"}],
                    tools=openai_tools(self.host, "chat"),  # type: ignore[arg-type]
                )
                items = await aanswer_calls(self.host, response, ask=ask)
        assert [(item["role"], item["tool_call_id"]) for item in items] == [("tool", call.id) for call in calls]
        return [SeenResult(item["content"], None) for item in items]


class SynchronousResponses(Responses):
    """A loop over the Responses interface in synchronous code."""

    async def answer(self, call: Call, *, granted: bool) -> SeenResult:
        [seen] = await self._turn([call], lambda _: ApprovalAnswer("allow_once" if granted else "deny"))
        return seen

    async def _turn(self, calls: Sequence[Call], ask: Any) -> list[SeenResult]:
        def turn() -> list[Any]:
            with serving(_script(calls)) as server, OpenAI(base_url=server.url, api_key="none") as client:
                return [*answer_calls(self.host, client.responses.create(model="scripted", input="go"), ask=ask)]

        return [SeenResult(item["output"], None) for item in await asyncio.to_thread(turn)]


class ScriptedModel(Model):
    """A model that asks for *calls* in its first turn and says "done" in the next; it keeps what it was sent."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self._calls = calls
        self.sent: list[Any] = []

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **more: Any) -> ModelResponse:  # noqa: A002 - the SDK's name
        self.sent.append(input)
        if any(isinstance(item, dict) and item.get("type") == "function_call_output" for item in input):
            text = ResponseOutputText(text="done", type="output_text", annotations=[])
            said = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
            return ModelResponse([said], Usage(), None)
        asked = [
            ResponseFunctionToolCall(
                type="function_call", call_id=call.id, name=call.name, arguments=json.dumps(call.args)
            )
            for call in self._calls
        ]
        return ModelResponse(list(asked), Usage(), None)

    def stream_response(self, *args: Any, **more: Any) -> AsyncIterator[Any]:
        raise NotImplementedError

    def outputs(self) -> list[SeenResult]:
        """What the model saw of its calls, in their order."""
        found = {
            item["call_id"]: item["output"]
            for item in self.sent[-1]
            if isinstance(item, dict) and item.get("type") == "function_call_output"
        }
        return [SeenResult(found[call.id], None) for call in self._calls]


class AgentsSdk(Adapter):
    """An agent of the Agents SDK."""

    answers_unknown = True
    refuses_itself = True

    async def run(self, calls: Sequence[Call]) -> list[SeenResult]:
        if any(call.name == "no_such_tool" for call in calls):
            return await self._unknown(calls)
        return await self._run(calls, agent_tools(self.host))

    async def _run(self, calls: Sequence[Call], tools: Sequence[Any]) -> list[SeenResult]:
        model = ScriptedModel(calls)
        agent = Agent(name="a", model=model, tools=list(tools))
        await self._go(agent, "go", run_config=RunConfig(tracing_disabled=True))
        return model.outputs()

    async def _go(self, agent: Any, given: Any, **more: Any) -> Any:
        return await Runner.run(agent, given, **more)

    async def _unknown(self, calls: Sequence[Call]) -> list[SeenResult]:
        try:
            return await self._run(calls, agent_tools(self.host))
        except Exception as error:  # noqa: BLE001 - the SDK ends the run, in a class of its own
            return [SeenResult(str(error), is_error=True)]

    async def answer(self, call: Call, *, granted: bool) -> SeenResult:
        model = ScriptedModel([call])
        agent = Agent(name="a", model=model, tools=list(agent_tools(self.host)))
        asked = await self._go(agent, "go")
        [item] = asked.interruptions
        state = asked.to_state()
        if granted:
            state.approve(item)
        else:
            state.reject(item)
        # The host answers for the very call that was shown, and so the state may be kept as text meanwhile.
        await self._go(agent, state)
        return model.outputs()[0]

    async def run_foreign(self, call: Call, output: str) -> SeenResult:
        @function_tool(name_override=call.name)
        def own(query: str) -> str:
            """An agent's own tool."""
            return output

        [seen] = await self._run([call], govern_tools(self.host, [own]))
        return seen


class SynchronousAgentsSdk(AgentsSdk):
    """An agent of the Agents SDK in synchronous code."""

    async def _go(self, agent: Any, given: Any, **more: Any) -> Any:
        def go() -> Any:
            loop = asyncio.new_event_loop()  # `run_sync` takes the thread's, and leaves it open
            asyncio.set_event_loop(loop)
            try:
                return Runner.run_sync(agent, given, **more)
            finally:
                asyncio.set_event_loop(None)
                loop.close()

        return await asyncio.to_thread(go)


class TestResponses(HostContract):
    """The Responses interface."""

    adapter = Responses


class TestSynchronousResponses(SynchronousContract):
    """The Responses interface in synchronous code."""

    adapter = SynchronousResponses


class TestChat(HostContract):
    """The Chat Completions interface."""

    adapter = Chat


class TestAgentsSdk(ForeignContract):
    """The Agents SDK."""

    adapter = AgentsSdk


class TestSynchronousAgentsSdk(SynchronousContract, ForeignContract):
    """The Agents SDK in synchronous code."""

    adapter = SynchronousAgentsSdk


@pytest.fixture
def place(tmp_path: Any) -> Place:
    return Place(tmp_path)


@pytest.fixture
def host(place: Place) -> Any:
    with place.open() as opened:
        yield opened


def test_synchronous_client(host: Host, place: Place) -> None:
    """The same without an event loop; a person is asked about what needs one."""
    calls = [Call("read_file", {"path": "notes.txt"}, "a"), Call("delete_file", {"path": "notes.txt"}, "b")]
    asked: list[str] = []

    def ask(pending: PendingApproval) -> ApprovalAnswer:
        asked.append(pending.request.tool)
        return ApprovalAnswer("allow_once")

    with serving(_script(calls)) as server, OpenAI(base_url=server.url, api_key="none") as client:
        response = client.responses.create(model="scripted", input="go", tools=openai_tools(host, strict=True))  # type: ignore[arg-type]
        items = answer_calls(host, response, caller=Caller(agent="a"), ask=ask)
        sent = server.asked[0]["tools"][0]

    assert [item["call_id"] for item in items] == ["a", "b"]
    assert asked == ["delete_file"]
    assert not (place.workspace / "notes.txt").exists()
    assert (sent["type"], sent["strict"]) == ("function", True)
    assert sent["parameters"]["required"] == list(sent["parameters"]["properties"])
    assert {event["agent"] for event in place.events()} == {"a"}


def test_arguments_that_are_no_json_are_refused(host: Host) -> None:
    """The model reads that it wrote no object."""
    call = Call("read_file", {}, "a")

    def script(_path: str, _body: dict[str, Any]) -> dict[str, Any]:
        return _response([{"type": "function_call", "call_id": call.id, "name": call.name, "arguments": "{pa"}])

    with serving(script) as server, OpenAI(base_url=server.url, api_key="none") as client:
        [item] = answer_calls(host, client.responses.create(model="scripted", input="go"))

    assert item["output"].startswith("ERROR: invalid_arguments")


def test_no_person_to_ask(host: Host, place: Place) -> None:
    """Without `ask` the model reads why the call did not run."""
    script = _script([Call("delete_file", {"path": "notes.txt"})])
    with serving(script) as server, OpenAI(base_url=server.url, api_key="none") as client:
        [item] = answer_calls(host, client.responses.create(model="scripted", input="go"))

    assert "approval_unavailable" in item["output"]
    assert (place.workspace / "notes.txt").exists()


async def test_guardrail_rejects_what_the_profile_denies(host: Host, place: Place) -> None:
    """A tool with the guardrail keeps its own body, and leaves no event of ours."""
    ran: list[str] = []

    @function_tool(tool_input_guardrails=[input_guardrail(host)])
    def send_mail(query: str) -> str:
        """Send a mail."""
        ran.append(query)
        return "sent"

    @function_tool(tool_input_guardrails=[input_guardrail(host)])
    def search_notes(query: str) -> str:
        """Search."""
        ran.append(query)
        return "found"

    model = ScriptedModel([Call("send_mail", {"query": "x"}, "a"), Call("search_notes", {"query": "y"}, "b")])
    await Runner.run(Agent(name="a", model=model, tools=[send_mail, search_notes]), "go")
    seen = model.outputs()

    assert seen[0].text.startswith("ERROR: denied_by_policy reason=")
    assert (seen[1].text, ran) == ("found", ["y"])
    assert place.events() == []


async def test_foreign_call_that_needs_a_person(host: Host) -> None:
    """A governed tool of the agent's own is an interruption, too, and runs once it is approved."""
    ran: list[str] = []

    @function_tool
    def send_mail(query: str) -> str:
        """Send a mail."""
        ran.append(query)
        return "sent"

    model = ScriptedModel([Call("send_mail", {"query": "x"})])
    agent = Agent(name="a", model=model, tools=govern_tools(host, [send_mail]))
    asked = await Runner.run(agent, "go")
    assert (len(asked.interruptions), ran) == (1, [])
    state = asked.to_state()
    state.approve(asked.interruptions[0])
    await Runner.run(agent, state)

    assert (ran, model.outputs()[0].text) == (["x"], "sent")


def test_tools_that_openai_runs_are_not_governed(host: Host) -> None:
    """No call of them ever comes by, and so they are refused."""
    from agents import WebSearchTool  # noqa: PLC0415 - what this test alone is about

    with pytest.raises(TypeError, match="is no FunctionTool"):
        govern_tools(host, [WebSearchTool()])


def test_schemas_keep_what_may_be_absent(host: Host) -> None:
    """Not those of strict mode, which would require every argument."""
    [read] = [tool for tool in agent_tools(host) if tool.name == "read_file"]

    assert isinstance(read, FunctionTool)
    assert read.params_json_schema["required"] == ["path"]
    assert not read.strict_json_schema


async def test_caller_comes_from_the_context(host: Host, place: Place) -> None:
    """Who calls is what the agent's own context says."""
    model = ScriptedModel([Call("read_file", {"path": "notes.txt"})])
    tools = agent_tools(host, caller=lambda ctx: Caller(user=ctx.context))
    await Runner.run(Agent(name="a", model=model, tools=list(tools)), "go", context="ada")

    assert {event["user"] for event in place.events()} == {"ada"}


class Conversation(Model):
    """A model that does what the example asks: reads a file, then one that it may not, then says what it was told."""

    STEPS = (("read_file", {"path": "notes.txt"}), ("read_file", {"path": "/etc/passwd"}))

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **more: Any) -> ModelResponse:  # noqa: A002 - the SDK's name
        outputs = [item["output"] for item in input if isinstance(item, dict) and "output" in item]
        if len(outputs) < len(self.STEPS):
            name, asked = self.STEPS[len(outputs)]
            call = ResponseFunctionToolCall(
                type="function_call", call_id=f"call_{len(outputs)}", name=name, arguments=json.dumps(asked)
            )
            return ModelResponse([call], Usage(), None)
        text = ResponseOutputText(text=" / ".join(outputs), type="output_text", annotations=[])
        said = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
        return ModelResponse([said], Usage(), None)

    def stream_response(self, *args: Any, **more: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


async def test_example(place: Place) -> None:
    """The agent loop of `examples/hosts`: the model sees the reason and goes on."""
    converse = run_path(str(EXAMPLE))["converse"]

    said = await converse(place.workspace, Conversation())

    assert "first" in said
    assert "path_outside_workspace" in said


def test_readme(place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The snippets work with the real client and a scripted model."""

    def script(_path: str, body: dict[str, Any]) -> dict[str, Any]:
        outputs = [item["output"] for item in body["input"] if item.get("type") == "function_call_output"]
        if outputs:
            text = {"type": "output_text", "text": outputs[0], "annotations": []}
            return _response(
                [{"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [text]}]
            )
        return _script([Call("read_file", {"path": "notes.txt"})])("/responses", body)

    with serving(script) as server, OpenAI(base_url=server.url, api_key="none") as client:
        run_readme("openai", place, monkeypatch, client=client, model=Conversation())

    said = capsys.readouterr().out
    assert said.count("first") == 2
    assert "path_outside_workspace" in said
