"""`rt.compute`, through the gate: bound to the call as everything of a runtime is."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcharter.api.policy import ToolPolicy
from toolcharter.api.runtime import ToolRuntime
from toolcharter.api.tool import ToolSpec
from toolcharter.errors import NotGated
from toolcharter.profile.model import Limits
from toolcharter.testing.toolboxes import toolbox_of


def _spec(body: Callable[[ToolRuntime], str], **options: Any) -> ToolSpec[Any]:
    def build(_workspace: Path, _policy: ToolPolicy, rt: ToolRuntime) -> Callable[[], str]:
        def work() -> str:
            return body(rt)

        return work

    return ToolSpec("work", ToolPolicy, build, **options)


def test_it_may_come_before_the_mark(tmp_path: Path) -> None:
    """What acts on nothing may be used by the checks of a staged body, also in a dry run."""

    def body(rt: ToolRuntime) -> str:
        ctx = rt.start("work")
        found = rt.compute("os.path:basename", "/a/b")
        if found != "b":
            return ctx.error("wrong")
        ctx.policy_passed()
        return ctx.ok(found)

    with toolbox_of(_spec(body, staged=True), workspace=tmp_path) as toolbox:
        assert toolbox.decide("work", {}).tool_checks == "passed"
        assert toolbox.call("work", {}).text == "b"


@pytest.mark.slow
@pytest.mark.parametrize("isolate", [False, True], ids=["inline", "in a thread"])
def test_it_ends_with_the_call(tmp_path: Path, isolate: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """A child that does not answer is given up when the call's time is up, and its thread ends, too."""
    ended = threading.Event()

    def body(rt: ToolRuntime) -> str:
        try:
            return str(rt.compute("time:sleep", 3600))
        finally:
            ended.set()

    with toolbox_of(_spec(body, isolate=isolate), workspace=tmp_path, limits=Limits(timeout_s=0.5)) as toolbox:
        started = time.monotonic()
        result = toolbox.call("work", {})

        assert (result.outcome, result.reason) == ("error", "timed_out")
        assert ended.wait(60)
        assert time.monotonic() - started < 60


def test_outside_of_a_call_it_refuses(tmp_path: Path) -> None:
    """As everything of a runtime that is bound to a call."""
    kept: list[ToolRuntime] = []

    def body(rt: ToolRuntime) -> str:
        kept.append(rt)
        return ""

    with toolbox_of(_spec(body), workspace=tmp_path) as toolbox:
        toolbox.call("work", {})
        with pytest.raises(NotGated):
            kept[0].compute("os.path:basename", "/a/b")
