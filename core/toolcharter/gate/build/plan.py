"""`Plan`: a profile whose plugins are loaded and whose names and policies are valid; the last step before a toolbox."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import to_jsonable_python

from toolcharter._lazy import lazy
from toolcharter.api.policy import ToolPolicy
from toolcharter.api.tool import ToolSpec
from toolcharter.errors import ConfigurationError, Fault, PluginError
from toolcharter.loader.discovered import NO_TOOLS, DiscoveredTools, has_discoverers
from toolcharter.loader.load import LoadedExtension, LoadedPlugins, LoadedTool, load_plugins
from toolcharter.loader.openers import open_or_defer_channel
from toolcharter.loader.origin import profile_folders
from toolcharter.loader.scan import InstalledPlugins, find_installed
from toolcharter.loader.select import channel_needs, store_need
from toolcharter.policy.availability import ToolCatalog
from toolcharter.policy.compile import build_catalog, collect_tool_facts, find_unknown_names
from toolcharter.policy.names import limit_faults
from toolcharter.policy.rule_input import ToolFacts
from toolcharter.profile.ceilings import read_ceilings
from toolcharter.profile.model import Limits, Profile, combine_limits
from toolcharter.profile.nodes import in_file_order
from toolcharter.profile.read import ProfileSource, read_profile
from toolcharter.profile.rules import Rule, RuleError, parse_rule
from toolcharter.profile.settings import Ceiling

if TYPE_CHECKING:
    from toolcharter.api import discovery
    from toolcharter.api.allowance import Allowance
    from toolcharter.loader import discover
    from toolcharter.profile import faults as wording
else:
    discovery = lazy("toolcharter.api.discovery")
    discover = lazy("toolcharter.loader.discover")
    wording = lazy("toolcharter.profile.faults")


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """A profile whose tools are loaded and whose policies are valid, ready for a toolbox."""

    profile: Profile
    loaded: LoadedPlugins
    policies: Mapping[str, ToolPolicy]
    extensions: Mapping[str, Any]
    ceilings: tuple[Ceiling, ...] = ()
    """The ceilings from the administrator's file, the workspace's file and the environment."""
    workspace: Path | None = None
    """The workspace whose file is among the ceilings; None if the plan was made without a workspace."""
    files: tuple[Path, ...] = ()
    """The profile's own file and the files that it extends."""
    tool_rules: Mapping[str, tuple[Rule, ...]] = field(default_factory=dict)
    """The `allow` rules in the policies of tools of kind `bash`, by tool. They only permit this tool's commands."""
    discovered: DiscoveredTools = NO_TOOLS
    """The tools that discoverers have added to the loaded tools."""
    index: InstalledPlugins | None = None
    """The installed plugins, as they were listed for the plan."""
    store_url: str = field(default="", repr=False)
    """The URL of the store that the profile names; it may contain a password."""

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what the profile permits, and of the versions of the loaded distributions."""
        policies, extensions = _dump_policies(self.policies), _dump_policies(self.extensions)
        return self.profile.digest(
            policies, extensions, self.loaded.distributions, self.ceilings, self.discovered.fingerprints
        )

    @cached_property
    def allowance(self) -> "Allowance":
        """What the profile permits a caller that sees all tools."""
        policies, extensions = _dump_policies(self.policies), _dump_policies(self.extensions)
        return self.profile.allowance(policies, extensions, self.ceilings, self.discovered.fingerprints)

    @property
    def may_ask(self) -> bool:
        """Whether a mode or a rule may require a person's approval."""
        held: tuple[Profile | Ceiling, ...] = (self.profile, *self.ceilings)
        return any(one.ask or one.mode == "ask" for one in held)

    @cached_property
    def catalog(self) -> ToolCatalog:
        """The names that rules and availability can use."""
        return build_catalog(self.profile, self.specs, self.discovered.later)

    @cached_property
    def facts(self) -> Mapping[str, ToolFacts]:
        """The facts about each tool that rules use."""
        return collect_tool_facts(self.catalog, self.specs)

    @property
    def store_place(self) -> str:
        """The place where the profile names its store."""
        return "" if self.profile.store is None else self.profile.store.place

    @property
    def specs(self) -> list[ToolSpec[Any]]:
        """The specs of the listed tools, in the profile's order, and of the discovered tools."""
        return [tool.spec for tool in self.loaded.specs.values()]

    def limits_for(self, tool: str) -> Limits:
        """Return the limits of *tool*: for each, the smallest value in the profile and the ceilings."""
        names = (tool, *(alias for alias, name in self.loaded.aliases.items() if name == tool))
        limits = self.profile.limits_for(*names)
        for ceiling in self.ceilings:
            limits = limits.within(combine_limits(ceiling.tool_limits, names)).within(ceiling.limits or Limits())
        return limits

    def for_workspace(self, workspace: Path) -> "Plan":
        """Return the plan for *workspace*: under its ceilings, and with the tools that are discovered there.

        Raises:
            ConfigurationError: It lists every fault of every ceiling and discoverer.
        """
        if self.workspace == workspace:
            return self
        ceilings, faults = read_ceilings(workspace, os.environ)
        index = self.index or find_installed()
        plan = replace(self, loaded=self.loaded.with_channels(_notification_channels(self.profile, ceilings), index))
        if has_discoverers(self.loaded):
            plan = refresh_discovered(self, workspace, find_installed().tools)
        if ceilings:
            faults += find_unknown_names(plan.profile, ceilings, plan.catalog, find_installed().tools, lambda *_: "")
        if faults:
            raise ConfigurationError(in_file_order(faults))
        return replace(plan, ceilings=ceilings, workspace=workspace)


def plan_profile(
    profile: str | Path,
    *,
    workspace: Path | None = None,
    schemes: Iterable[str] = (),
    index: InstalledPlugins | None = None,
) -> Plan:
    """Read a profile, load its plugins and validate its policies.

    Args:
        profile: As for `build_tools`.
        workspace: Real path of the workspace, whose own file may tighten the profile.
        schemes: The schemes of event sinks that plugins open.
        index: The installed plugins; by default `find_installed()`.

    Raises:
        ConfigurationError: It lists every fault that can be found at once.
    """
    index = index or find_installed()
    source = read_profile(profile, search=profile_folders(index))
    ceilings, faults = read_ceilings(workspace, os.environ)
    faults = [*source.faults, *faults]
    if source.profile is None:
        raise ConfigurationError(faults)
    places, chosen = source.places, source.profile
    store_url = _resolve_store_url(chosen, faults)
    try:
        loaded = load_plugins(
            {name: places.of("tools", name) for name in chosen.tools},
            _extension_places(source, chosen),
            schemes,
            {name: (wanted, places.of("plugins", name)) for name, wanted in chosen.plugins.items()},
            chosen.missing_ok,
            runner=None if chosen.runner in chosen.extensions else chosen.runner,
            others=[
                *channel_needs(_notification_channels(chosen, ceilings)),
                *([store_need(store_url, chosen.store.place)] if chosen.store and store_url else ()),
            ],
            index=index,
        )
    except PluginError as error:
        faults += _find_partial_faults(source, chosen, ceilings, index)
        kind = ConfigurationError if faults else PluginError
        raise kind(in_file_order([*faults, *error.faults], source.places.root.place.file)) from error
    policies = dict(_validate_policies(source, "tools", chosen.tools, loaded.specs, faults))
    extensions = dict(_validate_policies(source, "extensions", chosen.all_extensions, loaded.extension_specs, faults))
    rules = dict(_parse_tool_rules(source, loaded, policies, faults))
    loaded = _load_tool_channels(loaded, policies, source, index, faults)
    plan = Plan(
        chosen, loaded, policies, extensions, ceilings, workspace, source.files, rules, index=index, store_url=store_url
    )
    try:
        plan = refresh_discovered(plan, workspace, index.tools)
    except ConfigurationError as error:
        kind = PluginError if isinstance(error, PluginError) and not faults else ConfigurationError
        raise kind(in_file_order([*faults, *_add_places(error, source)], source.places.root.place.file)) from error
    faults += find_unknown_names(chosen, ceilings, plan.catalog, index.tools, places.of)
    if faults:
        raise ConfigurationError(in_file_order(faults, source.places.root.place.file))
    return _with_digest(plan)


def _notification_channels(profile: Profile, ceilings: Iterable[Ceiling]) -> dict[str, str]:
    """Return the channels that notifications name, each with the place of the first entry that names it."""
    entries = [*profile.notify, *(entry for ceiling in ceilings for entry in ceiling.notify)]
    return {entry.deliver: entry.place for entry in reversed(entries) if entry.deliver != "log"}


def _load_tool_channels(
    loaded: LoadedPlugins,
    policies: Mapping[str, Any],
    source: ProfileSource,
    index: InstalledPlugins,
    faults: list[Fault],
) -> LoadedPlugins:
    """Add the plugins of the tools' channels to *loaded*. Faults of channels go to *faults*."""
    named = [
        (one, source.places.of("tools", name))
        for name, policy in policies.items()
        for one in policy.delivers_on()
        if one.deliver != "log"
    ]
    try:
        loaded = loaded.with_channels({one.deliver: place for one, place in named}, index)
        for one, place in named:
            open_or_defer_channel(one.url, str, partial(loaded.open_channel, one.deliver, place=place))
    except PluginError as error:
        faults += error.faults
    return loaded


def _resolve_store_url(profile: Profile, faults: list[Fault]) -> str:
    """Return the URL of the profile's store; empty if it names none, or if it has a fault, which goes to *faults*."""
    try:
        return "" if profile.store is None else profile.store.resolve_url(os.environ)
    except ConfigurationError as error:
        faults.extend(error.faults)
        return ""


def _add_places(error: ConfigurationError, source: ProfileSource) -> Iterator[Fault]:
    """Yield the faults of a discovery. A fault that names a key of the profile gets the key's place."""
    for fault in error.faults:
        keys = fault.path.split(".")
        yield fault if fault.place or not fault.path else replace(fault, place=source.places.of(*keys))


def _validate_policies(
    source: ProfileSource,
    key: str,
    written: Mapping[str, dict[str, Any]],
    loaded: Mapping[str, LoadedTool] | Mapping[str, LoadedExtension],
    faults: list[Fault],
) -> Iterator[tuple[str, Any]]:
    """Yield the valid policies of the profile's tools or extensions. Faults of the others go to *faults*."""
    # A value that the parser has refused is replaced by a substitute, which the author did not write.
    refused = {fault.place for fault in source.faults}
    for name, one in loaded.items():
        try:
            yield name, one.spec.policy.from_profile(written[name])
        except ValidationError as error:
            found = wording.faults_of(error, source.places, (key, name), one.spec.policy)
            faults.extend(fault for fault in found if fault.place not in refused)
        except PydanticUserError as error:  # pydantic examines the fields only now, because `ToolPolicy` defers it
            what = (
                f"the policy of {name!r} has a field that pydantic cannot read: {error.message.partition(chr(10))[0]}"
            )
            faults.append(
                Fault(f"{one.distribution} {one.version}", "", what, "The plugin's author has to fix its type.")
            )


def _parse_tool_rules(
    source: ProfileSource, loaded: LoadedPlugins, policies: Mapping[str, Any], faults: list[Fault]
) -> Iterator[tuple[str, tuple[Rule, ...]]]:
    """Yield the rules in the policies of tools of kind `bash`. Faults of rules go to *faults*."""
    for name, policy in policies.items():
        written = getattr(policy, "allow", ())
        if loaded.specs[name].spec.kind == "bash" and isinstance(written, tuple) and written:
            places = [source.places.of("tools", name, "allow", number) for number in range(len(written))]
            rules = [_parse_command_rule(text, place, faults) for text, place in zip(written, places, strict=True)]
            yield name, tuple(rule for rule in rules if rule is not None)


def _parse_command_rule(text: str, place: str, faults: list[Fault]) -> Rule | None:
    """Parse a rule on commands. Returns None for a fault, which goes to *faults*."""
    try:
        rule = parse_rule(text, place)
    except RuleError as error:
        faults.append(Fault(place, "allow", error.what, error.fix))
        return None
    if rule.prefix != "bash":
        faults.append(Fault(place, "allow", f"{text!r} is no rule on commands.", "Write one such as 'bash:git log *'."))
        return None
    return rule


def _find_partial_faults(
    source: ProfileSource, profile: Profile, ceilings: Sequence[Ceiling], index: InstalledPlugins
) -> list[Fault]:
    """Return the faults of names, limits and policies that can be found although some plugins do not load."""
    faults, specs, aliases = list[Fault](), list[ToolSpec[Any]](), list[str]()
    # A plugin that does not load might provide further names; a name that no plugin provides does not.
    all_known = True
    for name in profile.tools:
        try:
            loaded = load_plugins({name: source.places.of("tools", name)}, index=index)
        except PluginError:
            all_known = all_known and name not in index.tools
            continue
        specs += [tool.spec for tool in loaded.specs.values()]
        aliases += loaded.aliases
        dict(_validate_policies(source, "tools", profile.tools, loaded.specs, faults))
    for name, place in _extension_places(source, profile).items():
        try:
            loaded = load_plugins({}, {name: place}, index=index)
        except PluginError:
            all_known = False
            continue
        all_known = all_known and not has_discoverers(loaded)
        dict(_validate_policies(source, "extensions", profile.all_extensions, loaded.extension_specs, faults))
    if all_known:
        known = [*index.tools, *profile.tools]
        return [*faults, *find_unknown_names(profile, ceilings, build_catalog(profile, specs), known, source.places.of)]
    return [*faults, *limit_faults(profile, aliases, source.places.of)]


def _extension_places(source: ProfileSource, profile: Profile) -> dict[str, str]:
    """Return the place of each extension in the profile, or that of `runner`, which may name an extension."""
    places = source.places
    return {
        name: places.of("extensions", name) if name in profile.extensions else places.of("runner")
        for name in profile.all_extensions
    }


def _with_digest(plan: Plan) -> Plan:
    """Compute the digest of *plan* now, so that a policy that is no JSON stops the start-up as a fault."""
    try:
        _ = plan.digest  # The plan caches it.
    except (ValueError, TypeError) as error:
        raise PluginError(_find_non_json_fields(plan)) from error
    return plan


def _find_non_json_fields(plan: Plan) -> Iterator[Fault]:
    """Yield a fault for each field of a policy that is no JSON: a default, as a profile's own values are JSON."""
    owned: list[tuple[LoadedTool | LoadedExtension, Any]] = [
        *((plan.loaded.specs[name], policy) for name, policy in plan.policies.items()),
        *((plan.loaded.extension_specs[name], policy) for name, policy in plan.extensions.items()),
    ]
    for loaded, policy in owned:
        for name in type(policy).model_fields:
            try:
                json.dumps(to_jsonable_python(getattr(policy, name)), allow_nan=False)
            except (ValueError, TypeError) as error:
                what = f"the field {name!r} of the policy of {loaded.spec.name!r} is not JSON: {error}."
                owner = f"{loaded.distribution} {loaded.version}"
                yield Fault(owner, "", what, "The plugin's author has to fix its default.")


def _dump_policies(policies: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: policy.canonical() for name, policy in policies.items()}


def refresh_discovered(
    plan: Plan, workspace: Path | None, installed: Iterable[str], late: "discover.LateDiscoverers | None" = None
) -> Plan:
    """Run the discoverers of *plan*, and replace the discovered tools by those that they find now.

    Args:
        plan: The plan.
        workspace: The workspace to search.
        installed: The names of all installed tools.
        late: The objects of the extensions, once they are built.

    Raises:
        ConfigurationError: A discoverer failed, or a declared tool is not possible.
    """
    if not has_discoverers(plan.loaded) and not (late and late.discoverers):
        return plan
    before = plan.discovered.tools
    specs = {name: tool for name, tool in plan.loaded.specs.items() if name not in before}
    aliases = {alias: name for alias, name in plan.loaded.aliases.items() if name not in before}
    registered = plan.loaded._replace(specs=specs, aliases=aliases)
    folder = plan.files[0].absolute().parent if plan.files else None
    bounds = tuple(
        discovery.CapabilityBounds(one.allow, one.deny, one.max_safety)
        for one in (plan.profile.capabilities, *(ceiling.capabilities for ceiling in plan.ceilings))
    )
    context = discover.DiscoveryContext(plan.profile.name, folder, workspace, frozenset(installed), bounds)
    discovered = discover.discover(registered, plan.extensions, context, *(() if late is None else (late,)))
    if discovered == NO_TOOLS == plan.discovered:
        return plan
    policies = {name: policy for name, policy in plan.policies.items() if name in specs}
    policies |= {name: tool.spec.policy.from_profile({}) for name, tool in discovered.tools.items()}
    loaded = registered._replace(specs={**specs, **discovered.tools}, aliases={**aliases, **discovered.aliases})
    return replace(plan, loaded=loaded, policies=policies, discovered=discovered)
