"""`toolbox_of`: makes a toolbox from specs in this process, without installing their distribution."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from toolcharter.api.call import Caller
from toolcharter.api.tool import ToolSpec
from toolcharter.events.sinks import SinkLike
from toolcharter.gate.build.open import Plan, open_toolbox
from toolcharter.gate.runners import Opener
from toolcharter.gate.toolbox import Toolbox
from toolcharter.loader.hooks import new_manager
from toolcharter.loader.load import LoadedPlugins, LoadedTool
from toolcharter.profile.model import Limits, Profile

IN_MEMORY = "in-memory"
"""The name of a profile that is not read from a file."""
_TESTED = "tested"
"""The name of a runner that a test opens itself."""
VERSION = "0"
"""Replaces the version of a distribution that is not installed."""


def toolbox_of(
    *specs: ToolSpec[Any],
    workspace: str | Path,
    policies: Mapping[str, Mapping[str, Any]] | None = None,
    events: SinkLike | Iterable[SinkLike] = (),
    caller: Caller | None = None,
    limits: Limits | None = None,
    profile: str = IN_MEMORY,
    runner: str | Opener | None = None,
) -> Toolbox:
    """Build a strict toolbox of *specs*; its calls pass through the whole gate.

    In a strict toolbox, a call raises `ContractBroken` for a reason that the spec does not declare, for
    `data` that does not fit the output schema, and for a staged body that succeeds without calling its
    mark; and `rt.start` works outside a gated call.

    Args:
        specs: The tools, as `register_tools` returns them.
        workspace: The folder that they may touch.
        policies: By tool, as in a profile's `tools`; the default is `{}`.
        events: As for `build_tools`, but by default no events are written.
        caller: The caller of each call.
        limits: The limits of every call.
        profile: The profile's name in events and in the summary of reasons.
        runner: `host`, or a function that opens another runner. As in a profile, unbounded tools run no programs
            without one.

    Raises:
        pydantic.ValidationError: A policy does not fit its tool.
        ConfigurationError: A tool cannot be built.
    """
    plan = plan_of(specs, policies or {}, limits or Limits(), profile, runner)
    sinks = [events] if isinstance(events, str) or not isinstance(events, Iterable) else events
    return open_toolbox(plan, workspace=workspace, caller=caller, sinks=sinks, strict=True)


def plan_of(
    specs: Iterable[ToolSpec[Any]],
    policies: Mapping[str, Mapping[str, Any]],
    limits: Limits,
    profile: str,
    runner: str | Opener | None = None,
) -> Plan:
    """Return the plan that `plan_profile` would make of *specs* if they were installed."""
    tools = {spec.name: LoadedTool(spec, distribution_of(spec), VERSION) for spec in specs}
    given = {name: dict(policies.get(name, {})) for name in tools}
    strangers = sorted(set(policies) - set(tools))
    if strangers:
        raise ValueError(f"policies are given for {strangers}, but the specs are {sorted(tools)}")
    loaded = LoadedPlugins(
        specs=tools,
        extension_specs={},
        aliases={alias: name for name, tool in tools.items() for alias in tool.spec.aliases},
        distributions=dict.fromkeys(sorted(tool.distribution for tool in tools.values()), VERSION),
        manager=new_manager(),
        checks=(),
        openers={},
        runners={} if runner is None or isinstance(runner, str) else {_TESTED: runner},
    )
    validated = {name: tool.spec.policy.from_profile(given[name]) for name, tool in tools.items()}
    name = runner if runner is None or isinstance(runner, str) else _TESTED
    return Plan(Profile(profile, tools=given, limits=limits, runner=name), loaded, validated, {})


def distribution_of(spec: ToolSpec[Any]) -> str:
    """Return the package of *spec*'s constructor in the form of a distribution's name."""
    module: str = getattr(spec.build, "__module__", None) or type(spec.build).__module__
    return module.partition(".")[0].replace("_", "-")
