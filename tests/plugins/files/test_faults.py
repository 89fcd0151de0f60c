"""A disk that has no room: each tool says so, and what was there is there."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

LIMIT = 1 << 20


@contextmanager
def small_files() -> Iterator[None]:
    """No file may grow beyond a mebibyte."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        pytest.param("write_file", {"path": "a.txt", "content": "x" * (LIMIT + 1)}, id="replace"),
        pytest.param("write_file", {"path": "x/new.txt", "content": "x" * (LIMIT + 1)}, id="create"),
        pytest.param("write_file", {"path": "a.txt", "content": "x" * LIMIT, "append": True}, id="append"),
        pytest.param("edit_file", {"path": "a.txt", "old_string": "two", "new_string": "x" * (LIMIT + 1)}, id="edit"),
    ],
)
def test_nothing_is_lost_where_there_is_no_room(box, workspace: Path, tool: str, args: dict[str, Any]) -> None:
    """The reason and the words tell it, no part of the new content is left, and less is written well."""
    before = sorted(workspace.rglob("*"))
    toolbox = box(tool, {"max_bytes": 2 * LIMIT} if tool == "write_file" else {})

    with small_files():
        result = toolbox.call(tool, args)

    assert (result.outcome, result.reason) == ("error", "write_failure")
    assert result.message.endswith("cannot be written: it would be larger than files may be; it is unchanged.")
    assert (sorted(workspace.rglob("*")), (workspace / "a.txt").read_text()) == (before, "one\ntwo\nthree\n")
    less = {key: "less" if key in {"content", "new_string"} else value for key, value in args.items()}
    assert toolbox.call(tool, less).outcome == "ok"
