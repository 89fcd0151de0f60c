"""A request as the gate makes one, and a state folder beside a workspace."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from toolcharter.api.approval import ApprovalRequest
from toolcharter.api.call import Caller
from toolcharter.gate.approvals.saved import Binding, SavedApproval
from toolcharter.gate.waiting import LoopThread

NOW = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)


def request_of(**facts: Any) -> ApprovalRequest:
    request = ApprovalRequest(
        tool="push",
        action=None,
        args={"branch": "main"},
        commands=(),
        workspace=Path("/work"),
        profile="careful",
        caller=Caller(agent="planner"),
        call_id="call-1",
        digest="0" * 64,
        reason="not_in_allow",
        message=None,
        always=True,
        why_not_always=None,
        always_until="2026-03-02T12:00:00Z",
        timeout_s=120.0,
    )
    return request._replace(**facts)


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    thread = LoopThread()
    yield thread
    thread.close()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where approvals are kept; nothing is there yet."""
    return tmp_path / "state/toolcharter/approvals"


@pytest.fixture
def kept(workspace: Path) -> SavedApproval:
    bound = Binding("bash", "a" * 64, str(workspace), "b" * 64, "bwrap", agent="planner")
    return SavedApproval(bound, 'command="pytest -q"', "careful", "ann", NOW, NOW + timedelta(days=30))
