"""`Toolbox` and `Tool`: a mapping of governed tools, for one caller at a time."""

import asyncio
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.core.gate.conftest import spec_of, spec_with_runtime

from toolcharter.api.call import Caller
from toolcharter.api.policy import ToolPolicy
from toolcharter.api.tool import ToolSpec
from toolcharter.errors import NotGated, SyncCallInLoop, ToolboxClosed
from toolcharter.gate import state as gate_state
from toolcharter.gate import waiting
from toolcharter.profile.model import Limits


def greet(name: str = "you") -> str:
    """Greet somebody."""
    return f"Hello, {name}!"


async def agreet(name: str = "you") -> str:
    """Greet somebody, in time."""
    await asyncio.sleep(0)
    return f"Hello, {name}!"


def test_a_toolbox_is_a_mapping_in_the_profiles_order(make_toolbox) -> None:
    """Names, order, length and lookups are those of a mapping."""
    toolbox = make_toolbox(spec_of(greet), spec_of(agreet))

    assert list(toolbox) == ["greet", "agreet"]
    assert len(toolbox) == 2
    assert "greet" in toolbox
    assert toolbox.get("nope") is None
    with pytest.raises(KeyError, match="'nope'"):
        toolbox["nope"]
    assert repr(toolbox) == "<Toolbox 'test': greet, agreet>"


@pytest.mark.parametrize("name", ["greet", "GREET", "hello", "Hello"])
def test_a_tool_answers_to_its_name_and_aliases_without_case(name, make_toolbox, events) -> None:
    """Whatever it is called by, its events bear the canonical name."""
    toolbox = make_toolbox(spec_of(greet, aliases=("Hello",)))

    assert str(toolbox[name](name="Ann")) == "Hello, Ann!"
    assert {event["tool"] for event in events} == {"greet"}


def test_a_tool_tells_what_it_is(make_toolbox) -> None:
    """What a host needs to list a tool."""
    toolbox = make_toolbox(
        spec_of(
            greet,
            capabilities={"wave": {"text"}, "write": {"fs:write"}},
            safety="low",
            output={"type": "object"},
            description="Say hello.",
        ),
        spec_of(agreet),
    )

    tool, other = toolbox["greet"], toolbox["agreet"]

    assert (tool.name, tool.description, tool.kind, tool.safety) == ("greet", "Say hello.", "builtin", "low")
    assert tool.capabilities == {"text", "fs:write"}
    assert tool.output_schema == {"type": "object"}
    assert (other.capabilities, other.output_schema, other.description) == (None, None, "Greet somebody, in time.")
    assert repr(tool) == "<Tool 'greet'>"


async def test_every_way_to_call(make_toolbox) -> None:
    """By keyword, by mapping, by name, synchronous and asynchronous."""
    toolbox = make_toolbox(spec_of(greet), spec_of(agreet))

    texts = [
        str(toolbox["greet"](name="A")),
        str(toolbox["greet"].call({"name": "B"}, call_id="c-1", parent_id="p-1")),
        str(toolbox.call("greet", {"name": "C"})),
        str(await toolbox["greet"].acall(name="D")),
        str(await toolbox.acall("agreet", {"name": "E"})),
        str(await asyncio.to_thread(toolbox.call, "agreet", {"name": "F"})),
    ]

    assert texts == [f"Hello, {name}!" for name in "ABCDEF"]


async def test_identifiers_of_the_host_are_kept(make_toolbox, events) -> None:
    """A host may bring its own call and parent identifiers."""
    toolbox = make_toolbox(spec_of(greet))

    result = await toolbox.acall("greet", {}, call_id='c-"1', parent_id="p-1")

    assert result.call_id == 'c-"1'
    assert {(event["call_id"], event["parent_id"]) for event in events} == {('c-"1', "p-1")}


async def test_a_synchronous_call_of_an_asynchronous_tool_inside_a_loop_names_acall(make_toolbox, events) -> None:
    """It would wait for a loop that waits for it."""
    toolbox = make_toolbox(spec_of(agreet))

    with pytest.raises(SyncCallInLoop) as caught:
        toolbox.call("agreet", {})

    assert str(caught.value) == (
        "'agreet' or a check of it is asynchronous and an event loop is running here; await acall() instead"
    )
    assert events == []


def test_views_for_callers_share_everything_but_the_caller(make_toolbox, events) -> None:
    """A view is cheap, and its events bear its caller."""

    def who(rt):
        def tool():
            return f"{rt.caller.agent} at depth {rt.caller.depth}"

        return tool

    toolbox = make_toolbox(spec_with_runtime(who))

    texts = [
        str(toolbox.for_caller(Caller(agent=agent, session=f"s-{agent}", depth=depth)).call("who", {}))
        for depth, agent in enumerate(["one", "two"])
    ]

    assert texts == ["one at depth 0", "two at depth 1"]
    assert [event["session"] for event in events] == ["s-one"] * 3 + ["s-two"] * 3
    assert [event["seq"] for event in events] == list(range(1, 7))


def test_the_tools_a_tool_calls_are_called_by_its_caller(make_toolbox, events) -> None:
    """No call loses its caller on the way."""

    def outer(rt):
        def tool():
            return str(rt.call("greet", {}))

        return tool

    toolbox = make_toolbox(spec_with_runtime(outer), spec_of(greet)).for_caller(Caller(agent="a"))

    toolbox.call("outer", {})

    assert {event["agent"] for event in events} == {"a"}


async def test_an_asynchronous_tool_awaits_another(make_toolbox, events) -> None:
    """`rt.acall` is `rt.call` for asynchronous bodies."""

    def outer(rt):
        async def tool() -> str:
            return str(await rt.acall("agreet", {"name": "Ann"}))

        return tool

    toolbox = make_toolbox(spec_with_runtime(outer), spec_of(agreet))

    assert str(await toolbox.acall("outer", {})) == "Hello, Ann!"
    assert [event["tool"] for event in events] == ["outer", "outer", "agreet", "agreet", "agreet", "outer"]


async def test_a_tool_asks_what_another_call_would_meet(make_toolbox, events) -> None:
    """`rt.adecide` tells before the mark, for the caller of the call, and executes and logs nothing."""
    decided = []

    def outer(rt):
        async def tool() -> str:
            ctx = rt.start("outer")
            for name, args in (("agreet", {"name": "Ann"}), ("agreet", {"nme": ""}), ("nobody", {})):
                decision = await rt.adecide(name, args)
                decided.append((decision.outcome, decision.reason))
            ctx.policy_passed()
            return ctx.ok("decided")

        return tool

    toolbox = make_toolbox(spec_with_runtime(outer, staged=True), spec_of(agreet))

    assert (await toolbox.acall("outer", {})).outcome == "ok"
    assert decided == [("allow", None), ("error", "invalid_arguments"), ("deny", "unknown_tool")]
    assert {event["tool"] for event in events} == {"outer"}


def test_a_tools_function_runs_only_through_the_gate(tmp_path, make_toolbox) -> None:
    """Called directly it has no runtime to lean on."""
    kept = []

    def keeps(rt):
        def tool():
            return rt.start("keeps").ok("done")

        kept.extend([tool, rt])
        return tool

    make_toolbox(spec_with_runtime(keeps))
    function, runtime = kept

    with pytest.raises(NotGated, match=r"^there is no current call: a tool's function runs only through a toolbox$"):
        function()
    with pytest.raises(NotGated):
        runtime.run(["true"])
    with pytest.raises(NotGated):
        runtime.paths.open_file("x")
    with pytest.raises(NotGated):
        _ = runtime.caller


def test_under_test_a_function_may_be_called_directly(make_toolbox, events) -> None:
    """A strict toolbox opens a call of its own for it."""
    kept = []

    def keeps(rt):
        def tool():
            return rt.start("keeps", a=object).ok("done")

        kept.append(tool)
        return tool

    make_toolbox(spec_with_runtime(keeps), strict=True)

    assert kept[0]() == "done"
    assert [event["event"] for event in events] == ["hook.tool.before", "hook.policy.before", "hook.tool.after"]
    assert events[0]["args"] == {"a": "<class 'object'>"}


def test_what_tools_hold_is_released_in_reverse_order(make_toolbox) -> None:
    """`rt.on_close` callbacks run once, the last registered first, all of them."""
    closed: list[str] = []

    def fail() -> None:
        closed.append("fails")
        raise OSError("stuck")

    def holds(rt):
        rt.on_close(lambda: closed.append("first"))
        rt.on_close(fail)
        rt.on_close(lambda: closed.append("last"))
        return lambda: ""

    toolbox = make_toolbox(spec_with_runtime(holds))

    with pytest.raises(ExceptionGroup) as caught, toolbox:
        pass
    toolbox.close()

    assert closed == ["last", "fails", "first"]
    assert [str(error) for error in caught.value.exceptions] == ["stuck"]


@pytest.mark.parametrize("name", ["greet", "nope"])
async def test_a_closed_toolbox_refuses(name, make_toolbox) -> None:
    """After closing nothing runs and nothing is logged."""
    toolbox = make_toolbox(spec_of(greet))
    toolbox.close()

    with pytest.raises(ToolboxClosed):
        toolbox.call(name, {})
    with pytest.raises(ToolboxClosed):
        await toolbox.acall(name, {})


def test_closing_waits_for_calls_under_way(make_toolbox, events) -> None:
    """A call that has begun has its after before the sinks close."""
    begun = threading.Event()

    def slow() -> str:
        begun.set()
        time.sleep(0.2)
        return "done"

    toolbox = make_toolbox(spec_of(slow))
    thread = threading.Thread(target=toolbox.call, args=("slow", {}))
    thread.start()
    begun.wait()

    toolbox.close()

    assert events[-1]["event"] == "hook.tool.after"
    thread.join()


async def test_an_asynchronous_toolbox_closes_after_its_calls(make_toolbox, events) -> None:
    """Leaving `async with` lets the loop finish what it has begun."""

    async def nap() -> str:
        await asyncio.sleep(0.05)
        return "done"

    async with make_toolbox(spec_of(nap)) as toolbox:
        task = asyncio.ensure_future(toolbox.acall("nap", {}))
        await asyncio.sleep(0.01)

    assert (await task).text == "done"
    assert events[-1]["event"] == "hook.tool.after"


def test_closing_does_not_wait_for_ever(make_toolbox, monkeypatch) -> None:
    """A call that never ends keeps nobody from closing."""
    monkeypatch.setattr(gate_state, "CLOSE_WAIT_S", 0.05)
    begun, release = threading.Event(), threading.Event()

    def stuck() -> str:
        begun.set()
        release.wait()
        return "done"

    toolbox = make_toolbox(spec_of(stuck))
    thread = threading.Thread(target=toolbox.call, args=("stuck", {}))
    thread.start()
    begun.wait()

    toolbox.close()

    assert toolbox.lost_events == 0
    release.set()
    thread.join()


def test_a_closed_toolbox_has_no_loop_thread_left(make_toolbox, monkeypatch) -> None:
    """The loop thread lives as long as its toolbox."""
    monkeypatch.setattr(waiting, "JOIN_S", 60.0)  # A busy machine may take long to end it.
    before = set(threading.enumerate())
    toolbox = make_toolbox(spec_of(agreet))
    toolbox.call("agreet", {})
    (thread,) = [thread for thread in set(threading.enumerate()) - before if thread.name == "toolcharter-loop"]

    toolbox.close()

    assert not thread.is_alive()


def test_identifiers_differ_after_a_fork(tmp_path: Path) -> None:
    """A forked child does not repeat its parent's identifiers."""
    import os  # noqa: PLC0415 - only this test forks

    program = (
        "import os, sys\n"
        "from toolcharter.gate.call import new_call_id\n"
        "new_call_id()\n"
        "child = os.fork()\n"
        "os.write(1, (new_call_id() + ' ').encode())\n"
        "child and os.wait()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={**os.environ}
    )

    assert len(set(done.stdout.split())) == 2


def test_a_constructor_that_raises_stops_the_start(make_toolbox) -> None:
    """The toolbox is not built with fewer tools than the profile names."""

    def build(workspace, policy, rt):
        raise OSError("no such device")

    with pytest.raises(Exception, match=r"^toolcharter-test 1.0: building the tool 'broken' failed: ") as caught:
        make_toolbox(ToolSpec("broken", ToolPolicy, build))

    assert str(caught.value) == (
        "toolcharter-test 1.0: building the tool 'broken' failed: OSError: no such device.\n"
        "A constructor must do no I/O; its author has to fix it."
    )


def test_nothing_is_begun_in_a_call_whose_time_is_up(make_toolbox) -> None:
    """A body that is late is told so by the first guard it asks."""

    def late(rt):
        def tool():
            time.sleep(0.02)
            rt.paths.open_folder(".")

        return tool

    result = make_toolbox(spec_with_runtime(late), limits=Limits(timeout_s=0.01)).call("late", {})

    assert (result.outcome, result.reason, result.retryable) == ("error", "timed_out", True)


def test_a_tool_tells_which_other_names_its_arguments_have(make_toolbox) -> None:
    """A command line reads `file=x` by it."""
    tool = make_toolbox(spec_of(greet, argument_aliases={"who": "name"}))["greet"]

    assert dict(tool.argument_aliases) == {"who": "name"}


def test_a_host_that_changes_a_schema_changes_its_own_copy(make_toolbox) -> None:
    """What one host does to a tool's parameters no other sees."""

    def quick(name: str) -> str:
        return name

    toolbox = make_toolbox(spec_of(quick))
    toolbox["quick"].parameters["properties"].clear()

    assert list(toolbox["quick"].parameters["properties"]) == ["name"]
