"""Subagents: what starts them, what stops them, what they may, and what their parent hears."""

import time
from typing import Any

import pytest
from tests.plugins.agents.conftest import ADA, ADAS, BOB, LEE, AgentWorker, MakeWorker
from tests.plugins.agents.store_kinds import ON_ALL_STORES
from tests.rows import each_row
from tests.waiting import until

from toolcharter import (
    AgentResult,
    AgentTask,
    Caller,
    Denied,
    SessionMessage,
    SessionRecord,
    Store,
    StoreTransaction,
    ToolError,
)
from toolcharter.gate.agents import SessionInbox
from toolcharter_agents import notifications, running, subagents
from toolcharter_agents.states import State, Subagent

CHILD = Caller(agent="ada", user="kim", session="agent:ada:subagent:x", depth=1)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes a second takes less in these tests; nothing else depends on how long it is."""
    monkeypatch.setattr(notifications, "BATCH_S", 0.1)
    monkeypatch.setattr(running, "CHECK_EVERY_S", 0.05)
    monkeypatch.setattr(subagents, "STOP_WAIT_S", 0.05)


def spawned(world: AgentWorker, label: str = "", caller: Caller = ADA, tool: str = "spawn") -> str:
    result = world.call(tool, caller, task=f"do {label}", label=label)
    assert result.outcome == "ok", result.text
    number: str = result.data["id"]
    return number


def record(store: Store, number: str) -> Subagent:
    found = store.get(Subagent, number)
    assert found is not None
    return found.record


def heard(world: AgentWorker) -> list[str]:
    """What the parent is told next."""
    texts: list[str] = []

    def look() -> bool:
        texts.extend(world.told())
        return bool(texts)

    until(look)
    return texts


def ended(store: Store, number: str) -> Subagent:
    until(lambda: record(store, number).state != State.RUNNING)
    return record(store, number)


def test_accepted_at_once_and_told_later(world: AgentWorker, store: Store) -> None:
    """The call returns while the agent works; then its result is in the parent's inbox, once."""
    number = spawned(world, "build")

    assert world.states() == {"build": "running"}
    assert world.told() == []
    world.host.may_answer.set()
    one = ended(store, number)
    (text,) = heard(world)

    assert (one.state, one.result, one.iterations, one.input_tokens, one.output_tokens) == (
        "completed",
        "done",
        2,
        3,
        4,
    )
    assert text.startswith(f"A subagent has ended.\n\nbuild [{number}] completed after ")
    assert text.endswith(" s, 2 iterations, 3 + 4 tokens:\ndone\n\nAll subagents: build completed.")
    assert world.told() == []
    assert spawned(world, "again", tool="sessions_spawn") != number


def test_what_an_agent_is_given(make_world: MakeWorker) -> None:
    """Its task, the model of the call if it may be chosen, else that of the policy, and 20 iterations."""
    world = make_world({"spawn": {"model": "small", "models": ["big"]}, "subagents": {"model": "small"}})
    world.host.may_answer.set()

    world.call("spawn", task="one")
    world.call("spawn", task="two", model="BIG")
    world.call("subagents", action="run", task="three")
    refused = world.call("spawn", task="four", model="huge")

    until(lambda: len(world.host.tasks) == 3)
    assert {(task.message, task.model, task.agent, task.max_iterations) for task in world.host.tasks} == {
        ("one", "small", "ada", 20),
        ("two", "BIG", "ada", 20),
        ("three", "small", "ada", 20),
    }
    assert (refused.outcome, refused.reason) == ("denied", "model_not_allowed")


def test_limits_in_their_order(make_world: MakeWorker, store: Store) -> None:
    """Depth first, then all of the tenant, then the parent's, for `run` too; those that have ended do not count."""
    tools = {name: {"max_concurrent": 3, "max_children": 2} for name in ("spawn", "subagents")}
    world, other = make_world(tools), make_world(tools)

    def refused(caller: Caller = ADA, at: AgentWorker = world) -> list[str | None]:
        results = [
            at.call("spawn", caller, task="x"),
            at.call("subagents", caller, action="run", task="x"),
        ]
        assert {result.outcome for result in results} == {"denied"}
        return [result.reason for result in results]

    first = spawned(world)
    spawned(world)
    assert refused() == refused(at=other) == ["children_limit"] * 2
    spawned(other, caller=BOB)
    assert refused() == refused(LEE) == refused(BOB, other) == ["concurrent_limit"] * 2
    assert refused(CHILD) == ["depth_limit"] * 2
    world.call("subagents", action="cancel", id=first)
    assert record(store, first).state == "cancelled"
    spawned(world)
    states = [one["state"] for one in world.call("subagents", action="list").data["subagents"]]
    assert sorted(states) == [
        "cancelled",
        "rejected",
        "rejected",
        "rejected",
        "rejected",
        "rejected",
        "rejected",
        "running",
        "running",
    ]


def test_limit_beyond_a_page_of_the_store(make_world: MakeWorker, store: Store) -> None:
    """All that run are counted, not only those that one page of the store holds."""
    world = make_world({"spawn": {"max_concurrent": 201}})
    world.host.may_answer.set()
    number = spawned(world)
    ended(store, number)
    running = {"state": State.RUNNING, "is_active": True, "parent": "another", "alive_until": time.time() + 600}
    one = record(store, number).model_copy(update=running)

    def put(records: StoreTransaction) -> None:
        for each in range(201):
            records.put(one.model_copy(update={"id": f"{each:03}"}))

    store.transact(put)

    assert world.call("spawn", task="x").reason == "concurrent_limit"


def test_sessions_spawn_has_the_same_limits(make_world: MakeWorker) -> None:
    """In the same order."""
    world = make_world({"sessions_spawn": {"max_concurrent": 2, "max_children": 1}})
    spawned(world, tool="sessions_spawn")
    asked = [(ADA, "children_limit"), (CHILD, "depth_limit")]
    assert [world.call("sessions_spawn", caller, task="x").reason for caller, _ in asked] == [why for _, why in asked]
    spawned(world, caller=BOB, tool="sessions_spawn")
    assert world.call("sessions_spawn", LEE, task="x").reason == "concurrent_limit"


@each_row("tool", ["spawn", "sessions_spawn", "subagents"])
def test_a_task_is_bounded(tool: str, world: AgentWorker) -> None:
    action = {"action": "run"} if tool == "subagents" else {}
    assert world.call(tool, task="x" * 16_001, **action).reason == "task_too_long"


def test_a_run_that_fails_says_so(world: AgentWorker) -> None:
    def run(_: AgentTask) -> AgentResult:
        raise ToolError("No model answers.")

    world.live._base.agent_host = run
    assert world.call("subagents", action="run", task="x").reason == "subagent_failed"


@ON_ALL_STORES
def test_a_limit_holds_for_who_ask_at_the_same_time(make_world: MakeWorker, store: Store) -> None:
    """Of many threads on two workers, as many get through as there is room."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    worlds = [make_world({"spawn": {}, "subagents": {}}) for _ in range(2)]
    callers = [Caller(agent=f"a{number}", user="kim") for number in range(6)]

    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(lambda n: worlds[n % 2].call("spawn", callers[n // 2], task="x"), range(12)))

    assert sorted(str(result.reason) for result in results) == ["None"] * 8 + ["concurrent_limit"] * 4
    assert store.count(Subagent, where={"is_active": True}) == 8


def test_used_up_iterations_are_a_failure(world: AgentWorker, store: Store) -> None:
    """What it had said by then is kept."""
    world.host.result = AgentResult("so far", 1, 1, 20, is_exhausted=True)
    world.host.may_answer.set()

    result = world.call("subagents", action="run", task="x", label="count")

    assert (result.outcome, result.reason) == ("error", "max_iterations")
    assert "so far" in result.text
    assert world.states() == {"count": "failed"}


def test_run_waits_for_the_result(world: AgentWorker, make_world: MakeWorker) -> None:
    """It comes as the result of the call, and not to the inbox as well."""
    world.host.may_answer.set()

    result = world.call("subagents", action="run", task="x", label="now")

    assert (result.outcome, result.text, result.data["state"], result.data["tokens"]) == ("ok", "done", "completed", 7)
    world.live.close()
    assert make_world().told() == []


def test_a_call_that_may_not_wait_so_long_ends_its_agent(make_world: MakeWorker, store: Store) -> None:
    """The subagent is cancelled with the call."""
    # On a busy machine the time may be over before the subagent has begun.
    for timeout_s in (0.5, 5, 60):
        world = make_world({"subagents": {}}, limits={"timeout_s": timeout_s})
        result = world.call("subagents", action="run", task="x")
        assert (result.outcome, result.reason) == ("error", "timed_out")
        if world.host.tasks:
            break

    until(lambda: store.count(Subagent, where={"is_active": True}) == 0)
    assert world.host.tasks[0].is_cancelled()


def test_a_host_that_fails(world: AgentWorker, store: Store) -> None:
    """The reason is told, and secrets in it are masked."""

    def run(task: AgentTask) -> AgentResult:
        raise Denied("approval_denied", "ghp_" + "a1B2" * 9)

    world.live._base.agent_host = run
    one = ended(store, spawned(world))

    assert (one.state, one.reason) == ("failed", "approval_denied")
    assert "ghp_" not in one.result


def test_without_a_host_nothing_starts(make_world: MakeWorker, store: Store) -> None:
    """And nothing counts."""
    world = make_world({"spawn": {}, "subagents": {}}, extensions={})

    result = world.call("spawn", task="x")

    assert (result.outcome, result.reason) == ("denied", "not_available")
    assert store.count(Subagent, where={"is_active": True}) == 0


def test_cancel_by_id_all_and_last(world: AgentWorker, store: Store) -> None:
    """Each says whom it has ended."""
    first, second, third, last = (spawned(world, name) for name in "abcd")

    def cancelled(which: str) -> Any:
        return world.call("subagents", action="cancel", id=which).data["cancelled"]

    assert cancelled(second) == [second]
    assert cancelled("last") == [last]
    assert sorted(cancelled("all")) == sorted([first, third])
    assert cancelled("all") == []
    assert {record(store, number).result for number in (first, second)} == {"cancelled during execution"}
    until(lambda: all(task.is_cancelled() for task in world.host.tasks))
    for which, reason in [
        (first, "not_running"),
        ("last", "not_running"),
        ("none", "subagent_not_found"),
        ("", "invalid_arguments"),
    ]:
        assert world.call("subagents", action="cancel", id=which).reason == reason


@each_row("caller", [BOB, LEE, CHILD], ids=["another-agent", "another-user", "another-session"])
def test_others_subagents_are_unknown(caller: Caller, world: AgentWorker, store: Store) -> None:
    """They are in no list, and can be neither cancelled nor steered."""
    number = spawned(world)

    assert world.call("subagents", caller, action="cancel", id=number).reason == "subagent_not_found"
    steered = world.call("subagents", caller, action="steer", id=number, message="x")
    assert steered.reason == ("depth_limit" if caller.depth else "subagent_not_found")
    assert world.call("subagents", caller, action="cancel", id="all").data["cancelled"] == []
    assert world.states(caller) == {}
    assert record(store, number).state == "running"


@ON_ALL_STORES
def test_cancelled_from_another_worker(make_world: MakeWorker, store: Store) -> None:
    """The worker hears of it from the record."""
    world, other = make_world(), make_world()
    number = spawned(world)

    assert other.call("subagents", action="cancel", id=number).data["cancelled"] == [number]

    until(world.host.tasks[0].is_cancelled)
    assert record(store, number).state == "cancelled"


def test_steered(world: AgentWorker, store: Store) -> None:
    """The first is cancelled, and another goes on with the message, its label saying so once."""
    number = spawned(world, "plan")
    for _ in range(2):
        number = world.call("subagents", action="steer", id=number, message="the other way").data["id"]

    until(lambda: len(world.host.tasks) == 3)
    assert world.call("subagent", action="list").data == world.call("subagents", action="list").data
    assert [task.message for task in world.host.tasks] == ["do plan", "the other way", "the other way"]
    assert record(store, number).label == "plan (steered)"
    assert world.host.tasks[0].is_cancelled()
    long = world.call("subagents", action="steer", id=number, message="x" * 4_001)
    assert long.reason == "message_too_long"
    assert world.call("subagents", action="steer", id=number, message="x" * 4_000).outcome == "ok"


def test_ends_of_a_second_come_together(make_world: MakeWorker, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """One item tells of all of them, by whichever tool they were started, and of who else there is."""
    monkeypatch.setattr(notifications, "BATCH_S", 60.0)
    world = make_world()
    numbers = [
        spawned(world, name, tool=tool) for name, tool in (("a", "spawn"), ("b", "sessions_spawn"), ("c", "spawn"))
    ]
    world.host.may_answer.set()
    for number in numbers:
        ended(store, number)

    world.live.close()
    (text,) = make_world().told()

    assert text.startswith("3 subagents have ended.")
    assert text.endswith("All subagents: c completed, b completed, a completed.")


def test_twenty_ends_are_told_at_once(world: AgentWorker, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """An item has room for 20, and one that is full waits for no more; ends that a lost worker left are told with them."""
    monkeypatch.setattr(notifications, "BATCH_S", 60.0)
    place = notifications.TenantServices("", store, SessionInbox(world.live._base, ADA))
    announcer = notifications.Announcer()
    for number in range(21):
        _ended(store, str(number))
    for _ in range(19):
        announcer.add(place, ADAS)
    assert world.told() == []

    announcer.add(place, ADAS)

    first, second = world.told()
    assert first.startswith("20 subagents have ended.")
    assert len(first) < 20_000
    assert second.startswith("A subagent has ended.")
    announcer.add(place, ADAS)
    announcer.close()
    assert world.told() == []


def _ended(store: Store, number: str) -> Subagent:
    one = Subagent(
        id=f"n{number}",
        parent=ADAS,
        agent="ada",
        user="kim",
        session=f"agent:ada:subagent:{number}",
        label=number,
        task="x",
        state=State.COMPLETED,
        is_active=False,
        depth=1,
        result="y" * 3_000,
        created=time.time(),
        sequence=int(time.time() * 1_000_000),
        ended=time.time(),
    )
    store.put(one)
    return one


def test_a_parents_end_is_its_childrens(make_world: MakeWorker, store: Store) -> None:
    """They are cancelled before the toolbox is closed, and do not count any more."""
    world = make_world()
    number = spawned(world)

    world.live.close()

    assert record(store, number).state == "cancelled"
    assert world.host.tasks[0].is_cancelled()


def test_subagents_of_a_lost_worker_do_not_count(world: AgentWorker, store: Store) -> None:
    """Its record says until when it was believed to be there."""
    number = spawned(world)
    gone = record(store, number).model_copy(update={"id": "gone", "alive_until": time.time() - 1})
    store.put(gone)

    spawned(world)

    assert (record(store, "gone").state, record(store, "gone").reason) == ("failed", "worker_lost")
    assert record(store, number).state == "running"


def test_the_ended_are_archived_and_forgotten(world: AgentWorker, store: Store) -> None:
    """After an hour they leave the list, a day later the store."""
    now = time.time()
    for name, age in (("young", 3_000), ("old", 3_700), ("ancient", 100_000)):
        store.put(
            _ended(store, name).model_copy(
                update={"ended": now - age, "created": now - age, "sequence": int((now - age) * 1_000_000)}
            )
        )
    store.delete(Subagent, "nold")
    old = _ended(store, "old").model_copy(
        update={"ended": now - 3_700, "created": now - 3_700, "sequence": int((now - 3_700) * 1_000_000)}
    )
    store.put(old)
    spawned(world, "a")
    spawned(world, "b")

    assert set(world.states()) == {"young", "a", "b"}
    world.host.may_answer.set()
    until(lambda: record(store, "nold").state == "archived")
    until(lambda: store.get(Subagent, "nancient") is None)


def test_a_subagents_session_is_kept(world: AgentWorker, store: Store) -> None:
    """Under its label, with what it was asked and what it said; a label that is taken gets a number."""
    world.host.may_answer.set()
    first = world.call("subagents", action="run", task="one", label="same").data["session"]
    second = world.call("subagents", action="run", task="two", label="same").data["session"]

    assert first == "agent:ada:subagent:same"
    assert second.startswith("agent:ada:subagent:same-")
    history = world.call("sessions_history", session_key=second).data["messages"]
    assert [(one["role"], one["text"]) for one in history] == [("user", "two"), ("assistant", "done")]
    found = store.get(SessionRecord, second)
    assert found is not None
    assert (found.record.parent, found.record.is_completed, found.record.input_tokens) == (ADAS, True, 3)
    assert store.count(SessionMessage, where={"session": second}) == 2


def test_a_child_sees_no_more_than_its_parent(make_world: MakeWorker) -> None:
    """Less what subagents never get; at the last depth nothing that starts others; a call is denied, not unknown."""
    tools = ["spawn", "sessions_spawn", "subagents", "sessions_list", "sessions_send", "session_status", "team_tasks"]
    world = make_world(
        {name: {} for name in tools},
        availability=[{"for": {"agent": "ada"}, "deny": ["team_tasks"]}],
    )
    seen: list[set[str]] = []
    reasons: list[str | None] = []

    def run(task: AgentTask) -> AgentResult:
        seen.append(set(task.toolbox))
        reasons.extend(task.toolbox.call(name, {}).reason for name in ("session_status", "cron"))
        return AgentResult("done")

    world.live._base.agent_host = run
    world.call("subagents", action="run", task="x")
    world.call("subagents", BOB, action="run", task="x")

    assert seen == [set(), {"team_tasks"}]
    assert reasons == ["not_available", "unknown_tool"] * 2


def test_deeper_agents_get_less_and_less(make_world: MakeWorker, store: Store) -> None:
    """With a depth of 2 a child may start one, which sees no more than the child does."""
    tools: dict[str, Any] = {name: {"max_depth": 2} for name in ("spawn", "subagents")}
    world = make_world({**tools, "sessions_list": {}, "team_tasks": {}})
    seen: list[set[str]] = []
    reasons: list[str | None] = []

    def run(task: AgentTask) -> AgentResult:
        seen.append(set(task.toolbox))
        reasons.append(task.toolbox.call("subagents", {"action": "run", "task": "deeper"}).reason)
        return AgentResult("done")

    world.live._base.agent_host = run
    world.call("subagents", action="run", task="x")

    assert seen == [{"spawn", "subagents", "sessions_list", "team_tasks"}, {"team_tasks"}]
    assert reasons == ["not_available", None]
