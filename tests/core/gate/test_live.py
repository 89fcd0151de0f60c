"""`LiveToolbox`: what a reload changes, what it leaves, and who is told."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import pytest

from toolcharter import (
    ConfigurationError,
    DiscovererPolicy,
    Discovery,
    ExtensionSpec,
    Fault,
    LiveToolbox,
    ProfileView,
    Toolbox,
    ToolboxClosed,
    ToolPolicy,
    ToolSpec,
    open_live,
)
from toolcharter.api.call import Caller
from toolcharter.gate import live as live_module
from toolcharter.gate.build.open import Plan, open_state
from toolcharter.gate.build.plan import refresh_discovered
from toolcharter.loader.hooks import new_manager
from toolcharter.loader.load import LoadedExtension, LoadedPlugins, LoadedTool
from toolcharter.profile.model import Profile
from toolcharter.profile.rules import parse_rule
from toolcharter.profile.settings import Repeats, SessionGuards


def found_tool(name: str, code: str = "1", **facts: Any) -> ToolSpec[ToolPolicy]:
    """A tool as a discoverer finds it, which answers its code."""
    return ToolSpec(
        name,
        ToolPolicy,
        lambda *_: lambda: code,
        kind="cli",
        parameters={"type": "object", "properties": {}},
        fingerprint=code,
        **facts,
    )


class World:
    """What a discoverer finds at present, and a session in which it is asked."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.found: tuple[ToolSpec[Any], ...] = ()
        self.failure: Exception | None = None
        self.events: list[dict[str, Any]] = []
        self.asked: list[str] = []
        self.closed: list[str] = []
        self._stack = stack

    def discover(self, _profile: ProfileView, _workspace: Path | None, _: object) -> Discovery:
        if self.failure is not None:
            raise self.failure
        return Discovery(found=self.found, folders=("/tools",))

    def plan(self, *specs: ToolSpec[Any], extend: bool = True, **settings: Any) -> Plan:
        policy = DiscovererPolicy(extend=extend)
        extension = LoadedExtension(
            ExtensionSpec("finder", DiscovererPolicy, lambda *_: object()),
            "toolcharter-finder",
            "1",
            "f",
            self.discover,
        )
        tools = {spec.name: LoadedTool(spec, "toolcharter-test", "1") for spec in specs}
        loaded = LoadedPlugins(tools, {"finder": extension}, {}, {}, new_manager(), (), {})
        profile = Profile("test", allow=(parse_rule("cli:*"),), **settings)
        plan = Plan(profile, loaded, {spec.name: ToolPolicy() for spec in specs}, {"finder": policy})
        return refresh_discovered(plan, self.folder, ())

    def open(self, *specs: ToolSpec[Any], extend: bool = True, **settings: Any) -> LiveToolbox:
        def approve(request: Any) -> Any:
            self.asked.append(request.tool)
            return "allow_once"

        plan = self.plan(*specs, extend=extend, **settings)
        plan, ground = open_state(plan, self.folder, [self.events.append], approve)
        return self._stack.enter_context(LiveToolbox(plan, ground, Caller(session="s")))

    def with_runtime(self, make: Callable[[Any], Callable[..., Any]]) -> ToolSpec[ToolPolicy]:
        """A tool of a plugin, built by *make* from the runtime and named like it."""

        def build(_workspace: Path, _policy: ToolPolicy, rt: Any) -> Callable[..., Any]:
            rt.on_close(lambda: self.closed.append(make.__name__))
            return make(rt)

        return ToolSpec(make.__name__, ToolPolicy, build)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(tmp_path.resolve(), stack)


def test_a_reload_makes_another_toolbox(world: World) -> None:
    """The old one stays as it is, and the new one has what was found; events tell them apart by the digest."""
    world.found = (found_tool("a"),)
    live = world.open()
    old = live.current
    world.found = (found_tool("b"), found_tool("a"))

    found = live.reload()

    assert (found.tools, found.new, found.gone, found.folders) == (("a", "b"), ("b",), (), ("/tools",))
    assert ([*old], [*live.current]) == (["a"], ["b", "a"])
    assert (old.call("b", {}).reason, live.call("b", {}).text, old.call("a", {}).text) == ("unknown_tool", "1", "1")
    assert old.digest != live.current.digest
    after = [event for event in world.events if event["event"] == "hook.tool.after"]
    assert [event["profile_digest"] for event in after] == [old.digest, live.current.digest, old.digest]


def test_nothing_new_leaves_the_toolbox(world: World) -> None:
    """Without a change nobody is told anything."""
    world.found = (found_tool("a"),)
    live, told = world.open(), list[Toolbox]()
    live.subscribe(told.append)
    before = live.current

    found = live.reload()

    assert (found.new, live.current is before, told) == ((), True, [])


def test_subscribers_are_told(world: World) -> None:
    """Each host gets the new toolbox, also behind one that fails; one that has left does not."""
    live, told, gone = world.open(), list[Toolbox](), list[Toolbox]()

    def fail(_toolbox: Toolbox) -> None:
        raise ValueError("no")

    live.subscribe(fail)
    live.subscribe(told.append)
    leave = live.subscribe(gone.append)
    leave()
    leave()
    world.found = (found_tool("a"),)

    found = live.reload()

    assert (told, gone) == ([live.current], [])
    assert found.notes == ("A host could not take over the new tools: ValueError.",)


@pytest.mark.parametrize(
    "failure", [ConfigurationError([Fault("p.yaml:1:1", "", "no.")]), ValueError("broken")], ids=["fault", "raised"]
)
def test_failed_reload_changes_nothing(world: World, failure: Exception) -> None:
    """The session goes on with the tools that it has."""
    world.found = (found_tool("a"),)

    def again(rt: Any) -> Callable[[], str]:
        return lambda: str(rt.reload())

    live = world.open(world.with_runtime(again))
    before, world.failure = live.current, failure

    with pytest.raises(ConfigurationError):
        live.reload()
    result = live.call("again", {})

    assert (live.current is before, live.call("a", {}).text) == (True, "1")
    assert (result.outcome, result.reason) == ("error", "tool_error")
    assert result.text.startswith("ERROR: The reload failed, and no tool has changed: ")


def test_tool_that_cannot_be_built_changes_nothing(world: World) -> None:
    """What is wrong shows when tools are built, too."""
    live = world.open()
    before = live.current
    world.found = (ToolSpec("a", ToolPolicy, lambda *_: 5, kind="cli", fingerprint="1"),)  # type: ignore[arg-type]

    with pytest.raises(ConfigurationError):
        live.reload()

    assert (live.current is before, live.reload is not None) == (True, True)


def test_tools_of_plugins_keep_what_they_hold(world: World) -> None:
    """They are built once, close with the session, and reach the tools that are there when they call."""

    def keeper(rt: Any) -> Callable[[str], str]:
        seen: list[str] = []

        def tool(name: str) -> str:
            seen.append(rt.call(name, {}).text)
            return ",".join(seen)

        return tool

    world.found = (found_tool("a"),)
    live = world.open(world.with_runtime(keeper))
    live.call("keeper", {"name": "a"})
    world.found = (found_tool("b", "2"),)
    live.reload()
    live.reload()

    assert (live.call("keeper", {"name": "b"}).text, world.closed) == ("1,2", [])
    live.close()
    assert world.closed == ["keeper"]


def test_what_guards_remember_outlives_a_reload(world: World) -> None:
    """A reload is no way around the limit of repeated calls, also for tools that come with it."""
    world.found = (found_tool("a"),)
    live = world.open(session_guards=SessionGuards(repeated_calls=Repeats(deny=3)))
    live.call("a", {})
    world.found = (found_tool("a"), found_tool("b"))
    live.reload()

    assert [live.call("a", {}).reason, live.call("a", {}).reason, live.call("b", {}).reason] == [
        None,
        "repeated_call",
        None,
    ]


def test_changed_tool_asks_at_each_call(world: World) -> None:
    """A rule allowed the code that was there when the session began; the old code needs nobody again."""
    world.found = (found_tool("a", "1"), found_tool("b", "1"))
    live = world.open()
    world.found = (found_tool("a", "2"), found_tool("b", "1"))
    assert live.reload().changed == ("a",)
    decision = live.current.decide("a", {})
    texts = [live.call(name, {}).text for name in ("a", "b", "a")]
    world.found = ()
    assert live.reload().gone == ("a", "b")
    world.found = (found_tool("a", "3"),)
    assert live.reload().changed == ("a",)
    assert live.call("a", {}).text == "3"
    world.found = (found_tool("a", "1"),)
    assert live.reload().changed == ()
    assert live.call("a", {}).text == "1"

    assert (decision.outcome, decision.stage, decision.reason) == ("ask", "check", "precondition_failed")
    assert (texts, world.asked) == (["2", "1", "2"], ["a", "a", "a"])


@pytest.mark.parametrize("name", ["A", "a"])
def test_changed_tool_asks_under_each_case_of_its_name(world: World, name: str) -> None:
    """Rules name tools without case, so that other code under another case of the name is changed code."""
    world.found = (found_tool("a", "1"),)
    live = world.open()
    world.found = (found_tool(name, "2"),)

    assert live.reload().changed == (name,)
    assert live.call(name, {}).text == "2"
    assert world.asked == [name]


def test_tools_reload_only_where_the_profile_extends(world: World) -> None:
    """Without `extend` nothing that is found exists, and no tool can have it looked for."""

    def again(rt: Any) -> Callable[[], str]:
        return lambda: ",".join(rt.reload().new)

    world.found = (found_tool("a"),)
    closed, live = world.open(world.with_runtime(again), extend=False), world.open(world.with_runtime(again))
    world.found = (found_tool("a"), found_tool("b"))

    assert ([*closed.current], closed.call("again", {}).reason) == (["again"], "not_available")
    assert (live.call("again", {}).text, live.call("b", {}).text) == ("b", "1")


def test_the_toolbox_before_stays_for_the_turn(world: World) -> None:
    """It is closed with the reload behind the next one, unless a call is under way in it, which ends first."""
    entered, leave = threading.Event(), threading.Event()

    def wait() -> str:
        entered.set()
        leave.wait(60)
        return "done"

    slow = ToolSpec("slow", ToolPolicy, lambda *_: wait, kind="cli", fingerprint="1")
    boxes = list[Toolbox]()
    world.found = (slow,)
    live = world.open()
    texts = list[str]()
    thread = threading.Thread(target=lambda: texts.append(live.call("slow", {}).text))
    thread.start()
    entered.wait(60)
    for number in range(3):
        boxes.append(live.current)
        world.found = (found_tool(f"t{number}"),)
        live.reload()

    assert (boxes[0].is_busy, boxes[2].call("t1", {}).text) == (True, "1")
    with pytest.raises(ToolboxClosed):
        boxes[1].call("t0", {})
    leave.set()
    thread.join()
    assert texts == ["done"]


def test_call_goes_to_the_present_toolbox(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that finds its toolbox closed behind its back takes the next; after the end there is none."""
    world.found = (found_tool("a"),)
    live = world.open()
    old = live.current
    world.found = (found_tool("a", "2"), found_tool("b"))
    live.reload()
    new = live.current
    old.close()
    boxes = iter([old, new])
    monkeypatch.setattr(LiveToolbox, "_read_current", lambda _self: next(boxes))

    assert live.call("b", {}).text == "1"
    monkeypatch.undo()
    live.close()
    with pytest.raises(ToolboxClosed):
        live.call("b", {})
    with pytest.raises(ToolboxClosed):
        live.reload()


def test_close_tells_what_went_wrong(world: World) -> None:
    """Everything is closed, and all that was raised is told; in asynchronous code, too."""

    def careless(rt: Any) -> Callable[[], str]:
        def fail() -> None:
            raise ValueError("no")

        rt.on_close(fail)
        return lambda: "x"

    async def use() -> None:
        async with live:
            pass

    live = world.open(world.with_runtime(careless))

    with pytest.raises(ExceptionGroup) as caught:
        asyncio.run(use())

    assert [str(error) for error in caught.value.exceptions] == ["no"]
    assert world.closed == ["careless"]


def test_first_toolbox_that_cannot_be_built(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left open."""
    world.found = (ToolSpec("a", ToolPolicy, lambda *_: 5, kind="cli", fingerprint="1"),)  # type: ignore[arg-type]
    plan, ground = open_state(world.plan(), world.folder, [world.events.append])
    monkeypatch.setattr(live_module, "plan_for", lambda *_: nullcontext((plan, [], None)))
    monkeypatch.setattr(live_module, "open_state", lambda *_, **__: (plan, ground))

    with pytest.raises(ConfigurationError):
        open_live("p", workspace=world.folder)
    assert ground.calls.closed
