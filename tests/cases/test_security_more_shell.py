"""Later samples of command lines: programs of developers, newer git, ordinary bash, and what the floor is for."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.cases.shell_tree import Tree, plant, sample_policy, toolbox_over
from tests.rows import each_row
from tests.samples import row_params, sample_file, sample_rows

from toolcharter import Toolbox

ROWS = sample_rows("security_more/shell_new")
DEVELOPER_RULES = "security_more/policy_dev"
# Of tier `plus` some may be refused: small programs of shell that no agent needs for its work.
JUDGED = [row for row in ROWS if row["tier"] not in {"plus", "probe"}]
RARER = [row for row in ROWS if row["tier"] == "plus"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return plant(tmp_path_factory.mktemp("shell"))


@pytest.fixture(scope="module")
def boxes(tree: Tree) -> Iterator[dict[str, Toolbox]]:
    """A toolbox for each policy that a row may name."""
    policy = sample_policy()
    rules = sample_file(DEVELOPER_RULES)["allow"]
    with (
        toolbox_over(tree, policy) as readers,
        toolbox_over(tree, {**policy, "allow": [*policy["allow"], *rules]}) as developer,
        toolbox_over(tree, {"mode": "dangerous"}) as floor,
    ):
        yield {"P1": readers, "dev": developer, "floor": floor}


def meets(row: dict[str, Any], tree: Tree, boxes: dict[str, Toolbox]) -> bool:
    """Whether a line meets what its row says; what passes the floor is allowed in mode `dangerous`."""
    expected = "allow" if row["expect"] == "pass" else row["expect"]
    return boxes[row["policy"]].decide("bash", {"command": tree.fill(row["cmd"])}).outcome == expected


@each_row("row", row_params(JUDGED))
def test_row(row: dict[str, Any], tree: Tree, boxes: dict[str, Toolbox]) -> None:
    """No line gets through, and none is refused, against what its row says."""
    assert meets(row, tree, boxes)


def test_rarer_rows(tree: Tree, boxes: dict[str, Toolbox]) -> None:
    """What must not run does not; of the rest at most a fourth is refused."""
    missed = [row for row in RARER if not meets(row, tree, boxes)]

    assert [row["cmd"] for row in missed if row["expect"] == "deny"] == []
    assert len(missed) <= len(RARER) / 4


def test_every_row_is_judged() -> None:
    """A row of a policy or an outcome that is not known here would be passed over in silence."""
    assert {row["policy"] for row in ROWS} == {"P1", "dev", "floor"}
    assert {row["expect"] for row in ROWS} == {"allow", "deny", "pass"}
