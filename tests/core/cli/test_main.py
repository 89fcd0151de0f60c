"""The process's entry: streams, interrupts, `python -m`."""

import errno
import io
import os
import sys
from importlib import import_module
from pathlib import Path

import pytest

from toolcharter.cli import main
from toolcharter.cli.streams import OutputLost, hold_standard_streams, reopen_output


def test_module_is_the_command(monkeypatch, capsys) -> None:
    """`python -m toolcharter.cli` does what `toolcharter` does."""
    monkeypatch.setattr(sys, "argv", ["toolcharter", "--version"])
    monkeypatch.delitem(sys.modules, "toolcharter.cli.__main__", raising=False)

    with pytest.raises(SystemExit) as ended:
        import_module("toolcharter.cli.__main__")

    assert (ended.value.code, capsys.readouterr().out.split()[0]) == (0, "toolcharter")


def test_interrupt_at_the_start_ends_with_130(monkeypatch) -> None:
    """Ctrl-C while the command is still being imported shows no traceback."""

    def interrupted(**options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("toolcharter.cli.group.toolcharter", interrupted)

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 130


def test_closed_streams_are_held(monkeypatch) -> None:
    """A closed descriptor is taken before a file could be; without standard output nothing is done."""
    taken: list[tuple[str, int]] = []

    def closed(descriptor: int) -> None:
        raise OSError(descriptor)

    def refused(descriptor: int, line: bytes) -> None:
        raise OSError(descriptor, line)

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", refused)
        patched.setattr(os, "fstat", closed)
        patched.setattr(os, "open", lambda *words: taken.append(words))
        patched.setattr(sys, "stdout", None)
        with pytest.raises(SystemExit) as ended:
            main()

    assert (ended.value.code, taken) == (1, [(os.devnull, os.O_RDONLY)] * 3)


def test_closed_input_is_an_empty_one(monkeypatch) -> None:
    """What reads standard input finds its end."""
    monkeypatch.setattr(sys, "stdin", None)
    monkeypatch.setattr(sys, "argv", ["toolcharter", "--version"])

    with pytest.raises(SystemExit):
        main()

    with sys.stdin as empty:
        assert empty.read() == ""


class Output(io.StringIO):
    """A standard output whose last flush fails."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error

    def close(self) -> None:
        """Nothing is flushed any more."""

    def flush(self) -> None:
        raise self.error


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OutputLost(28, "full"), "toolcharter: standard output cannot be written: [Errno 28] full\n"),
        (BrokenPipeError(32, "gone"), ""),
    ],
    ids=["full", "closed by its reader"],
)
def test_output_lost_at_the_end_changes_the_status(monkeypatch, capfd, error, told) -> None:
    """What was held back until the end and cannot be written is a failure; what is left of it goes nowhere."""
    turned: list[int] = []
    monkeypatch.setattr(os, "dup2", lambda _, descriptor: turned.append(descriptor))
    monkeypatch.setattr("toolcharter.cli.group.toolcharter", lambda **_: sys.exit(0))
    monkeypatch.setattr(sys, "stdout", Output(error))

    with pytest.raises(SystemExit) as ended:
        main()

    assert (ended.value.code, turned, capfd.readouterr().err) == (1, [1], told)


def test_failure_of_the_output_is_of_its_own_kind() -> None:
    """It can be told from that of any other file."""
    with Path("/dev/full").open("w", encoding="ascii") as full:
        output = reopen_output(full)
        output.write("held back")

        with pytest.raises(OutputLost) as raised:
            output.flush()

        assert (raised.value.errno, output.encoding) == (errno.ENOSPC, "ascii")
        os.dup2(os.open(os.devnull, os.O_WRONLY), full.fileno())
        output.close()


def test_reader_that_has_gone_is_no_loss() -> None:
    """A broken pipe stays what it is: click ends in silence then."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as pipe:
        output = reopen_output(pipe)
        output.write("held back")

        with pytest.raises(BrokenPipeError):
            output.flush()

        os.dup2(os.open(os.devnull, os.O_WRONLY), writer)
        output.close()


def test_output_of_the_process_tells_its_failures(monkeypatch) -> None:
    """The stream is taken over unless somebody in this process reads along."""
    with Path(os.devnull).open("w") as stream:
        monkeypatch.setattr(sys, "__stdout__", stream)
        monkeypatch.setattr(sys, "stdout", stream)

        hold_standard_streams()

        assert (sys.stdout is stream, sys.stdout.fileno()) == (False, stream.fileno())
