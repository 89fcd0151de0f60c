"""Long files and short limits: what the tools that write take, and what they say of a late end."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from toolcharter import Toolbox, build_tools
from toolcharter_files import diffs, edits

SIZE = 3_900_000
FAR_S = 300.0


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Any]:
    """Builds a toolbox of the tools that write, with a limit of time for each call."""
    with ExitStack() as stack:

        def build(timeout_s: float | None = None) -> Toolbox:
            profile = tmp_path / "profile.yaml"
            limits = {} if timeout_s is None else {"limits": {"timeout_s": timeout_s}}
            profile.write_text(json.dumps({"profile": "test", "tools": {"edit_file": {}, "write_file": {}}, **limits}))
            (tmp_path / "ws").mkdir(exist_ok=True)
            return stack.enter_context(build_tools(profile, workspace=tmp_path / "ws", events=lambda _: None))

        yield build


LONG = {
    "letters": ("a" * SIZE, "a", "b"),
    "lines": ("a\n" * (SIZE // 2), "a", "b"),
    "line ends": ("\n" * SIZE, "\n", " "),
    "almost": ("a" * SIZE + "b", "a" * 1000 + "b", "c"),
}


@pytest.mark.parametrize("name", LONG)
def test_edits_of_long_files_leave_others_alive(box: Any, tmp_path: Path, name: str) -> None:
    """A long file is edited in a million places without a diff of them: the call is ok."""
    toolbox = box()
    text, old, new = LONG[name]
    file = tmp_path / "ws" / "f"
    file.write_text(text)

    result = asyncio.run(
        toolbox.acall("edit_file", {"path": "f", "old_string": old, "new_string": new, "replace_all": True})
    )

    assert (result.outcome, result.data["replacements"]) == ("ok", text.count(old))
    assert len(result.data["lines"]) == min(1000, text.count(old))
    assert file.read_text() == text.replace(old, new)


def test_what_has_been_written_is_no_failure(box: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call whose time is up when the file is written says ok: who is told that it failed would do it again."""

    def slow(*_: str) -> str:
        time.sleep(limit_s + 0.2)
        return "diff"

    monkeypatch.setattr(diffs, "diff_of_edit", slow)
    monkeypatch.setattr("toolcharter_files.edit_file.diff_of_edit", slow)
    monkeypatch.setattr("toolcharter_files.write_file.diff_of_write", slow)
    # On a busy machine the time may be up before the file is written.
    for limit_s in (0.3, 3, 30):
        toolbox = box(limit_s)
        file = tmp_path / "ws" / "f"
        file.write_text("a")
        edited = toolbox.call("edit_file", {"path": "f", "old_string": "a", "new_string": "b"})
        written = toolbox.call("write_file", {"path": "f", "content": "c"})
        later = asyncio.run(toolbox.acall("write_file", {"path": "f", "content": "d"}))
        if "timed_out" not in {edited.reason, written.reason, later.reason}:
            break

    assert [one.outcome for one in (edited, written, later)] == ["ok", "ok", "ok"]
    assert file.read_text() == "d"


def test_nothing_is_written_past_the_limit(box: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call whose time is up before it writes is `timed_out`, and the file is as it was."""
    toolbox = box(0.2)
    file = tmp_path / "ws" / "f"
    file.write_text("a")
    real = edits.line_numbers

    def slow(*args: Any) -> list[int]:
        time.sleep(0.4)
        return real(*args)

    monkeypatch.setattr("toolcharter_files.edit_file.line_numbers", slow)

    result = toolbox.call("edit_file", {"path": "f", "old_string": "a", "new_string": "b"})

    assert (result.outcome, result.reason) == ("error", "timed_out")
    assert file.read_text() == "a"


def test_a_change_that_fails_is_a_failure(box: Any, tmp_path: Path) -> None:
    """Only what was made counts as made."""
    toolbox = box()
    (tmp_path / "ws" / "f").write_text("a")

    result = toolbox.call("edit_file", {"path": "f", "old_string": "x", "new_string": "b"})

    assert (result.outcome, result.reason) == ("error", "text_not_found")


@pytest.mark.parametrize("size", [900_000, 1_900_000])
def test_diffs_of_a_million_lines_take_a_bounded_time(box: Any, tmp_path: Path, size: int) -> None:
    """The child that makes the diff is ended; the file is written, and the call is ok."""
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "f").write_text("\n" * size)

    result = box(FAR_S).call("edit_file", {"path": "f", "old_string": "\n", "new_string": "a\n", "replace_all": True})

    assert (result.outcome, result.data["replacements"]) == ("ok", size)


def test_diffs_of_long_texts_are_the_same_as_of_short_ones(box: Any, tmp_path: Path) -> None:
    """A child makes the same diff, cut at the same place."""
    toolbox = box()
    lines = [f"line {number}\n" for number in range(20_000)]
    text = "".join(lines)
    (tmp_path / "ws" / "f").write_text(text)

    result = toolbox.call(
        "edit_file", {"path": "f", "old_string": "line 17", "new_string": "LINE 17", "replace_all": True}
    )

    assert result.user_text == diffs.diff_of_edit("f", text, "line 17", "LINE 17")
    assert result.user_text.startswith("--- a/f\n+++ b/f\n@@ -15,7 +15,7 @@\n line 14\n")


def test_of_very_many_replacements_the_first_are_shown(box: Any, tmp_path: Path) -> None:
    """Places that no diff would show cost its child nothing, for which the call waits."""
    toolbox = box()
    (tmp_path / "ws" / "f").write_text("ab\n" * 300_000)

    result = toolbox.call("edit_file", {"path": "f", "old_string": "a", "new_string": "c", "replace_all": True})

    assert (result.outcome, result.data["replacements"]) == ("ok", 300_000)
    assert result.user_text.startswith("--- a/f\n+++ b/f\n@@ -1,20003 +1,20003 @@\n-ab\n+cb\n-ab\n")
    assert result.user_text.endswith("\n\n[truncated: the rest of the diff]")


def test_a_diff_that_takes_too_long_is_left_out(box: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is written all the same, and the call is ok."""
    monkeypatch.setattr(diffs, "_CPU_S", 0.0)
    toolbox = box(FAR_S)
    monkeypatch.setattr("toolcharter_files.edit_file.diff_of_edit", _burn)
    (tmp_path / "ws" / "f").write_text("a" * 100_000)
    ticks: list[float] = []
    ended = threading.Event()

    def tick() -> None:
        while not ended.wait(0.01):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    result = toolbox.call("edit_file", {"path": "f", "old_string": "a", "new_string": "b", "replace_all": True})
    ended.set()
    thread.join()

    assert (result.outcome, result.user_text) == ("ok", None)
    assert ticks


def _burn(*_: str) -> str:
    while True:
        pass


_burn.__module__ = "toolcharter_files.diffs"
_burn.__name__ = "missing"
