"""A stored graph of calls, and the checks of it that need no run. Pure."""

from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from toolcharter import Caller, RecordKind, StoreRecord, ToolError
from toolcharter_nodes.policy import NodesPolicy, NodesReason
from toolcharter_nodes.references import KEY, Reference, references_in, size_of

MAX_GRAPH_BYTES = 900_000
"""The most bytes of all arguments of a graph together. A store accepts records of up to a mebibyte."""


class Node(BaseModel):
    """One call of a graph."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    tool: str
    arguments: dict[str, Any] = {}
    """The arguments as the model wrote them, with references."""
    after: tuple[str, ...] = ()
    """The nodes that it waits for without using their outputs."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The nodes that it waits for, without duplicates."""
        return tuple(dict.fromkeys((*(one.node for one in references_in(self.arguments)), *self.after)))

    @property
    def is_known(self) -> bool:
        """Whether its arguments have no references, and so are known before the run."""
        return next(references_in(self.arguments), None) is None

    def describe(self) -> dict[str, Any]:
        """Return the description of the node that its owner sees."""
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
        """Return the node *name*.

        Raises:
            ToolError: `unknown_node`.
        """
        found = next((node for node in self.nodes if node.name == name), None)
        if found is None:
            raise ToolError(f"The graph {self.name!r} has no node {name!r}.", reason=NodesReason.UNKNOWN_NODE)
        return found

    def with_node(self, node: Node, policy: NodesPolicy) -> "NodeGraph":
        """Return the graph with *node* added. An existing node of the same name is replaced.

        Raises:
            ToolError: `cycle`, `too_large`, `invalid_reference`.
        """
        others = {one.name: one for one in self.nodes} | {node.name: node}
        graph = self.model_copy(update={"nodes": tuple(others.values())})
        graph.require_within_limits(policy)
        graph.order()
        return graph

    def without_node(self, name: str) -> "NodeGraph":
        """Return the graph without the node *name*.

        Raises:
            ToolError: `unknown_node`.
        """
        gone = self.node(name)
        return self.model_copy(update={"nodes": tuple(node for node in self.nodes if node is not gone)})

    def require_within_limits(self, policy: NodesPolicy) -> None:
        """Refuse a graph that exceeds the limits of *policy*.

        Raises:
            ToolError: `too_large`.
        """
        needs = [node.needs for node in self.nodes]  # first: it refuses arguments that are nested too deep
        sizes = {node.name: size_of(node.arguments) for node in self.nodes}
        edges = sum(map(len, needs))
        large = [name for name, size in sizes.items() if size > policy.max_argument_bytes]
        what = ""
        if len(self.nodes) > policy.max_nodes:
            what = f"A graph has at most {policy.max_nodes} nodes."
        elif edges > policy.max_edges:
            what = f"The nodes of a graph have at most {policy.max_edges} dependencies together."
        elif large:
            what = f"The arguments of {_names(large)} have more than {policy.max_argument_bytes} bytes."
        elif sum(sizes.values()) > MAX_GRAPH_BYTES:
            what = f"The arguments of a graph have at most {MAX_GRAPH_BYTES} bytes together."
        if what:
            raise ToolError(what, reason=NodesReason.TOO_LARGE)

    def order(self) -> tuple[Node, ...]:
        """Return the nodes in topological order: each after the nodes that it needs.

        Raises:
            ToolError: `cycle`. The message lists the nodes of one cycle.
        """
        known = {node.name: node for node in self.nodes}
        sorter = TopologicalSorter({node.name: [need for need in node.needs if need in known] for node in self.nodes})
        try:
            return tuple(known[name] for name in sorter.static_order())
        except CycleError as error:
            around = " -> ".join(reversed(error.args[1]))
            what = f"The nodes depend on each other in a cycle: {around}."
            raise ToolError(what, reason=NodesReason.CYCLE) from None

    def require_outputs(self) -> None:
        """Refuse a graph in which a node needs a node that does not exist.

        Raises:
            ToolError: `missing_output`. The message lists all of them.
        """
        missing = list(self._missing())
        if missing:
            raise ToolError(f"Outputs are missing: {'; '.join(missing)}.", reason=NodesReason.MISSING_OUTPUT)

    def _missing(self) -> Iterator[str]:
        known = {node.name for node in self.nodes}
        for node in self.nodes:
            yield from (
                f"{node.name!r} needs {need!r}, which does not exist" for need in node.needs if need not in known
            )


def connect_nodes(target: Node, source: Reference, argument: str) -> Node:
    """Return *target* with *source* as its *argument*; without *argument*, it only waits for the node of *source*."""
    if not argument:
        return target.model_copy(update={"after": tuple(dict.fromkeys((*target.after, source.node)))})
    return target.model_copy(update={"arguments": {**target.arguments, argument: {KEY: str(source)}}})


def owner_of(caller: Caller) -> str:
    """Return the owner of a caller's graphs: agent and user together."""
    return f"{len(caller.agent or '')}:{caller.agent or ''}:{caller.user or ''}"


def _names(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
