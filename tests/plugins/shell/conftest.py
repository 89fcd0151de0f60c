"""The tools through the real gate, with a runner whose word on containing programs is the test's."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from toolcharter import Tool, ToolRuntime, ToolSpec
from toolcharter.gate.build.open import open_toolbox
from toolcharter.guards.process import GovernedRunner, HostProgramRunner
from toolcharter.profile.model import Limits
from toolcharter.testing.plugin import COVERAGE
from toolcharter.testing.toolboxes import IN_MEMORY, plan_of


class HostRuntime:
    """A tool's runtime whose runner is the host's, whatever it says of itself."""

    def __init__(self, inner: Any, workspace: Path, *, is_sandboxed: bool) -> None:
        self._inner = inner
        self.is_sandboxed = is_sandboxed
        host = HostProgramRunner(workspace)
        inner.on_close(host.close)
        self.governed = GovernedRunner(
            lambda: host, workspace, deadline=lambda: inner.deadline, check=inner._require_mark
        )
        self.run = self.governed
        self.spawn = self.governed.spawn
        self.detach = self.governed.detach
        self.outlives = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


@pytest.fixture
def build_tool(workspace: Path, pytestconfig: pytest.Config) -> Iterator[Callable[..., Tool]]:
    """Build a tool without the judgement of its commands, which is the gate's and tested there."""
    with ExitStack() as stack:

        def build(
            spec: ToolSpec[Any],
            policy: dict[str, Any] | None = None,
            *,
            is_sandboxed: bool = False,
            timeout_s: float | None = None,
        ) -> Tool:
            def construct(folder: Path, typed: Any, rt: ToolRuntime) -> Callable[..., Any]:
                wrapped: Any = HostRuntime(rt, folder, is_sandboxed=is_sandboxed)
                return spec.build(folder, typed, wrapped)

            construct.__module__ = spec.build.__module__  # by which what it shows is counted

            pytestconfig.stash[COVERAGE].expect(IN_MEMORY, spec)
            unjudged = replace(spec, build=construct, invocation=None)
            plan = plan_of([unjudged], {spec.name: policy or {}}, Limits(timeout_s=timeout_s), IN_MEMORY)
            plan = replace(plan, profile=replace(plan.profile, mode="dangerous"))
            toolbox = open_toolbox(plan, workspace=workspace, caller=None, sinks=[_ignore], strict=True)
            return stack.enter_context(toolbox)[spec.name]

        yield build


def _ignore(event: object) -> None:
    """These tests are not about events."""
