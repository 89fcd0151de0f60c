"""The tool `gateway`: a person agrees to each call, one tenant sees nothing of another, nothing secret is shown."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.core.guards.store.memory_engine import MemoryEngine

from toolcharter import ApprovalRequest, Caller, ToolResult, build_tools
from toolcharter.guards.store.handle import StoreHandle
from toolcharter_service.config import ConfigFile, ServiceConfig
from toolcharter_service.gateway import Control
from toolcharter_service.service import Service

ALL = ["status", "agents", "config_get", "reload", "restart", "stop"]
SECRET = "correct-horse-battery"


class Running(NamedTuple):
    """A service of two tenants, whom it asks, and what its process was told."""

    service: Service
    asked: list[ApprovalRequest]
    answers: list[str]
    told: list[str]

    def call(self, tenant: str = "acme", **args: Any) -> ToolResult:
        caller = Caller(agent="bot", tenant=tenant)
        return self.service.view(caller, tenant=tenant, agent="bot").call("gateway", args)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    profile = {
        "profile": "operator",
        "tools": {"gateway": {"allowed_actions": ALL}},
        "mode": "dangerous",
        "allow": ["gateway"],
    }
    (tmp_path / "operator.yaml").write_text(json.dumps(profile))
    agent = {"profile": str(tmp_path / "operator.yaml"), "workspace": str(tmp_path)}
    written = {
        "store": f"postgresql://me:{SECRET}@db.example/x",
        "events": [],
        "gateway_tenant": "acme",
        "tenants": {"acme": {"agents": {"bot": agent}}, "other": {"agents": {"bot": agent, "spy": agent}}},
    }
    service = Service(ConfigFile(ServiceConfig.from_profile(written)), stores=StoreHandle(MemoryEngine))
    asked, answers, told = list[ApprovalRequest](), ["allow_once"], list[str]()

    def approver(request: ApprovalRequest) -> Any:
        asked.append(request)
        return answers[0]

    service.approver = lambda _: approver
    service.control = Control(lambda: told.append("stop"), lambda: told.append("restart"))
    service.build()
    yield Running(service, asked, answers, told)
    service.close()


def test_a_person_agrees_to_each_call(running: Running) -> None:
    """Though the profile is as wide as it can be; who has agreed once is asked again, and "always" is not offered."""
    for action in [*ALL, "status"]:
        assert running.call(action=action).outcome == "ok", action

    assert [(one.action, one.reason, one.always) for one in running.asked] == [
        (action, "operates_service", False) for action in [*ALL, "status"]
    ]
    assert running.told == ["restart", "stop"]


def test_without_a_person_nothing_is_seen_or_done(running: Running) -> None:
    running.answers[:] = ["deny"]

    results = [running.call(action=action) for action in ALL]

    assert {(one.outcome, one.reason) for one in results} == {("denied", "approval_denied")}
    assert running.told == []


def test_a_tenant_sees_its_own_alone(running: Running) -> None:
    """Neither the agents nor the settings of the other one."""
    seen = [running.call(action=action).text for action in ("status", "agents", "config_get")]

    assert all("spy" not in text and "other" not in text for text in seen)
    assert [one["agent"] for one in running.call("other", action="agents").data["agents"]] == ["bot", "spy"]


@pytest.mark.parametrize("named", ["acme", None])
def test_who_is_not_named_ends_no_service_of_several_tenants(running: Running, named: str | None) -> None:
    """Denied before a person is asked, who could not know whose calls would end; what concerns the tenant alone passes."""
    running.service.config = running.service.config.model_copy(update={"gateway_tenant": named})

    refused = [running.call("other", action=action) for action in ("restart", "stop")]

    assert [(one.outcome, one.reason) for one in refused] == [("denied", "serves_other_tenants")] * 2
    assert (running.asked, running.told) == ([], [])
    assert running.call("other", action="reload").outcome == "ok"


def test_settings_are_shown_without_secrets(running: Running) -> None:
    found = running.call(action="config_get")

    assert (found.data["store"], found.data["listen"]["port"]) == ("***", running.service.config.listen.port)
    assert SECRET not in found.text
    assert running.call(action="config_get", path="listen.port").data == running.service.config.listen.port
    assert running.call(action="config_get", path="tenants.other").reason == "unknown_setting"


def test_what_the_policy_does_not_list_is_not_asked(running: Running, tmp_path: Path) -> None:
    """And where there is no service, there is nothing to ask about."""
    few = {"profile": "least", "tools": {"gateway": {"allowed_actions": ["status"]}}}
    (tmp_path / "least.yaml").write_text(json.dumps(few))
    asked: list[Any] = []
    with build_tools(tmp_path / "least.yaml", workspace=tmp_path, events=lambda _: None, approver=asked.append) as box:
        assert box.call("gateway", {"action": "stop"}).reason == "action_not_allowed"
        assert box.call("gateway", {"action": "status"}).reason == "not_available"
    running.service.control = None

    assert (asked, running.call(action="stop").reason, running.asked) == ([], "not_available", [])
