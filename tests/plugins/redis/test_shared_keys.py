"""The keys that artificial_mind's HDN uses too: each reads what the other has written, on a real Redis."""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis
from tests.plugins.service.header_identity import HeaderAuthenticator, identity_headers
from tests.plugins.service.serving import configured, serving
from tests.plugins.stores.store_servers import REDIS, RedisServer, run_redis
from tests.waiting import until

from toolcharter import PluginError, Store, StoreUnavailable, open_store
from toolcharter_service.http.app import create_app
from toolcharter_service.registry.catalog import delete, find, read_catalog, register
from toolcharter_service.registry.rules import Actor, parse_record
from toolcharter_service.service import Service

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(REDIS is None, reason="redis-server is not installed: apt-get install redis-server"),
]
SERVICE = "toolcharter-service"
OPERATOR = Actor("ann")
NOW = "2026-01-01T00:00:00Z"
PROFILE = """
profile: shared
description: Tools that another program registers.
runner: host
extensions: {registry: {extend: true}}
tools: {read_file: {}}
allow: ["custom:*"]
"""


class Hdn:
    """Writes and reads as HDN does: `registerTool`, `deleteTool` and `listTools` of hdn/tools.go."""

    def __init__(self, url: str) -> None:
        self.client: Any = redis.Redis.from_url(url.removeprefix("redis:"))

    def register(self, tool: str, **values: Any) -> None:
        record = {
            "id": tool,
            "name": tool.upper(),
            "description": "Of HDN.",
            "input_schema": {"name": "string"},
            "output_schema": None,
            "permissions": None,
            "safety_level": "low",
            "created_by": "agent",
            "created_at": "2025-09-23T12:00:00.123456789Z",
        }
        self.client.set(f"tool:{tool}", json.dumps(record | values))
        self.client.sadd("tools:registry", tool)

    def delete(self, tool: str) -> None:
        self.client.delete(f"tool:{tool}")
        self.client.srem("tools:registry", tool)

    def listed(self) -> dict[str, dict[str, Any]]:
        """The tools by id, and no other than Go's `Tool` takes: maps of strings, lists of strings, a time."""
        found = {}
        for member in self.client.smembers("tools:registry"):
            tool = json.loads(self.client.get(b"tool:" + member))
            for name in ("input_schema", "output_schema"):
                assert all(isinstance(text, str) for text in (tool[name] or {}).values())
            assert all(isinstance(text, str) for text in tool["permissions"] or ())
            assert datetime.fromisoformat(tool["created_at"]).tzinfo is not None
            found[member.decode()] = tool
        return found


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with run_redis() as places:
        yield places


@pytest.fixture
def url(server: RedisServer) -> str:
    """An empty database, whose plain keys are the tools of `acme`."""
    return server.new(migrated=False) + "&plain=acme"


@pytest.fixture
def hdn(url: str) -> Hdn:
    return Hdn(url.removesuffix("&plain=acme"))


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with open_store(url) as handle:
        yield handle.bound("acme", SERVICE)


def ids(store: Store) -> list[str]:
    return [one.id for one in read_catalog(store).tools]


def test_tools_that_were_there_before_are_listed_and_can_be_changed_and_deleted(hdn: Hdn, store: Store) -> None:
    """They are of agents whose names nobody knows: an operator's to delete."""
    hdn.register("first", exec={"type": "image", "cmd": "", "args": None, "image": "alpine"})
    hdn.register("second")
    record = find(store, "second")
    assert record is not None
    assert ids(store) == ["first", "second"]

    changed = record.record.model_copy(update={"description": "Ours now."})
    register(store, changed, OPERATOR, NOW)
    delete(store, "first", OPERATOR, NOW)

    assert {name: tool["description"] for name, tool in hdn.listed().items()} == {"second": "Ours now."}
    assert not hdn.client.exists("tool:first")


def test_what_is_changed_later_is_a_change(hdn: Hdn, store: Store) -> None:
    """A tool that is new, runs something else, or is gone: who follows the changes hears of each, once."""
    hdn.register("kept")
    hdn.register("gone")
    seen = store.last_change()
    hdn.register("kept", exec={"type": "cmd", "cmd": "echo", "args": ["{name}"]})
    hdn.register("new")
    hdn.delete("gone")

    until(lambda: store.last_change() >= seen + 3)
    changes = {(one.key[0], one.deleted) for one in store.changes(seen)}

    assert changes == {("kept", False), ("new", False), ("gone", True)}
    assert ids(store) == ["kept", "new"]
    assert store.last_change() == seen + 3


def test_a_single_tool_is_found_before_anybody_has_looked(hdn: Hdn, store: Store) -> None:
    """So nobody registers over one that another program has registered a moment ago."""
    assert find(store, "fresh") is None
    hdn.register("fresh")
    assert find(store, "fresh") is not None
    hdn.delete("fresh")
    assert find(store, "fresh") is None


def test_what_cannot_be_read_is_skipped_and_told(hdn: Hdn, store: Store) -> None:
    """No JSON, none of its own name, no text, a list, nothing at all, a tool that is none; the others are there."""
    hdn.register("good")
    hdn.register("odd", safety_level="unheard of")
    hdn.client.set("tool:other", json.dumps({"id": "good"}))
    hdn.client.set("tool:half", '{"id": "half"')
    hdn.client.set("tool:bytes", b'{"id": "bytes", "name": "\xff"}')
    hdn.client.rpush("tool:list", "x")
    hdn.client.sadd("tools:registry", "other", "half", "bytes", "list", "absent", b"\xff\x00", "l" * 600)

    found = read_catalog(store)

    assert [one.id for one in found.tools] == ["good"]
    told = ("odd", "other", "half", "bytes", "list", "absent", "xff", "lll")
    assert [name for name in told if not any(name in note for note in found.notes)] == []
    assert len(found.notes) == len(told)
    hdn.client.srem("tools:registry", "absent", b"\xff\x00", "l" * 600)
    until(lambda: len(read_catalog(store).notes) == len(told) - 3)


def test_hdn_reads_what_this_side_writes(hdn: Hdn, store: Store) -> None:
    """In HDN's own fields and forms, in its set, and its usage lists."""
    values = {"id": "ours", "input_schema": {"path": "string"}, "permissions": ["fs:read"]}
    register(store, parse_record(values, actor=OPERATOR, now=NOW), OPERATOR, NOW)
    store.push("tools:bot:usage_history", {"ts": NOW, "type": "result", "tool": "ours"}, cap=200)
    hdn.client.lpush("tools:bot:usage_history", json.dumps({"ts": NOW, "type": "invoked", "tool": "theirs"}))

    assert hdn.listed()["ours"]["input_schema"] == {"path": "string"}
    assert [json.loads(one)["tool"] for one in hdn.client.lrange("tools:bot:usage_history", 0, -1)] == [
        "theirs",
        "ours",
    ]
    assert [one["tool"] for one in store.items("tools:bot:usage_history")] == ["theirs", "ours"]


def test_the_tenant_of_the_plain_keys_is_chosen_once(url: str, hdn: Hdn, store: Store) -> None:
    """Other tenants see nothing of them; another choice, later, is refused; none takes what was chosen."""
    hdn.register("theirs")
    assert ids(store) == ["theirs"]
    plain = url.removesuffix("&plain=acme")
    with open_store(plain) as handle:
        assert ids(handle.bound("acme", SERVICE)) == ["theirs"]
        assert ids(handle.bound("umbrella", SERVICE)) == []
        assert ids(handle.bound("", SERVICE)) == []
    with open_store(plain + "&plain=umbrella") as handle, pytest.raises(StoreUnavailable, match="plain=umbrella"):
        handle.bound("umbrella", SERVICE).last_change()
    with pytest.raises(PluginError, match="plain=TENANT"):
        open_store(plain + "&plain=a:b")


def test_an_archive_holds_what_the_other_program_has_registered(url: str, hdn: Hdn, server: RedisServer) -> None:
    """And a restore writes it under the same keys."""
    hdn.register("theirs")
    other = server.new(migrated=False)
    with open_store(url) as source, open_store(other + "&plain=acme") as target:
        source.engine.require_current()
        target.engine.replace_all(source.engine.export())
        assert ids(target.bound("acme", SERVICE)) == ["theirs"]
    assert list(Hdn(other).listed()) == ["theirs"]


def test_a_running_service_lists_and_calls_what_hdn_registers(
    tmp_path: Path, url: str, hdn: Hdn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within about a second, without anybody telling it; what cannot be read is in the way of nothing."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    hdn.register("half")
    hdn.client.set("tool:half", "{")
    hdn.client.set("tool:tool_ls", "{")
    hdn.client.sadd("tools:registry", "tool_ls")
    with open_store(url) as stores:
        service = Service(configured(tmp_path, {"bot": PROFILE}), stores=stores)
        with (
            serving(create_app(service, auth=HeaderAuthenticator())) as address,
            httpx.Client(base_url=address, timeout=60) as client,
        ):
            client.headers.update(identity_headers("ann", "operator,caller,viewer"))

            def listed() -> list[str]:
                return [one["id"] for one in client.get("/api/v1/tools").json()["tools"]]

            assert "half" not in listed()
            assert "tool_http_get" in listed()
            hdn.register("greet", exec={"type": "cmd", "cmd": "echo", "args": ["hello", "{name}"]})
            until(lambda: "greet" in listed())

            def greeted() -> httpx.Response:
                return client.post("/api/v1/tools/greet/invoke", json={"name": "bob"}, headers={"X-Agent-ID": "bot"})

            until(lambda: greeted().status_code == 200)
            assert greeted().json() == {"output": "hello bob\n"}
            hdn.client.lpush("tools:global:usage_history", json.dumps("no object"))
            assert client.get("/api/tools/usage").status_code == 200
            assert "greet" in {one["id"] for one in client.get("/api/tools").json()["tools"]}
            hdn.delete("greet")
            until(lambda: greeted().status_code == 404)
