"""Sample set 004 of subagents and of calls that lead nowhere, row by row."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.cases.conftest import Bench, make_tool
from tests.plugins.agents.conftest import ADA, ADAS, MakeWorker, make_world, store
from tests.plugins.conftest import sqlite, store_url
from tests.samples import row_params, sample_rows
from tests.waiting import until

from toolcharter import AgentResult, AgentTask, Store
from toolcharter.guards.session.state import digest_call
from toolcharter_agents import notifications
from toolcharter_agents.states import State, Subagent

__all__ = ["make_world", "sqlite", "store", "store_url"]  # Fixtures.

ROWS = sample_rows("seeds/004-subagent-loop")
# What is ours where the source's code does something else, with the sentence that decides.
SUPERSEDED = {
    "error=unknown tool": 'design, section 5: "a tool is hidden if stage 3 denies it ...; hidden implies denied for every call".',
}
READ_STREAK = {"warn": 8, "deny": 12, "exploring": {"warn": 24, "deny": 36}}
"""The source's numbers."""
READING, CHANGING, WAITING = frozenset({"fs:read"}), frozenset({"fs:write"}), frozenset({"text"})
TOOLS = (
    make_tool("read_file", arguments=["path"], capabilities=READING),
    make_tool("edit", capabilities=CHANGING),
    make_tool("wait", capabilities=WAITING),
    make_tool("exec", "bash", capabilities={"proc:exec"}),
    make_tool("mcp__mail__query", "mcp", capabilities=READING),
    # What the source knows of the actions of its task tool; an action that is not declared may do anything.
    make_tool(
        "team_tasks",
        capabilities={**dict.fromkeys(("list", "get", "search"), READING), "progress": WAITING, "create": CHANGING},
    ),
)
Calls = Callable[..., str]


def params(*given: str, expected: str) -> list[Any]:
    return row_params([row for row in ROWS if set(given) <= row["input"].keys() and expected in row["expect"]])


@pytest.fixture
def levels(bench: Bench) -> Calls:
    """One session of calls, each with what the source would say to it; its `critical` is the refusal."""
    toolbox = bench.open({"mode": "dangerous", "session_guards": {"read_streak": READ_STREAK}}, *TOOLS)

    def call(tool: str, **args: Any) -> str:
        result = toolbox.call(tool, args)
        assert (result.outcome, result.reason) in {("ok", None), ("denied", "repeated_call")}
        return "critical" if result.reason else "warning" if "NOTE: " in result.text else ""

    return call


def streak(levels: Calls) -> int:
    """How many reads the guard has counted: how many fewer than 8 more of the same it takes to be warned."""
    following = [levels("read_file", path="a.txt") for _ in range(8)]
    return 7 - following.index("warning")


@pytest.mark.parametrize("row", params("reads", "distinct", expected="level"))
def test_reads_in_a_row(row: dict[str, Any], levels: Calls) -> None:
    """The different ones come first, then the first of them again."""
    given = row["input"]
    paths = [f"{number if number < given['distinct'] else 0}.txt" for number in range(given["reads"])]

    said = [levels("read_file", path=path) for path in paths]

    assert said[-1] == (row["expect"]["level"] or "")


@pytest.mark.parametrize("row", params("calls", expected="streak"))
def test_what_a_call_does_to_the_streak(row: dict[str, Any], levels: Calls) -> None:
    """Programs count neither way."""
    for text in row["input"]["calls"]:
        number, _, what = text.rpartition(" ")
        for _ in range(int(number or 1)):
            levels(*(("read_file",) if what in {"read", "reads"} else (what,)), **({"path": "a.txt"} if number else {}))

    assert streak(levels) == row["expect"]["streak"]


@pytest.mark.parametrize("row", params("action", expected="streak"))
def test_what_an_action_does_to_the_streak(row: dict[str, Any], levels: Calls) -> None:
    """Five reads, then the task tool: looking is one more read, and what it writes ends them."""
    for _ in range(5):
        levels("read_file", path="a.txt")

    levels("team_tasks", action=row["input"]["action"])

    assert streak(levels) == row["expect"]["streak"]


@pytest.mark.parametrize("row", row_params([row for row in ROWS if "same hash" in row["case"]]))
def test_calls_by_what_makes_them_the_same(row: dict[str, Any]) -> None:
    """Tool and arguments, in whatever order the arguments are."""
    first = digest_call("list_files", None, {"path": ".", "depth": 1})

    same = first == digest_call("list_files", None, {"depth": 1, "path": "."})
    other = first == digest_call("read_file", None, {"path": ".", "depth": 1})

    assert (same, other) == (row["expect"]["ok"], False)


def kept(store: Store, parent: str, state: str, number: int) -> None:
    """A subagent of *parent* that is in this state."""
    is_active = state == "running"
    store.put(
        Subagent(
            id=f"{state}{number}",
            parent=parent,
            agent="ada",
            user="kim",
            session=f"agent:ada:subagent:{state}{number}",
            label=f"{state}{number}",
            task="x",
            state=State(state),
            is_active=is_active,
            depth=1,
            created=2_000_000_000.0,
            sequence=number,
            ended=0.0 if is_active else 2_000_000_000.0,
            alive_until=3_000_000_000.0,
        )
    )


@pytest.mark.parametrize("row", row_params([row for row in ROWS if "children_of_parent" in row["input"]]))
def test_which_children_count(row: dict[str, Any], make_world: MakeWorker, store: Store) -> None:
    """The source counts those that have ended, here only those that run do; the limit is the source's."""
    world = make_world()
    for state, number in row["input"]["children_of_parent"].items():
        for each in range(number):
            kept(store, ADAS, state, each)

    result = world.call("spawn", task="x")

    expect = row.get("unified", row["expect"])
    assert (result.outcome == "ok") == bool(expect.get("spawned"))
    assert result.reason == (None if expect.get("spawned") else "children_limit")


@pytest.mark.parametrize("row", row_params([row for row in ROWS if "task_model" in row["input"]]))
def test_whose_model_it_is(row: dict[str, Any], make_world: MakeWorker) -> None:
    """A task that is waited for takes the profile's, or its parent's; one that is not may bring its own."""
    for configured in ("config", ""):
        tools = {name: {"model": configured} for name in ("spawn", "subagents")}
        tools["spawn"]["models"] = ["*"]  # type: ignore[assignment]
        world = make_world(tools)
        world.host.may_answer.set()
        if row["input"].get("run_sync"):
            assert world.call("subagents", action="run", task="x").outcome == "ok"
            assert world.call("subagents", action="run", task="x", model=row["input"]["task_model"]).outcome == "error"
        else:
            assert world.call("spawn", task="x", model=row["input"]["task_model"]).outcome == "ok"
        until(lambda world=world: len(world.host.tasks) == 1)  # type: ignore[misc]
        model = world.host.tasks[0].model
        assert model == (configured if "config" in row["expect"]["model"] else row["input"]["task_model"])


@pytest.mark.parametrize("row", row_params([row for row in ROWS if row["expect"].get("status") == "cancelled"]))
def test_cancelled_while_it_runs(row: dict[str, Any], make_world: MakeWorker) -> None:
    """State and text are the source's."""
    world = make_world()
    world.call("spawn", task="x")
    world.call("subagents", action="cancel", id="last")

    (found,) = world.call("subagents", action="list").data["subagents"]

    assert {"status": found["state"], "result": found["result"]} == row["expect"]


@pytest.mark.parametrize("row", row_params([row for row in ROWS if "call" in row["input"]]))
def test_what_a_subagent_cannot_call(row: dict[str, Any], bench: Bench, make_world: MakeWorker) -> None:
    """The source has removed the tool, and so does not know it; here it is denied, whatever its parent may do."""
    assert row["expect"]["error"].startswith("unknown tool")
    world = make_world({"subagents": {}, "cron": {}, "session_status": {}})
    said: list[tuple[str, str | None]] = []

    def run(task: AgentTask) -> AgentResult:
        result = task.toolbox.call(row["input"]["call"], {"action": "list"})
        said.append((result.outcome, result.reason))
        return AgentResult("done")

    world.live._base.agent_host = run
    world.call("subagents", action="run", task="x")

    assert said == [("denied", "not_available")]


@pytest.mark.parametrize("row", row_params([row for row in ROWS if "cancelled" in row["expect"]]))
def test_cancel_as_the_document_has_it(row: dict[str, Any], make_world: MakeWorker, store: Store) -> None:
    """By id, `all` or `last`: those that run, with their ids."""
    world = make_world()
    named = row["expect"]["cancelled"]
    for number, name in enumerate(named):
        kept(store, ADAS, "running", number)
        store.put(_renamed(store, f"running{number}", name))
        store.delete(Subagent, f"running{number}")

    result = world.call("subagents", action=row["input"]["action"], id=row["input"]["id"])

    assert sorted(result.data["cancelled"]) == sorted(named)


def _renamed(store: Store, number: str, name: str) -> Subagent:
    found = store.get(Subagent, number)
    assert found is not None
    return found.record.model_copy(update={"id": name})


@pytest.mark.parametrize("row", row_params([row for row in ROWS if "debounce_ms" in row["input"]]))
def test_ends_are_joined(row: dict[str, Any], make_world: MakeWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as the source waits, ours does by default."""
    assert row["input"]["debounce_ms"] / 1000 == notifications.BATCH_S
    monkeypatch.setattr(notifications, "BATCH_S", 60.0)
    world = make_world()
    for name in "abc":
        world.call("spawn", task="x", label=name)
    world.host.may_answer.set()
    until(lambda: set(world.states().values()) == {"completed"})

    world.live.close()

    assert len(make_world().told(ADA)) == row["expect"]["announcements"]


def test_every_row_is_run() -> None:
    """No row is passed over in silence."""
    kinds = {"reads", "calls", "action", "children_of_parent", "task_model", "call", "debounce_ms"}
    outcomes = {"status", "cancelled", "ok"}

    assert [row["id"] for row in ROWS if not (kinds & {*row["input"]} or outcomes & {*row["expect"]})] == []
    assert SUPERSEDED.keys() == {
        f"error={row['expect']['error'].partition(':')[0]}" for row in ROWS if "call" in row["input"]
    }
