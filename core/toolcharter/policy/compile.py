"""Compiles a profile, its ceilings and the specs of its tools into one `Policy` and the availability of its tools."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from toolcharter.api.tool import ToolSpec
from toolcharter.errors import Fault
from toolcharter.policy.availability import AvailabilityPlan, Lists, PlaceOf, ToolCatalog, availability_faults
from toolcharter.policy.capability import CapabilityLimits, bound
from toolcharter.policy.evaluate import Policy
from toolcharter.policy.names import limit_faults, name_faults, tool_faults, written_patterns, written_tools
from toolcharter.policy.rule_input import ToolFacts, facts_of, own_groups
from toolcharter.policy.toolsets import GROUPS
from toolcharter.profile.globs import fold
from toolcharter.profile.model import Profile
from toolcharter.profile.rules import Rule
from toolcharter.profile.settings import Ceiling


def universe_of(profile: Profile, specs: Iterable[ToolSpec[Any]], later: Collection[str] = ()) -> ToolCatalog:
    """Return what the entries of *profile* may name, including tools that match the globs in *later*."""
    specs = tuple(specs)
    return ToolCatalog(
        {spec.name: own_groups(spec.name, spec.kind, spec.group) for spec in specs},
        {alias: spec.name for spec in specs for alias in spec.aliases},
        profile.toolsets,
        profile.groups,
        frozenset(profile.missing_ok),
        tuple(later),
    )


def facts_for(universe: ToolCatalog, specs: Iterable[ToolSpec[Any]]) -> dict[str, ToolFacts]:
    """Return the facts of each tool, with all the groups that it is in."""
    lists = Lists(universe)
    members = {fold(group): lists.tools_of((f"group:{group}",)) for group in (*GROUPS, *universe.groups)}
    return {
        spec.name: facts_of(spec, frozenset(group for group, tools in members.items() if fold(spec.name) in tools))
        for spec in specs
    }


def compile_policy(
    profile: Profile, ceilings: Sequence[Ceiling], tool_rules: Mapping[str, Sequence[Rule]] = MappingProxyType({})
) -> Policy:
    """Compile the rules, modes and capabilities of *profile* and of all *ceilings*.

    Args:
        profile: Its own rules come first.
        ceilings: The administrator's, the workspace's and the environment's.
        tool_rules: Further `allow` rules, each for one tool.
    """
    written = [("profile", profile.capabilities), *((ceiling.name, ceiling.capabilities) for ceiling in ceilings)]
    bounds = CapabilityLimits([bound(source, capabilities) for source, capabilities in written])
    return Policy(profile.deny, profile.allow, profile.mode, bounds, ceilings, tool_rules, profile.ask)


def compile_availability(profile: Profile, universe: ToolCatalog) -> AvailabilityPlan:
    """Compile which tools the callers of *profile* see."""
    return AvailabilityPlan(profile.availability, universe)


def faults_of_names(
    profile: Profile, ceilings: Sequence[Ceiling], universe: ToolCatalog, installed: Collection[str], place_of: PlaceOf
) -> Iterator[Fault]:
    """Yield a fault for each name in rules, patterns and availability that nothing has."""
    tools = [*universe.tools, *universe.aliases, *installed]
    groups = {group for own in universe.tools.values() for group in own} | GROUPS.keys() | set(universe.groups)
    groups |= universe.later_groups
    later, may_come = profile.missing_ok, universe.may_come
    yield from name_faults(written_patterns(profile, ceilings), tools, groups, later, may_come)
    yield from limit_faults(profile, (*universe.aliases, *universe.tools), place_of, may_come)
    yield from tool_faults(written_tools(profile, ceilings, place_of), tools, later, may_come)
    yield from availability_faults(profile.availability, universe, installed, place_of)
