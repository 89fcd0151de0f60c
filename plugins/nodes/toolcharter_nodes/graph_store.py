"""The current caller's graphs, in the profile's store. Other callers cannot see them."""

import time
from collections.abc import Callable

from toolcharter import AsyncStore, Denied, StoreTransaction, ToolError, ToolRuntime
from toolcharter_nodes.graphs import NodeGraph, owner_of
from toolcharter_nodes.policy import NodesPolicy, NodesReason

MAX_LISTED = 200


class GraphStore:
    """Reads and changes the current caller's graphs."""

    def __init__(self, rt: ToolRuntime, policy: NodesPolicy) -> None:
        self._rt = rt
        self._policy = policy

    @property
    def _store(self) -> AsyncStore:
        return self._rt.store.asynchronous()

    @property
    def _owner(self) -> str:
        return owner_of(self._rt.caller)

    async def all(self) -> list[NodeGraph]:
        """Return up to `MAX_LISTED` graphs, the oldest first."""
        where = {"owner": self._owner}
        found = await self._store.page(NodeGraph, where=where, order="created", limit=MAX_LISTED)
        return [stored.record for stored in found.records]

    async def load(self, name: str) -> NodeGraph:
        """Return the graph *name*.

        Raises:
            ToolError: `unknown_graph`, also if another caller has a graph of this name.
        """
        found = await self._store.get(NodeGraph, self._owner, name)
        if found is None:
            raise _unknown(name)
        return found.record

    async def create(self, name: str) -> NodeGraph:
        """Create a graph without nodes.

        Raises:
            Denied: `too_many_graphs`.
            ToolError: `already_exists`.
        """
        owner, most = self._owner, self._policy.max_graphs
        graph = NodeGraph(owner=owner, name=name, created=int(time.time()))

        def work(tx: StoreTransaction) -> None:
            if tx.get(NodeGraph, owner, name) is not None:
                raise ToolError(f"There is a graph {name!r} already.", reason=NodesReason.ALREADY_EXISTS)
            if tx.count(NodeGraph, where={"owner": owner}) >= most:
                what = f"There are {most} graphs already, and no more are allowed. Delete one first."
                raise Denied(NodesReason.TOO_MANY_GRAPHS, what)
            tx.put(graph, expected=0)

        await self._store.transact(work)
        return graph

    async def change(self, name: str, change: Callable[[NodeGraph], NodeGraph]) -> NodeGraph:
        """Replace the graph by the result of *change*, which may run again if another write conflicts.

        Raises:
            ToolError: `unknown_graph`, or raised by *change*.
        """
        owner = self._owner

        def work(tx: StoreTransaction) -> NodeGraph:
            found = tx.get(NodeGraph, owner, name)
            if found is None:
                raise _unknown(name)
            graph = change(found.record)
            tx.put(graph, expected=found.version)
            return graph

        return await self._store.transact(work)

    async def delete(self, name: str) -> None:
        """Delete the graph.

        Raises:
            ToolError: `unknown_graph`.
        """
        if not await self._store.delete(NodeGraph, self._owner, name):
            raise _unknown(name)


def _unknown(name: str) -> ToolError:
    return ToolError(f"There is no graph {name!r}.", reason=NodesReason.UNKNOWN_GRAPH)
