"""The samples of catastrophic commands, refused whatever a profile or a person says, and of their look-alikes."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from tests.cases.shell_tree import Tree, plant, toolbox_over
from tests.rows import each_row
from tests.samples import row_params, sample_rows

from toolcharter import Toolbox

CATASTROPHES = sample_rows("security/deny_catalog")
LOOK_ALIKES = sample_rows("security/deny_catalog_benign")
PROFILES: dict[str, dict[str, Any]] = {
    "policy": {"mode": "policy", "allow": ["bash:*"]},
    "restrict": {"mode": "restrict", "allow": ["bash:*"]},
    "ask": {"mode": "ask"},
    "dangerous": {"mode": "dangerous"},
}
"""Each mode at its widest."""


@pytest.fixture(scope="module")
def asked() -> list[Any]:
    """What a person was asked."""
    return []


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return plant(tmp_path_factory.mktemp("catalog"))


@pytest.fixture(scope="module")
def boxes(tree: Tree, asked: list[Any]) -> Iterator[dict[str, Toolbox]]:
    """A toolbox for each mode; whoever is asked says yes, for good."""

    def approver(request: Any) -> str:
        asked.append(request)
        return "allow_always"

    with ExitStack() as stack:
        yield {
            mode: stack.enter_context(toolbox_over(tree, profile, approver=approver))
            for mode, profile in PROFILES.items()
        }


@each_row("row", row_params(CATASTROPHES))
def test_catastrophe(row: dict[str, Any], tree: Tree, boxes: dict[str, Toolbox], asked: list[Any]) -> None:
    """No mode permits it and nobody is asked: it is known for what it is, or cannot be determined to be anything else."""
    decisions = [box.decide("bash", {"command": tree.fill(row["cmd"])}) for box in boxes.values()]

    assert {decision.outcome for decision in decisions} == {"deny"}
    assert {decision.reason for decision in decisions} <= {"denied_by_floor", "not_understood"}
    # Called in the mode that asks: the approver would say yes.
    assert boxes["ask"].call("bash", {"command": tree.fill(row["cmd"])}).outcome == "denied"
    assert asked == []


def test_catastrophes_are_known_for_what_they_are(tree: Tree, boxes: dict[str, Toolbox]) -> None:
    """Nine in ten are told by the floor: to refuse what is not understood alone would be no floor."""
    reasons = [boxes["dangerous"].decide("bash", {"command": tree.fill(row["cmd"])}).reason for row in CATASTROPHES]

    assert reasons.count("denied_by_floor") >= 0.9 * len(CATASTROPHES)


def test_look_alikes(tree: Tree, boxes: dict[str, Toolbox]) -> None:
    """At most one in a hundred look-alikes is refused by the floor; in the mode `dangerous` all others run."""
    decisions = {
        row["id"]: boxes["dangerous"].decide("bash", {"command": tree.fill(row["cmd"])}) for row in LOOK_ALIKES
    }

    floored = [name for name, decision in decisions.items() if decision.reason == "denied_by_floor"]

    assert len(floored) <= len(LOOK_ALIKES) / 100
    assert {name for name, decision in decisions.items() if decision.outcome != "allow"} == set(floored)


@each_row("row", row_params(LOOK_ALIKES))
def test_look_alike(row: dict[str, Any], tree: Tree, boxes: dict[str, Toolbox]) -> None:
    """A rule for all commands permits it, a person may; without either it is refused for that, not as a catastrophe."""
    found = {mode: box.decide("bash", {"command": tree.fill(row["cmd"])}).outcome for mode, box in boxes.items()}

    assert found == {"policy": "allow", "restrict": "allow", "ask": "ask", "dangerous": "allow"}
