"""SIGTERM as an exception, for the length of a command."""

import os
import signal
import threading

import pytest

from toolcharter.cli.interrupts import Terminated, ended_by_sigterm


def test_sigterm_is_an_interrupt_and_only_the_first_counts() -> None:
    """A second signal does not disturb what the first has begun; afterwards all is as before."""
    went_on: list[bool] = []

    @ended_by_sigterm()
    def body() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            went_on.append(True)

    with pytest.raises(Terminated):
        body()

    assert (went_on, signal.getsignal(signal.SIGTERM)) == ([True], signal.SIG_DFL)


def test_sigterm_that_someone_else_handles_is_left_alone() -> None:
    """A program that runs the command inside itself keeps its own way to end."""
    taken: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: taken.append(number))
    try:
        with ended_by_sigterm():
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)

    assert taken == [signal.SIGTERM]


def test_other_threads_take_no_handler() -> None:
    """Python lets only the main thread set one."""
    seen: list[object] = []

    def body() -> None:
        with ended_by_sigterm():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()

    assert seen == [signal.SIG_DFL]


def test_terminated_command_ends_with_143(run, monkeypatch) -> None:
    """As shells count signals."""

    def terminated(*_: object, **__: object) -> None:
        raise Terminated

    monkeypatch.setattr("toolcharter.cli.commands.call.opened_live", terminated)

    result = run("call", "echo", "-p", "./demo.yaml")

    assert (result.stdout, result.stderr, result.exit_code) == ("", "", 143)
