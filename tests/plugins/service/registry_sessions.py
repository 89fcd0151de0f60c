"""A store in memory, and sessions whose extension `registry` reads it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.core.guards.store.memory_engine import MemoryEngine

from toolcharter import Caller, LiveToolbox, Store, open_live
from toolcharter.guards.store.handle import StoreHandle
from toolcharter_service.registry.rules import Actor, parse_record

NOW = "2026-01-01T00:00:00Z"
OPERATOR = Actor("ann")
TENANT = "acme"


def tool(tool_id: str = "t", actor: Actor = OPERATOR, **values: Any) -> Any:
    """A record as somebody registers it."""
    return parse_record({"id": tool_id, **values}, actor=actor, now=NOW)


@pytest.fixture
def store(engine: MemoryEngine) -> Iterator[Store]:
    """The registry of the tenant."""
    with StoreHandle(lambda: engine) as handle:
        yield handle.bound(TENANT, "toolcharter-service")


@pytest.fixture
def engine() -> MemoryEngine:
    return MemoryEngine()


OpenSession = Callable[..., LiveToolbox]


@pytest.fixture
def session(
    tmp_path: Path, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> OpenSession:
    """Opens a session on the host: `session(agent=..., policy={...}, **keys of the profile)`."""
    monkeypatch.setattr("toolcharter.loader.stores.open_engine", lambda *_, **__: engine)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def open_session(
        *, agent: str | None = None, policy: dict[str, Any] | None = None, approver: Any = None, **keys: Any
    ) -> LiveToolbox:
        profile = {
            "profile": "p",
            "runner": "host",
            "allow": ["custom:*"],
            "tools": {"read_file": {}, "write_file": {}},
            "extensions": {"registry": {"extend": True, **(policy or {})}},
            **keys,
        }
        file = tmp_path / "p.yaml"
        file.write_text(json.dumps(profile))
        (tmp_path / "ws").mkdir(exist_ok=True)
        live = open_live(
            file,
            workspace=tmp_path / "ws",
            caller=Caller(agent=agent, tenant=TENANT),
            events=lambda _: None,
            approver=approver,
        )
        request.addfinalizer(live.close)
        return live

    return open_session
