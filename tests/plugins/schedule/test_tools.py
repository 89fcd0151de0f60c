"""`schedule` and `cron` through the gate: what is refused, whose jobs are seen, what is kept."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.rows import each_row

from toolcharter import Caller, Toolbox, ToolResult, build_tools

ALL = {
    "schedule": {"allowed_actions": ["create", "list", "cancel"], "allow_tasks": True},
    "cron": {
        "allowed_actions": ["status", "list", "add", "update", "remove", "run", "runs"],
        "allow_tasks": True,
        "deliver_to": ["mail:*@example.org"],
        "agents": ["bob"],
    },
}
UMA = Caller(agent="ada", user="uma", session="s1", channel="chat", chat="42")
DAILY = {"kind": "cron", "expr": "0 9 * * *", "tz": "Europe/Berlin"}


@pytest.fixture
def box(workspace: Path, tmp_path: Path) -> Iterator[Callable[..., Toolbox]]:
    """Builds a toolbox of both tools; what is given is merged into their policies."""
    with ExitStack() as stack:

        def build(**changes: dict[str, Any]) -> Toolbox:
            tools = {name: {"unattended": True, **policy, **changes.get(name, {})} for name, policy in ALL.items()}
            profile = {"profile": "test", "store": f"sqlite:///{tmp_path}/store.db", "tools": tools}
            profile["extensions"] = {"scheduler": {}}
            (tmp_path / "test.yaml").write_text(json.dumps(profile))
            opened = build_tools(tmp_path / "test.yaml", workspace=workspace, caller=UMA, events=lambda _: None)
            return stack.enter_context(opened)

        yield build


def outcome(result: ToolResult) -> tuple[str, str | None]:
    return result.outcome, result.reason


def schedule(box: Toolbox, **args: Any) -> ToolResult:
    return box.call("schedule", {"action": "create", **args})


def add(box: Toolbox, **job: Any) -> ToolResult:
    job = {"name": "news", "schedule": DAILY, "message": "Read the news.", **job}
    return box.call("cron", {"action": "add", "job": job})


def test_by_default_nothing_is_made(workspace: Path, tmp_path: Path) -> None:
    """A page that orders to schedule meets a denial, whatever the model makes of it."""
    (tmp_path / "least.yaml").write_text(json.dumps({"profile": "least", "tools": {"schedule": {}, "cron": {}}}))
    with build_tools(tmp_path / "least.yaml", workspace=workspace, events=lambda _: None) as least:
        for tool, action in (("schedule", "create"), ("cron", "add"), ("cron", "update"), ("cron", "run")):
            assert outcome(least.call(tool, {"action": action})) == ("denied", "action_not_allowed")


def test_a_schedule_from_its_making_to_its_end(box: Callable[..., Toolbox]) -> None:
    tools = box()
    made = schedule(tools, every_seconds=3600, message="Stretch.")
    assert made.outcome == "ok"
    key = made.data["id"]

    (listed,) = tools.call("schedule", {"action": "list"}).data["schedules"]
    assert (listed["id"], listed["when"], listed["text"]) == (key, "every 3600 s", "Stretch.")
    assert tools.call("schedule", {"action": "cancel", "schedule_id": key}).text == f"Cancelled schedule: {key}"
    assert tools.call("schedule", {"action": "list"}).text == "No active schedules."


@each_row(
    "args, reason",
    [
        ({"message": "x"}, "invalid_job"),
        ({"every_seconds": 90, "cron": "0 9 * * *", "message": "x"}, "invalid_job"),
        ({"every_seconds": 90}, "invalid_job"),
        ({"every_seconds": 90, "message": "x", "task": "y"}, "invalid_job"),
        ({"every_seconds": 90, "message": " "}, "invalid_job"),
        ({"every_seconds": 90, "message": "x" * 4001}, "invalid_job"),
        ({"every_seconds": 0, "message": "x"}, "invalid_arguments"),
        ({"every_seconds": 90, "message": "x", "max_retries": 11}, "invalid_arguments"),
        ({"every_seconds": 90, "message": "x", "retry_delay_ms": 999}, "invalid_arguments"),
        ({"every_seconds": 90, "message": "x", "max_retry_delay_ms": 30_001}, "invalid_arguments"),
        ({"every_seconds": 30, "message": "x"}, "too_frequent"),
        ({"at": "2001-01-01T00:00:00Z", "message": "x"}, "time_passed"),
        ({"at": "soon", "message": "x"}, "invalid_time"),
        ({"at": "2900-01-01T00:00:00Z", "message": "x"}, "time_too_far"),
        ({"cron": "0 0 30 2 *", "message": "x"}, "never_due"),
        ({"cron": "0 0", "message": "x"}, "invalid_cron"),
        ({"every_seconds": 90, "message": "x", "process_handle": "none"}, "unknown_process"),
    ],
)
def test_what_no_schedule_can_be(box: Callable[..., Toolbox], args: dict[str, Any], reason: str) -> None:
    assert outcome(schedule(box(), **args)) == ("error", reason)


def test_tasks_are_for_profiles_that_say_so(box: Callable[..., Toolbox]) -> None:
    tools = box(schedule={"allow_tasks": False}, cron={"allow_tasks": False})

    assert outcome(schedule(tools, every_seconds=90, task="Look.")) == ("denied", "tasks_not_allowed")
    assert outcome(add(tools)) == ("denied", "tasks_not_allowed")
    assert schedule(tools, every_seconds=90, message="Look.").outcome == "ok"


def test_an_owner_has_so_many_jobs(box: Callable[..., Toolbox]) -> None:
    """What is cancelled makes room; another user has room of their own."""
    tools = box(schedule={"max_jobs": 2}, cron={"max_jobs": 2})
    first = schedule(tools, every_seconds=90, message="x").data["id"]
    assert add(tools).outcome == "ok"
    assert outcome(schedule(tools, every_seconds=90, message="x")) == ("denied", "too_many_jobs")
    assert outcome(add(tools)) == ("denied", "too_many_jobs")

    other = tools.for_caller(Caller(agent="ada", user="ute"))
    assert schedule(other, every_seconds=90, message="x").outcome == "ok"
    tools.call("schedule", {"action": "cancel", "schedule_id": first})
    assert schedule(tools, every_seconds=90, message="x").outcome == "ok"


@each_row(
    "other",
    [
        pytest.param(Caller(agent="ada", user="ute"), id="another user"),
        pytest.param(Caller(agent="eve", user="uma"), id="another agent"),
        pytest.param(Caller(agent="ada", user="uma", tenant="else"), id="another tenant"),
        pytest.param(Caller(agent="ada:3", user="uma"), id="a name that looks like both"),
    ],
)
def test_jobs_of_others_are_unknown(box: Callable[..., Toolbox], other: Caller) -> None:
    """They are answered as a job that never was, in all that names one; lists do not show them."""
    tools = box(cron={"max_jobs": 5})
    key = add(tools).data["job"]["id"]
    stranger = tools.for_caller(other)
    asked: list[tuple[str, dict[str, Any]]] = [
        ("schedule", {"action": "cancel", "schedule_id": "KEY"}),
        ("cron", {"action": "update", "jobId": "KEY", "patch": {"name": "mine"}}),
        ("cron", {"action": "remove", "jobId": "KEY"}),
        ("cron", {"action": "run", "jobId": "KEY", "runMode": "force"}),
        ("cron", {"action": "runs", "jobId": "KEY"}),
    ]
    for tool, args in asked:
        there, nowhere = (
            stranger.call(tool, json.loads(json.dumps(args).replace("KEY", name))) for name in (key, "job-none")
        )
        assert outcome(there) == outcome(nowhere) == ("error", "unknown_job")
        assert there.text.replace(key, "job-none") == nowhere.text

    assert stranger.call("cron", {"action": "list"}).data["count"] == 0
    assert stranger.call("cron", {"action": "status"}).data == {"jobs": 0, "running": 0, "next": None}
    assert tools.call("cron", {"action": "list"}).data["count"] >= 1


def test_a_run_of_a_job_makes_no_jobs(box: Callable[..., Toolbox]) -> None:
    """What a page has smuggled into a task does not multiply."""
    tools = box()
    key = add(tools).data["job"]["id"]
    of_a_job = tools.for_caller(Caller(agent="ada", user="uma", session=f"agent:ada:cron:{key}"))

    assert outcome(schedule(of_a_job, every_seconds=90, message="x")) == ("denied", "made_by_a_job")
    assert outcome(add(of_a_job)) == ("denied", "made_by_a_job")
    for action in ({"action": "update", "patch": {"name": "x"}}, {"action": "run", "runMode": "force"}):
        assert outcome(of_a_job.call("cron", {**action, "jobId": key})) == ("denied", "made_by_a_job")


@each_row(
    "job, expected",
    [
        pytest.param({"deliver": True}, ("ok", None), id="the own chat"),
        pytest.param({"deliver": True, "channel": "chat", "to": "42"}, ("ok", None), id="the own chat by name"),
        pytest.param({"deliver": True, "to": "43"}, ("denied", "delivery_not_allowed"), id="another chat"),
        pytest.param(
            {"deliver": True, "channel": "mail", "to": "a@example.org"}, ("ok", None), id="as the policy says"
        ),
        pytest.param(
            {"deliver": True, "channel": "mail", "to": "a@example.com"}, ("denied", "delivery_not_allowed"), id="not so"
        ),
        pytest.param({"agentId": "ada"}, ("ok", None), id="the own agent"),
        pytest.param({"agentId": "bob"}, ("ok", None), id="an agent of the policy"),
        pytest.param({"agentId": "eve"}, ("denied", "other_agent"), id="another agent"),
        pytest.param({"name": " "}, ("error", "invalid_job"), id="no name"),
        pytest.param({"name": "a\nb"}, ("error", "invalid_job"), id="a name of two lines"),
        pytest.param({"schedule": {"kind": "at"}}, ("error", "invalid_job"), id="no time"),
        pytest.param({"schedule": {"kind": "at", "atMs": 1}}, ("error", "time_passed"), id="a time that has passed"),
        pytest.param({"schedule": {"kind": "every", "everyMs": 1}}, ("error", "too_frequent"), id="too often"),
        pytest.param(
            {"schedule": {"kind": "cron", "expr": "0 9 * * *", "tz": "Mars/Base"}}, ("error", "unknown_zone"), id="Mars"
        ),
        pytest.param({"schedule": {"kind": "cron", "expr": "0 9"}}, ("error", "invalid_cron"), id="two fields"),
        pytest.param({"schedule": {"kind": "cron", "expr": "0 0 30 2 *"}}, ("error", "never_due"), id="no such day"),
        pytest.param(
            {"schedule": {"kind": "at", "atMs": 29_348_006_400_000}}, ("error", "time_too_far"), id="far ahead"
        ),
        pytest.param({"schedule": {"kind": "sometimes"}}, ("error", "invalid_arguments"), id="another kind"),
    ],
)
def test_what_cron_adds(box: Callable[..., Toolbox], job: dict[str, Any], expected: tuple[str, str | None]) -> None:
    assert outcome(add(box(), **job)) == expected


def test_outside_a_chat_there_is_nobody_to_deliver_to(box: Callable[..., Toolbox]) -> None:
    alone = box().for_caller(Caller(agent="ada", user="uma"))

    assert outcome(add(alone, deliver=True)) == ("error", "invalid_job")


def test_a_job_is_changed_as_it_could_have_been_made(box: Callable[..., Toolbox]) -> None:
    tools = box()
    key = add(tools).data["job"]["id"]

    def update(**patch: Any) -> ToolResult:
        return tools.call("cron", {"action": "update", "id": key, "patch": patch})

    changed = update(name="tea", message="Make tea.", schedule={"kind": "every", "everyMs": 60_000}).data["job"]
    assert (changed["name"], changed["text"], changed["when"]) == ("tea", "Make tea.", "every 60 s")
    assert update(disabled=True).data["job"]["next"] is None
    assert tools.call("cron", {"action": "list"}).data["count"] == 0
    assert tools.call("cron", {"action": "list", "includeDisabled": True}).data["count"] == 1
    assert update(disabled=False, deleteAfterRun=True, agentId="bob").data["job"]["agent"] == "bob"
    assert outcome(update(agentId="eve")) == ("denied", "other_agent")
    assert outcome(update(deliver=True, to="43")) == ("denied", "delivery_not_allowed")
    assert outcome(update(message="x" * 4001)) == ("error", "invalid_job")
    assert outcome(tools.call("cron", {"action": "update", "jobId": key})) == ("error", "invalid_job")
    assert outcome(tools.call("cron", {"action": "add"})) == ("error", "invalid_job")


def test_a_job_is_started_by_hand(box: Callable[..., Toolbox]) -> None:
    """By force only before its time, and not while it runs."""
    tools = box()
    key = add(tools, schedule={"kind": "at", "atMs": int(time.time() * 1000) + 10**8}).data["job"]["id"]

    assert tools.call("cron", {"action": "run", "jobId": key}).data == {"ran": False, "jobId": key, "reason": "not-due"}
    assert tools.call("cron", {"action": "run", "jobId": key, "runMode": "force"}).data == {"ran": True, "jobId": key}
    assert outcome(tools.call("cron", {"action": "run", "jobId": key, "runMode": "force"})) == ("error", "is_running")
    runs = tools.call("cron", {"action": "runs", "jobId": key}).data
    assert ([entry["state"] for entry in runs["entries"]], runs["total"]) == (["waiting"], 1)
    assert tools.call("cron", {"action": "status"}).data["running"] == 1
    assert tools.call("cron", {"action": "remove", "jobId": key}).data == {"deleted": True, "jobId": key}
    assert outcome(tools.call("cron", {"action": "runs", "jobId": key})) == ("error", "unknown_job")


def test_the_model_is_shown_what_its_profile_allows(box: Callable[..., Toolbox]) -> None:
    tools = box(cron={"allowed_actions": ["list"]})

    assert tools["cron"].parameters["properties"]["action"]["enum"] == ["list"]
    assert outcome(tools.call("cron", {"action": "add"})) == ("denied", "action_not_allowed")


def test_a_zone_of_the_policy_must_be_one(box: Callable[..., Toolbox]) -> None:
    with pytest.raises(Exception, match="Did you mean 'Europe/Berlin'"):
        box(cron={"timezone": "Europe/Berln"})
