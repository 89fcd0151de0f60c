"""`build_tools`: from a profile to a toolbox, or to every fault at once."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from toolcharter.errors import ConfigurationError, Fault, PluginError, SpecError
from toolcharter.events.emitter import Emitter
from toolcharter.events.lines import LineFormat
from toolcharter.events.sinks import CORE_SCHEMES, SinkLike, open_sink
from toolcharter.gate.arguments import ArgumentReader
from toolcharter.gate.closing import OutputLimit
from toolcharter.gate.function import take_apart
from toolcharter.gate.passage import BuiltTool
from toolcharter.gate.runtime import Runtime, check_deadline
from toolcharter.gate.shared import Shared
from toolcharter.gate.toolbox import Toolbox
from toolcharter.guards.paths import WorkspacePaths
from toolcharter.loader.load import Loaded, LoadedExtension, LoadedTool, load_plugins
from toolcharter.loader.origin import profile_folders
from toolcharter.loader.scan import Installed, installed
from toolcharter.loader.sites import protected_dirs
from toolcharter.policy.evaluate import ToolFacts, decide
from toolcharter.profile.model import Limits, Profile
from toolcharter.profile.nodes import in_file_order
from toolcharter.profile.read import ProfileSource, read_profile
from toolcharter.profile.validation import faults_of
from toolcharter.spec.call import Caller
from toolcharter.spec.policy import ToolPolicy
from toolcharter.spec.reasons import GuardReason, Reason

_ALWAYS_PERMITTED = frozenset(map(str, (*Reason, *GuardReason)))


@dataclass(frozen=True)
class Plan:
    """A profile whose tools are loaded and whose policies are valid: all but the toolbox itself."""

    profile: Profile
    loaded: Loaded
    policies: Mapping[str, ToolPolicy]
    extensions: Mapping[str, Any]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what the profile permits, with the versions of what is loaded."""
        return self.profile.digest(_dumped(self.policies), _dumped(self.extensions), self.loaded.distributions)


def build_tools(
    profile: str | Path,
    *,
    workspace: str | Path,
    caller: Caller | None = None,
    events: SinkLike | Iterable[SinkLike] = (),
) -> Toolbox:
    """Build the tools of *profile* for *workspace*.

    Args:
        profile: A path, or the name of a profile in `./profiles`, among those that ship with the
            core, or in a plugin.
        workspace: The folder that the tools may touch.
        caller: Who calls through the toolbox; `Toolbox.for_caller` gives views for others.
        events: Where events go: URLs (`stderr:`, `file:PATH`, `structlog:`), functions that take
            each event as a dictionary, or sinks. Standard error by default.

    Raises:
        ConfigurationError: With every fault of the profile and the installation; nothing is built.
    """
    return build_toolbox(profile, workspace=workspace, caller=caller, events=events)


def build_toolbox(
    profile: str | Path,
    *,
    workspace: str | Path,
    caller: Caller | None = None,
    events: SinkLike | Iterable[SinkLike] = (),
    strict: bool = False,
) -> Toolbox:
    """The same; with *strict*, as tests want it: a tool that breaks its own spec raises."""
    sinks = _sinks(events)
    plan = plan_profile(profile, schemes=_schemes(sinks))
    return open_toolbox(plan, workspace=workspace, caller=caller, sinks=sinks, strict=strict)


def open_toolbox(
    plan: Plan, *, workspace: str | Path, caller: Caller | None, sinks: Iterable[SinkLike], strict: bool = False
) -> Toolbox:
    """Build the tools of *plan* and open its sinks."""
    root = _workspace(workspace)
    loaded = plan.loaded.build_extensions(root, plan.extensions)
    emitter = Emitter([open_sink(sink, loaded.open_sink) for sink in sinks])
    shared = Shared(
        profile=plan.profile.name,
        digest=plan.digest,
        workspace=root,
        lines=LineFormat(plan.profile.name, plan.digest),
        emitter=emitter,
        required=plan.profile.events.required,
        args_detail=plan.profile.events.args,
        checks=loaded.checks,
        strict=strict,
    )
    try:
        return _toolbox(shared, plan, caller or Caller())
    except BaseException:
        shared.close()
        raise


def plan_profile(profile: str | Path, *, schemes: Iterable[str] = (), index: Installed | None = None) -> Plan:
    """Read a profile, load its plugins and validate its policies.

    Args:
        profile: As for `build_tools`.
        schemes: Event sinks that an extension has to open.
        index: What is installed; default `installed()`.

    Raises:
        ConfigurationError: With every fault that can be told at once.
    """
    index = index or installed()
    source = read_profile(profile, search=profile_folders(index))
    if source.profile is None:
        raise ConfigurationError(source.faults)
    places, chosen = source.places, source.profile
    faults = list(source.faults)
    try:
        loaded = load_plugins(
            {name: places.of("tools", name) for name in chosen.tools},
            {name: places.of("extensions", name) for name in chosen.extensions},
            schemes,
            {name: (wanted, places.of("plugins", name)) for name, wanted in chosen.plugins.items()},
            chosen.missing_ok,
            index=index,
        )
    except PluginError as error:
        faults += _faults_of_what_loads(source, chosen, index)
        kind = ConfigurationError if faults else PluginError
        raise kind(in_file_order([*faults, *error.faults], source.places.root.place.file)) from error
    policies = dict(_policies(source, "tools", chosen.tools, loaded.specs, faults))
    extensions = dict(_policies(source, "extensions", chosen.extensions, loaded.extension_specs, faults))
    if faults:
        raise ConfigurationError(in_file_order(faults, source.places.root.place.file))
    return _with_digest(Plan(chosen, loaded, policies, extensions))


def _policies(
    source: ProfileSource,
    key: str,
    written: Mapping[str, dict[str, Any]],
    loaded: Mapping[str, LoadedTool] | Mapping[str, LoadedExtension],
    faults: list[Fault],
) -> Iterator[tuple[str, Any]]:
    """The valid policies of the profile's tools or extensions; of the others, what is wrong goes to *faults*."""
    # Where the parser refused a value stands something else, which nobody wrote.
    refused = {fault.place for fault in source.faults}
    for name, one in loaded.items():
        try:
            yield name, one.spec.policy.from_profile(written[name])
        except ValidationError as error:
            found = faults_of(error, source.places, (key, name), one.spec.policy)
            faults.extend(fault for fault in found if fault.place not in refused)


def _faults_of_what_loads(source: ProfileSource, profile: Profile, index: Installed) -> list[Fault]:
    """What is wrong with the policies of those plugins that do load, where others do not."""
    faults = list[Fault]()
    for name in profile.tools:
        with suppress(PluginError):
            tools = load_plugins({name: source.places.of("tools", name)}, index=index).specs
            dict(_policies(source, "tools", profile.tools, tools, faults))
    for name in profile.extensions:
        with suppress(PluginError):
            extensions = load_plugins({}, {name: source.places.of("extensions", name)}, index=index).extension_specs
            dict(_policies(source, "extensions", profile.extensions, extensions, faults))
    return faults


def _with_digest(plan: Plan) -> Plan:
    """*plan*, whose digest is made here already: a policy that JSON cannot hold stops the start as a fault."""
    try:
        plan.digest  # noqa: B018 - kept by the plan
    except (ValueError, TypeError) as error:
        raise PluginError(_unwritable(plan)) from error
    return plan


def _unwritable(plan: Plan) -> Iterator[Fault]:
    """The fields of policies that are not JSON: defaults, for a profile writes nothing else."""
    owned: list[tuple[LoadedTool | LoadedExtension, Any]] = [
        *((plan.loaded.specs[name], policy) for name, policy in plan.policies.items()),
        *((plan.loaded.extension_specs[name], policy) for name, policy in plan.extensions.items()),
    ]
    for loaded, policy in owned:
        for field in type(policy).model_fields:
            try:
                json.dumps(to_jsonable_python(getattr(policy, field)), allow_nan=False)
            except (ValueError, TypeError) as error:
                what = f"the field {field!r} of the policy of {loaded.spec.name!r} holds what is not JSON: {error}."
                owner = f"{loaded.distribution} {loaded.version}"
                yield Fault(owner, "", what, "The plugin's author has to mend its default.")


def _toolbox(shared: Shared, plan: Plan, caller: Caller) -> Toolbox:
    paths = WorkspacePaths(
        shared.workspace, protected=[str(folder) for folder in protected_dirs(shared.workspace)], check=check_deadline
    )
    shared.on_close(paths.close)
    tools: dict[str, BuiltTool] = {}
    names = {name.lower(): name for name in plan.loaded.specs}
    names |= {alias.lower(): name for alias, name in plan.loaded.aliases.items()}
    toolbox = Toolbox(shared, tools, names, caller)
    for name, loaded in plan.loaded.specs.items():
        runtime = Runtime(shared, paths, toolbox.for_caller, staged=loaded.spec.staged)
        tools[name] = _build(shared, plan, loaded, plan.policies[name], runtime)
    return toolbox


def _build(shared: Shared, plan: Plan, loaded: LoadedTool, policy: ToolPolicy, runtime: Runtime) -> BuiltTool:
    spec, owner = loaded.spec, f"{loaded.distribution} {loaded.version}"
    limits = plan.profile.limits_for(spec.name)
    own = getattr(policy, "max_output_chars", None)
    if isinstance(own, int):
        limits = Limits(max_output_chars=own).within(limits)
    try:
        function = take_apart(spec, spec.build(shared.workspace, policy, runtime))
        reader = ArgumentReader(spec, function)
    except SpecError as error:
        raise PluginError([Fault(owner, "", f"{error}.", "The plugin's author has to mend it.")]) from error
    except Exception as error:
        what = f"building the tool {spec.name!r} failed: {type(error).__name__}: {error}."
        raise PluginError([Fault(owner, "", what, "A constructor does no I/O; its author has to mend it.")]) from error
    own_reasons = spec.own_reasons()
    return BuiltTool(
        spec=spec,
        plugin=loaded.distribution,
        policy=policy,
        decision=decide(ToolFacts(spec.name, spec.kind)),
        function=function,
        reader=reader,
        limit=OutputLimit(limits.max_output_chars, limits.truncate or "head"),
        timeout_s=inf if limits.timeout_s is None else limits.timeout_s,
        reasons=None if own_reasons is None else own_reasons | _ALWAYS_PERMITTED,
    )


def _workspace(workspace: str | Path) -> Path:
    with suppress(OSError, ValueError):
        root = Path(os.path.realpath(workspace, strict=True))
        if root.is_dir():
            return root
    fault = Fault("workspace", "", f"{str(workspace)!r} is no folder.", "Name an existing folder with --workspace.")
    raise ConfigurationError([fault])


def _sinks(events: SinkLike | Iterable[SinkLike]) -> list[SinkLike]:
    if isinstance(events, Iterable) and not isinstance(events, str):
        return list(events) or ["stderr:"]
    return [events]


def _schemes(sinks: Iterable[SinkLike]) -> list[str]:
    schemes = (sink.partition(":")[0] for sink in sinks if isinstance(sink, str))
    return [scheme for scheme in schemes if scheme not in CORE_SCHEMES]


def _dumped(policies: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: policy.canonical() for name, policy in policies.items()}
