"""LangChain: `create_agent` with a scripted model, synchronous and asynchronous."""

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from runpy import run_path
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt

from toolcharter import Caller
from toolcharter.hosts import Host
from toolcharter_langchain import GovernMiddleware, ProfileTool, langchain_tools
from toolcharter_langchain.approvals import Approvals

from .contract import SECRET, Adapter, Call, ForeignContract, Place, SeenResult, SynchronousContract, expire_questions
from .readme import front_page, run_readme

EXAMPLE = Path(__file__).parents[2] / "examples" / "hosts" / "langchain.py"


class Scripted(BaseChatModel):
    """Says what *turn* makes of the messages so far."""

    turn: Callable[[list[BaseMessage]], AIMessage]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **more: Any) -> "Scripted":
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **more: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.turn(messages))])


def asking(calls: Sequence[Call]) -> Scripted:
    """A model that asks for *calls* at once, then says "done"."""

    def turn(messages: list[BaseMessage]) -> AIMessage:
        if any(isinstance(message, ToolMessage) for message in messages):
            return AIMessage("done")
        asked = [{"name": call.name, "args": call.args, "id": call.id} for call in calls]
        return AIMessage("", tool_calls=asked)

    return Scripted(turn=turn)


def seen(state: dict[str, Any], calls: Sequence[Call]) -> list[SeenResult]:
    """What the model saw of *calls*, in their order."""
    found = {one.tool_call_id: one for one in state["messages"] if isinstance(one, ToolMessage)}
    return [SeenResult(str(found[call.id].content), found[call.id].status == "error") for call in calls]


class Asynchronous(Adapter):
    """An agent in asynchronous code."""

    answers_unknown = True

    async def run(self, calls: Sequence[Call]) -> list[SeenResult]:
        agent: Any = create_agent(asking(calls), langchain_tools(self.host))
        return seen(await self.invoke(agent, {"messages": [("user", "go")]}), calls)

    async def answer(self, call: Call, *, granted: bool) -> SeenResult:
        agent: Any = create_agent(asking([call]), langchain_tools(self.host), checkpointer=InMemorySaver())
        state = await self.invoke(agent, {"messages": [("user", "go")]})
        [question] = state["__interrupt__"]
        assert (question.value["tool"], question.value["args"]) == (call.name, call.args)
        state = await self.invoke(agent, Command(resume="allow_once" if granted else "deny"))
        return seen(state, [call])[0]

    async def run_foreign(self, call: Call, output: str) -> SeenResult:
        @tool(call.name)
        def own(query: str) -> str:
            """An agent's own tool."""
            return output

        agent: Any = create_agent(asking([call]), [own], middleware=[GovernMiddleware(self.host)])
        return seen(await self.invoke(agent, {"messages": [("user", "go")]}), [call])[0]

    async def invoke(self, agent: Any, given: Any) -> Any:
        """Run the graph."""
        return await agent.ainvoke(given, {"configurable": {"thread_id": "t"}})


class Synchronous(Asynchronous):
    """An agent in synchronous code."""

    async def invoke(self, agent: Any, given: Any) -> Any:
        return await asyncio.to_thread(agent.invoke, given, {"configurable": {"thread_id": "t"}})


class TestAsynchronousAgent(ForeignContract):
    """`ainvoke`."""

    adapter = Asynchronous


class TestSynchronousAgent(SynchronousContract, ForeignContract):
    """`invoke`."""

    adapter = Synchronous


@pytest.fixture
def place(tmp_path: Any) -> Place:
    return Place(tmp_path)


@pytest.fixture
def host(place: Place) -> Any:
    with place.open() as opened:
        yield opened


def by_name(host: Host) -> dict[str, Any]:
    return {one.name: one for one in langchain_tools(host, caller=lambda: Caller(agent="a"))}


def test_tool_without_an_agent(host: Host, place: Place) -> None:
    """Called with arguments alone it gives text; where no one can be asked, the text says so."""
    tools = by_name(host)

    assert "first" in tools["read_file"].invoke({"path": "notes.txt"})
    assert "approval_unavailable" in tools["delete_file"].invoke({"path": "notes.txt"})
    assert (place.workspace / "notes.txt").exists()
    assert {event["agent"] for event in place.events()} == {"a"}


def test_refusal_has_its_reason_in_the_artifact(host: Host) -> None:
    """For programs; the model reads the text."""
    call = {"type": "tool_call", "name": "read_file", "args": {"path": "../x"}, "id": "c"}
    message = by_name(host)["read_file"].invoke(call)

    assert (message.status, message.tool_call_id) == ("error", "c")
    assert message.artifact["reason"] == "path_outside_workspace"


@pytest.mark.parametrize("said", [True, "yes", {"answer": "yes"}, ["allow_once"], "deny"])
async def test_anything_but_a_plain_yes_is_a_no(host: Host, place: Place, said: Any) -> None:
    """A graph may be resumed with any value."""
    call = Call("delete_file", {"path": "notes.txt"})
    agent: Any = create_agent(asking([call]), langchain_tools(host), checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    await agent.ainvoke({"messages": [("user", "go")]}, config)

    state = await agent.ainvoke(Command(resume=said), config)

    assert "approval_denied" in seen(state, [call])[0].text
    assert (place.workspace / "notes.txt").exists()


@pytest.mark.parametrize("name", ["delete_file", "send_mail"])
@pytest.mark.parametrize("adapter", [Asynchronous, Synchronous])
async def test_a_question_that_is_answered_with_nothing_is_a_no(
    host: Host, place: Place, adapter: type[Asynchronous], name: str
) -> None:
    """A graph that is resumed by the interrupt's identifier may be handed None."""
    call, ran = Call(name, {"path": "notes.txt"}), list[str]()

    @tool
    def send_mail(path: str) -> str:
        """Send a mail."""
        ran.append(path)
        return "sent"

    tools = langchain_tools(host) if name == "delete_file" else [send_mail]
    agent: Any = create_agent(asking([call]), tools, middleware=[GovernMiddleware(host)], checkpointer=InMemorySaver())
    way = adapter(host)
    [question] = (await way.invoke(agent, {"messages": [("user", "go")]}))["__interrupt__"]

    state = await way.invoke(agent, Command(resume={question.id: None}))

    assert "approval_denied" in seen(state, [call])[0].text
    assert (place.workspace / "notes.txt").exists()
    assert ran == []


@pytest.mark.parametrize("adapter", [Asynchronous, Synchronous])
async def test_a_call_that_waited_in_a_graph_is_made_anew_outside_of_one(
    host: Host, place: Place, adapter: type[Asynchronous]
) -> None:
    """Without an identifier it cannot be told from that of the graph."""
    delete, args = by_name(host)["delete_file"], {"path": "notes.txt"}
    graph: Any = StateGraph(dict)
    graph.add_node("delete", lambda _state: {"said": delete.invoke(args)})
    graph.add_edge(START, "delete")
    way = adapter(host)
    asked = await way.invoke(graph.compile(checkpointer=InMemorySaver()), {})

    said = await delete.ainvoke(args) if adapter is Asynchronous else delete.invoke(args)

    assert asked["__interrupt__"]
    assert "approval_unavailable" in said
    assert (place.workspace / "notes.txt").exists()


@pytest.mark.parametrize("adapter", [Asynchronous, Synchronous])
async def test_an_answer_is_for_the_call_of_its_question(
    host: Host, place: Place, adapter: type[Asynchronous], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `ToolNode` makes all calls at once, and LangGraph gives its answer to whichever asks first: that could be another one."""
    calls = [Call("delete_file", {"path": path}, path) for path in ("notes.txt", "secret.txt")]
    acall, waiting = host.acall, Approvals.find_pending

    async def late_acall(name: str, args: dict[str, Any], **more: Any) -> Any:
        await asyncio.sleep(0.3 if args["path"] == "notes.txt" else 0.0)
        return await acall(name, args, **more)

    def late_waiting(self: Approvals, call_id: str | None, *more: Any) -> Any:
        time.sleep(0.3 if call_id == "notes.txt" and adapter is Synchronous else 0.0)
        return waiting(self, call_id, *more)

    monkeypatch.setattr(host, "acall", late_acall)
    monkeypatch.setattr(Approvals, "find_pending", late_waiting)
    graph: Any = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [asking(calls).turn(state["messages"])]})
    graph.add_node("tools", ToolNode(langchain_tools(host)))
    graph.add_edge(START, "model").add_edge("model", "tools")
    compiled, way = graph.compile(checkpointer=InMemorySaver()), adapter(host)
    [question] = (await way.invoke(compiled, {"messages": [("user", "go")]}))["__interrupt__"]

    state = await way.invoke(compiled, Command(resume="allow_once"))

    shown = question.value["args"]["path"]
    assert {path for path in ("notes.txt", "secret.txt") if not (place.workspace / path).exists()} == {shown}
    assert [one.is_error for one in seen(state, calls)] == [call.id != shown for call in calls]


async def test_calls_that_a_node_makes_one_after_the_other_each_ask(host: Host, place: Place) -> None:
    """Its answers go to them in their order."""
    delete = by_name(host)["delete_file"]

    def node(_state: Any) -> dict[str, Any]:
        return {"said": [delete.invoke({"path": path}) for path in ("notes.txt", "secret.txt")]}

    graph: Any = StateGraph(dict)
    graph.add_node("delete", node)
    graph.add_edge(START, "delete")
    compiled, way = graph.compile(checkpointer=InMemorySaver()), Synchronous(host)

    asked = [await way.invoke(compiled, {}), await way.invoke(compiled, Command(resume="deny"))]
    await way.invoke(compiled, Command(resume="allow_once"))

    assert [state["__interrupt__"][0].value["args"]["path"] for state in asked] == ["notes.txt", "secret.txt"]
    assert (place.workspace / "notes.txt").exists()
    assert not (place.workspace / "secret.txt").exists()


async def test_graph_that_goes_on_in_another_process(place: Place) -> None:
    """Its host knows nothing of the question: the call asks anew, and runs once."""
    call, saver = Call("delete_file", {"path": "notes.txt"}), InMemorySaver()
    config = {"configurable": {"thread_id": "t"}}
    with place.open() as first:
        agent: Any = create_agent(asking([call]), langchain_tools(first), checkpointer=saver)
        await agent.ainvoke({"messages": [("user", "go")]}, config)
    with place.open() as second:
        agent = create_agent(asking([call]), langchain_tools(second), checkpointer=saver)
        state = await agent.ainvoke(Command(resume={"answer": "allow_once"}), config)

    assert not seen(state, [call])[0].is_error
    assert not (place.workspace / "notes.txt").exists()


@pytest.mark.parametrize("other", ["", "It was another question."])
@pytest.mark.parametrize("adapter", [Asynchronous, Synchronous])
async def test_graph_that_goes_on_after_its_question_has_expired(
    host: Host, place: Place, adapter: type[Asynchronous], monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    """The call runs once, if the question would be the same now."""
    call, way = Call("delete_file", {"path": "notes.txt"}), adapter(host)
    agent: Any = create_agent(asking([call]), langchain_tools(host), checkpointer=InMemorySaver())
    with expire_questions(monkeypatch, other):
        asked = await way.invoke(agent, {"messages": [("user", "go")]})

    state = await way.invoke(agent, Command(resume="allow_once"))

    assert asked["__interrupt__"]
    assert seen(state, [call])[0].is_error == bool(other)
    assert (place.workspace / "notes.txt").exists() == bool(other)


async def test_middleware_leaves_our_tools_to_themselves(host: Host, place: Place) -> None:
    """One call is governed once."""
    call = Call("read_file", {"path": "notes.txt"})
    agent: Any = create_agent(asking([call]), langchain_tools(host), middleware=[GovernMiddleware(host)])

    state = await agent.ainvoke({"messages": [("user", "go")]})

    assert "first" in seen(state, [call])[0].text
    assert len(place.shown("call_1")) == 3


async def test_middleware_leaves_no_unknown_name_to_the_framework(host: Host, place: Place) -> None:
    """Without it LangChain answers by itself, and the log knows nothing of the call."""
    call = Call("no_such_tool", {})
    agent: Any = create_agent(asking([call]), langchain_tools(host), middleware=[GovernMiddleware(host)])

    state = await agent.ainvoke({"messages": [("user", "go")]})

    assert "not_in_allow" in seen(state, [call])[0].text
    assert place.shown("call_1")[-1] == ("hook.tool.after", "denied", "not_in_allow")


@pytest.mark.parametrize("granted", [True, False])
async def test_foreign_call_that_needs_a_person(host: Host, place: Place, *, granted: bool) -> None:
    """It interrupts the graph, too."""
    ran: list[str] = []

    @tool
    def send_mail(query: str) -> str:
        """Send a mail."""
        ran.append(query)
        return "sent"

    call = Call("send_mail", {"query": "x"})
    governed = GovernMiddleware(host, caller=lambda _request: Caller(agent="b"))
    agent: Any = create_agent(asking([call]), [send_mail], middleware=[governed], checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    await agent.ainvoke({"messages": [("user", "go")]}, config)
    assert ran == []

    state = await agent.ainvoke(Command(resume="allow_once" if granted else "deny"), config)

    assert ran == (["x"] if granted else [])
    assert seen(state, [call])[0].is_error is not granted
    assert {event["agent"] for event in place.events()} == {"b"}


async def test_failure_of_a_foreign_tool_is_an_error_in_the_events(host: Host, place: Place) -> None:
    """A tool that returns a message of the status `error` has failed."""

    @tool
    def search_notes(query: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> ToolMessage:
        """Search."""
        return ToolMessage("no index", tool_call_id=tool_call_id, status="error")

    call = Call("search_notes", {"query": "x"})
    agent: Any = create_agent(asking([call]), [search_notes], middleware=[GovernMiddleware(host)])
    state = await agent.ainvoke({"messages": [("user", "go")]})

    assert seen(state, [call]) == [SeenResult("ERROR: no index", is_error=True)]
    assert place.shown("call_1")[-1] == ("hook.tool.after", "error", "tool_failed")


async def test_foreign_tool_may_steer_the_graph(host: Host) -> None:
    """Its `Command` is handed on."""

    @tool
    def search_notes(query: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Search."""
        return Command(update={"messages": [ToolMessage("found", tool_call_id=tool_call_id)]})

    call = Call("search_notes", {"query": "x"})
    agent: Any = create_agent(asking([call]), [search_notes], middleware=[GovernMiddleware(host)])

    assert seen(await agent.ainvoke({"messages": [("user", "go")]}), [call]) == [SeenResult("found", is_error=False)]


async def test_foreign_tool_may_interrupt_the_graph(host: Host, place: Place) -> None:
    """Its own question reaches the person; the call is made again with the answer."""

    @tool
    def search_notes(query: str) -> str:
        """Search."""
        return f"{query} in {interrupt('where?')}"

    call = Call("search_notes", {"query": "milk"})
    made: dict[str, Any] = {"middleware": [GovernMiddleware(host)], "checkpointer": InMemorySaver()}
    agent: Any = create_agent(asking([call]), [search_notes], **made)
    config = {"configurable": {"thread_id": "t"}}
    asked = await agent.ainvoke({"messages": [("user", "go")]}, config)
    assert asked["__interrupt__"][0].value == "where?"

    state = await agent.ainvoke(Command(resume="the cellar"), config)

    assert seen(state, [call])[0].text == "milk in the cellar"
    ends = [(outcome, reason) for event, outcome, reason in place.shown() if event == "hook.tool.after"]
    assert ends == [("error", "interrupted"), ("ok", None)]


def test_schema_is_the_tools(host: Host) -> None:
    """The model sees what the profile's tool says of its arguments."""
    read = by_name(host)["read_file"]

    assert isinstance(read, ProfileTool)
    assert read.tool_call_schema["required"] == ["path"]  # type: ignore[index]


def test_example(place: Place) -> None:
    """The agent loop of `examples/hosts`: the model sees the reason and goes on."""
    converse = run_path(str(EXAMPLE))["converse"]
    steps = [{"path": "notes.txt"}, {"path": "/etc/passwd"}]

    def turn(messages: list[BaseMessage]) -> AIMessage:
        done = [message for message in messages if isinstance(message, ToolMessage)]
        if len(done) < len(steps):
            call = {"name": "read_file", "args": steps[len(done)], "id": f"c{len(done)}"}
            return AIMessage("", tool_calls=[call])
        return AIMessage(" / ".join(str(message.content) for message in done))

    said = converse(place.workspace, Scripted(turn=turn))

    assert "first" in said
    assert "path_outside_workspace" in said


def test_readme(place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The snippet works: the profile's tool answers, and the agent's own is denied, which may do any harm."""
    calls = [Call("read_file", {"path": "notes.txt"}, "a"), Call("search_web", {"query": "x"}, "b")]

    def turn(messages: list[BaseMessage]) -> AIMessage:
        done = [str(message.content) for message in messages if isinstance(message, ToolMessage)]
        asked = [{"name": call.name, "args": call.args, "id": call.id} for call in calls]
        return AIMessage(" / ".join(done), tool_calls=[] if done else asked)

    run_readme("langchain", place, monkeypatch, model=Scripted(turn=turn))

    said = capsys.readouterr().out
    assert "first" in said
    assert "reason=safety_too_high" in said


def test_front_page(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The five lines of the README make an agent whose calls pass the gate."""
    monkeypatch.chdir(place.workspace)
    calls = [Call("read_file", {"path": "notes.txt"}, "a"), Call("git", {"action": "push"}, "b")]
    names: dict[str, Any] = {"model": asking(calls)}

    exec(front_page("python").text, names)
    state = names["agent"].invoke({"messages": [("user", "go")]})
    names["host"].close()

    read, push = seen(state, calls)
    assert ("first" in read.text, "action_not_allowed" in push.text) == (True, True)


async def test_messages_of_a_command_are_scrubbed(host: Host) -> None:
    """They reach the model as any message does; the rest of the command stays."""

    @tool
    def search_notes(query: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Search."""
        answer = ToolMessage(f"a {SECRET}", tool_call_id=tool_call_id, artifact={"kept": f"b {SECRET}"})
        return Command(update={"messages": [answer, ("user", f"c {SECRET}")]})

    call = Call("search_notes", {"query": "x"})
    agent: Any = create_agent(asking([call]), [search_notes], middleware=[GovernMiddleware(host)])
    state = await agent.ainvoke({"messages": [("user", "go")]})

    assert SECRET not in str(state)
    assert seen(state, [call]) == [SeenResult("a [REDACTED]", is_error=False)]
    assert "c [REDACTED]" in str(state)
