"""Sample set 000's plan for lines of several commands, and for what "allow always" keeps; ours by a toolbox."""

import shlex
from typing import Any

import pytest
from tests.cases.conftest import Bench, bash_tool
from tests.cases.source_000 import FLOOR, Asked
from tests.samples import row_params, sample_rows

ROWS = sample_rows("seeds/000-smart-allow-spec")
# What "allow always" would keep is decided otherwise, for each row that asks for it.
NARROWEST = 'lessons, 11: "`Allow always` stores the narrowest argv rule, ..., and never widens on compound commands".'


def params(key: str) -> list[Any]:
    return row_params([row for row in ROWS if key in row["expect"]])


def offered(bench: Bench, line: str) -> list[tuple[tuple[str, ...], bool]]:
    """The commands of *line* that a person is shown, and whether "always" is offered, each time they are asked."""
    seen: list[tuple[tuple[str, ...], bool]] = []
    toolbox = bench.open(
        {"mode": "ask"}, bash_tool(), approver=lambda request: seen.append((request.commands, request.always))
    )
    toolbox.call("bash", {"command": line})
    return seen


@pytest.mark.parametrize("row", params("decision"))
def test_decision(row: dict[str, Any], bench: Bench) -> None:
    """The decision is the source's, but for a catastrophe: nobody is asked about one."""
    policy = {key: row["input"][key] for key in ("mode", "allow", "deny") if key in row["input"]}
    line, wanted = row["input"]["command"], row["expect"]["decision"]

    decision = bench.open(policy, bash_tool()).decide("bash", {"command": line})

    if Asked("bash", line).is_catastrophe:
        assert (decision.outcome, decision.reason) == ("deny", "denied_by_floor"), FLOOR
    else:
        assert decision.outcome == wanted


@pytest.mark.parametrize("row", params("pattern"))
def test_what_is_kept_for_good(row: dict[str, Any], bench: Bench) -> None:
    """Where the source keeps all commands that begin alike, ours keeps the one call that was shown, or nothing."""
    line = row["input"]["segment"]

    toolbox = bench.open({"mode": "ask"}, bash_tool(), approver=lambda _: "allow_always")
    seen = offered(bench, line)
    toolbox.call("bash", {"command": line})

    assert row["expect"]["pattern"].endswith(" *"), NARROWEST
    # In normal form; the samples are single commands.
    assert [commands for commands, _ in seen] == [(shlex.join(shlex.split(line)),)]
    kept = "allow" if seen[0][1] else "ask"
    decisions = [toolbox.decide("bash", {"command": one}).outcome for one in (line, f"{line} more")]
    assert decisions == [kept, "ask"]


@pytest.mark.parametrize("row", params("segments"))
def test_segments(row: dict[str, Any], bench: Bench) -> None:
    """A person is shown as many commands as the line has."""
    seen = offered(bench, row["input"]["command"])

    assert [len(commands) for commands, _ in seen] == [len(row["expect"]["segments"])]


@pytest.mark.parametrize(
    ("line", "is_offered"),
    [
        ("wc -l notes.txt", True),
        ("echo  two   blanks", True),
        ("npm test", True),
        ("npm exec x", False),
        ("env wc", False),
        ("python3.11 x.py", False),
        ("./run", False),
    ],
)
def test_more_that_is_kept(line: str, is_offered: bool, bench: Bench) -> None:  # noqa: FBT001 - pytest passes by name
    """A plain command; nothing for what runs other programs, or a file that tools could change."""
    seen = offered(bench, line)

    assert [always for _, always in seen] == [is_offered]


def test_every_row_is_run() -> None:
    """No row is passed over in silence."""
    assert all({"decision", "pattern", "segments"} & row["expect"].keys() for row in ROWS)
