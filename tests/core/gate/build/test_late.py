"""Late discovery: what the object of an extension finds once the toolbox is there, and how that is announced."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.core.guards.store.memory_engine import MemoryEngine
from tests.waiting import until

from toolcharter import (
    CORE_RECORDS,
    Denied,
    DiscovererPolicy,
    Discovery,
    DiscoveryRuntime,
    ExtensionSpec,
    LiveToolbox,
    NetworkPolicy,
    ProfileView,
    RecordKind,
    Scope,
    SecretRecord,
    StoreHandle,
    StoreRecord,
    StoreUnavailable,
    Toolbox,
    ToolPolicy,
    ToolSpec,
    hookimpl,
)
from toolcharter.api.call import Caller
from toolcharter.gate.build.late import ExtensionRuntime
from toolcharter.gate.build.open import open_state, open_toolbox
from toolcharter.gate.build.plan import Plan
from toolcharter.guards.secrets.text import scrub_text
from toolcharter.loader.hooks import new_manager
from toolcharter.loader.load import LoadedExtension, LoadedPlugins
from toolcharter.loader.openers import Opener
from toolcharter.profile.field_types import StoreUrl
from toolcharter.profile.model import Profile
from toolcharter.profile.rules import parse_rule


def server_tool(name: str, code: str = "1", **facts: Any) -> ToolSpec[ToolPolicy]:
    return ToolSpec(
        name,
        ToolPolicy,
        lambda *_: lambda: code,
        kind="mcp",
        parameters={"type": "object", "properties": {}},
        fingerprint=code,
        **facts,
    )


class Finder:
    """The object of an extension."""

    def __init__(self) -> None:
        self.found: tuple[ToolSpec[Any], ...] = ()
        self.wait_s = 0.0
        self.asks_itself = False
        self.runtimes: list[DiscoveryRuntime | None] = []
        self.asked = threading.Semaphore(0)

    @hookimpl
    def discover_tools(self, profile: ProfileView, rt: DiscoveryRuntime | None) -> Discovery:
        assert profile.name == "test"
        self.runtimes.append(rt)
        self.asked.release()
        return Discovery(found=self.found, wait_s=self.wait_s, asks_itself=self.asks_itself)


class Seen(StoreRecord):
    store_kind = RecordKind("seen", ("name",))

    name: str


class World:
    """A profile with one extension that finds tools of servers."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.finder = Finder()
        self.stack = stack
        self.engine = MemoryEngine()

    def plan(self, runner: str | None = None) -> Plan:
        spec = ExtensionSpec("finder", DiscovererPolicy, lambda *_: self.finder)
        extension = LoadedExtension(spec, "toolcharter-finder", "1", "f")
        stores = {"memory": Opener("toolcharter-memory 1", lambda _: self.engine)}
        loaded = LoadedPlugins({}, {"finder": extension}, {}, {}, new_manager(), (), {}, stores=stores)
        profile = Profile("test", allow=(parse_rule("mcp:files:*"),), runner=runner, store=StoreUrl("memory:"))
        return Plan(profile, loaded, {}, {"finder": DiscovererPolicy(extend=True)}, store_url="memory:")

    def open(self, *, framed: bool = True, runner: str | None = None) -> Toolbox:
        box = open_toolbox(self.plan(runner), workspace=self.folder, caller=None, sinks=(), framed=framed)
        return self.stack.enter_context(box)

    def live(self, caller: Caller | None = None) -> LiveToolbox:
        plan, base = open_state(self.plan(), self.folder, ())
        return self.stack.enter_context(LiveToolbox(plan, base, caller or Caller()))

    @property
    def runtime(self) -> DiscoveryRuntime:
        runtime = self.finder.runtimes[0]
        assert runtime is not None
        return runtime


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(tmp_path.resolve(), stack)


def test_a_toolbox_has_what_is_found_at_once(world: World) -> None:
    """Its tools are governed as those of any plugin, and are part of the digest."""
    without = world.open().digest
    world.finder.found = (server_tool("mcp__files__read", aliases=("reading",)), server_tool("mcp__other__read"))

    toolbox = world.open()

    assert [*toolbox] == ["mcp__files__read"]
    assert (toolbox.call("mcp__files__read", {}).text, toolbox.call("reading", {}).text) == ("1", "1")
    assert toolbox.call("mcp__other__read", {}).reason == "not_in_allow"
    assert toolbox.digest != without
    assert not world.runtime.is_live


def test_a_toolbox_waits_for_what_is_under_way(world: World) -> None:
    """It looks again with each announcement, until nothing more is to come."""
    finder = world.finder
    finder.wait_s = 60

    def go_on() -> None:
        finder.asked.acquire()
        finder.found, finder.wait_s = (server_tool("mcp__files__read"),), 0
        world.runtime.announce()

    thread = threading.Thread(target=go_on)
    thread.start()
    toolbox = world.open()
    thread.join()

    assert ([*toolbox], len(finder.runtimes)) == (["mcp__files__read"], 2)


def test_a_toolbox_does_not_wait_for_ever(world: World) -> None:
    """When the time is up it is built without what has not come."""
    world.finder.wait_s = 0.01

    assert [*world.open()] == []


def test_nothing_is_started_where_a_profile_is_tried(world: World) -> None:
    """Checks and cases get what is known without asking."""
    world.finder.found = (server_tool("mcp__files__read"),)

    toolbox = world.open(framed=False)

    assert ([*toolbox], world.finder.runtimes) == (["mcp__files__read"], [None])


def test_a_session_is_told_of_late_tools(world: World) -> None:
    """An announcement makes another toolbox, and hosts hear of it."""
    live = world.live()
    told: list[Toolbox] = []
    has_come = threading.Event()

    def tell(toolbox: Toolbox) -> None:
        told.append(toolbox)
        has_come.set()

    live.subscribe(tell)
    world.finder.found = (server_tool("mcp__files__read"),)

    world.runtime.announce()
    assert has_come.wait(60)

    assert ([*live.current], told) == (["mcp__files__read"], [live.current])
    assert world.runtime.is_live


def test_an_announcement_that_brings_nothing_usable_changes_nothing(world: World) -> None:
    """What a discoverer offers against the rules leaves the session as it was."""
    world.finder.found = (server_tool("mcp__files__read"),)
    live = world.live()
    before = live.current
    world.finder.asked.acquire()
    world.finder.found = (server_tool("mcp__files__read"), ToolSpec("b", ToolPolicy, lambda *_: lambda: ""))

    world.runtime.announce()
    assert world.finder.asked.acquire(timeout=60)

    assert live.call("mcp__files__read", {}).text == "1"
    assert live.current is before


@pytest.mark.parametrize(("asks_itself", "outcome"), [(True, "ok"), (False, "denied")])
def test_the_session_leaves_questions_to_a_discoverer_that_asks(
    world: World,
    asks_itself: bool,  # noqa: FBT001 - a parameter of the table
    outcome: str,
) -> None:
    """A tool whose code has changed needs a person, unless the extension's own check sees to that."""
    world.finder.asks_itself = asks_itself
    world.finder.found = (server_tool("mcp__files__read"),)
    live = world.live()
    world.finder.found = (server_tool("mcp__files__read", "2"),)

    reloaded = live.reload()

    assert reloaded.changed == (() if asks_itself else ("mcp__files__read",))
    assert live.call("mcp__files__read", {}).outcome == outcome


def test_announcements_before_anybody_listens_are_not_lost(world: World) -> None:
    """One that comes while the toolbox is being built is answered afterwards; several at once are answered once."""
    toolbox = world.open()
    assert isinstance(world.runtime, ExtensionRuntime)
    runtime = world.runtime.shared
    answered = threading.Semaphore(0)
    runtime.announce()
    runtime.announce()

    runtime.on_announcement(answered.release)

    assert answered.acquire(timeout=60)
    until(lambda: not runtime._is_callback_running)
    assert not runtime.wait(0)
    toolbox.close()
    runtime.announce()
    assert runtime.wait(0)


def test_programs_of_discoverers_run_on_the_runner(world: World) -> None:
    """With a clean environment; standard error is dropped, and nothing starts once the toolbox is closed."""
    toolbox = world.open(runner="host")
    script = "import os,sys; sys.stderr.write('noise'); print(sorted(os.environ)); print(sys.stdin.readline())"
    running = world.runtime.spawn([sys.executable, "-c", script], env={"GIVEN": "1"})
    running.write(b"hello\n")
    assert running.wait(60) == 0
    said = running.read(65536).decode()
    running.close()

    assert said.endswith("hello\n\n")
    assert "noise" not in said
    assert "'GIVEN'" in said
    assert "'USER'" not in said
    toolbox.close()
    with pytest.raises(Denied, match="closed"):
        world.runtime.spawn([sys.executable], env={})


def test_without_a_runner_nothing_starts(world: World) -> None:
    """A discoverer has no other way to programs than tools have."""
    world.open()

    with pytest.raises(Denied) as refused:
        world.runtime.spawn(["true"], env={})

    assert refused.value.reason == "sandbox_unavailable"


def test_secrets_of_discoverers_are_masked(world: World) -> None:
    """Values that a discoverer was given by reference appear nowhere."""
    world.open()
    value = "plain-words-of-nobody"

    world.runtime.keep_secret([value])

    assert value not in scrub_text(f"It said {value}.")[0]


def test_connections_are_judged(world: World, make_request: Callable[..., None]) -> None:
    """The network guard is between a discoverer and the world."""
    world.open()

    with pytest.raises(Denied) as refused:
        make_request(world.runtime.transport(NetworkPolicy()), "http://127.0.0.1:8080/")

    assert refused.value.reason == "private_address"


@pytest.fixture
def make_request() -> Callable[..., None]:
    import asyncio  # noqa: PLC0415 - for this fixture alone

    import httpx  # noqa: PLC0415 - as above

    def make(transport: httpx.AsyncBaseTransport, url: str) -> None:
        async def go() -> None:
            async with httpx.AsyncClient(transport=transport) as client:
                await client.get(url)

        asyncio.run(go())

    return make


def test_a_session_can_wait_for_what_is_under_way(world: World) -> None:
    """As a toolbox does that never changes; no longer than the discoverers say."""
    finder = world.finder
    finder.wait_s = 60
    live = world.live()
    finder.found, finder.wait_s = (server_tool("mcp__files__read"),), 0
    world.runtime.announce()

    live.settle()

    assert [*live.current] == ["mcp__files__read"]
    live.settle()
    finder.wait_s = 0.01
    live.reload()
    live.settle()
    assert [*live.current] == ["mcp__files__read"]


def test_records_of_an_extension_and_of_the_tenant_of_the_session(world: World) -> None:
    """A discoverer keeps them before any call, in one store for all reloads; closed with the session."""
    engine = world.engine
    StoreHandle(lambda: engine).bound("acme", CORE_RECORDS).put(SecretRecord(name="token", value="hush-" * 4))
    live = world.live(Caller(tenant="acme"))
    store = world.runtime.store

    store.put(Seen(name="one"))
    world.finder.found = (server_tool("mcp__files__read"),)
    assert live.reload().new == ("mcp__files__read",)
    store.put(Seen(name="two"))

    assert world.runtime.store.count(Seen) == 2
    assert engine.scopes == {Scope("acme", CORE_RECORDS), Scope("acme", "toolcharter-finder")}
    assert world.runtime.secret("secret:token") == "hush-" * 4
    with pytest.raises(StoreUnavailable, match="no secret 'other'"):
        world.runtime.secret("secret:other")
    live.close()
    assert engine.log[-1] == "close"
    with pytest.raises(StoreUnavailable, match="closed"):
        store.put(Seen(name="three"))
