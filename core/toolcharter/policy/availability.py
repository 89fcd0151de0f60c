"""Decides which tools a caller sees: a profile's `availability`, `toolsets` and `groups`, compiled once. Pure, no I/O.

The `tools` of all entries that match a caller are intersected, and their `deny` lists are united. Their `also_allow`
undoes narrowing by `tools`, never a `deny`. An entry with `replaces` replaces the whole entry that it names, for the
callers that it matches itself. So the order of entries matters only for which of several reasons is given.

docs/availability.md explains them to authors of profiles.
"""

import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from toolcharter._lazy import lazy
from toolcharter.api.call import Caller
from toolcharter.errors import ConfigurationError, Fault, did_you_mean
from toolcharter.policy.rule_input import own_groups
from toolcharter.policy.toolsets import GROUPS, TOOLSETS
from toolcharter.profile.globs import Glob, fold, parse_glob
from toolcharter.profile.nodes import KeyPath, dotted, short_repr
from toolcharter.profile.settings import Availability, CallerPattern

if TYPE_CHECKING:
    import graphlib
else:
    graphlib = lazy("graphlib")

PlaceOf: TypeAlias = Callable[..., str]
"""Maps the parts of a path, `("availability", 0, "tools", 2)`, to `file:line:column`, as `Places.of` does."""

COMPARISONS: Mapping[str, Callable[[int, int], bool]] = MappingProxyType(
    {
        "<": operator.lt,
        "<=": operator.le,
        "==": operator.eq,
        ">=": operator.ge,
        ">": operator.gt,
    }
)
"""The operators that may precede the number in a caller's `depth`."""

_LISTS = ("tools", "deny", "also_allow")
_FACTS = ("provider", "agent", "group", "channel", "chat", "peer", "agent_type")
_KINDS = {"group": "groups", "toolset": "toolsets"}
"""The prefixes of items that mean several tools, with the profile's key that defines each of them."""
_ITEM = re.compile(r"[A-Za-z0-9_*-]+")
_MAX_VIEWS = 256


class ToolCatalog(NamedTuple):
    """The tools, groups and toolsets of one toolbox that entries may name. Names are without case."""

    tools: Mapping[str, frozenset[str]]
    """The groups of each tool, in the order in which tools are shown."""
    aliases: Mapping[str, str]
    """Other names of these tools."""
    toolsets: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """The profile's own toolsets; one with a shipped name replaces the shipped one."""
    groups: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """The profile's own groups; these members join those that specs and the shipped groups name."""
    missing_ok: frozenset[str] = frozenset()
    """Items that may match nothing yet, such as `later_tool` or `group:mcp:jira`."""
    later: tuple[str, ...] = ()
    """Globs for the names of tools of kind `mcp` that may still appear."""

    def may_come(self, name: str) -> bool:
        """Whether a tool of this name may still appear."""
        return any(parse_glob(glob).matches(fold(name)) for glob in self.later)

    @property
    def later_groups(self) -> frozenset[str]:
        """The groups of the tools that may still appear."""
        return frozenset(group for glob in self.later for group in own_groups(glob, "mcp", None))


class Hidden(NamedTuple):
    """The reason why a caller does not see a tool."""

    by: Literal["deny", "tools"]
    text: str
    """The item of `deny` as written, or the whole of `tools`."""
    name: str | None
    """The entry's name."""
    place: str
    """The entry's `file:line:column`."""


_NOT_DELEGATED = Hidden("tools", "the tools that the agent which started this one left to it", None, "")


class _CallerMatcher(NamedTuple):
    """The callers that an entry is for."""

    facts: tuple[tuple[str, tuple[Glob, ...]], ...]
    depth: tuple[tuple[Callable[[int, int], bool], int], ...]

    def matches(self, caller: Caller) -> bool:
        return all(_matches_any(globs, getattr(caller, fact)) for fact, globs in self.facts) and all(
            holds(caller.depth, number) for holds, number in self.depth
        )


def _matches_any(globs: Iterable[Glob], fact: str | None) -> bool:
    return fact is not None and any(glob.matches(fact) for glob in globs)


def _caller_matcher(pattern: CallerPattern) -> _CallerMatcher:
    given = ((fact, getattr(pattern, fact)) for fact in _FACTS)
    facts = ((fact, tuple(map(parse_glob, texts))) for fact, texts in given if texts is not None)
    return _CallerMatcher(tuple(facts), tuple((COMPARISONS[word], number) for word, number in pattern.depth or ()))


class _CompiledEntry(NamedTuple):
    """An entry, its lists turned into names of tools without case."""

    entry: Availability
    callers: _CallerMatcher
    tools: frozenset[str] | None
    denied: Mapping[str, str]
    """Each denied tool, with the item of `deny` that denies it."""
    also_allow: frozenset[str]


class AvailabilityPlan:
    """The entries of one profile, applied to the tools of one toolbox.

    Safe to share between threads. An item that matches nothing covers no tool; `availability_faults` reports it.

    Args:
        entries: The entries in the order of the file.
        catalog: The names that entries may use.

    Raises:
        ConfigurationError: Two entries have the same name, or a `replaces` leads in a circle or names no entry.
        GlobError: An item or a caller's pattern is not a glob.
    """

    def __init__(self, entries: Sequence[Availability], catalog: ToolCatalog) -> None:
        if faults := list(_replacement_faults(entries, lambda *path: entries[int(path[1])].place)):
            raise ConfigurationError(faults)
        self._names = {fold(name): name for name in catalog.tools}
        self._lists = lists = ItemResolver(catalog)
        self._entries = tuple(_compile_entry(entry, lists) for entry in entries)
        # Callers differ in session and user, but mostly match the same entries.
        self._view = lru_cache(_MAX_VIEWS)(self._view_of)

    def of(self, caller: Caller) -> Mapping[str, Hidden | None]:
        """For every tool, in the catalog's order: None if *caller* sees it, else the first reason why not."""
        return self._view(self._active(caller), None if caller.delegation is None else caller.delegation.tools)

    def named(self, items: Iterable[str]) -> frozenset[str]:
        """Return the names of the tools that *items* cover: names, globs for names, `group:NAME`, `toolset:NAME`."""
        return frozenset(self._names[key] for key in self._lists.tools_of(items))

    def why(self, tool: str, caller: Caller) -> tuple[Hidden, ...]:
        """Return everything that hides *tool* from *caller*: denies, then narrowings, in file order."""
        hiders = tuple(_hiders(self._entries_at(self._active(caller)), fold(tool)))
        if caller.delegation is None or fold(tool) in map(fold, caller.delegation.tools):
            return hiders
        return (*hiders, _NOT_DELEGATED)

    def entries_for(self, caller: Caller) -> tuple[Availability, ...]:
        """Return the entries that decide for *caller*, without replaced ones."""
        return tuple(compiled.entry for compiled in self._entries_at(self._active(caller)))

    def _active(self, caller: Caller) -> tuple[int, ...]:
        matching = [(index, each.entry) for index, each in enumerate(self._entries) if each.callers.matches(caller)]
        gone = {entry.replaces for _, entry in matching}
        return tuple(index for index, entry in matching if entry.name is None or entry.name not in gone)

    def _entries_at(self, active: tuple[int, ...]) -> list[_CompiledEntry]:
        return [self._entries[index] for index in active]

    def _view_of(self, active: tuple[int, ...], left: tuple[str, ...] | None) -> Mapping[str, Hidden | None]:
        entries = self._entries_at(active)
        view = {name: next(_hiders(entries, key), None) for key, name in self._names.items()}
        if left is not None:
            kept = frozenset(map(fold, left))
            view = {name: hidden or (None if fold(name) in kept else _NOT_DELEGATED) for name, hidden in view.items()}
        return MappingProxyType(view)


def _hiders(entries: Sequence[_CompiledEntry], tool: str) -> Iterator[Hidden]:
    for each in entries:
        if tool in each.denied:
            yield Hidden("deny", each.denied[tool], each.entry.name, each.entry.place)
    if any(tool in each.also_allow for each in entries):
        return
    for each in entries:
        if each.tools is not None and tool not in each.tools:
            yield Hidden("tools", f"[{', '.join(each.entry.tools or ())}]", each.entry.name, each.entry.place)


def _compile_entry(entry: Availability, lists: "ItemResolver") -> _CompiledEntry:
    tools = None if entry.tools is None else lists.tools_of(entry.tools)
    # In reverse order, so that the first of several items that cover a tool is named.
    denied = {tool: text for text in reversed(entry.deny) for tool in lists.tools_of((text,))}
    return _CompiledEntry(entry, _caller_matcher(entry.callers), tools, denied, lists.tools_of(entry.also_allow))


class ItemResolver:
    """Resolves the items of lists to the tools of one catalog."""

    def __init__(self, catalog: ToolCatalog) -> None:
        self._aliases = {fold(alias): fold(name) for alias, name in catalog.aliases.items()}
        self._tools = frozenset(map(fold, catalog.tools))
        self._list_members = _list_members(catalog)
        self._members: dict[str, set[str]] = {}
        for name, groups in catalog.tools.items():
            for group in groups:
                self._members.setdefault(f"group:{fold(group)}", set()).add(fold(name))

    def tools_of(self, items: Iterable[str]) -> frozenset[str]:
        """Return the names of the tools that *items* cover, without case."""
        found, seen, waiting = set[str](), set[str](), list(items)
        while waiting:
            item = fold(waiting.pop())
            if item not in seen:
                seen.add(item)
                found |= self._members.get(item, set()) if _kind(item) else self._match_names(item)
                waiting.extend(self._list_members.get(item, ()))
        return frozenset(found)

    def _match_names(self, item: str) -> frozenset[str]:
        glob = parse_glob(item)
        if glob.literal is None:
            return frozenset(filter(glob.matches, self._tools))
        name = item if item in self._tools else self._aliases.get(item)
        return self._tools & {name}


def _kind(item: str) -> str | None:
    """Return `group` or `toolset` if *item* names such a list."""
    prefix = item.partition(":")[0]
    return prefix if ":" in item and prefix in _KINDS else None


def _list_members(catalog: ToolCatalog) -> dict[str, tuple[str, ...]]:
    """Return the members of groups and toolsets, by the item that names the list."""
    found = {f"group:{name}": items for name, items in GROUPS.items()}
    for name, items in catalog.groups.items():
        key = f"group:{fold(name)}"
        # Joined, never replaced: a deny of the group must not become narrower.
        found[key] = (*found.get(key, ()), *items)
    own = {f"toolset:{fold(name)}": items for name, items in catalog.toolsets.items()}
    return found | {f"toolset:{name}": items for name, items in TOOLSETS.items()} | own


def availability_faults(
    entries: Sequence[Availability], catalog: ToolCatalog, installed: Collection[str], place_of: PlaceOf
) -> Iterator[Fault]:
    """Yield a fault for each item of a profile's availability, toolsets and groups that matches nothing.

    Args:
        entries: The profile's entries.
        catalog: The names that entries may use.
        installed: Names of installed tools, whether or not the profile lists them.
        place_of: Returns the place of the value at a path.
    """
    yield from _replacement_faults(entries, place_of)
    known = _known_items(catalog, installed)
    for path, item in _written_items(entries, catalog):
        if not catalog.may_come(item) and (fault := _item_fault(item, known)):
            yield Fault(place_of(*path), dotted(path), *fault)
    yield from _cycle_faults(catalog, place_of)


def _written_items(entries: Sequence[Availability], catalog: ToolCatalog) -> Iterator[tuple[KeyPath, str]]:
    """Yield every item that the profile's author wrote, with its path."""
    lists: list[tuple[KeyPath, tuple[str, ...]]] = [
        *(
            (("availability", index, key), getattr(entry, key) or ())
            for index, entry in enumerate(entries)
            for key in _LISTS
        ),
        *((("toolsets", name), items) for name, items in catalog.toolsets.items()),
        *((("groups", name), items) for name, items in catalog.groups.items()),
    ]
    for path, items in lists:
        yield from (((*path, index), item) for index, item in enumerate(items))


def _known_items(catalog: ToolCatalog, installed: Collection[str]) -> frozenset[str]:
    """Return every known item, without case."""
    groups = {f"group:{group}" for of_tool in catalog.tools.values() for group in of_tool}
    groups |= {f"group:{group}" for group in catalog.later_groups}
    names = {*catalog.tools, *catalog.aliases, *installed, *catalog.missing_ok, *groups}
    return frozenset(map(fold, names)) | _list_members(catalog).keys()


def _item_fault(item: str, known: frozenset[str]) -> tuple[str, str] | None:
    """Return what is wrong with *item* and the likely fix; None if nothing is."""
    key = fold(item)
    kind = _kind(key)
    if key in known or ("*" in key and _ITEM.fullmatch(key)):
        return None
    if kind is None and not _ITEM.fullmatch(key):
        fix = "Write a tool's name, a glob over names, 'group:NAME' or 'toolset:NAME'."
        return f"no tool's name can match {short_repr(item)}.", fix
    name = key.partition(":")[2] if kind else key
    others = [word for word in (name, f"group:{name}", f"toolset:{name}") if word in known]
    alike = {word.removeprefix(f"{kind}:") for word in known if _kind(word) == kind}
    fixes = [
        f"Did you mean {others[0]!r}?" if others else did_you_mean(name, alike),
        f"Known {_KINDS[kind]}: {', '.join(map(repr, sorted(alike)))}." if kind else "",
        "" if kind == "toolset" else f"If it comes later, add {item!r} to `missing_ok`.",
    ]
    what = f"there is no {kind} {name!r}." if kind else f"nothing provides a tool named {item!r}."
    return what, " ".join(filter(None, fixes))


def _replacement_faults(entries: Sequence[Availability], place_of: PlaceOf) -> Iterator[Fault]:
    first: dict[str, int] = {}
    for index, entry in enumerate(entries):
        # A profile that two parents extend contributes its entries twice.
        if entry.name is not None and entries[first.setdefault(entry.name, index)] != entry:
            what = (
                f"another entry is named {entry.name!r}, too: the one at {place_of('availability', first[entry.name])}."
            )
            yield _entry_fault(index, "name", what, "Give each a name of its own.", place_of)
    graph = {entry.name: [entry.replaces] for entry in entries if entry.name is not None and entry.replaces is not None}
    for circle in _find_cycles(graph):
        what = f"these entries replace each other in a circle: {_format_cycle(circle)}."
        yield _entry_fault(first[circle[0]], "replaces", what, "Let one of them replace nothing.", place_of)
    for index, entry in enumerate(entries):
        if entry.replaces is not None and entry.replaces not in first:
            listed = f"Named entries: {', '.join(map(repr, sorted(first)))}." if first else "No entry has a name."
            fix = f"{did_you_mean(entry.replaces, first)} {listed}".strip()
            yield _entry_fault(index, "replaces", f"no entry is named {entry.replaces!r}.", fix, place_of)


def _entry_fault(index: int, key: str, what: str, fix: str, place_of: PlaceOf) -> Fault:
    path: KeyPath = ("availability", index, key)
    return Fault(place_of(*path), dotted(path), what, fix)


def _cycle_faults(catalog: ToolCatalog, place_of: PlaceOf) -> Iterator[Fault]:
    own: dict[str, KeyPath] = {
        f"{kind}:{fold(name)}": (key, name) for kind, key in _KINDS.items() for name in getattr(catalog, key)
    }
    if not own:
        return
    every = {key: [word for word in map(fold, items) if _kind(word)] for key, items in _list_members(catalog).items()}
    # The profile's own lists come first: each circle contains one of them, and is reported at its place.
    graph = {key: every[key] for key in own} | every
    for circle in _find_cycles(graph):
        what = f"these lists contain each other: {_format_cycle(circle)}."
        path = own[circle[0]]
        yield Fault(place_of(*path), dotted(path), what, "A list with a shipped name cannot contain the shipped list.")


def _format_cycle(circle: Sequence[str]) -> str:
    return " -> ".join((*circle, circle[0]))


def _find_cycles(graph: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    """Yield circles of *graph* without common nodes, each from its first node in graph order, until none is left."""
    left, order = dict(graph), {node: rank for rank, node in enumerate(graph)}
    while left:
        try:
            graphlib.TopologicalSorter(left).prepare()
        except graphlib.CycleError as error:
            circle: list[str] = error.args[1][:0:-1]  # `args` lists it backwards, with the first node repeated.
            start = circle.index(min(circle, key=order.__getitem__))
            yield circle[start:] + circle[:start]
            left = {node: others for node, others in left.items() if node not in circle}
        else:
            return


def idle_entries(entries: Sequence[Availability]) -> Iterator[tuple[int, Availability, str]]:
    """Yield the entries that change nothing for any caller, each with its number and the reason as a sentence."""
    for index, entry in enumerate(entries):
        for what in _why_idle(entry, entries):
            yield index, entry, what
            break


def _why_idle(entry: Availability, entries: Sequence[Availability]) -> Iterator[str]:
    callers = entry.callers
    if any(getattr(callers, fact) == () for fact in _FACTS) or not _has_depth(callers):
        yield "no caller matches its `for`."
    for other in entries:
        if entry.name is not None and other.replaces == entry.name and other.callers in {CallerPattern(), callers}:
            yield f"the entry at {other.place} always replaces it."
    if entry.tools is None and not (entry.deny or entry.also_allow or entry.replaces):
        yield "it has neither `tools` nor `deny` nor `also_allow`, so it changes nothing."


def _has_depth(callers: CallerPattern) -> bool:
    """Whether any depth satisfies all comparisons. If one does, a depth next to one of their numbers does, too."""
    depth = callers.depth or ()
    candidates = {0, *(number + step for _, number in depth for step in (-1, 0, 1))}
    return any(one >= 0 and all(COMPARISONS[word](one, number) for word, number in depth) for one in candidates)
