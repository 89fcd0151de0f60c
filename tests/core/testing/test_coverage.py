"""Which declared reasons a run has shown."""

from typing import Any

import orjson
import pytest

from toolcharter.api.policy import ToolPolicy
from toolcharter.api.tool import ToolSpec
from toolcharter.gate.build.open import open_toolbox
from toolcharter.gate.observers import OBSERVERS
from toolcharter.profile.model import Limits
from toolcharter.testing.coverage import ReasonCoverage, ReasonRow, tool_key, wrap_reasons
from toolcharter.testing.toolboxes import plan_of, toolbox_of


def build(workspace, policy, rt):
    def tell(word: str = ""):
        ctx = rt.start("tell")
        if word:
            return ctx.deny(word)
        ctx.policy_passed()
        return ctx.ok("")

    return tell


TELL = ToolSpec("tell", ToolPolicy, build, reasons={"odd", "even"}, staged=True)
OPEN = ToolSpec("open", ToolPolicy, build)


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        pytest.param(29, ["  p: t: 1 of 9: one-a, two, x"], id="fits"),
        pytest.param(28, ["  p: t: 1 of 9: one-a, two,", "      x"], id="one-too-narrow"),
        pytest.param(
            9, ["  p: t: 1", "      of", "      9:", "      one-a,", "      two,", "      x"], id="words-stay"
        ),
    ],
)
def test_long_lists_of_reasons_are_wrapped(width, lines) -> None:
    """At the terminal's width, between words, and indented below their first line."""
    assert wrap_reasons("  p: t: 1 of 9: one-a, two, x", width).splitlines() == lines


def test_calls_and_dry_runs_show_reasons(tmp_path) -> None:
    """What the body gave counts, wherever it was asked; what the gate said does not."""
    coverage = ReasonCoverage()
    coverage.expect_plan(plan_of([TELL, OPEN], {}, Limits(), "p"))

    with coverage.watching(), toolbox_of(TELL, workspace=tmp_path, profile="p") as toolbox:
        toolbox["tell"](word="odd")
        toolbox["tell"](wrong=1)
        toolbox["tell"]()
        first = coverage.rows()
        toolbox.decide("tell", {"word": "even"})

    assert first == [ReasonRow("p", "tell", ("odd",), ("even",)), ReasonRow("p", "open", (), (), open=True)]
    assert coverage.rows()[0] == ReasonRow("p", "tell", ("even", "odd"), ())
    assert coverage.totals() == (2, 2)
    assert OBSERVERS == []


def test_toolboxes_in_use_are_watched_but_not_held_to_their_specs(tmp_path) -> None:
    """A test may use `build_tools` itself: what it shows counts, and an undeclared reason stays a fault."""
    coverage = ReasonCoverage()
    plan = plan_of([TELL], {}, Limits(), "p")
    coverage.expect_plan(plan)

    with coverage.watching(), open_toolbox(plan, workspace=tmp_path, caller=None, sinks=()) as toolbox:
        reasons = [toolbox["tell"](word=word).reason for word in ("odd", "made_up")]

    assert reasons == ["odd", "made_up"]
    assert coverage.rows() == [ReasonRow("p", "tell", ("odd",), ("even",))]


def test_profiles_are_counted_apart() -> None:
    """What one profile shows says nothing about another that lists the same tool."""
    coverage = ReasonCoverage()
    coverage.expect("p", TELL)
    coverage.expect("q", TELL)

    coverage.record("p", TELL, "odd")

    assert coverage.rows() == [ReasonRow("p", "tell", ("odd",), ("even",)), ReasonRow("q", "tell", (), ("even", "odd"))]
    assert coverage.totals() == (1, 4)


def test_the_contract_counts_every_profile() -> None:
    """A reason is reached if any test reached it, but not by another tool of that name."""
    coverage = ReasonCoverage()
    from_elsewhere: Any = dict
    coverage.demand(TELL)
    coverage.demand(OPEN)
    coverage.record("p", TELL, "odd")
    coverage.record("p", ToolSpec("tell", ToolPolicy, from_elsewhere), "even")

    before = coverage.unreached()
    coverage.record("q", TELL, "even")

    assert (before, coverage.unreached()) == ({"tell": ("even",)}, {})


def test_workers_come_together() -> None:
    """What another process has seen is added, after a journey as JSON."""
    worker, other = ReasonCoverage(), ReasonCoverage()
    worker.expect("p", TELL)
    worker.demand(TELL)
    worker.record("p", TELL, "odd")
    other.record("p", TELL, "even")

    other.merge(orjson.loads(orjson.dumps(worker.dump())))

    assert other.rows() == [ReasonRow("p", "tell", ("even", "odd"), ())]
    assert other.unreached() == {}


@pytest.mark.parametrize(
    ("constructor", "module"),
    [
        pytest.param(build, build.__module__, id="function"),
        pytest.param(type("Maker", (), {"__call__": build, "__module__": "acme"})(), "acme", id="object"),
    ],
)
def test_a_tool_is_known_by_where_its_constructor_is_from(constructor, module) -> None:
    """Names alone are not unique between a test's toys and what is installed."""
    assert tool_key(ToolSpec("tell", ToolPolicy, constructor)) == ("tell", module)
