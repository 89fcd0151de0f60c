"""Compiles a profile, its ceilings and the specs of its tools into one `Policy` and the availability of its tools."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from toolcharter.api.tool import ToolSpec
from toolcharter.errors import Fault
from toolcharter.policy.availability import AvailabilityPlan, ItemResolver, PlaceOf, ToolCatalog, availability_faults
from toolcharter.policy.capability import CapabilityLimits, compile_limit
from toolcharter.policy.evaluate import Policy
from toolcharter.policy.names import limit_faults, name_faults, tool_faults, written_patterns, written_tools
from toolcharter.policy.rule_input import ToolFacts, facts_of, own_groups
from toolcharter.policy.toolsets import GROUPS
from toolcharter.profile.globs import fold
from toolcharter.profile.model import Profile
from toolcharter.profile.rules import Rule
from toolcharter.profile.settings import Ceiling


def build_catalog(profile: Profile, specs: Iterable[ToolSpec[Any]], later: Collection[str] = ()) -> ToolCatalog:
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


def collect_tool_facts(catalog: ToolCatalog, specs: Iterable[ToolSpec[Any]]) -> dict[str, ToolFacts]:
    """Return the facts of each tool, with all the groups that it is in."""
    lists = ItemResolver(catalog)
    members = {fold(group): lists.tools_of((f"group:{group}",)) for group in (*GROUPS, *catalog.groups)}
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
    limits = CapabilityLimits([compile_limit(source, capabilities) for source, capabilities in written])
    return Policy(profile.deny, profile.allow, profile.mode, limits, ceilings, tool_rules, profile.ask)


def compile_availability(profile: Profile, catalog: ToolCatalog) -> AvailabilityPlan:
    """Compile which tools the callers of *profile* see."""
    return AvailabilityPlan(profile.availability, catalog)


def find_unknown_names(
    profile: Profile, ceilings: Sequence[Ceiling], catalog: ToolCatalog, installed: Collection[str], place_of: PlaceOf
) -> Iterator[Fault]:
    """Yield a fault for each name in rules, patterns and availability that nothing has."""
    tools = [*catalog.tools, *catalog.aliases, *installed]
    groups = {group for own in catalog.tools.values() for group in own} | GROUPS.keys() | set(catalog.groups)
    groups |= catalog.later_groups
    later, may_come = profile.missing_ok, catalog.may_come
    yield from name_faults(written_patterns(profile, ceilings), tools, groups, later, may_come)
    yield from limit_faults(profile, (*catalog.aliases, *catalog.tools), place_of, may_come)
    yield from tool_faults(written_tools(profile, ceilings, place_of), tools, later, may_come)
    yield from availability_faults(profile.availability, catalog, installed, place_of)
