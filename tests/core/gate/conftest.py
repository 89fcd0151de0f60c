"""A toolbox from specs in this process: what the gate does, without installing a plugin."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from toolcharter import hookimpl
from toolcharter.api.call import Caller
from toolcharter.api.policy import ToolPolicy
from toolcharter.api.tool import ToolSpec
from toolcharter.gate.build.open import Plan, open_toolbox
from toolcharter.gate.toolbox import Toolbox
from toolcharter.loader.hooks import new_manager
from toolcharter.loader.load import LoadedPlugins, LoadedTool
from toolcharter.loader.openers import Opener
from toolcharter.loader.scan import InstalledPlugins
from toolcharter.profile.model import Events, Limits, Profile
from toolcharter.profile.rules import Rule, parse_rule
from toolcharter.profile.settings import Ceiling

MakeToolbox = Callable[..., Toolbox]


@pytest.fixture
def events() -> list[dict[str, Any]]:
    return []


def spec_of(function: Callable[..., Any], **facts: Any) -> ToolSpec[ToolPolicy]:
    """A tool whose function needs no runtime."""
    return ToolSpec(function.__name__, ToolPolicy, lambda _workspace, _policy, _rt: function, **facts)


def spec_with_runtime(make: Callable[[Any], Callable[..., Any]], **facts: Any) -> ToolSpec[ToolPolicy]:
    """A tool whose function *make* builds from the runtime; it is named as *make* is."""
    return ToolSpec(make.__name__, ToolPolicy, lambda _workspace, _policy, rt: make(rt), **facts)


def echo(word: str = "hi") -> str:
    """Say *word*."""
    return word


def act(action: str = "look", what: str = "") -> str:
    """Do *action*."""
    return f"{action} {what}"


ECHO = spec_of(echo, capabilities={"text"}, safety="low")
ACT = spec_of(act, capabilities={"look": {"fs:read"}, "push": {"fs:read", "net:write"}}, safety="medium")


def rules(texts: list[str | dict[str, Any]]) -> tuple[Rule, ...]:
    """Rules as a profile would write them, at made-up places."""
    long = [{"rule": text} if isinstance(text, str) else dict(text) for text in texts]
    return tuple(parse_rule(rule.pop("rule"), f"p.yaml:{line}:5", **rule) for line, rule in enumerate(long, 1))


@pytest.fixture
def make_toolbox(tmp_path: Path, events: list[dict[str, Any]]) -> Iterator[MakeToolbox]:
    made: list[Toolbox] = []

    def make(
        *specs: ToolSpec[Any],
        policies: dict[str, dict[str, Any]] | None = None,
        limits: Limits | None = None,
        tool_limits: dict[str, Limits] | None = None,
        event_settings: Events | None = None,
        checks: dict[str, Callable[..., Any]] | None = None,
        sinks: list[Any] | None = None,
        caller: Caller | None = None,
        approver: Any = None,
        ceilings: tuple[Ceiling, ...] = (),
        channels: dict[str, Opener] | None = None,
        stores: dict[str, Opener] | None = None,
        index: InstalledPlugins | None = None,
        strict: bool = False,
        **settings: Any,
    ) -> Toolbox:
        tools = {spec.name: LoadedTool(spec, "toolcharter-test", "1.0") for spec in specs}
        aliases = {alias: spec.name for spec in specs for alias in spec.aliases}
        manager = new_manager()
        for name, check in (checks or {}).items():
            manager.register(SimpleNamespace(check_call=hookimpl(check)), name)
        loaded = LoadedPlugins(
            tools, {}, aliases, {"toolcharter-test": "1.0"}, manager, (), {}, channels=channels or {}
        )
        loaded = loaded._replace(stores=stores or {})
        given = policies or {}
        written: dict[str, Any] = dict(settings)
        written |= {key: rules(settings[key]) for key in settings.keys() & {"deny", "ask", "allow"}}
        profile = Profile(
            "test",
            limits=limits or Limits(),
            tool_limits=tool_limits or {},
            events=event_settings or Events(),
            **written,
        )
        plan = Plan(
            profile,
            loaded,
            {spec.name: spec.policy.from_profile(given.get(spec.name, {})) for spec in specs},
            {},
            ceilings,
            tmp_path.resolve(),
            index=index,
            store_url="" if profile.store is None else profile.store.url,
        )
        toolbox = open_toolbox(
            plan,
            workspace=tmp_path,
            caller=caller,
            sinks=[events.append] if sinks is None else sinks,
            approver=approver,
            strict=strict,
        )
        made.append(toolbox)
        return toolbox

    yield make
    for toolbox in made:
        toolbox.close()
