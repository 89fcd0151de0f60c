"""Servers that are registered in the store while a session lasts, and the grants that open them."""

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from toolcharter import (
    MCP_RECORDS,
    Caller,
    LiveToolbox,
    McpAgentGrant,
    McpServerRecord,
    McpToolsRecord,
    McpUserGrant,
    Store,
    StoreUnavailable,
    open_live,
    open_store,
)
from toolcharter_mcp_bridge import registered
from toolcharter_mcp_bridge.bridge import Bridge
from toolcharter_mcp_bridge.registered import Registered

from .bridge_setup import BridgeSetup, wait_until

pytestmark = pytest.mark.slow
BOT, EVE = Caller(agent="bot"), Caller(agent="other", user="eve")


class Managed:
    """A session whose profile takes registered servers, and the store that holds them."""

    def __init__(self, world: BridgeSetup, live: LiveToolbox, store: Store) -> None:
        self.world, self.live, self.store = world, live, store

    def register(self, name: str = "raw", **more: Any) -> None:
        fields = {"name": name, "transport": "stdio", **self.world.raw, **more}
        self.store.put(McpServerRecord(**{**fields, "args": tuple(fields["args"])}))

    def call(self, tool: str, caller: Caller = BOT, server: str = "raw") -> Any:
        return self.live.current.for_caller(caller).call(f"mcp__{server}__{tool}", {"text": "x"})

    def wait_until(self, tool: str, expected: str, caller: Caller = BOT) -> None:
        """Wait until a call ends so, with a reason or well."""
        wait_until(lambda: (self.call(tool, caller).reason or "ok") == expected)


@pytest.fixture
def managed(world: BridgeSetup, monkeypatch: pytest.MonkeyPatch) -> Iterator[Managed]:
    key = "ab" * 32
    monkeypatch.setenv("TOOLCHARTER_STORE_KEY", key)
    folder = world.folder / "kept"
    folder.mkdir(mode=0o700)
    url = f"sqlite://{folder / 'store.db'}"
    path = world.profile({}, registered=True, mark_output=False)
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), "store": url}))
    with (
        open_store(url) as handle,
        open_live(path, workspace=world.workspace, events=[world.events.append], approver=world.approve) as live,
    ):
        yield Managed(world, live, handle.bound("", MCP_RECORDS))


def test_a_server_comes_and_is_open_to_those_with_a_grant(managed: Managed) -> None:
    """From within a second after it is registered, or granted, until it is taken back."""
    managed.world.orders("echo", "other")
    assert managed.call("echo").reason == "unknown_tool"
    managed.register()
    managed.wait_until("echo", "server_not_accessible")

    managed.store.put(McpAgentGrant(server="raw", agent="bot"))
    managed.wait_until("echo", "ok")
    assert managed.call("echo", EVE).reason == "server_not_accessible"
    managed.store.put(McpUserGrant(server="raw", user="eve", tool_deny=("mcp__raw__other",)))
    managed.wait_until("echo", "ok", EVE)
    assert managed.call("other", EVE).reason == "tool_in_deny_list"
    assert managed.call("other").outcome == "ok"
    managed.store.delete(McpAgentGrant, "raw", "bot")
    managed.wait_until("echo", "server_not_accessible")
    managed.store.delete(McpServerRecord, "raw")
    managed.wait_until("echo", "unknown_tool", EVE)


def test_both_grants_filter(managed: Managed) -> None:
    """Where an agent and its user have one each, only what both let through; names are exact, in either form."""
    managed.world.orders("list", "list_all", "open")
    managed.register()
    both = Caller(agent="bot", user="eve")
    managed.store.put(McpAgentGrant(server="raw", agent="bot", tool_allow=("list", "mcp__raw__open")))
    managed.store.put(McpUserGrant(server="raw", user="eve", tool_allow=("list", "list_all")))
    managed.wait_until("list", "ok", both)

    assert managed.call("open", both).reason == "tool_not_in_allow_list"
    assert managed.call("list_all", both).reason == "tool_not_in_allow_list"
    assert managed.call("open").outcome == "ok"
    assert managed.call("list_all", Caller(user="eve")).outcome == "ok"
    managed.store.put(McpAgentGrant(server="raw", agent="bot", tool_allow=()))
    managed.wait_until("list", "tool_not_in_allow_list", both)
    managed.store.put(McpUserGrant(server="raw", user="eve", enabled=False))
    managed.store.put(McpAgentGrant(server="raw", agent="bot", enabled=False))
    managed.wait_until("list", "server_not_accessible", both)


def test_a_change_of_the_server_starts_it_anew(managed: Managed) -> None:
    """With its new values, which are masked wherever they appear; what it was is asked about again."""
    managed.world.orders("environment", "echo")
    value = f"kept-{id(managed)}-store"
    managed.register(env={"WHERE": "one"})
    managed.store.put(McpAgentGrant(server="raw", agent="bot"))
    managed.wait_until("echo", "ok")

    managed.register(env={"WHERE": value, "ANEW": "yes"})
    answers = []

    def is_anew() -> bool:
        """Until the server is there again, a call may be refused."""
        answers.append(managed.call("environment"))
        return answers[-1].outcome == "ok" and "ANEW" in answers[-1].text

    wait_until(is_anew)
    assert "WHERE" in answers[-1].text
    assert not any(value in answer.text for answer in answers)
    assert value not in str(managed.world.events)


def test_a_server_of_the_profile_keeps_its_name(world: BridgeSetup, managed: Managed) -> None:
    """A registered one of the same name is left out; the profile's needs no grant."""
    world.orders("echo")
    url_line = yaml.safe_load((world.folder / "bridged.yaml").read_text())["store"]
    own = world.profile({"raw": world.raw}, registered=True, mark_output=False)
    own.write_text(yaml.safe_dump({**yaml.safe_load(own.read_text()), "store": url_line}))
    managed.register(args=("-c", "raise SystemExit"))
    with open_live(own, workspace=world.workspace, events=[world.events.append], approver=world.approve) as live:
        live.settle()
        assert live.current.for_caller(EVE).call("mcp__raw__echo", {"text": "x"}).outcome == "ok"


def test_what_a_server_has_is_kept_for_those_who_grant(managed: Managed) -> None:
    """By its own and by full names, also those that no name of ours can have."""
    managed.world.orders("echo", "söndag")
    managed.register()
    wait_until(lambda: managed.store.get(McpToolsRecord, "raw"))

    kept = managed.store.get(McpToolsRecord, "raw")
    assert kept is not None
    assert kept.record.names == ("echo", "söndag")
    assert kept.record.full_names == ("mcp__raw__echo", "mcp__raw__s_ndag")


def test_a_shorter_time_for_one_agent(managed: Managed) -> None:
    """`config_overrides` narrow what the server has."""
    managed.world.orders("sleep")
    managed.register()
    managed.store.put(McpAgentGrant(server="raw", agent="bot", config_overrides={"timeout_s": 0.3}))

    managed.wait_until("sleep", "timed_out")


def test_a_search_finds_what_is_open(world: BridgeSetup, managed: Managed) -> None:
    """The description of a tool that no grant opens is not shown."""
    world.orders(*({"name": f"thing_{number}"} for number in range(45)))
    managed.register()
    managed.store.put(McpAgentGrant(server="raw", agent="bot", tool_allow=("thing_1",)))
    wait_until(lambda: "mcp_search" in managed.live.current)

    def found(caller: Caller) -> Any:
        return managed.live.current.for_caller(caller).call("mcp_search", {"query": "thing"}).data

    assert found(BOT) == {"tools": ["mcp__raw__thing_1"]}
    assert found(EVE) == {"tools": []}


class Away:
    """A store that is away after the first look."""

    def __init__(self, store: Store) -> None:
        self._store, self.is_away = store, False

    def __getattr__(self, name: str) -> Any:
        if self.is_away:
            raise StoreUnavailable("It is away.")
        return getattr(self._store, name)


def test_grants_that_cannot_be_read_open_nothing(managed: Managed) -> None:
    """What was known before is not believed beyond a second; nothing that failed is remembered."""
    managed.world.orders("echo")
    managed.register()
    managed.store.put(McpAgentGrant(server="raw", agent="bot"))
    managed.wait_until("echo", "ok")
    bridge = next(iter(_bridges()))
    away = Away(bridge._registered._store)
    bridge._registered = Registered(away)
    away.is_away = True

    assert managed.call("echo").reason == "store_unavailable"
    away.is_away = False
    managed.wait_until("echo", "ok")


def test_an_answer_that_opens_nothing_is_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A grant that comes later holds at once, even where the store would not be asked for changes again."""
    monkeypatch.setenv("TOOLCHARTER_STORE_KEY", "ab" * 32)
    monkeypatch.setattr(registered, "REFRESH_S", 3600.0)
    with open_store(f"sqlite://{tmp_path / 'store.db'}") as handle:
        store = handle.bound("", MCP_RECORDS)
        known = Registered(store)
        said = [known.refusal_for("raw", ("echo",), BOT)]
        store.put(McpServerRecord(name="raw", transport="stdio", command="x"))
        said.append(known.refusal_for("raw", ("echo",), BOT))
        store.put(McpAgentGrant(server="raw", agent="bot"))
        said.append(known.refusal_for("raw", ("echo",), BOT))

    assert said == ["server_not_accessible", "server_not_accessible", None]


def _bridges() -> list[Any]:
    """Those of the sessions that are open: a session does not hand out its own."""
    return [found for found in gc.get_objects() if isinstance(found, Bridge) and found._registered and found._loop]


@pytest.mark.parametrize(
    "fields",
    [
        {"transport": "stdio", "url": "https://a.example/"},
        {"transport": "sse", "command": "x"},
        {"transport": "stdio", "command": "../x"},
    ],
)
def test_a_record_that_is_no_server_is_left_out(managed: Managed, fields: dict[str, Any]) -> None:
    """And told; the others are there."""
    managed.world.orders("echo")
    managed.store.put(McpServerRecord(name="bad", **fields))
    managed.register()
    managed.store.put(McpAgentGrant(server="raw", agent="bot"))

    managed.wait_until("echo", "ok")
    assert not [name for name in managed.live.current if name.startswith("mcp__bad")]
