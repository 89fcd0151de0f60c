"""Sample set 002's later classes of commands: what only reads may be allowed as such, all else needs more than that."""

from typing import Any

import pytest
from tests.cases.shell_tree import Lines, sample_policy
from tests.rows import each_row
from tests.samples import row_params, sample_rows

ROWS = sample_rows("seeds/002-permission-later")
ELSEWHERE = {
    "effective mode of a path",
    "most specific grant wins",
    "write tool to temp without a grant",
    "mode a tool needs",
    "tier text of a skill tool",
    "choices of the prompt",
    "engine time limit of a tool",
    "strict schema: items of a list",
    "is a schema strict-safe: list of full objects",
}
"""No command lines: modes of tools and of paths, prompts and schemas."""
NAMED = [
    *("bash:python --version", "bash:vm_stat", "bash:ifconfig *", "bash:fdesetup status", "bash:type *"),
    *("bash:cargo tree", "bash:cargo build *", "bash:crontab -l", "bash:ling-mem *"),
    # Lessons, 9: "drop ... `-C`": an option that leads git elsewhere is covered by a rule that names it.
    "bash:git -C *",
]
WIDE = ["bash:fd *", "bash:rg *", "bash:cargo *", "bash:curl *"]
"""Programs that somebody would list who only reads with them."""
READS_ELSEWHERE = {"002-permission-later-237": "`env` in a jq program prints the environment"}
"""Rows without a path that have something else, by issue 4: "a flag that runs, writes or reads elsewhere"."""
ASKING = {"mode": "ask", "allow": [*sample_policy()["allow"], *NAMED, *WIDE]}


def rows_of(key: str) -> list[Any]:
    return row_params([row for row in ROWS if key in wanted(row) and "cmd" in row["input"]])


def wanted(row: dict[str, Any]) -> dict[str, Any]:
    return {**row["expect"], **row.get("unified", {})}


@each_row("row", rows_of("class"))
def test_class(row: dict[str, Any], decision_on: Lines) -> None:
    """A command that reads runs by a rule for its ordinary use; one that writes or starts something is asked about."""
    outcome = decision_on(ASKING, row["input"]["cmd"]).outcome

    assert outcome in ({"allow"} if wanted(row)["class"] == "read" else {"ask", "deny"})


@each_row("row", rows_of("blocked"))
def test_floor(row: dict[str, Any], decision_on: Lines) -> None:
    """What that floor holds does not run unattended under a rule for the program it hides in; what it passes may."""
    if wanted(row)["blocked"]:
        assert decision_on(ASKING, row["input"]["cmd"]).outcome in {"ask", "deny"}
    else:
        assert decision_on({"mode": "restrict", "allow": ["bash:*"]}, row["input"]["cmd"]).outcome == "allow"


@each_row("row", rows_of("paths"))
def test_paths(row: dict[str, Any], decision_on: Lines) -> None:
    """A command that names no path runs by its rule; one that names a path outside, however spelt, does not."""
    is_asked = wanted(row)["paths"] or row["id"] in READS_ELSEWHERE

    outcome = decision_on(ASKING, row["input"]["cmd"]).outcome

    assert outcome == ("ask" if is_asked else "allow")


@pytest.mark.parametrize("row", rows_of("result"))
def test_grants(row: dict[str, Any], decision_on: Lines) -> None:
    """A grant on another folder is a rule that names the path; a variable is no path that anybody granted."""
    line = row["input"]["cmd"]
    granted = {"mode": "ask", "allow": ["bash:cat *", *([f"bash:{line}"] if "$" not in line else [])]}

    outcome = decision_on(granted, line).outcome

    assert outcome == {"allow": "allow", "prompt": "ask"}[wanted(row)["result"]]


def test_every_row_is_run() -> None:
    """No row with a command line is passed over in silence."""
    left = [row for row in ROWS if not ({"class", "blocked", "paths", "result"} & wanted(row).keys())]
    assert {row["case"] for row in left} | {row["case"] for row in ROWS if "cmd" not in row["input"]} <= ELSEWHERE
