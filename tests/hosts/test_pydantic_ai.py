"""Pydantic AI: an agent with a scripted model."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    ApprovalRequired,
    DeferredToolRequests,
    DeferredToolResults,
    ModelRetry,
    RunContext,
    ToolApproved,
    ToolDenied,
    ToolFailed,
    ToolReturn,
)
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    RetryPromptPart,
    TextContent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from toolcharter import Caller
from toolcharter.hosts import Host
from toolcharter_pydantic_ai import Govern, ProfileToolset

from .contract import SECRET, Adapter, Call, ForeignContract, Place, SeenResult, SynchronousContract, expire_questions
from .readme import run_readme

EXAMPLE = Path(__file__).parents[2] / "examples" / "hosts" / "pydantic_ai.py"


def asking(calls: Sequence[Call]) -> FunctionModel:
    """A model that asks for *calls* at once, then says "done"."""

    def turn(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        if answers(messages):
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart(call.name, call.args, call.id) for call in calls])

    return FunctionModel(turn)


def answers(messages: Sequence[ModelMessage]) -> dict[str, SeenResult]:
    """What the model saw of its calls, by their identifiers."""
    found = dict[str, SeenResult]()
    for part in (part for message in messages for part in message.parts):
        if isinstance(part, ToolReturnPart):
            text = part.content if isinstance(part.content, str) else part.model_response_str()
            found[part.tool_call_id] = SeenResult(text, part.outcome != "success")
        elif isinstance(part, RetryPromptPart) and part.tool_call_id:
            found[part.tool_call_id] = SeenResult(part.model_response(), is_error=True)
    return found


class PydanticAi(Adapter):
    """An agent."""

    answers_unknown = True
    refuses_itself = True

    async def run(self, calls: Sequence[Call]) -> list[SeenResult]:
        done = await self._go(Agent(asking(calls), toolsets=[ProfileToolset(self.host)]), "go")
        found = answers(done.all_messages())
        return [found[call.id] for call in calls]

    async def answer(self, call: Call, *, granted: bool) -> SeenResult:
        toolset = ProfileToolset(self.host)
        agent = Agent(asking([call]), toolsets=[toolset], output_type=[str, DeferredToolRequests])
        asked = await self._go(agent, "go")
        assert isinstance(asked.output, DeferredToolRequests)
        [question] = asked.output.approvals
        assert (question.tool_name, question.args_as_dict()) == (call.name, call.args)
        assert asked.output.metadata[call.id]["tool"] == call.name
        results = DeferredToolResults(approvals={question.tool_call_id: ToolApproved() if granted else ToolDenied()})
        done = await self._go(agent, message_history=asked.all_messages(), deferred_tool_results=results)
        return answers(done.all_messages())[call.id]

    async def run_foreign(self, call: Call, output: str) -> SeenResult:
        agent = Agent(asking([call]), capabilities=[Govern(self.host)])

        @agent.tool_plain(name=call.name)
        def own(query: str) -> str:
            """An agent's own tool."""
            return output

        return answers((await self._go(agent, "go")).all_messages())[call.id]

    async def _go(self, agent: Agent[None, Any], *given: Any, **more: Any) -> Any:
        return await agent.run(*given, **more)


class SynchronousPydanticAi(PydanticAi):
    """An agent in synchronous code."""

    async def _go(self, agent: Agent[None, Any], *given: Any, **more: Any) -> Any:
        return await asyncio.to_thread(in_a_loop_of_its_own, lambda: agent.run_sync(*given, **more))


def in_a_loop_of_its_own(run: Callable[[], Any]) -> Any:
    """`run_sync` takes the thread's loop, and leaves it open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        return run()
    finally:
        asyncio.set_event_loop(None)
        loop.close()


class TestSynchronousPydanticAi(SynchronousContract, ForeignContract):
    """`run_sync`."""

    adapter = SynchronousPydanticAi


class TestPydanticAi(ForeignContract):
    """An agent of Pydantic AI."""

    adapter = PydanticAi


@pytest.fixture
def place(tmp_path: Any) -> Place:
    return Place(tmp_path)


@pytest.fixture
def host(place: Place) -> Any:
    with place.open() as opened:
        yield opened


async def foreign(host: Host, function: Any, name: str = "search_notes", **more: Any) -> Any:
    """The run of an agent whose own tool is called once."""
    agent = Agent(asking([Call(name, {"query": "x"})]), capabilities=[Govern(host)], **more)
    agent.tool(name=name)(function)
    return await agent.run("go")


async def test_caller_comes_from_the_context(host: Host, place: Place) -> None:
    """Who calls is what the run's dependencies say."""
    toolset = ProfileToolset(host, caller=lambda ctx: Caller(user=ctx.deps))
    agent = Agent(asking([Call("read_file", {"path": "notes.txt"})]), toolsets=[toolset], deps_type=str)

    await agent.run("go", deps="ada")

    assert {event["user"] for event in place.events()} == {"ada"}


async def test_run_that_goes_on_with_another_host(place: Place) -> None:
    """It knows nothing of the question: the call asks anew, and runs once."""
    call = Call("delete_file", {"path": "notes.txt"})
    with place.open() as first:
        agent = Agent(asking([call]), toolsets=[ProfileToolset(first)], output_type=[str, DeferredToolRequests])
        asked = await agent.run("go")
    results = DeferredToolResults(approvals={call.id: True})
    with place.open() as second:
        agent = Agent(asking([call]), toolsets=[ProfileToolset(second)], output_type=[str, DeferredToolRequests])
        done = await agent.run(message_history=asked.all_messages(), deferred_tool_results=results)

    assert not answers(done.all_messages())[call.id].is_error
    assert not (place.workspace / "notes.txt").exists()


@pytest.mark.parametrize("other", ["", "It was another question."])
async def test_run_that_goes_on_after_its_question_has_expired(
    host: Host, place: Place, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    """The call runs once, if the question would be the same now."""
    call = Call("delete_file", {"path": "notes.txt"})
    agent = Agent(asking([call]), toolsets=[ProfileToolset(host)], output_type=[str, DeferredToolRequests])
    with expire_questions(monkeypatch, other):
        asked = await agent.run("go")
    results = DeferredToolResults(approvals={call.id: True})

    done = await agent.run(message_history=asked.all_messages(), deferred_tool_results=results)

    assert answers(done.all_messages())[call.id].is_error == bool(other)
    assert (place.workspace / "notes.txt").exists() == bool(other)


async def test_person_may_change_the_arguments(host: Host, place: Place) -> None:
    """What runs is what the person wrote."""
    agent = Agent(
        asking([Call("delete_file", {"path": "notes.txt"})]),
        toolsets=[ProfileToolset(host)],
        output_type=[str, DeferredToolRequests],
    )
    asked = await agent.run("go")
    results = DeferredToolResults(approvals={"call_1": ToolApproved(override_args={"path": "secret.txt"})})

    await agent.run(message_history=asked.all_messages(), deferred_tool_results=results)

    assert (place.workspace / "notes.txt").exists()
    assert not (place.workspace / "secret.txt").exists()


async def test_our_tools_are_governed_once(host: Host, place: Place) -> None:
    """The capability leaves them to the toolset."""
    call = Call("read_file", {"path": "notes.txt"})
    agent = Agent(asking([call]), toolsets=[ProfileToolset(host)], capabilities=[Govern(host)])

    await agent.run("go")

    assert len(place.shown("call_1")) == 3


async def test_foreign_tool_returns_data(host: Host) -> None:
    """Models become JSON data; secrets in them are masked."""

    class Found(BaseModel):
        number: int
        text: str

    def search(_ctx: RunContext[None], query: str) -> Found:
        """Search."""
        return Found(number=1, text=f"token {SECRET}")

    seen = answers((await foreign(host, search)).all_messages())["call_1"]

    assert seen == SeenResult('{"number":1,"text":"token [REDACTED]"}', is_error=False)


async def test_foreign_tool_returns_more_than_a_value(host: Host) -> None:
    """`ToolReturn` keeps its form; its texts are scrubbed."""

    def search(_ctx: RunContext[None], query: str) -> ToolReturn[str]:
        """Search."""
        return ToolReturn(return_value=f"a {SECRET}", content=f"b {SECRET}", metadata={"kept": True})

    messages = (await foreign(host, search)).all_messages()

    assert answers(messages)["call_1"].text == "a [REDACTED]"
    assert SECRET not in str(messages)
    assert "b [REDACTED]" in str(messages)


async def test_foreign_tool_fails(host: Host, place: Place) -> None:
    """The failure is an error in the events; the model reads it."""

    def search(_ctx: RunContext[None], query: str) -> str:
        """Search."""
        raise ToolFailed("no index")

    seen = answers((await foreign(host, search)).all_messages())["call_1"]

    assert seen == SeenResult("ERROR: no index", is_error=True)
    assert place.shown("call_1")[-1] == ("hook.tool.after", "error", "tool_failed")


async def test_foreign_tool_asks_for_another_try(host: Host, place: Place) -> None:
    """The framework's retry goes on as without the gate."""

    def search(_ctx: RunContext[None], query: str) -> str:
        """Search."""
        raise ModelRetry("write more")

    seen = answers((await foreign(host, search)).all_messages())["call_1"]

    assert "write more" in seen.text
    assert place.shown("call_1")[-1] == ("hook.tool.after", "error", "tool_failed")


@pytest.mark.parametrize("granted", [True, False])
async def test_foreign_call_that_needs_a_person(host: Host, *, granted: bool) -> None:
    """The gate defers it."""
    ran: list[str] = []
    agent = Agent(
        asking([Call("send_mail", {"query": "x"})]),
        capabilities=[Govern(host, caller=lambda _ctx: Caller(agent="b"))],
        output_type=[str, DeferredToolRequests],
    )

    @agent.tool_plain
    def send_mail(query: str) -> str:
        """Send a mail."""
        ran.append(query)
        return "sent"

    asked = await agent.run("go")
    assert ran == []
    results = DeferredToolResults(approvals={"call_1": granted})
    done = await agent.run(message_history=asked.all_messages(), deferred_tool_results=results)

    assert ran == (["x"] if granted else [])
    assert answers(done.all_messages())["call_1"].is_error is not granted


async def test_foreign_tool_may_ask_itself(host: Host, place: Place) -> None:
    """Its own deferral passes the gate."""

    def search(ctx: RunContext[None], query: str) -> str:
        """Search."""
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        return "found"

    done = await foreign(host, search, output_type=[str, DeferredToolRequests])

    assert isinstance(done.output, DeferredToolRequests)
    assert place.shown("call_1")[-1] == ("hook.tool.after", "error", "deferred")


async def test_example(place: Place) -> None:
    """The agent loop of `examples/hosts`: the model sees the reason and goes on."""
    converse = run_path(str(EXAMPLE))["converse"]
    steps = [{"path": "notes.txt"}, {"path": "/etc/passwd"}]

    def turn(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        done = list(answers(messages).values())
        if len(done) < len(steps):
            return ModelResponse(parts=[ToolCallPart("read_file", steps[len(done)], f"c{len(done)}")])
        return ModelResponse(parts=[TextPart(" / ".join(seen.text for seen in done))])

    said = await converse(place.workspace, FunctionModel(turn))

    assert "first" in said
    assert "path_outside_workspace" in said


def test_readme(place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The snippet works: the profile's tool answers, and the agent's own is denied, which may do any harm."""
    calls = [Call("read_file", {"path": "notes.txt"}, "a"), Call("search_web", {"query": "x"}, "b")]

    def turn(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        done = [seen.text for seen in answers(messages).values()]
        if done:
            return ModelResponse(parts=[TextPart(" / ".join(done))])
        return ModelResponse(parts=[ToolCallPart(call.name, call.args, call.id) for call in calls])

    in_a_loop_of_its_own(lambda: run_readme("pydantic_ai", place, monkeypatch, model=FunctionModel(turn)))

    said = capsys.readouterr().out
    assert "first" in said
    assert "reason=safety_too_high" in said


async def test_each_text_beside_a_value_is_scrubbed(host: Host) -> None:
    """What a tool sends as separate content may be several texts."""

    def search(_ctx: RunContext[None], query: str) -> ToolReturn[str]:
        """Search."""
        return ToolReturn(return_value="a", content=["b", f"c {SECRET}", TextContent(f"d {SECRET}")])

    messages = str((await foreign(host, search)).all_messages())

    assert SECRET not in messages
    assert ("c [REDACTED]" in messages, "d [REDACTED]" in messages) == (True, True)


@pytest.mark.parametrize("is_outer", [True, False])
async def test_arguments_that_another_capability_changes_are_judged(place: Place, *, is_outer: bool) -> None:
    """Rules are about what runs, wherever the other capability is listed."""

    class Change(AbstractCapability[Any]):
        async def before_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> dict[str, Any]:
            return {"query": "evil"}

    ran: list[str] = []
    with place.profile.open("a") as profile:
        profile.write('deny: ["search_notes(query=evil*)"]\n')
    with place.open() as host:
        both = [Change(), Govern(host)]
        agent = Agent(asking([Call("search_notes", {"query": "x"})]), capabilities=both if is_outer else both[::-1])

        @agent.tool_plain
        def search_notes(query: str) -> str:
            """Search."""
            ran.append(query)
            return "found"

        seen = answers((await agent.run("go")).all_messages())["call_1"]

    assert ran == []
    assert "denied_by_rule" in seen.text


class Range(BaseModel):
    """An argument of a tool."""

    path: str
    depth: int = 1


@pytest.mark.parametrize(
    ("args", "change"),
    [
        ({"where": {"path": "ok"}, "tags": ["a"]}, {"where": Range(path="evil")}),
        ({"where": {"path": "ok"}, "tags": ["a"]}, {"tags": ["a", "evil"]}),
        ({"where": {"path": "ok"}, "tags": ["a"]}, {"tags": None}),
    ],
    ids=["a field of an object", "an entry of a list", "taken away"],
)
@pytest.mark.parametrize("is_outer", [True, False])
async def test_changes_below_the_top_are_judged(
    place: Place, args: dict[str, Any], change: dict[str, Any], *, is_outer: bool
) -> None:
    """An object or a list says as much of a call as a text."""

    class Change(AbstractCapability[Any]):
        async def before_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> dict[str, Any]:
            return {**args, **change}

    ran: list[object] = []
    schema = "{where: {properties: {path: {const: ok}}}, tags: {const: [a]}}"
    text = place.profile.read_text().replace(
        '"custom:search_notes"', f"{{rule: 'custom:search_notes', when: {schema}}}"
    )
    assert "when" in text
    place.profile.write_text(text)
    with place.open() as host:
        both = [Change(), Govern(host)]
        for capabilities in ([Govern(host)], both if is_outer else both[::-1]):
            agent = Agent(asking([Call("search_notes", args)]), capabilities=capabilities)

            @agent.tool_plain
            def search_notes(where: Range, tags: list[str] | None) -> str:
                """Search."""
                ran.append((where, tags))
                return "found"

            seen = answers((await agent.run("go")).all_messages())["call_1"]

    assert ran == [(Range(path="ok"), ["a"])]
    assert "not_in_allow" in seen.text


async def test_the_only_argument_may_be_an_object(host: Host, place: Place) -> None:
    """The model is shown its fields as the arguments, and rules see them so."""
    agent = Agent(asking([Call("search_notes", {"path": "x"})]), capabilities=[Govern(host)])

    @agent.tool_plain
    def search_notes(where: Range) -> str:
        """Search."""
        return f"found {where.path} {where.depth}"

    seen = answers((await agent.run("go")).all_messages())["call_1"]

    assert seen == SeenResult("found x 1", is_error=False)
    assert place.events()[-1]["args"] in ({"path": "x", "depth": 1}, {"path": "x"})


async def test_answer_of_one_caller_makes_no_call_of_anothers(host: Host, place: Place) -> None:
    """Two runs may number their calls alike; each call is its own caller's."""
    call = Call("delete_file", {"path": "notes.txt"})
    toolset = ProfileToolset(host, caller=lambda ctx: Caller(user=ctx.deps))
    agent = Agent(asking([call]), toolsets=[toolset], deps_type=str, output_type=[str, DeferredToolRequests])
    asked = await agent.run("go", deps="ada")
    before = len(place.events())
    results = DeferredToolResults(approvals={call.id: True})

    await agent.run(message_history=asked.all_messages(), deferred_tool_results=results, deps="bob")

    assert {event["user"] for event in place.events()[before:]} == {"bob"}
