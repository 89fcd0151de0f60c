"""`Plan`: a profile whose plugins are loaded and whose names and policies are valid; all but the toolbox itself."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from toolcharter.errors import ConfigurationError, Fault, PluginError
from toolcharter.loader.load import Loaded, LoadedExtension, LoadedTool, load_plugins
from toolcharter.loader.origin import profile_folders
from toolcharter.loader.scan import Installed, installed
from toolcharter.policy.availability import Universe
from toolcharter.policy.compile import faults_of_names, universe_of
from toolcharter.policy.names import limit_faults
from toolcharter.profile.ceilings import read_ceilings
from toolcharter.profile.model import Limits, Profile, limits_of
from toolcharter.profile.nodes import in_file_order
from toolcharter.profile.read import ProfileSource, read_profile
from toolcharter.profile.settings import Ceiling
from toolcharter.profile.validation import faults_of
from toolcharter.spec.policy import ToolPolicy
from toolcharter.spec.tool import ToolSpec


@dataclass(frozen=True)
class Plan:
    """A profile whose tools are loaded and whose policies are valid: all but the toolbox itself."""

    profile: Profile
    loaded: Loaded
    policies: Mapping[str, ToolPolicy]
    extensions: Mapping[str, Any]
    ceilings: tuple[Ceiling, ...] = ()
    """What else holds: the administrator's file, the workspace's, the environment."""
    workspace: Path | None = None
    """The workspace whose file is among them; None if no workspace was asked."""

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what the profile permits, with the versions of what is loaded."""
        policies, extensions = _dumped(self.policies), _dumped(self.extensions)
        return self.profile.digest(policies, extensions, self.loaded.distributions, self.ceilings)

    @cached_property
    def universe(self) -> Universe:
        """What rules and availability can name."""
        return universe_of(self.profile, self.specs)

    @property
    def specs(self) -> list[ToolSpec[Any]]:
        """Those of the listed tools, in the profile's order."""
        return [tool.spec for tool in self.loaded.specs.values()]

    def limits_for(self, tool: str) -> Limits:
        """The limits of *tool*: the smallest that the profile and the ceilings write."""
        names = (tool, *(alias for alias, name in self.loaded.aliases.items() if name == tool))
        limits = self.profile.limits_for(*names)
        for ceiling in self.ceilings:
            limits = limits.within(limits_of(ceiling.tool_limits, names)).within(ceiling.limits or Limits())
        return limits

    def within(self, workspace: Path) -> "Plan":
        """The same plan under the ceilings that hold in *workspace*.

        Raises:
            ConfigurationError: With every fault of every ceiling.
        """
        if self.workspace == workspace:
            return self
        ceilings, faults = read_ceilings(workspace, os.environ)
        if ceilings:
            faults += faults_of_names(self.profile, ceilings, self.universe, installed().tools, lambda *_: "")
        if faults:
            raise ConfigurationError(in_file_order(faults))
        return replace(self, ceilings=ceilings, workspace=workspace)


def plan_profile(
    profile: str | Path,
    *,
    workspace: Path | None = None,
    schemes: Iterable[str] = (),
    index: Installed | None = None,
) -> Plan:
    """Read a profile, load its plugins and validate its policies.

    Args:
        profile: As for `build_tools`.
        workspace: Real path of the folder whose own file tightens the profile.
        schemes: Event sinks that an extension has to open.
        index: What is installed; default `installed()`.

    Raises:
        ConfigurationError: With every fault that can be told at once.
    """
    index = index or installed()
    source = read_profile(profile, search=profile_folders(index))
    ceilings, faults = read_ceilings(workspace, os.environ)
    faults = [*source.faults, *faults]
    if source.profile is None:
        raise ConfigurationError(faults)
    places, chosen = source.places, source.profile
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
    plan = Plan(chosen, loaded, policies, extensions, ceilings, workspace)
    faults += faults_of_names(chosen, ceilings, plan.universe, index.tools, places.of)
    if faults:
        raise ConfigurationError(in_file_order(faults, source.places.root.place.file))
    return _with_digest(plan)


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
    """What is wrong with limits, and with the policies of those plugins that do load, where others do not."""
    faults, aliases = list[Fault](), list[str]()
    for name in profile.tools:
        with suppress(PluginError):
            loaded = load_plugins({name: source.places.of("tools", name)}, index=index)
            aliases += loaded.aliases
            dict(_policies(source, "tools", profile.tools, loaded.specs, faults))
    faults += limit_faults(profile, aliases, source.places.of)
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


def _dumped(policies: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: policy.canonical() for name, policy in policies.items()}
