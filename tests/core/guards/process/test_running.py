"""Programs that go on: what they say and hear, on pipes and on terminals, and how they end."""

import os
import select
import signal
import sys
import time
from pathlib import Path

import pytest
from tests.core.guards.process.conftest import job, living, shell, wait_until
from tests.descriptors import open_descriptors

from toolcharter.api.runner import Running, TerminalSize
from toolcharter.errors import ToolError
from toolcharter.guards.process import HostProgramRunner


def read_until(program: Running, wanted: bytes) -> bytes:
    """All output up to *wanted*."""
    said = b""
    end = time.monotonic() + 60
    while wanted not in said and time.monotonic() < end:
        select.select([program], [], [], 0.1)
        said += program.read(1000)
    return said


def test_a_program_on_pipes_is_heard_and_told(host: HostProgramRunner) -> None:
    """Both streams are one, and what it is sent arrives while it runs."""
    program = host.start(shell("echo out; echo err >&2; while read -r line; do echo got $line; done; exit 3"))

    assert read_until(program, b"err\n") == b"out\nerr\n"
    assert (program.exit_code, program.read(10), program.wait(0.01)) == (None, b"", None)
    assert program.write(b"one\n") == 4
    assert read_until(program, b"got one\n") == b"got one\n"
    program.resize(TerminalSize())
    program.close()
    assert (program.exit_code, program.read(10), program.write(b"x")) == (-15, b"", 0)


def test_what_does_not_fit_is_not_written(host: HostProgramRunner) -> None:
    """A program that does not read holds nobody up."""
    program = host.start(job("sleep", "60"))

    written = sum(program.write(b"x" * 100_000) for _ in range(10))

    assert 0 < written <= 1_000_000
    assert (program.write(b"x" * 100_000), program.write(b"")) == (0, 0)
    program.close()


def test_the_end_of_a_program_is_seen(host: HostProgramRunner) -> None:
    """Its status stays, and what it said can be read after it."""
    program = host.start(shell("echo last; exit 5"))

    assert (program.wait(60), program.exit_code, read_until(program, b"last\n")) == (5, 5, b"last\n")
    assert (program.read(10), program.write(b"x")) == (b"", 0)
    program.close()
    program.close()
    assert program.exit_code == 5


def test_without_a_process_descriptor_the_end_is_polled(
    host: HostProgramRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Systems without pidfd_open see the same ends."""
    monkeypatch.delattr(os, "pidfd_open")

    program = host.start(shell("sleep 0.1; kill -9 $$"))

    assert (program.wait(60), program.exit_code) == (-9, -9)
    program.close()


def test_a_signal_reaches_all_of_it(host: HostProgramRunner) -> None:
    """Also what has left the group."""
    number = f"94{os.getpid()}"
    program = host.start(shell(f"setsid sleep {number} & sleep {number}"))
    assert wait_until(lambda: len(living("sleep", number)) == 2)

    program.signal(signal.SIGTERM)

    assert program.wait(60) == -15
    assert wait_until(lambda: living("sleep", number) == [])
    program.close()
    program.signal(signal.SIGTERM)


def test_a_runner_that_is_closed_closes_its_programs(workspace: Path) -> None:
    """Without a zombie, and without an open descriptor."""
    number = f"93{os.getpid()}"
    host = HostProgramRunner(workspace)
    before = open_descriptors()
    programs = [
        host.start(shell(f"trap '' TERM; sleep {number}")),
        host.start(job("sleep", number), TerminalSize()),
    ]
    assert wait_until(lambda: len(living("sleep", number)) == 2)

    host.close()

    assert [program.exit_code for program in programs] == [-9, -15]
    assert (living("sleep", number), open_descriptors()) == ([], before)


def test_a_terminal_is_the_programs_own(host: HostProgramRunner) -> None:
    """It controls the program, has the size that was asked for, and echoes what is typed."""
    program = host.start(
        shell("test -t 0 && test -t 1 && test -t 2 && stty size </dev/tty; cat"), TerminalSize(30, 100)
    )

    assert read_until(program, b"100\r\n") == b"30 100\r\n"
    program.write(b"typed\n")
    assert read_until(program, b"typed\r\ntyped\r\n") == b"typed\r\ntyped\r\n"
    program.write(b"\x03")
    assert program.wait(60) in {-2, 130}
    assert program.read(100) in {b"^C", b"^C\r\n", b""}
    program.close()


def test_a_terminal_can_be_resized(host: HostProgramRunner) -> None:
    """The program learns of it by a signal."""
    program = host.start(
        shell("trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.05; done"), TerminalSize()
    )
    read_until(program, b"ready")

    program.resize(TerminalSize(50, 132))

    assert b"50 132" in read_until(program, b"132")
    program.close()
    program.resize(TerminalSize())


@pytest.mark.parametrize("terminal", [None, TerminalSize()], ids=["pipes", "terminal"])
def test_what_does_not_start_leaves_nothing(host: HostProgramRunner, terminal: TerminalSize | None) -> None:
    """An error, and no open descriptor."""
    host.run(job("true"))
    before = open_descriptors()

    with pytest.raises(ToolError) as caught:
        host.start(job("echo", "a\0b"), terminal)

    assert (caught.value.reason, open_descriptors()) == ("invalid_arguments", before)


def test_a_running_program_holds_no_descriptor_of_ours(host: HostProgramRunner) -> None:
    """It has its three streams and nothing else."""
    code = "import os; print([n for n in range(3, 256) if os.path.exists(f'/proc/self/fd/{n}')])"
    program = host.start(job(sys.executable, "-S", "-c", code))

    assert read_until(program, b"\n") == b"[]\n"
    program.close()
