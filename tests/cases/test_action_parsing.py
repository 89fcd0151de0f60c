"""Samples of set 002 of the actions in what a model has written."""

from typing import Any

from tests.rows import each_row
from tests.samples import row_params, sample_rows

from toolcharter.hosts import ModelAction, parse_actions

ROWS = sample_rows("seeds/002-action-parsing")


def shown(action: ModelAction, expected: Any) -> Any:
    """*action* in the words of the samples, which name of some actions a part."""
    match action.kind:
        case "tool":
            return {"tool": action.tool, **({"args": dict(action.args)} if "args" in expected else {})}
        case "done":
            return {"done": action.args["message"]}
        case kind:
            return {kind: dict(action.args)}


@each_row("row", row_params(ROWS))
def test_sample(row: Any) -> None:
    """Every sample holds as it stands."""
    expected = row["expect"]["actions"]
    found = parse_actions(row["input"]["reply"])

    assert [shown(action, one) for action, one in zip(found.actions, expected, strict=True)] == expected
    assert found.faults == ()
