"""The calls under way in a toolbox, and its closing: each call still has its after, and nothing waits for itself."""

import asyncio
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import orjson
import pytest

from toolcharter.errors import ToolboxClosed
from toolcharter.gate import state as gate_state

from .conftest import spec_of, spec_with_runtime

BEFORE = ["hook.tool.before", "hook.policy.before"]
ENDED = [*BEFORE, "hook.tool.after"]


@pytest.mark.parametrize("how", ["sync", "loop", "thread"])
def test_a_call_cannot_close_its_own_toolbox(how, make_toolbox, events) -> None:
    """It would wait for itself; it is told so, and ends as any other."""
    held: list[Any] = []

    def closes() -> str:
        held[0].close()
        return "closed"

    async def closes_on_the_loop() -> str:
        return closes()

    async def closes_in_a_thread() -> str:
        await held[0].aclose()
        return "closed"

    function = {"sync": closes, "loop": closes_on_the_loop, "thread": closes_in_a_thread}[how]
    held.append(make_toolbox(spec_of(function), sinks=[events.append]))

    result = held[0].call(function.__name__, {}, call_id="c")

    message = "ERROR: unexpected_failure: ToolcharterError: the call 'c' cannot close its own toolbox"
    assert (result.outcome, result.text) == ("error", message)
    assert [event["event"] for event in events] == ENDED
    held[0].close()


@pytest.mark.parametrize("isolate", [False, True], ids=["inline", "isolated"])
def test_a_call_that_outlives_its_toolbox_has_its_after(isolate, make_toolbox, tmp_path: Path, monkeypatch) -> None:
    """Closing waits for a while, then writes the call's end itself; the body's own end comes too late."""
    monkeypatch.setattr(gate_state, "CLOSE_WAIT_S", 0.05)
    go_on, started = threading.Event(), threading.Event()
    results: list[Any] = []

    def lasting(rt):
        def tool() -> str:
            ctx = rt.start("lasting")
            rt.start("child")
            started.set()
            go_on.wait()
            return ctx.ok("late", data={"late": True})

        return tool

    toolbox = make_toolbox(spec_with_runtime(lasting, isolate=isolate), sinks=[f"file:{tmp_path / 'events'}"])
    thread = threading.Thread(target=lambda: results.append(toolbox.call("lasting", {})))
    thread.start()
    started.wait()

    toolbox.close()
    go_on.set()
    thread.join()

    lines = [orjson.loads(line) for line in (tmp_path / "events").read_bytes().splitlines()]
    assert [line["event"] for line in lines] == [*BEFORE, *ENDED, "hook.tool.after"]
    assert [(line["reason"], line.get("abandoned")) for line in lines[-2:]] == [
        ("unexpected_failure", None),
        ("cancelled", True),
    ]
    (result,) = results
    assert (result.outcome, result.reason, result.data) == ("error", "cancelled", None)
    assert result.message == "The toolbox was closed before the call ended."


async def test_a_task_that_outlives_its_toolbox_has_its_after(make_toolbox, tmp_path: Path, monkeypatch) -> None:
    """The same where the loop that closes is the one that the call needs."""
    monkeypatch.setattr(gate_state, "CLOSE_WAIT_S", 0.05)

    async def lasting() -> str:
        await asyncio.sleep(0.05)
        return "late"

    toolbox = make_toolbox(spec_of(lasting), sinks=[f"file:{tmp_path / 'events'}"])
    task = asyncio.ensure_future(toolbox.acall("lasting", {}))
    await asyncio.sleep(0)

    toolbox.close()
    result = await task

    assert (result.outcome, result.reason) == ("error", "cancelled")
    assert (tmp_path / "events").read_bytes().count(b"hook.tool.after") == 1


FORKING = """
import os, sys
from toolcharter import ToolPolicy, ToolSpec
from toolcharter.testing import toolbox_of

def build(workspace, policy, rt):
    def fork() -> str:
        child = os.fork()
        if child:
            os.waitpid(child, 0)
        return "parent" if child else "child"
    return fork

toolbox = toolbox_of(ToolSpec("fork", ToolPolicy, build), workspace=".", events=["file:events"])
print(toolbox.call("fork", {}).outcome, flush=True)
"""


def test_a_child_process_leaves_no_second_after(tmp_path: Path) -> None:
    """A body that forks returns twice; the call is the parent's, and so is its after."""
    done = subprocess.run([sys.executable, "-c", FORKING], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["error", "ok"]
    assert [orjson.loads(line)["event"] for line in (tmp_path / "events").read_bytes().splitlines()] == ENDED


def test_what_a_child_process_forgets(make_toolbox, events) -> None:
    """The same without a process: the call ends, and its after is left to the parent."""

    def act() -> str:
        toolbox._state.calls.renew()
        return "child"

    toolbox = make_toolbox(spec_of(act))
    result = toolbox.call("act", {})

    assert (result.outcome, result.reason) == ("error", "cancelled")
    assert [event["event"] for event in events] == BEFORE


def test_an_exit_while_closing_still_closes_the_sinks(make_toolbox, tmp_path: Path) -> None:
    """What a tool raises from `on_close` leaves no file open."""

    class Sink:
        closed = False

        def write(self, lines: bytes) -> None:
            """Takes everything."""

        def close(self) -> None:
            self.closed = True

    def leaving(rt):
        def leave() -> None:
            raise SystemExit(1)

        rt.on_close(leave)
        return lambda: "x"

    sink = Sink()
    toolbox = make_toolbox(spec_with_runtime(leaving), sinks=[sink])

    with pytest.raises(SystemExit):
        toolbox.close()

    assert sink.closed


def test_a_call_whose_after_is_being_written_gets_no_second_one(make_toolbox, monkeypatch) -> None:
    """A slow sink and a closing toolbox do not both close a call."""
    monkeypatch.setattr(gate_state, "CLOSE_WAIT_S", 0.05)
    written: list[str] = []
    writing, go_on = threading.Event(), threading.Event()

    class Slow:
        def write(self, lines: bytes) -> None:
            written.extend(orjson.loads(line)["event"] for line in lines.splitlines())
            if "hook.tool.after" in written:
                writing.set()
                go_on.wait(5)

        def close(self) -> None:
            go_on.set()

    def quick() -> str:
        return "done"

    toolbox = make_toolbox(spec_of(quick), sinks=[Slow()])
    thread = threading.Thread(target=toolbox.call, args=("quick", {}))
    thread.start()
    writing.wait(60)
    toolbox.close()
    thread.join()

    assert written == ENDED


@pytest.mark.parametrize("name", ["quick", "nope"])
def test_a_closed_toolbox_decides_nothing(name, make_toolbox) -> None:
    """Known and unknown names alike."""

    def quick() -> str:
        return "done"

    toolbox = make_toolbox(spec_of(quick))
    toolbox.close()

    with pytest.raises(ToolboxClosed):
        toolbox.decide(name, {})
