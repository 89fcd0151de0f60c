"""The loop of synchronous callers: it ends when told, it is left behind by a fork, and nobody waits for it for ever."""

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from toolcharter.api.call import Call
from toolcharter.errors import SyncCallInLoop, ToolboxClosed
from toolcharter.gate import waiting as loop_module
from toolcharter.gate.waiting import LoopThread

from .conftest import spec_of


async def nap() -> str:
    await asyncio.sleep(0)
    return "slept"


def test_a_loop_that_is_held_up_is_left_behind(monkeypatch) -> None:
    """A body that blocks the loop does not block who closes it."""
    monkeypatch.setattr(loop_module, "JOIN_S", 0.05)
    started, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    async def blocks() -> str:
        started.set()
        go_on.wait()
        return "late"

    loop = LoopThread()
    results: list[str] = []

    def caller() -> None:
        results.append(loop.run(blocks()))
        ended.set()

    threading.Thread(target=caller, daemon=True).start()
    started.wait()

    loop.close()

    assert not ended.is_set()
    go_on.set()
    assert ended.wait(60)
    assert results == ["late"]
    assert loop.run(nap()) == "slept"
    loop.close()


def test_a_closed_loop_is_gone(monkeypatch) -> None:
    """Closing ends the thread, and closes the loop, whose descriptors would stay open otherwise."""
    monkeypatch.setattr(loop_module, "JOIN_S", 60.0)  # A busy machine may take long to end it.
    loop = LoopThread()
    loop.run(nap())
    held, thread = loop._loop, loop._thread

    loop.close()

    assert held.is_closed()
    assert thread is not None
    assert not thread.is_alive()


def test_who_still_waits_when_the_loop_ends_is_told() -> None:
    """A coroutine that would go on for ever is cancelled, and its caller freed."""
    loop = LoopThread()
    started = threading.Event()
    told: list[str] = []

    async def lasts() -> None:
        started.set()
        await asyncio.sleep(60)

    def caller() -> None:
        try:
            loop.run(lasts())
        except ToolboxClosed as error:
            told.append(str(error))

    thread = threading.Thread(target=caller, daemon=True)
    thread.start()
    started.wait()

    loop.close()
    thread.join(60)

    assert told == ["the toolbox was closed before the call ended"]


FORKING = """
import os, signal
from toolcharter import ToolPolicy, ToolSpec
from toolcharter.testing import toolbox_of

async def nap() -> str:
    return str(os.getpid())

toolbox = toolbox_of(ToolSpec("nap", ToolPolicy, lambda *_: nap), workspace=".", events=["file:events"])
assert toolbox.call("nap", {}).text == str(os.getpid())
child = os.fork()
if child == 0:
    signal.alarm(120)
    assert toolbox.call("nap", {}).text == str(os.getpid())
    toolbox.close()
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
assert toolbox.call("nap", {}).text == str(os.getpid())
toolbox.close()
"""


def test_a_forked_process_gets_a_loop_of_its_own(tmp_path: Path) -> None:
    """No thread survives a fork: an asynchronous tool is called there as before, and in the parent too."""
    # Python 3.12 and later warn of every fork in a process with threads.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKING]

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)

    assert (done.stdout, done.stderr) == ("0\n", "")


def test_what_a_forked_process_forgets() -> None:
    """The same without a process: the parent's loop is not used, and not touched either."""
    loop = LoopThread()
    loop.run(nap())
    parents, thread = loop._loop, loop._thread

    loop.renew()

    assert loop.run(nap()) == "slept"
    assert loop._loop is not parents
    loop.close()
    assert parents.is_running()
    parents.call_soon_threadsafe(parents.stop)
    assert thread is not None
    thread.join()
    assert parents.is_closed()


@pytest.mark.parametrize("slow", ["tool", "check"])
@pytest.mark.parametrize(("way", "instead"), [("call", "acall"), ("decide", "adecide")])
async def test_who_blocks_the_running_loop_is_told_what_to_await(way, instead, slow, make_toolbox) -> None:
    """The message names the method that does the same."""

    def act() -> str:
        return "done"

    async def look(call: Call) -> None:
        await asyncio.sleep(0)

    toolbox = make_toolbox(spec_of(act), spec_of(nap), checks={"slow": look} if slow == "check" else None)
    name = "nap" if slow == "tool" else "act"

    with pytest.raises(SyncCallInLoop) as caught:
        getattr(toolbox, way)(name, {})

    assert str(caught.value) == (
        f"{name!r} or a check of it is asynchronous and an event loop is running here; await {instead}() instead"
    )


def test_what_ends_together_with_the_loop_is_answered() -> None:
    """Its caller waits in another thread, and nothing else would wake it."""
    loop = LoopThread()

    async def last() -> str:
        loop._loop.stop()
        return "done"

    answers: list[str] = []
    caller = threading.Thread(target=lambda: answers.append(loop.run(last())), daemon=True)
    caller.start()
    caller.join(60)

    assert answers == ["done"]
