"""What leaves the gate, redacted: arguments, identifiers, names, texts and reasons."""

import pytest


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        pytest.param({"items": ["x"] * 30_000}, {"items": "list[30000]"}, id="many-items"),
        pytest.param({f"k{number}": 1 for number in range(30_000)}, None, id="many-names"),
    ],
)
def test_huge_arguments_leave_small_events(args, shown, make_toolbox, events) -> None:
    """A model cannot fill the disk with the arguments of refused calls."""
    make_toolbox().call("nope", args)

    assert [event["args"] for event in events] == [shown] * 4
