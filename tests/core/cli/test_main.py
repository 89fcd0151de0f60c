"""The process's entry: streams, interrupts, `python -m`."""

import os
import sys
from importlib import import_module

import pytest

from toolcharter.cli import main


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

    with monkeypatch.context() as patched:
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
