"""Samples of set 004 of its approvals for commands: its settings as modes and rules, its answers as an approver's."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cases.shell_tree import Lines, Tree, sample_policy, toolbox_over
from tests.rows import each_row
from tests.samples import row_params, sample_rows

from toolcharter import Caller

ROWS = sample_rows("seeds/004-exec-approval")
AfterAlways = Callable[[str, str | None, str, str | None], str]
SUPERSEDED = {
    "working folder outside when not restricted": 'issue 4, section 2: "working folder inside the workspace".',
    "later: is the program still on the safe list": (
        'design, section 4: of an unbounded tool "a matching `allow`, or a human": there is no list beside the rules.'
    ),
}
"""By case: what the design decides otherwise."""
BY_PATH = 'lessons, 4: "`./ls`, `bin/ls`, PATH changes and functions must not inherit rules for `ls`".'


def wanted(row: dict[str, Any]) -> dict[str, Any]:
    return {**row["expect"], **row.get("unified", {})}


def params(key: str) -> list[Any]:
    return row_params([row for row in ROWS if key in wanted(row) and row["case"] not in SUPERSEDED])


def profile_of(given: dict[str, Any]) -> dict[str, Any]:
    """Sample set 004's `security` and `ask` as a mode, its allow list as rules.

    `full` together with `ask` still means to be asked: what `unified` says of its rows.
    """
    mode = "restrict" if given.get("ask") == "off" or given.get("security") == "deny" else "ask"
    is_off = given.get("security") == "deny"
    return {"mode": mode, "allow": [] if is_off else [f"bash:{pattern}" for pattern in given.get("allowlist", ())]}


@each_row("row", row_params([row for row in ROWS if "decision" in wanted(row) and "command" in row["input"]]))
def test_decision(row: dict[str, Any], decision_on: Lines) -> None:
    """The matrix of modes and lists gives what the row says; what only looks safe is asked about."""
    assert decision_on(profile_of(row["input"]), row["input"]["command"]).outcome == wanted(row)["decision"]


@pytest.mark.parametrize(
    "row", row_params([row for row in ROWS if row["case"] == "safe program list" and "unified" in row])
)
def test_what_only_looks_safe(row: dict[str, Any], decision_on: Lines) -> None:
    """A rule for the program that it begins with, or is named like, does not cover it either."""
    profile = {**sample_policy(), "mode": "ask"}

    assert decision_on(profile, row["input"]["command"]).outcome == wanted(row)["decision"]


@pytest.mark.parametrize("row", params("program"))
def test_program(row: dict[str, Any], decision_on: Lines) -> None:
    """A rule for the program covers it, in parentheses too; a path is a program of its own."""
    line, program = row["input"]["command"], wanted(row)["program"]
    name = program or line.strip("()").split()[0]
    # What follows is written out: it may be something that a rule has to mention.
    exact = f"bash:{line.strip('()')}".replace(line.split()[0], name) if "/" in line else f"bash:{line.strip('()')}"

    outcome = decision_on({"mode": "restrict", "allow": [exact]}, line).outcome

    assert outcome == ("deny" if "/" in line else "allow"), BY_PATH


@pytest.mark.parametrize("row", row_params([row for row in ROWS if "allowed_always" in row["input"]]))
def test_after_always(row: dict[str, Any], after_always: AfterAlways) -> None:
    """What was allowed for good is that command of that agent, not its program."""
    given = row["input"]
    granted, asking = agents_of(given)

    decision = after_always(given["allowed_always"], granted, given.get("then", given["allowed_always"]), asking)

    assert decision == wanted(row)["decision"]


def agents_of(given: dict[str, Any]) -> tuple[str | None, str | None]:
    """The agent that was granted the first command, and the one that asks for the second; the same if one is named."""
    granted = given.get("agent", given.get("allowed_for"))
    return granted, given.get("then_agent", given.get("other_agent", given.get("by", granted)))


@pytest.fixture
def after_always(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AfterAlways:
    """What a second command meets after a first one was allowed for good, each called by an agent."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    tree = Tree(tmp_path)
    tree.workspace.mkdir()

    def decide(first: str, granted: str | None, then: str, asking: str | None) -> str:
        callers = Caller(agent=granted), Caller(agent=asking)
        with toolbox_over(tree, {"mode": "ask"}, approver=lambda _: "allow_always", caller=callers[0]) as box:
            assert box.call("bash", {"command": first}).outcome != "denied"
        with toolbox_over(tree, {"mode": "ask"}, caller=callers[1]) as box:
            return box.decide("bash", {"command": then}).outcome

    return decide


@pytest.mark.parametrize(("asking", "outcome"), [("a", "allow"), ("b", "ask"), (None, "ask")])
def test_agents_are_told_apart(asking: str | None, outcome: str, after_always: AfterAlways) -> None:
    """What one agent was granted for good, another was not."""
    assert after_always("wc --version", "a", "wc --version", asking) == outcome


@pytest.mark.parametrize("row", params("error"))
def test_denied_by_mode(row: dict[str, Any], decision_on: Lines) -> None:
    """Where commands are closed each is a denial."""
    assert decision_on(profile_of(row["input"]), "true").outcome == "deny"


@pytest.mark.parametrize("row", params("runs"))
def test_answer(row: dict[str, Any], tmp_path: Path) -> None:
    """An answer that is none of those asked for is a no."""
    tree = Tree(tmp_path)
    tree.workspace.mkdir()
    with toolbox_over(tree, {"mode": "ask"}, approver=lambda _: row["input"]["answer"]) as box:
        result = box.call("bash", {"command": "touch ran"})

    assert (result.outcome == "ok") is (tree.workspace / "ran").exists() is wanted(row)["runs"]


@pytest.mark.parametrize("row", params("result"))
def test_both_streams(row: dict[str, Any], tmp_path: Path) -> None:
    """Both streams are shown, apart from each other; the words between them are sample set 000's."""
    given = row["input"]
    tree = Tree(tmp_path)
    tree.workspace.mkdir()
    with toolbox_over(tree, {"mode": "dangerous"}) as box:
        line = f"printf {given['stdout']}; printf {given['stderr']} >&2; exit {given['exit']}"
        result = box.call("bash", {"command": line})

    assert (result.outcome == "error") is wanted(row)["is_error"]
    assert result.text == f"{given['stdout']}\n--- stderr ---\n{given['stderr']}"


def test_every_row_is_run() -> None:
    """No row is passed over in silence."""
    keys = {"decision", "program", "error", "runs", "result"}
    assert all(keys & wanted(row).keys() or row["case"] in SUPERSEDED for row in ROWS)
