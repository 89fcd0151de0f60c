"""A team's tasks and messages: one claims, others hear, and other users' teams are not there."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.plugins.agents.conftest import ADA, BOB, LEE, AgentWorker, MakeWorker
from tests.plugins.agents.store_kinds import ON_ALL_STORES
from tests.rows import each_row

from toolcharter import Caller, ToolResult
from toolcharter.api import sessions

EVE = Caller(agent="eve", user="kim")


def create(world: AgentWorker, subject: str = "write", caller: Caller = ADA, **args: Any) -> str:
    result = world.call("team_tasks", caller, action="create", subject=subject, **args)
    assert result.outcome == "ok", result.text
    number: str = result.data["task"]["id"]
    return number


def act(world: AgentWorker, action: str, task_id: str, caller: Caller = ADA, **args: Any) -> ToolResult:
    return world.call("team_tasks", caller, action=action, task_id=task_id, **args)


def test_a_task_from_beginning_to_end(world: AgentWorker) -> None:
    """Created by one, claimed and completed by another, with comments by all."""
    number = create(world, description="a page")

    act(world, "comment", number, EVE, text="Mind the margins.")
    claimed = act(world, "claim", number, BOB)
    done = act(world, "complete", number, BOB, text="It is in page.md.")

    assert (claimed.data["task"]["status"], claimed.data["task"]["owner"]) == ("in_progress", "bob")
    task = done.data["task"]
    assert {name: task[name] for name in ("subject", "status", "creator", "owner", "result")} == {
        "subject": "write",
        "status": "completed",
        "creator": "ada",
        "owner": "bob",
        "result": "It is in page.md.",
    }
    assert [(one["author"], one["text"]) for one in task["comments"]] == [("eve", "Mind the margins.")]


def test_a_review_is_another_agents(world: AgentWorker) -> None:
    """The owner hands it in and cannot complete it then."""
    number = create(world)
    act(world, "claim", number, BOB)

    reasons = [
        act(world, "review", number).reason,
        act(world, "review", number, BOB, text="See page.md.").reason,
        act(world, "complete", number, BOB).reason,
        act(world, "complete", number, EVE).reason,
    ]

    assert reasons == ["not_owner", None, "not_owner", None]
    (task,) = world.call("team_tasks", action="search").data["tasks"]
    assert (task["status"], task["result"]) == ("completed", "See page.md.")


def test_what_blocks_a_task(world: AgentWorker) -> None:
    """It cannot be claimed before all of them are completed or cancelled."""
    first, second = create(world), create(world)
    number = create(world, blocked_by=[first, second, first])
    act(world, "claim", first)

    before = act(world, "claim", number)
    act(world, "complete", first)
    act(world, "cancel", second, text="not needed")
    after = act(world, "claim", number)

    assert (before.reason, after.outcome) == ("task_blocked", "ok")
    assert after.data["task"]["blocked_by"] == [first, second]


@each_row(
    ("action", "caller", "args", "reason"),
    [
        pytest.param("create", ADA, {}, "invalid_arguments", id="no-subject"),
        pytest.param("create", ADA, {"subject": "x", "blocked_by": ["none"]}, "task_not_found", id="no-such-blocker"),
        pytest.param("claim", ADA, {}, "invalid_arguments", id="no-id"),
        pytest.param("claim", ADA, {"task_id": "none"}, "task_not_found", id="no-such-task"),
        pytest.param("claim", ADA, {"task_id": "x" * 600}, "task_not_found", id="no-id-at-all"),
        pytest.param("complete", BOB, {"task_id": "@"}, "wrong_status", id="not-claimed"),
        pytest.param("review", BOB, {"task_id": "@"}, "wrong_status", id="not-claimed-for-review"),
        pytest.param("comment", BOB, {"task_id": "@"}, "invalid_arguments", id="no-text"),
        pytest.param("cancel", BOB, {"task_id": "@"}, "not_owner", id="another's"),
        pytest.param("claim", LEE, {"task_id": "@"}, "task_not_found", id="another-user's"),
        pytest.param("comment", LEE, {"task_id": "@", "text": "x"}, "task_not_found", id="another-user's-comment"),
    ],
)
def test_what_is_refused(action: str, caller: Caller, args: dict[str, Any], reason: str, world: AgentWorker) -> None:
    """`@` is a task of ada's that is pending."""
    number = create(world)

    result = world.call(
        "team_tasks", caller, action=action, **{**args, **({"task_id": number} if args.get("task_id") == "@" else {})}
    )

    assert (result.outcome, result.reason) == ("error", reason)


@ON_ALL_STORES
def test_of_many_who_claim_one_has_it(make_world: MakeWorker) -> None:
    """Over two workers; the others are told who."""
    worlds = [make_world({"team_tasks": {}}) for _ in range(2)]
    number = create(worlds[0])
    callers = [Caller(agent=f"a{number}", user="kim") for number in range(6)]

    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(lambda n: act(worlds[n % 2], "claim", number, callers[n]), range(6)))

    won = [result.data["task"]["owner"] for result in results if result.outcome == "ok"]
    assert len(won) == 1
    assert {result.reason for result in results if result.outcome != "ok"} == {"already_claimed"}
    assert all(won[0] in result.text for result in results)


def test_search_by_words_and_status(world: AgentWorker) -> None:
    """Of the own user's team alone."""
    first = create(world, "write the page", description="with a map")
    second = create(world, "mend the roof")
    create(world, "write a secret", LEE)
    act(world, "claim", second, BOB)

    def found(**args: Any) -> list[str]:
        return [one["id"] for one in world.call("team_tasks", BOB, action="search", **args).data["tasks"]]

    assert sorted(found()) == sorted([first, second])
    assert found(query="MAP page") == [first]
    assert found(query="secret") == []
    assert found(status="in_progress") == [second]


def test_teams_are_bounded_and_apart(make_world: MakeWorker) -> None:
    """As many open tasks as the profile says; another team's are another's."""
    world = make_world({"team_tasks": {"max_open_tasks": 2}})
    other = make_world({"team_tasks": {"team": "other"}})
    first = create(world)
    create(world)

    full = world.call("team_tasks", action="create", subject="x")
    act(world, "cancel", first)

    assert full.reason == "too_many_tasks"
    create(world)
    assert other.call("team_tasks", action="search").data["tasks"] == []


def test_a_full_inbox_takes_no_message(world: AgentWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who sends is told so, and may send again later."""
    monkeypatch.setattr(sessions, "MAX_WAITING", 1)
    world.said("hello", BOB)

    results = [world.call("team_message", to="bob", text=text) for text in ("one", "two")]

    assert [result.reason for result in results] == [None, "inbox_full"]


def test_messages_reach_the_latest_session_of_a_member(world: AgentWorker) -> None:
    """Of the same user, once, with the sender's name; whom the profile does not name is not written to."""
    for caller in (BOB, Caller(agent="bob", user="lee"), EVE, ADA):
        world.said("hello", caller)

    results = [
        world.call("team_message", to="bob", text="one"),
        world.call("team_message", BOB, to="all", text="two"),
        world.call("team_message", to="ada", text="three"),
        world.call("team_message", LEE, to="eve", text="four"),
        world.call("team_message", to="bob", text="x" * 4_001),
    ]

    assert [result.reason for result in results] == [None, None, "not_in_team", "no_session", "message_too_long"]
    assert [result.data["reached"] for result in results[:2]] == [["bob"], ["eve"]]
    assert [(one.source, one.text) for one in world.live.inbox(caller=BOB)] == [("team member ada", "one")]
    assert world.told(EVE) == ["two"]
    assert world.told(Caller(agent="bob", user="lee")) == world.told() == []
