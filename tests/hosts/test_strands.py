"""Strands: an agent with a scripted model."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
from strands import Agent, ToolContext, tool
from strands.middleware import ExecuteToolStage
from strands.models.model import Model

from toolcharter import Caller
from toolcharter.hosts import Host
from toolcharter_strands import Govern, strands_tools

from .contract import SECRET, Adapter, Call, ForeignContract, Place, SeenResult, SynchronousContract, expire_questions
from .readme import run_readme

EXAMPLE = Path(__file__).parents[2] / "examples" / "hosts" / "strands.py"


class Scripted(Model):
    """Says what *turn* makes of the messages so far: calls, or a text."""

    def __init__(self, turn: Callable[[list[Any]], Sequence[Call] | str]) -> None:
        self._turn = turn

    def update_config(self, **_: Any) -> None:
        """Has none."""

    def get_config(self) -> dict[str, Any]:
        return {}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
        said = self._turn(messages)
        yield {"messageStart": {"role": "assistant"}}
        if isinstance(said, str):
            yield {"contentBlockDelta": {"delta": {"text": said}}}
            yield {"contentBlockStop": {}}
        else:
            for call in said:
                yield {"contentBlockStart": {"start": {"toolUse": {"toolUseId": call.id, "name": call.name}}}}
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(call.args)}}}}
                yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if isinstance(said, str) else "tool_use"}}


def results(messages: Sequence[Any]) -> dict[str, Any]:
    """The results that the model saw, by the identifiers of their calls."""
    blocks = [block["toolResult"] for message in messages for block in message["content"] if "toolResult" in block]
    return {block["toolUseId"]: block for block in blocks}


def seen(agent: Agent, call: Call) -> SeenResult:
    """What the model saw of *call*."""
    result = results(agent.messages)[call.id]
    return SeenResult("".join(block.get("text", "") for block in result["content"]), result["status"] == "error")


def agent_of(calls: Sequence[Call], tools: Sequence[Any]) -> Agent:
    """An agent whose model asks for *calls* at once, then says "done"."""
    model = Scripted(lambda messages: "done" if results(messages) else calls)
    return Agent(model, tools=[*tools], callback_handler=None)


async def invoked(agent: Agent, given: Any) -> Any:
    """The run of *agent* in asynchronous code."""
    return await agent.invoke_async(given)


async def answered(agent: Agent, call: Call, response: Any, invoke: Callable[..., Any] = invoked) -> SeenResult:
    """What the model sees of *call*, which interrupts the agent, once a person has answered."""
    asked = await invoke(agent, "go")
    assert asked.stop_reason == "interrupt"
    [question] = asked.interrupts
    assert (question.reason["tool"], question.reason["args"]) == (call.name, call.args)
    await invoke(agent, gone_on(question.id, response))
    return seen(agent, call)


def gone_on(identifier: str, response: Any) -> Any:
    """What an agent goes on with."""
    return [{"interruptResponse": {"interruptId": identifier, "response": response}}]


class Strands(Adapter):
    """An agent."""

    answers_unknown = True

    async def run(self, calls: Sequence[Call]) -> list[SeenResult]:
        agent = agent_of(calls, strands_tools(self.host))
        await self._invoke(agent, "go")
        return [seen(agent, call) for call in calls]

    async def answer(self, call: Call, *, granted: bool) -> SeenResult:
        said = "allow_once" if granted else "deny"
        return await answered(agent_of([call], strands_tools(self.host)), call, said, self._invoke)

    async def run_foreign(self, call: Call, output: str) -> SeenResult:
        @tool(name=call.name)
        def own(query: str) -> str:
            """An agent's own tool."""
            return output

        agent = agent_of([call], [own])
        agent.add_middleware(ExecuteToolStage, Govern(self.host))
        await self._invoke(agent, "go")
        return seen(agent, call)

    async def _invoke(self, agent: Agent, given: Any) -> Any:
        return await invoked(agent, given)


class SynchronousStrands(Strands):
    """An agent in synchronous code."""

    async def _invoke(self, agent: Agent, given: Any) -> Any:
        return await asyncio.to_thread(agent, given)


class TestSynchronousStrands(SynchronousContract, ForeignContract):
    """An agent that is called."""

    adapter = SynchronousStrands


class TestStrands(ForeignContract):
    """An agent of Strands."""

    adapter = Strands


@pytest.fixture
def place(tmp_path: Any) -> Place:
    return Place(tmp_path)


@pytest.fixture
def host(place: Place) -> Any:
    with place.open() as opened:
        yield opened


async def governed(host: Host, own: Any, call: Call, **more: Any) -> Agent:
    """An agent whose own tool has been called once."""
    agent = agent_of([call], [own])
    agent.add_middleware(ExecuteToolStage, Govern(host, **more))
    await agent.invoke_async("go")
    return agent


SEARCH = Call("search_notes", {"query": "x"})


async def test_caller_comes_from_the_run(host: Host, place: Place) -> None:
    """Who calls is what the run was started with."""
    call = Call("read_file", {"path": "notes.txt"})
    agent = agent_of([call], strands_tools(host, caller=lambda state: Caller(user=state["user"])))

    await agent.invoke_async("go", invocation_state={"user": "ada"})

    assert {event["user"] for event in place.events()} == {"ada"}


@pytest.mark.parametrize("said", [True, "yes", {"answer": "allow_once"}])
async def test_anything_but_a_plain_yes_is_a_no(host: Host, place: Place, said: Any) -> None:
    """An agent may go on with any response."""
    call = Call("delete_file", {"path": "notes.txt"})

    result = await answered(agent_of([call], strands_tools(host)), call, said)

    assert "approval_denied" in result.text
    assert (place.workspace / "notes.txt").exists()


@pytest.mark.parametrize("other", ["", "It was another question."])
async def test_agent_that_goes_on_after_its_question_has_expired(
    host: Host, place: Place, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    """The call runs once, if the question would be the same now."""
    call = Call("delete_file", {"path": "notes.txt"})
    agent = agent_of([call], strands_tools(host))
    with expire_questions(monkeypatch, other):
        [question] = (await agent.invoke_async("go")).interrupts or ()

    await agent.invoke_async(gone_on(question.id, "allow_once"))

    assert seen(agent, call).is_error == bool(other)
    assert (place.workspace / "notes.txt").exists() == bool(other)


async def test_our_tools_are_governed_once(host: Host, place: Place) -> None:
    """The middleware leaves them to themselves."""
    call = Call("read_file", {"path": "notes.txt"})
    agent = agent_of([call], strands_tools(host))
    agent.add_middleware(ExecuteToolStage, Govern(host))

    await agent.invoke_async("go")

    assert len(place.shown("call_1")) == 3


async def test_middleware_leaves_no_unknown_name_to_the_framework(host: Host, place: Place) -> None:
    """Without it Strands answers by itself, and the log knows nothing of the call."""
    call = Call("no_such_tool", {})
    agent = agent_of([call], strands_tools(host))
    agent.add_middleware(ExecuteToolStage, Govern(host))
    await agent.invoke_async("go")

    assert "not_in_allow" in seen(agent, call).text
    assert place.shown("call_1")[-1] == ("hook.tool.after", "denied", "not_in_allow")


@pytest.mark.parametrize("granted", [True, False])
async def test_foreign_call_that_needs_a_person(host: Host, place: Place, *, granted: bool) -> None:
    """It interrupts the agent, too."""
    ran: list[str] = []

    @tool
    def send_mail(query: str) -> str:
        """Send a mail."""
        ran.append(query)
        return "sent"

    call = Call("send_mail", {"query": "x"})
    agent = agent_of([call], [send_mail])
    agent.add_middleware(ExecuteToolStage, Govern(host, caller=lambda _context: Caller(agent="b")))
    result = await answered(agent, call, "allow_once" if granted else "deny")

    assert (ran, result.is_error) == ((["x"], False) if granted else ([], True))
    assert {event["agent"] for event in place.events()} == {"b"}


async def test_foreign_tool_fails(host: Host, place: Place) -> None:
    """The failure is an error in the events; the model reads it."""

    @tool
    def search_notes(query: str) -> dict[str, Any]:
        """Search."""
        return {"status": "error", "content": [{"text": "no index"}]}

    agent = await governed(host, search_notes, SEARCH)

    assert seen(agent, SEARCH) == SeenResult("ERROR: no index", is_error=True)
    assert place.shown("call_1")[-1] == ("hook.tool.after", "error", "tool_failed")


async def test_foreign_tool_returns_more_than_text(host: Host) -> None:
    """JSON is scrubbed as text is; an image is handed on."""
    image = {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}}

    @tool
    def search_notes(query: str) -> dict[str, Any]:
        """Search."""
        return {"status": "success", "content": [{"json": {"token": SECRET}}, image]}

    agent = await governed(host, search_notes, SEARCH)

    [text, kept] = results(agent.messages)["call_1"]["content"]
    assert SECRET not in text["text"]
    assert kept == image


async def test_foreign_tool_may_interrupt_the_agent(host: Host, place: Place) -> None:
    """Its own question reaches the person; the call is made again with the answer."""

    @tool(context=True)
    def search_notes(query: str, tool_context: ToolContext[Any]) -> str:
        """Search."""
        return f"{query} in {tool_context.interrupt('where', reason='where?')}"

    agent = await governed(host, search_notes, SEARCH)
    [(identifier, question)] = agent._interrupt_state.interrupts.items()
    assert question.reason == "where?"
    await agent.invoke_async(gone_on(identifier, "the cellar"))

    assert seen(agent, SEARCH).text == "x in the cellar"
    ends = [(outcome, reason) for event, outcome, reason in place.shown() if event == "hook.tool.after"]
    assert ends == [("error", "interrupted"), ("ok", None)]


def test_example(place: Place) -> None:
    """The agent loop of `examples/hosts`: the model sees the reason and goes on."""
    converse = run_path(str(EXAMPLE))["converse"]
    steps = [{"path": "notes.txt"}, {"path": "/etc/passwd"}]

    def turn(messages: list[Any]) -> Sequence[Call] | str:
        done = list(results(messages).values())
        if len(done) < len(steps):
            return [Call("read_file", steps[len(done)], f"c{len(done)}")]
        return " / ".join(result["content"][0]["text"] for result in done)

    said = converse(place.workspace, Scripted(turn))

    assert "first" in said
    assert "path_outside_workspace" in said


def test_readme(place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The snippet works: the profile's tool answers, and the agent's own is denied, which may do any harm."""
    calls = [Call("read_file", {"path": "notes.txt"}, "a"), Call("search_web", {"query": "x"}, "b")]

    def turn(messages: list[Any]) -> Sequence[Call] | str:
        done = [result["content"][0]["text"] for result in results(messages).values()]
        return " / ".join(done) or calls

    run_readme("strands", place, monkeypatch, model=Scripted(turn))

    said = capsys.readouterr().out
    assert "first" in said
    assert "reason=safety_too_high" in said


async def test_answer_of_one_caller_makes_no_call_of_anothers(host: Host, place: Place) -> None:
    """Two agents may number their calls alike; each call is its own caller's."""
    call = Call("delete_file", {"path": "notes.txt"})
    tools = strands_tools(host, caller=lambda state: Caller(user=state["user"]))
    first, second = agent_of([call], tools), agent_of([call], tools)
    await first.invoke_async("go", invocation_state={"user": "ada"})
    asked = await second.invoke_async("go", invocation_state={"user": "bob"})
    before = len(place.events())
    [question] = asked.interrupts or ()

    await second.invoke_async(gone_on(question.id, "allow_once"), invocation_state={"user": "bob"})

    assert {event["user"] for event in place.events()[before:]} == {"bob"}
    assert not (place.workspace / "notes.txt").exists()


async def test_what_runs_is_what_was_judged(host: Host) -> None:
    """The arguments are shared with all that has the call; a later change of them does not reach the tool."""
    ran: list[list[str]] = []

    @tool
    def search_notes(words: list[str]) -> str:
        """Search."""
        ran.append(words)
        return "found"

    call = Call("search_notes", {"words": ["x"]})
    agent = agent_of([call], [search_notes])

    class Late(Govern):
        async def __call__(self, context: Any, next_fn: Any) -> Any:
            async def changed(later: Any) -> Any:
                context.tool_use["input"]["words"].append("evil")
                async for event in next_fn(later):
                    yield event

            async for event in super().__call__(context, changed):
                yield event

    agent.add_middleware(ExecuteToolStage, Late(host))
    await agent.invoke_async("go")

    assert ran == [["x"]]
