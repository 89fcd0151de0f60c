"""The audit hook's judgement, asked without installing it; `test_outside.py` has the real one."""

import os
import sys
from pathlib import Path

import pytest

from toolcharter.testing.effects import Effects, ForbiddenEffect


@pytest.fixture
def effects(tmp_path: Path) -> Effects:
    return Effects(tmp_path)


@pytest.mark.parametrize(
    ("event", "args", "told"),
    [
        pytest.param("open", ("/a", "w", os.O_WRONLY | os.O_CREAT), "opens '/a' for writing", id="write"),
        pytest.param("open", (b"/a", None, os.O_RDWR), "opens '/a' for writing", id="read-write"),
        pytest.param("open", (7, "a", os.O_APPEND), "opens '7' for writing", id="descriptor"),
        pytest.param("os.remove", ("/a", -1), "os.remove '/a', -1", id="remove"),
        pytest.param("subprocess.Popen", ("x" * 300,), "subprocess.Popen '" + "x" * 199, id="process"),
        pytest.param("socket.connect", ("s", ("h", 1)), "socket.connect 's', ('h', 1)", id="connect"),
    ],
)
def test_what_acts_on_the_world_is_noted_and_forbidden(effects: Effects, event: str, args: tuple, told: str) -> None:
    """It is told even if the plugin swallows the exception."""
    found: list[str] = []

    with effects.phase(found), pytest.raises(ForbiddenEffect):
        effects(event, args)

    assert found == [told]


@pytest.mark.parametrize(
    ("event", "args", "quietly"),
    [
        pytest.param("open", ("/a", "r", os.O_RDONLY), ["opens '/a'"], id="read"),
        pytest.param("open", ("/a.py", "rb", 0), [], id="code"),
        pytest.param("open", (os.devnull, "w", os.O_WRONLY), [], id="null-device"),
        pytest.param("_thread.start_new_thread", (), ["starts a thread"], id="thread"),
        pytest.param("import", ("json",), [], id="import"),
    ],
)
def test_looking_counts_only_where_quiet_is_asked(effects: Effects, event: str, args: tuple, quietly: list) -> None:
    """A dry run may read; a constructor may not, but for code."""
    loud: list[str] = []
    quiet: list[str] = []

    with effects.phase(loud):
        effects(event, args)
    try:
        with effects.phase(quiet, quiet=True):
            effects(event, args)
    except ForbiddenEffect:
        pass

    assert (loud, quiet) == ([], quietly)


def test_printing_and_changes_of_the_workspace_count(effects: Effects, tmp_path: Path) -> None:
    """What no audit event tells is seen by looking before and after; also if the block raises."""
    (tmp_path / "gone").touch()
    (tmp_path / "changed").write_text("a")
    found: list[str] = []

    def act() -> None:
        with effects.phase(found):
            print("hello")  # noqa: T201 - the point
            sys.stderr.write("!")
            (tmp_path / "gone").unlink()
            (tmp_path / "changed").write_text("ab")
            (tmp_path / "made").touch()
            raise KeyError

    with pytest.raises(KeyError):
        act()

    assert found == [
        "prints 'hello\\n!'",
        "makes 'made' in the workspace",
        "removes 'gone' from the workspace",
        "changes 'changed' in the workspace",
    ]


def test_nothing_is_judged_outside_of_phases_and_where_permitted(effects: Effects) -> None:
    """Programs of `rt.inspect` are the gate's affair, and so is all that lies around a phase."""
    found: list[str] = []

    effects("os.remove", ("/a", -1))
    with effects.phase(found):
        with effects.permitted():
            effects("subprocess.Popen", ())
        with pytest.raises(ForbiddenEffect):
            effects("os.fork", ())

    assert found == ["os.fork "]
