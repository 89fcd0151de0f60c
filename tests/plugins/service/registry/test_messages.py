"""What the registry tells a real nats-server: who registers over HTTP is heard on the subject."""

import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.core.guards.store.memory_engine import MemoryEngine
from tests.plugins.nats.servers import NatsServer, received
from tests.plugins.service.serving import configured, serving

from toolcharter import StoreHandle
from toolcharter_service.http.app import create_app
from toolcharter_service.service import Service

pytestmark = pytest.mark.slow
PROFILE = """
profile: told
description: Has what the registry holds.
runner: host
extensions: {registry: {extend: true}}
allow: ["custom:*"]
"""
STREAM = "toolcharter-acme-events"
SOON_S = 60.0


def told(server: NatsServer, subject: str) -> list[dict[str, Any]]:
    """The messages of a subject, as soon as there is one: what the sink waits with is written by a thread."""
    end = time.monotonic() + SOON_S
    while not (found := [body for name, body in received(server, STREAM) if name == subject]):
        assert time.monotonic() < end, f"nothing was published on {subject}"
        time.sleep(0.1)
    return found


def test_what_is_registered_and_discovered_is_published(tmp_path: Path) -> None:
    """`agi.tool.discovered` by the seed of the start, `agi.tool.created` by a request, each with the tool's name."""
    server = NatsServer(tmp_path / "nats")
    server.start()
    place = tmp_path / "service"
    place.mkdir()
    file = configured(place, {"bot": PROFILE}, events=[server.url])
    service = Service(file, stores=StoreHandle(MemoryEngine), dev=True)
    record: dict[str, Any] = {"id": "tool_hello", "name": "hello", "description": "Says hello.", "safety_level": "low"}
    record |= {"exec": {"type": "cmd", "cmd": "echo", "args": ["hello"]}}
    try:
        with serving(create_app(service)) as url, httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
            made = client.post("/api/v1/tools", json=record)
            discovered = told(server, "agi.tool.discovered.acme")
            [created] = told(server, "agi.tool.created.acme")
    finally:
        server.stop()

    assert made.status_code == 200, made.text
    assert (created["type"], created["payload"]["metadata"]["tool_id"]) == ("agi.tool.created", "tool_hello")
    assert "tool_http_get" in {body["payload"]["metadata"]["tool_id"] for body in discovered}
