"""SIGTERM and SIGHUP as exceptions, for the length of a command."""

import json
import os
import pty
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep

import pytest

from toolcharter.cli.interrupts import Terminated, raise_on_signals

SIGNALS = pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=["SIGTERM", "SIGHUP"])


@SIGNALS
@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGHUP], ids=["then SIGTERM", "then SIGHUP"])
def test_a_signal_is_an_interrupt_and_only_the_first_counts(number, second) -> None:
    """A second one does not disturb what the first has begun; afterwards all is as before."""
    went_on: list[bool] = []

    @raise_on_signals()
    def body() -> None:
        try:
            os.kill(os.getpid(), number)
        finally:
            os.kill(os.getpid(), second)
            went_on.append(True)

    with pytest.raises(Terminated) as ended:
        body()

    assert (ended.value.status, went_on) == (128 + number, [True])
    assert [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGHUP)] == [signal.SIG_DFL] * 2


@SIGNALS
def test_a_signal_that_someone_else_handles_is_left_alone(number) -> None:
    """A program that runs the command inside itself keeps its own way to end."""
    taken: list[int] = []
    before = signal.signal(number, lambda number, _: taken.append(number))
    try:
        with raise_on_signals():
            os.kill(os.getpid(), number)
    finally:
        signal.signal(number, before)

    assert taken == [number]


def hang_up_then_terminate() -> None:
    os.kill(os.getpid(), signal.SIGHUP)
    os.kill(os.getpid(), signal.SIGTERM)


def test_a_hang_up_that_is_ignored_stays_so() -> None:
    """As under `nohup`; the other signal is still heeded."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with pytest.raises(Terminated), raise_on_signals():
            hang_up_then_terminate()
        after = signal.getsignal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)

    assert after == signal.SIG_IGN


def test_other_threads_take_no_handler() -> None:
    """Python lets only the main thread set one."""
    seen: list[object] = []

    def body() -> None:
        with raise_on_signals():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()

    assert seen == [signal.SIG_DFL]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_command_ends_with_the_signals_status(run, monkeypatch, number, status) -> None:
    """As shells count signals."""

    def terminated(*_: object, **__: object) -> None:
        raise Terminated(number)

    monkeypatch.setattr("toolcharter.cli.commands.call.live_toolbox_session", terminated)

    result = run("call", "echo", "-p", "./demo.yaml")

    assert (result.stdout, result.stderr, result.exit_code) == ("", "", status)


PROFILE = """
profile: asking
mode: ask
tools: {read_file: {}}
"""


@pytest.fixture
def until() -> Callable[[Callable[[], bool]], None]:
    """Waits for a condition, however busy the machine is."""

    def until(condition: Callable[[], bool]) -> None:
        give_up = monotonic() + 120
        while not condition():
            assert monotonic() < give_up
            sleep(0.02)

    return until


def test_closing_the_terminal_ends_a_call_that_waits_for_its_person(tmp_path: Path, until) -> None:
    """The events are whole: the question has its decision, and the call its end."""
    (tmp_path / "asking.yaml").write_text(PROFILE)
    (tmp_path / "work").mkdir()
    (tmp_path / "work/a").write_text("text")
    events = tmp_path / "events.jsonl"
    words = [
        "call",
        "read_file",
        "path=a",
        "--profile",
        "asking.yaml",
        "--workspace",
        "work",
        "--events",
        f"file:{events}",
    ]
    pid, master = pty.fork()
    if pid == 0:  # pragma: no cover - another process
        os.chdir(tmp_path)
        os.environ["XDG_STATE_HOME"] = str(tmp_path / "state")
        os.execv(sys.executable, [sys.executable, "-m", "toolcharter.cli", *words])
    until(lambda: events.exists() and "hook.approval.request" in events.read_text())

    os.close(master)  # The kernel sends the hang-up.
    _, status = os.waitpid(pid, 0)

    ended = [json.loads(line) for line in events.read_text().splitlines()]
    names = [line["event"] for line in ended if line["event"].startswith("hook.")]
    assert names == [
        "hook.tool.before",
        "hook.policy.before",
        "hook.approval.request",
        "hook.approval.decision",
        "hook.tool.after",
    ]
    last = next(line for line in ended if line["event"] == "hook.tool.after")
    assert (last["reason"], os.waitstatus_to_exitcode(status)) == ("cancelled", 129)
