"""The tool `nodes`: a model builds a stored graph call by call, and runs it as a whole."""

import json
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args

from pydantic import Field

from toolcharter import Denied, Reason, ToolContext, ToolError, ToolRuntime, ToolSpec
from toolcharter_nodes.graph_store import GraphStore
from toolcharter_nodes.graphs import Node, NodeGraph, connect_nodes
from toolcharter_nodes.policy import Action, NodesPolicy, NodesReason
from toolcharter_nodes.references import parse_reference
from toolcharter_nodes.running import GraphRun, require_tool

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{0,64}$")]
_IS_RUNNING: ContextVar[bool] = ContextVar("toolcharter_nodes_is_running", default=False)
"""Whether this context is part of a run. A graph may not run graphs: their calls would multiply with each level."""


class NodesArguments(NamedTuple):
    """The arguments of an action."""

    graph: str
    node: str
    tool: str
    arguments: dict[str, Any]
    source: str
    target: str
    argument: str

    def require(self, *names: str) -> None:
        """Refuse a call that lacks one of the arguments *names*.

        Raises:
            ToolError: `missing_argument`. The message lists all of them.
        """
        missing = [name for name in names if not getattr(self, name)]
        if missing:
            raise ToolError(f"The action needs {', '.join(missing)}.", reason=NodesReason.MISSING_ARGUMENT)


class Actions:
    """The actions, each for the current caller."""

    def __init__(self, rt: ToolRuntime, policy: NodesPolicy) -> None:
        self._rt = rt
        self._policy = policy
        self._graphs = GraphStore(rt, policy)

    async def create(self, ctx: ToolContext, args: NodesArguments) -> str:
        """Create an empty graph."""
        args.require("graph")
        ctx.policy_passed()
        return _describe_change(ctx, "Created", await self._graphs.create(args.graph))

    async def add(self, ctx: ToolContext, args: NodesArguments) -> str:
        """Add a call to a graph."""
        args.require("graph", "node", "tool")
        require_tool(args.tool, self._policy)
        node = Node(name=args.node, tool=args.tool, arguments=args.arguments)

        def with_node(graph: NodeGraph) -> NodeGraph:
            if any(one.name == node.name for one in graph.nodes):
                what = f"The graph has a node {node.name!r} already; delete it first."
                raise ToolError(what, reason=NodesReason.ALREADY_EXISTS)
            return graph.with_node(node, self._policy)

        return await self._change_graph(ctx, args.graph, with_node)

    async def connect(self, ctx: ToolContext, args: NodesArguments) -> str:
        """Use one call's output as another call's argument, or only run one call after another."""
        args.require("graph", "source", "target")
        source = parse_reference(args.source if "." in args.source else f"{args.source}.text")

        def with_edge(graph: NodeGraph) -> NodeGraph:
            graph.node(source.node)
            return graph.with_node(connect_nodes(graph.node(args.target), source, args.argument), self._policy)

        return await self._change_graph(ctx, args.graph, with_edge)

    async def list(self, ctx: ToolContext, args: NodesArguments) -> str:
        """List the caller's graphs, or the nodes of one graph."""
        ctx.policy_passed()
        graphs = [await self._graphs.load(args.graph)] if args.graph else await self._graphs.all()
        if args.graph:
            data: Any = {"graph": args.graph, "nodes": [node.describe() for node in graphs[0].nodes]}
            return ctx.ok(json.dumps(data, indent=2, ensure_ascii=False), data=data)
        data = {"graphs": [{"graph": one.name, "nodes": [node.name for node in one.nodes]} for one in graphs]}
        lines = [f"{one.name}: {', '.join(node.name for node in one.nodes) or 'no nodes'}" for one in graphs]
        return ctx.ok("\n".join(lines) or "There are no graphs.", data=data)

    async def delete(self, ctx: ToolContext, args: NodesArguments) -> str:
        """Delete a graph, or one node of it."""
        args.require("graph")
        if args.node:
            return await self._change_graph(ctx, args.graph, lambda graph: graph.without_node(args.node))
        await self._graphs.load(args.graph)
        ctx.policy_passed()
        await self._graphs.delete(args.graph)
        return ctx.ok(f"Deleted the graph {args.graph!r}.", data={"graph": args.graph, "nodes": []})

    async def run(self, ctx: ToolContext, args: NodesArguments) -> str:
        """Run all calls of a graph, each through the gate."""
        args.require("graph")
        if _IS_RUNNING.get():
            raise Denied(NodesReason.NESTED_RUN, "A graph may not run graphs.")
        run = GraphRun(self._rt, self._policy, await self._graphs.load(args.graph))
        token = _IS_RUNNING.set(True)
        try:
            await run.decide_known()
            ctx.policy_passed()
            await run.run()
        finally:
            _IS_RUNNING.reset(token)
        data = {"graph": args.graph, **run.data()}
        if run.is_overtime:
            return ctx.error(run.text(), reason=Reason.TIMED_OUT, data=data)
        if any(step.state == "failed" for step in run.steps):
            return ctx.error(run.text(), reason=NodesReason.NODE_FAILED, data=data)
        return ctx.ok(run.text(), data=data)

    async def _change_graph(self, ctx: ToolContext, name: str, change: Callable[[NodeGraph], NodeGraph]) -> str:
        """Change a graph: try *change* on the stored graph before `policy_passed`, then repeat it in a transaction."""
        change(await self._graphs.load(name))
        ctx.policy_passed()
        return _describe_change(ctx, "Changed", await self._graphs.change(name, change))


def _describe_change(ctx: ToolContext, verb: str, graph: NodeGraph) -> str:
    names = ", ".join(node.name for node in graph.nodes)
    text = f"{verb} the graph {graph.name!r}: {names or 'no nodes'}."
    return ctx.ok(text, data={"graph": graph.name, "nodes": [node.name for node in graph.nodes]})


ACTIONS: Mapping[Action, Callable[[Actions, ToolContext, NodesArguments], Awaitable[str]]] = {
    "create": Actions.create,
    "add": Actions.add,
    "connect": Actions.connect,
    "list": Actions.list,
    "run": Actions.run,
    "delete": Actions.delete,
}


def build(_workspace: Path, policy: NodesPolicy, rt: ToolRuntime) -> Callable[..., Awaitable[str]]:
    """Bind `nodes` to one profile's policy."""
    actions = Actions(rt, policy)

    async def nodes(
        action: Action,
        graph: Name = "",
        node: Name = "",
        tool: Annotated[str, Field(max_length=128)] = "",
        arguments: dict[str, Any] = {},  # noqa: B006 - never changed
        source: Annotated[str, Field(max_length=500)] = "",
        target: Name = "",
        argument: Annotated[str, Field(max_length=128)] = "",
    ) -> str:
        """Build and run a graph of tool calls, in which calls can use the outputs of other calls as arguments.

        Args:
            action: create (graph); add (graph, node, tool, arguments): a call; connect (graph, source, target,
                argument): the output of source becomes an argument of target; without argument, target only waits for
                source; list (graph): your graphs, or the nodes of one; run (graph): all calls, each after those that it
                needs; delete (graph, node): a graph, or one node of it.
            graph: The graph's name.
            node: The node's name.
            tool: The tool that the node calls.
            arguments: The arguments of the call. {"$output": "NODE.text"} or {"$output": "NODE.data.KEY.0"} is replaced
                by the output of another node.
            source: The node whose output is used, or a part of it: NODE.text, NODE.data.KEY.0; by default its text.
            target: The node that uses the output.
            argument: The argument of target.
        """
        ctx = rt.start("nodes", action=action, graph=graph)
        if action not in policy.allowed_actions:
            hint = f"Allowed: {', '.join(policy.allowed_actions) or 'nothing'}."
            raise Denied(NodesReason.ACTION_NOT_ALLOWED, hint=hint)
        args = NodesArguments(graph, node, tool, arguments, source, target, argument)
        return await ACTIONS[action](actions, ctx, args)

    return nodes


def advertise(policy: NodesPolicy, schema: dict[str, Any]) -> dict[str, Any]:
    """Show the model only the actions that its profile allows."""
    properties = schema.get("properties", {})
    narrowed = {**properties, "action": {**properties.get("action", {}), "enum": list(policy.allowed_actions)}}
    return {**schema, "properties": narrowed}


_READS = frozenset({"nodes:read"})
CAPABILITIES: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(get_args(Action), _READS | {"nodes:write"}),
    "list": _READS,
    "run": _READS | {"nodes:run"},
}

SPEC = ToolSpec(
    "nodes",
    NodesPolicy,
    build,
    reasons=NodesReason,
    capabilities=CAPABILITIES,
    safety="medium",
    staged=True,
    group="automation",
    advertise=advertise,
)
