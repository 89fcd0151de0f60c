"""`toolcharter doctor` in a workspace that nothing can be written to."""

import json
import os
from typing import Any

import pytest

from .conftest import PROFILE


@pytest.mark.parametrize("is_writable", [True, False])
def test_a_workspace_that_cannot_be_written_is_noted(run, desk, monkeypatch, *, is_writable: bool) -> None:
    """A note, and no failure: it may be meant so, and tools that read work there."""
    (desk / "demo.yaml").write_text(PROFILE + "cases:\n  - {tool: echo, args: {word: hi}, expect: allow}\n")
    really = os.access

    def access(path: Any, mode: int, **more: Any) -> bool:
        return is_writable if path == desk.resolve() and mode & os.W_OK else really(path, mode, **more)

    monkeypatch.setattr(os, "access", access)

    ended = run("doctor", "--profile", "./demo.yaml", "--json")

    told = [list(one.values()) for one in json.loads(ended.stdout)["findings"] if "workspace" in one.values()]
    note = ["workspace", "takes new files", "note", "no: no file can be created or changed in this folder"]
    assert told == ([] if is_writable else [note])
    assert ended.exit_code == 0
