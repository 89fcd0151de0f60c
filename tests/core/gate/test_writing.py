"""`rt.paths` writes behind the mark of a staged body and never in a dry run; what holds the agent it never writes."""

from pathlib import Path

import pytest
from tests.core.gate.conftest import spec_with_runtime


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
