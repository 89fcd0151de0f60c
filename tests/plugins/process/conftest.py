"""The tool through the real gate, on the host, with a state folder of its own; each session calls as itself."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import pytest
from tests.plugins.shell.conftest import HostRuntime

from toolcharter import Caller, Toolbox, ToolResult, ToolRuntime
from toolcharter.gate.build.open import open_toolbox
from toolcharter.profile.model import Limits
from toolcharter.testing.plugin import COVERAGE
from toolcharter.testing.toolboxes import IN_MEMORY, plan_of
from toolcharter_process.tool import SPEC

PATIENCE_S = 60.0


class Call(Protocol):
    def __call__(self, action: str, /, *, session: str | None = None, **args: Any) -> ToolResult: ...


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


@pytest.fixture
def open_box(workspace: Path, pytestconfig: pytest.Config) -> Iterator[Callable[..., Toolbox]]:
    """Open a toolbox; commands are not judged, for that is the gate's and tested there."""
    with ExitStack() as stack:

        def build(
            policy: dict[str, Any] | None = None, wrap: Callable[[Any], Any] = lambda runtime: runtime
        ) -> Toolbox:
            def construct(folder: Path, typed: Any, rt: ToolRuntime) -> Callable[..., Any]:
                wrapped: Any = wrap(HostRuntime(rt, folder, is_sandboxed=False))
                return SPEC.build(folder, typed, wrapped)

            construct.__module__ = SPEC.build.__module__  # by which what it shows is counted

            pytestconfig.stash[COVERAGE].expect(IN_MEMORY, SPEC)
            unjudged = replace(SPEC, build=construct, invocation=None)
            plan = plan_of([unjudged], {SPEC.name: policy or {}}, Limits(timeout_s=30.0), IN_MEMORY)
            plan = replace(plan, profile=replace(plan.profile, mode="dangerous"))
            return stack.enter_context(
                open_toolbox(plan, workspace=workspace, caller=None, sinks=[_ignore], strict=True)
            )

        yield build


@pytest.fixture
def build_call(open_box: Callable[..., Toolbox]) -> Callable[..., Call]:
    """Build the tool under a policy, for any session."""

    def build(policy: dict[str, Any] | None = None, **options: Any) -> Call:
        box = open_box(policy, **options)

        def call(action: str, /, *, session: str | None = None, tenant: str = "", **args: Any) -> ToolResult:
            return box.for_caller(Caller(session=session, tenant=tenant)).call("process", {"action": action, **args})

        return call

    return build


def until(condition: Callable[[], Any]) -> Any:
    """Wait for what a process does in its own time."""
    end = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
    return found


def spawned(call: Call, command: str, **args: Any) -> str:
    """The handle of a new process."""
    result = call("spawn", command=command, **args)
    assert result.outcome == "ok", result.text
    return str(result.data["handle"])


def ended(call: Call, handle: str, **args: Any) -> dict[str, Any]:
    """A process's status once it has ended."""

    def status() -> dict[str, Any] | None:
        data: dict[str, Any] = call("status", handle=handle, **args).data
        return data if data["state"] == "ended" else None

    found: dict[str, Any] = until(status)
    return found


def _ignore(event: object) -> None:
    """These tests are not about events."""
