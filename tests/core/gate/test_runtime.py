"""`Runtime`: what a constructor is handed is bound to the present call, and acts behind the mark of a staged body alone."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.core.gate.conftest import spec_with_runtime

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


def test_computing_may_come_before_the_mark(tmp_path: Path) -> None:
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
def test_computing_ends_with_the_call(tmp_path: Path, isolate: bool) -> None:  # noqa: FBT001 - a parameter of the test
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


def test_outside_of_a_call_computing_is_refused(tmp_path: Path) -> None:
    """As everything of a runtime that is bound to a call."""
    kept: list[ToolRuntime] = []

    def body(rt: ToolRuntime) -> str:
        kept.append(rt)
        return ""

    with toolbox_of(_spec(body), workspace=tmp_path) as toolbox:
        toolbox.call("work", {})
        with pytest.raises(NotGated):
            kept[0].compute("os.path:basename", "/a/b")


def writes(*, marks: bool):
    """A tool that writes `x/new.txt`, with or without the mark."""

    def writer(rt):
        def tool(path: str = "x/new.txt") -> str:
            ctx = rt.start("writer")
            with rt.paths.open_place(path) as place:
                if marks:
                    ctx.policy_passed()
                place.write(b"new")
            return ctx.ok("done")

        return tool

    return writer


@pytest.mark.parametrize(
    ("staged", "marks", "outcome"), [(True, True, "ok"), (True, False, "error"), (False, False, "ok")]
)
def test_a_staged_body_writes_behind_its_mark(
    make_toolbox, tmp_path: Path, *, staged: bool, marks: bool, outcome: str
) -> None:
    """Before the mark nothing is changed, be it that the tool forgot it."""
    toolbox = make_toolbox(spec_with_runtime(writes(marks=marks), staged=staged))

    decision = toolbox.decide("writer", {})
    before = sorted(tmp_path.rglob("x"))
    result = toolbox.call("writer", {})

    assert before == []
    assert (decision.tool_checks, result.outcome) == (
        ("passed" if marks else "error") if staged else "not_evaluated",
        outcome,
    )
    assert bool(sorted(tmp_path.rglob("new.txt"))) is (outcome == "ok")


@pytest.mark.parametrize("path", [".git", ".toolcharter/policy.yaml", "sub/.git", "store/hooks/x"])
def test_what_runs_or_holds_an_agent_is_read_only(make_toolbox, tmp_path: Path, path: str) -> None:
    """By the runtime itself, whatever a tool's own policy protects."""
    (tmp_path / ".git").write_text("gitdir: store")
    (tmp_path / "store").mkdir()

    result = make_toolbox(spec_with_runtime(writes(marks=True), staged=True)).call("writer", {"path": path})

    assert (result.outcome, result.reason) == ("denied", "protected_path")


def test_children_of_many_threads_are_all_ended(make_toolbox, events) -> None:
    """No child is forgotten because another thread opened one at the same time."""

    def parent(rt):
        def tool() -> str:
            import contextvars  # noqa: PLC0415 - only this body

            barrier = threading.Barrier(16)

            def opens() -> None:
                barrier.wait()
                for _ in range(50):
                    rt.start("child")
                    time.sleep(0)

            threads = [threading.Thread(target=contextvars.copy_context().run, args=(opens,)) for _ in range(16)]
            rt.start("parent")
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return "done"

        return tool

    make_toolbox(spec_with_runtime(parent)).call("parent", {})

    afters = [event["call_id"] for event in events if event["event"] == "hook.tool.after"]
    assert len(afters) == len(set(afters)) == 801


def test_the_name_of_a_child_is_short(make_toolbox, events) -> None:
    """A child call may be named anything; its events stay small and whole."""

    def parent(rt):
        def tool() -> None:
            rt.start("x" * 1000).ok("done")

        return tool

    make_toolbox(spec_with_runtime(parent)).call("parent", {})

    assert [event["tool"] for event in events[2:5]] == ["x" * 64] * 3
