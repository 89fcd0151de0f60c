"""A graph of calls as it is kept, and what can be said of it before it runs. Pure."""

from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from toolcharter import Caller, RecordKind, StoreRecord, ToolError
from toolcharter_nodes.policy import NodesPolicy, NodesReason
from toolcharter_nodes.references import KEY, Reference, references_in, size_of

MAX_GRAPH_BYTES = 900_000
"""How large all arguments of a graph may be together: a store takes records of a mebibyte."""


class Node(BaseModel):
    """One call of a graph."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    tool: str
    arguments: dict[str, Any] = {}
    """As written, with references."""
    after: tuple[str, ...] = ()
    """Nodes that it waits for though it takes nothing of theirs."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The nodes that it waits for, each once."""
        return tuple(dict.fromkeys((*(one.node for one in references_in(self.arguments)), *self.after)))

    @property
    def is_known(self) -> bool:
        """Whether its arguments are known before anything runs."""
        return next(references_in(self.arguments), None) is None

    def shown(self) -> dict[str, Any]:
        """What its owner is told of it."""
        return {"node": self.name, "tool": self.tool, "arguments": self.arguments, "needs": list(self.needs)}


class NodeGraph(StoreRecord):
    """A graph of calls."""

    store_kind: ClassVar[RecordKind] = RecordKind("node_graph", key=("owner", "name"), indexed=("owner", "created"))

    owner: str
    name: str
    nodes: tuple[Node, ...] = ()
    created: int
    """Unix time in seconds."""

    def node(self, name: str) -> Node:
        """One of its nodes.

        Raises:
            ToolError: `unknown_node`.
        """
        found = next((node for node in self.nodes if node.name == name), None)
        if found is None:
            raise ToolError(f"The graph {self.name!r} has no node {name!r}.", reason=NodesReason.UNKNOWN_NODE)
        return found

    def with_node(self, node: Node, policy: NodesPolicy) -> "NodeGraph":
        """The graph with *node*, in the place of the one of its name if there is one.

        Raises:
            ToolError: `cycle`, `too_large`, `invalid_reference`.
        """
        others = {one.name: one for one in self.nodes} | {node.name: node}
        graph = self.model_copy(update={"nodes": tuple(others.values())})
        graph.require_bounds(policy)
        graph.order()
        return graph

    def without(self, name: str) -> "NodeGraph":
        """The graph without one of its nodes."""
        gone = self.node(name)
        return self.model_copy(update={"nodes": tuple(node for node in self.nodes if node is not gone)})

    def require_bounds(self, policy: NodesPolicy) -> None:
        """Refuse a graph that is larger than *policy* lets it be.

        Raises:
            ToolError: `too_large`.
        """
        needs = [node.needs for node in self.nodes]  # first: it says what is nested too deep
        sizes = {node.name: size_of(node.arguments) for node in self.nodes}
        edges = sum(map(len, needs))
        large = [name for name, size in sizes.items() if size > policy.max_argument_bytes]
        what = ""
        if len(self.nodes) > policy.max_nodes:
            what = f"A graph has at most {policy.max_nodes} nodes."
        elif edges > policy.max_edges:
            what = f"Nodes of a graph need others at most {policy.max_edges} times."
        elif large:
            what = f"The arguments of {_names(large)} have more than {policy.max_argument_bytes} bytes."
        elif sum(sizes.values()) > MAX_GRAPH_BYTES:
            what = f"The arguments of a graph have at most {MAX_GRAPH_BYTES} bytes together."
        if what:
            raise ToolError(what, reason=NodesReason.TOO_LARGE)

    def order(self) -> tuple[Node, ...]:
        """The nodes in an order in which each comes behind those that it needs.

        Raises:
            ToolError: `cycle`, with the nodes of one.
        """
        known = {node.name: node for node in self.nodes}
        sorter = TopologicalSorter({node.name: [need for need in node.needs if need in known] for node in self.nodes})
        try:
            return tuple(known[name] for name in sorter.static_order())
        except CycleError as error:
            around = " -> ".join(reversed(error.args[1]))
            what = f"The nodes need each other in a circle: {around}."
            raise ToolError(what, reason=NodesReason.CYCLE) from None

    def require_outputs(self) -> None:
        """Refuse a graph whose nodes need some that it does not have.

        Raises:
            ToolError: `missing_output`, with all of them.
        """
        missing = list(self._missing())
        if missing:
            raise ToolError(f"Outputs are missing: {'; '.join(missing)}.", reason=NodesReason.MISSING_OUTPUT)

    def _missing(self) -> Iterator[str]:
        known = {node.name for node in self.nodes}
        for node in self.nodes:
            yield from (f"{node.name!r} needs {need!r}, which is not there" for need in node.needs if need not in known)

    def needing(self, name: str) -> list[str]:
        """The nodes that need *name*."""
        return [node.name for node in self.nodes if name in node.needs]


def connected(target: Node, source: Reference, argument: str) -> Node:
    """*target* with *source* as an argument, or behind its node if there is no *argument*."""
    if not argument:
        return target.model_copy(update={"after": tuple(dict.fromkeys((*target.after, source.node)))})
    return target.model_copy(update={"arguments": {**target.arguments, argument: {KEY: str(source)}}})


def owner_of(caller: Caller) -> str:
    """Whose graphs a caller sees: those of the same agent and user."""
    return f"{len(caller.agent or '')}:{caller.agent or ''}:{caller.user or ''}"


def _names(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
