"""`extends`: merges a profile and its parents into one tree, in which every value keeps its place."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from toolcharter.errors import Fault
from toolcharter.profile.document import read_document, validate_tree
from toolcharter.profile.find import ProfileUnusable, canonical_location, canonical_path, read_bytes
from toolcharter.profile.forms import Cache
from toolcharter.profile.model import Profile
from toolcharter.profile.names import canonical_distribution, fold_tool_name
from toolcharter.profile.nodes import Entry, Node, entries, items
from toolcharter.profile.resolve import MAX_CHAIN, locate
from toolcharter.profile.schema import ProfileFile

# How many levels of a key are merged entry by entry; below them the child's value replaces the parent's.
# `plugins`, `extensions` and `limits` are merged, too: a child that adds one entry would otherwise silently
# lose the parent's guards.
_MERGE_LEVELS: dict[str, tuple[int, Callable[[str], str]]] = {
    "tools": (1, fold_tool_name),
    "extensions": (1, fold_tool_name),
    "plugins": (1, canonical_distribution),
    "events": (1, str),
    "limits": (3, fold_tool_name),
    "capabilities": (1, str),
    "toolsets": (1, fold_tool_name),
    "groups": (1, fold_tool_name),
    "approvals": (1, str),
    "session_guards": (2, str),
}
# A child appends to these lists, so that one more entry loses none of the parent's denials or notifications.
_APPENDED = frozenset({"deny", "ask", "allow", "availability", "notify", "cases", "missing_ok"})
# It also appends to the lists below these keys: a group that a parent denies never shrinks, and no guard is lost.
_JOINED = frozenset({"groups", "session_guards"})


@dataclass(slots=True, eq=False, repr=False)
class Composer:
    """Reads one profile and its parents, each file once."""

    search: Sequence[str | Path]
    faults: list[Fault] = field(default_factory=list)
    trees: dict[tuple[str, str], Node | None] = field(default_factory=dict)
    """By real folder and name, because the folder decides on the parents; None for a file that cannot be used."""
    chain: dict[str, str] = field(default_factory=dict)
    """The files that are being read, from the first file to the latest parent: real path, name."""
    files: list[str] = field(default_factory=list)
    cache: Cache = field(default_factory=Cache)

    def build_profile(self, tree: Node) -> Profile | None:
        """Return the profile of an effective tree; None, and `faults`, if its parts do not fit together."""
        _, read = validate_tree(tree, ProfileFile, self.cache, self.faults)
        return None if read is None else read.to_profile()

    def read(self, file: str) -> Node | None:
        """Return the effective tree of *file*, without the parts at fault.

        Raises:
            ProfileUnusable: The file cannot be opened, or extends itself.
        """
        real = canonical_path(file)
        if real in self.chain:
            raise self._cycle_error(real, file)
        if len(self.chain) >= MAX_CHAIN:
            raise ProfileUnusable(f"more than {MAX_CHAIN} profiles extend each other.", "Merge some of them.")
        place = canonical_location(file)
        if place not in self.trees:
            content = read_bytes(file)
            self.files.append(file)
            self.chain[real] = file
            self.trees[place] = self._merged_tree(content, file)
            del self.chain[real]
        return self.trees[place]

    def _merged_tree(self, content: bytes, file: str) -> Node | None:
        own, _ = read_document(content, file, ProfileFile, self.cache, self.faults)
        if own is None:
            return None
        parents = entries(own).get("extends")
        above = (
            []
            if parents is None
            else [self._read_parent(entry, i, file) for i, entry in enumerate(items(parents.node))]
        )
        tree = Node({}, own.place)
        for parent in above:
            tree = merge_trees(tree, parent) if parent is not None else tree
        return merge_trees(tree, own)

    def _read_parent(self, entry: Node, index: int, file: str) -> Node | None:
        try:
            return self.read(locate(str(entry.value), self.search, beside=file))
        except ProfileUnusable as problem:
            what = problem.what if problem.file is None else f"{problem.file!r}: {problem.what}"
            self.faults.append(Fault(str(entry.place), f"extends.{index}", what, problem.fix))
            return None

    def _cycle_error(self, real: str, file: str) -> ProfileUnusable:
        names = list(self.chain)
        chain = [*list(self.chain.values())[names.index(real) :], file]
        return ProfileUnusable(f"extends itself: {' -> '.join(chain)}.", "Remove one of these links.")


def merge_trees(parent: Node, child: Node) -> Node:
    """Merge a child's tree into a parent's, by the rules of docs/profiles.md, "`extends`"."""
    result = {key: entry for key, entry in entries(parent).items() if key != "extends"}
    for key, entry in entries(child).items():
        above = result.get(key)
        result[key] = entry if above is None else Entry(entry.place, _merge_entry(key, above.node, entry.node))
    return Node(result, child.place)


def _merge_entry(key: str, parent: Node, child: Node) -> Node:
    if key in _APPENDED:
        return _append_child(parent, child)
    levels, normalize = _MERGE_LEVELS.get(key, (0, str))
    return _merge_levels(parent, child, levels, normalize, _append_child if key in _JOINED else _replace_parent)


def _append_child(parent: Node, child: Node) -> Node:
    if not (isinstance(parent.value, list) and isinstance(child.value, list)):
        return child
    # A parent reached by two paths contributes its entries once.
    own = {item.place for item in items(parent)}
    return Node([*items(parent), *(item for item in items(child) if item.place not in own)], child.place)


def _replace_parent(_: Node, child: Node) -> Node:
    return child


def _merge_levels(
    parent: Node, child: Node, levels: int, normalize: Callable[[str], str], last: Callable[[Node, Node], Node]
) -> Node:
    if levels == 0 or not (isinstance(parent.value, dict) and isinstance(child.value, dict)):
        return last(parent, child)
    result = dict(parent.value)
    spelt = {normalize(name): name for name in result}
    for name, entry in child.value.items():
        above = result.pop(spelt.get(normalize(name), name), None)
        # Names of agents are case-sensitive; names of tools and what lies below them are not.
        below = str if name == "agents" else normalize
        node = entry.node if above is None else _merge_levels(above.node, entry.node, levels - 1, below, last)
        result[name] = Entry(entry.place, node)
    return Node(result, child.place)
