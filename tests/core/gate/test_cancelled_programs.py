"""A call that is given up takes its program with it."""

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcharter.profile.model import Limits

from .conftest import spec_with_runtime

LIMIT_S = 60.0


def nap(rt: Any) -> Callable[[], Any]:
    def go() -> Any:
        rt.start("nap")
        return rt.run(("sh", "-c", "echo $$ > pid; exec sleep 300"))

    return go


def until(condition: Callable[[], bool]) -> bool:
    """Wait for *condition*; false if it never holds."""
    give_up = time.monotonic() + LIMIT_S
    while not condition():
        if time.monotonic() > give_up:
            return False
        time.sleep(0.02)
    return True


def is_running(pid_file: Path) -> bool:
    return Path("/proc", pid_file.read_text().strip(), "cmdline").exists()


def has_started(pid_file: Path) -> bool:
    return pid_file.exists() and bool(pid_file.read_text().strip())


async def test_a_cancelled_call_ends_its_program(make_toolbox, tmp_path) -> None:
    """The thread of an isolated body cannot be ended, its program can: nothing goes on for its whole time."""
    toolbox = make_toolbox(spec_with_runtime(nap, isolate=True))
    call = asyncio.create_task(toolbox.acall("nap", {}))
    assert await asyncio.to_thread(until, lambda: has_started(tmp_path / "pid"))

    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert until(lambda: not is_running(tmp_path / "pid"))


@pytest.mark.slow
def test_a_call_over_its_time_ends_its_program(make_toolbox, tmp_path) -> None:
    """It is abandoned, and so is what it started."""
    for limit_s in (1.0, 8.0, 64.0):  # A busy machine may use up a limit before the program has begun.
        toolbox = make_toolbox(spec_with_runtime(nap, isolate=True), limits=Limits(timeout_s=limit_s))
        result = toolbox.call("nap", {})
        assert (result.outcome, result.reason) == ("error", "timed_out")
        if has_started(tmp_path / "pid"):
            break

    assert until(lambda: not is_running(tmp_path / "pid"))


def test_closing_the_toolbox_ends_what_still_runs(make_toolbox, tmp_path, monkeypatch) -> None:
    """Closing waits a little for calls under way; their programs end then."""
    monkeypatch.setattr("toolcharter.gate.state.CLOSE_WAIT_S", 0.05)
    toolbox = make_toolbox(spec_with_runtime(nap, isolate=True))
    thread = threading.Thread(target=toolbox.call, args=("nap", {}))
    thread.start()
    assert until(lambda: has_started(tmp_path / "pid"))

    toolbox.close()
    thread.join(LIMIT_S)

    assert not thread.is_alive()
    assert until(lambda: not is_running(tmp_path / "pid"))
