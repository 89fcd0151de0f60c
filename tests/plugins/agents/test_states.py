"""The life of subagents at random, over two workers, beside a model that keeps everything in its head."""

import json
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.plugins.agents.conftest import Host
from tests.rows import each_row
from tests.waiting import until

from toolcharter import Caller, Store, StoreTransaction, open_live, open_store
from toolcharter_agents import notifications, running, subagents
from toolcharter_agents.states import (
    ENDED,
    TRANSITIONS,
    Archive,
    Limits,
    State,
    Subagent,
    due_state,
    rejection,
)

LIMITS = {"unattended": True, "max_concurrent": 3, "max_children": 2}
TOOLS = {"spawn": LIMITS, "subagents": LIMITS}
PARENTS = tuple(Caller(agent=agent, user="kim") for agent in ("ada", "bob", "eve"))


@each_row(
    ("depth", "running_now", "children", "reason"),
    [
        (0, 0, 0, None),
        (0, 7, 4, None),
        (1, 8, 5, "depth_limit"),
        (0, 8, 5, "concurrent_limit"),
        (0, 9, 0, "concurrent_limit"),
        (0, 7, 5, "children_limit"),
    ],
)
def test_the_first_limit_in_order_refuses(depth: int, running_now: int, children: int, reason: str | None) -> None:
    """The source's numbers: depth 1, 8 at once, 5 of one parent."""
    found = rejection(Limits(), depth, running_now, children)

    assert (found and str(found[0])) == reason


def subagent(state: State, **fields: Any) -> Subagent:
    return Subagent(
        **{
            "id": "x",
            "parent": "p",
            "agent": "",
            "user": "",
            "session": "s",
            "label": "x",
            "task": "x",
            "state": state,
            "is_active": state in {State.SPAWNING, State.RUNNING},
            "depth": 1,
            "created": 0.0,
            "sequence": 0,
            **fields,
        }
    )


def test_every_state_leads_where_the_source_says() -> None:
    """And nowhere else; the first end stays."""
    for state in State:
        for following in State:
            one = subagent(state)
            if following in TRANSITIONS[state]:
                moved = one.with_state(following, 7.0)
                assert (moved.state, moved.is_active) == (following, following == State.RUNNING)
                assert moved.ended == (0.0 if following == State.RUNNING else 7.0)
            else:
                with pytest.raises(ValueError, match="does not become"):
                    one.with_state(following, 7.0)


def test_what_is_overdue() -> None:
    """What runs for a worker that is gone has failed; what has ended is archived after an hour."""
    archive = Archive()

    assert due_state(subagent(State.RUNNING, alive_until=10.0), 10.0, archive) is None
    assert due_state(subagent(State.RUNNING, alive_until=10.0), 10.1, archive) == State.FAILED
    for state in ENDED:
        assert due_state(subagent(state, ended=10.0), 3_609.9, archive) is None
        assert due_state(subagent(state, ended=10.0), 3_610.0, archive) == State.ARCHIVED
    assert due_state(subagent(State.ARCHIVED, ended=1.0), 1e9, archive) is None


def _age(records: StoreTransaction, number: str) -> None:
    found = records.get(Subagent, number)
    if found is not None and found.record.state in ENDED:
        records.put(found.record.model_copy(update={"ended": time.time() - 4_000}), expected=found.version)


class Machine(RuleBasedStateMachine):
    """Two workers over one store; each call goes through one of them."""

    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        place = Path(self.folder.name)
        (place / "ws").mkdir()
        url = f"sqlite://{place / 'store.db'}"
        profile = place / "p.yaml"
        written = {"profile": "p", "store": url, "tools": TOOLS, "extensions": {"scripted": {"runs": []}}}
        profile.write_text(json.dumps(written))
        self.hosts = (Host(), Host())
        self.workers = tuple(open_live(profile, workspace=place / "ws", events=list[Any]().append) for _ in self.hosts)
        for worker, host in zip(self.workers, self.hosts, strict=True):
            worker._base.agent_host = host.run
        self.handle = open_store(url)
        self.store: Store = self.handle.bound("", "toolcharter-agents")
        self.running: dict[str, Caller] = {}
        self.ended: dict[str, str] = {}

    def call(self, worker: int, parent: Caller, tool: str, **args: Any) -> Any:
        return self.workers[worker].current.for_caller(parent).call(tool, args)

    @rule(worker=st.integers(0, 1), parent=st.sampled_from(PARENTS))
    def spawn(self, worker: int, parent: Caller) -> None:
        children = [one for one in self.running.values() if one == parent]
        expected = rejection(Limits(1, 3, 2), 0, len(self.running), len(children))

        result = self.call(worker, parent, "spawn", task="x")

        assert result.reason == (expected and str(expected[0]))
        if expected is None:
            self.running[result.data["id"]] = parent

    @precondition(lambda self: bool(self.running))
    @rule(worker=st.integers(0, 1), number=st.integers(0, 2), by=st.sampled_from(PARENTS))
    def cancel(self, worker: int, number: int, by: Caller) -> None:
        chosen = [*self.running][number % len(self.running)]

        result = self.call(worker, by, "subagents", action="cancel", id=chosen)

        if self.running[chosen] == by:
            assert result.data["cancelled"] == [chosen]
            self.ended[chosen] = "cancelled"
            del self.running[chosen]
        else:
            assert result.reason == "subagent_not_found"

    @rule(worker=st.integers(0, 1), parent=st.sampled_from(PARENTS))
    def cancel_all(self, worker: int, parent: Caller) -> None:
        own = {number for number, one in self.running.items() if one == parent}

        assert {*self.call(worker, parent, "subagents", action="cancel", id="all").data["cancelled"]} == own

        self.ended |= dict.fromkeys(own, "cancelled")
        self.running = {number: one for number, one in self.running.items() if number not in own}

    @precondition(lambda self: bool(self.running))
    @rule()
    def complete(self) -> None:
        for host in self.hosts:
            host.may_answer.set()
        until(lambda: self.store.count(Subagent, where={"is_active": True}) == 0)
        for host in self.hosts:
            host.may_answer.clear()
        self.ended |= dict.fromkeys(self.running, "completed")
        self.running = {}

    @rule(worker=st.integers(0, 1), parent=st.sampled_from(PARENTS))
    def time_passes_for_the_ended(self, worker: int, parent: Caller) -> None:
        """They leave the list, and a lost worker's leaves the limits."""
        for number in self.ended:
            self.store.transact(lambda records, number=number: _age(records, number))  # type: ignore[misc]
        self.spawn(worker, parent)

    @invariant()
    def records_are_as_the_model_says(self) -> None:
        if not hasattr(self, "store"):
            return
        active = self.store.page(Subagent, where={"is_active": True}, limit=100).records
        assert {one.record.id for one in active} == {*self.running}
        assert len(self.running) <= 3
        for number, state in self.ended.items():
            found = self.store.get(Subagent, number)
            assert found is not None
            assert found.record.state in {state, State.ARCHIVED}

    def teardown(self) -> None:
        if hasattr(self, "store"):
            for host in self.hosts:
                host.may_answer.set()
            for worker in self.workers:
                worker.close()
            self.handle.close()
            self.folder.cleanup()


@pytest.mark.slow
def test_subagents_at_random(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Limits, ends and who may end whom hold whatever the order, over both workers."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(notifications, "BATCH_S", 0.01)
    monkeypatch.setattr(running, "CHECK_EVERY_S", 0.02)
    monkeypatch.setattr(subagents, "STOP_WAIT_S", 0.01)
    machine = Machine.TestCase
    machine.settings = settings(max_examples=8, stateful_step_count=12, deadline=None)

    machine().runTest()
