"""A run of a graph: the gate decides all known calls first. Then each call goes through it, after those it needs."""

import asyncio
import time
from dataclasses import asdict, dataclass
from typing import Any, Literal

from toolcharter import Decision, Denied, Reason, ToolError, ToolResult, ToolRuntime
from toolcharter_nodes.graphs import Node, NodeGraph
from toolcharter_nodes.policy import NodesPolicy, NodesReason
from toolcharter_nodes.references import Output, ReferenceFiller, size_of

State = Literal["ran", "failed", "skipped"]
_TELLING_S = 0.3
"""How much of the call's time is reserved for its report of the run, in seconds."""
_MAX_MESSAGE = 300


@dataclass(frozen=True)
class Step:
    """The result of one node."""

    node: str
    tool: str
    state: State
    outcome: str | None = None
    reason: str | None = None
    message: str | None = None
    text: str = ""
    truncated: bool = False
    call_id: str | None = None
    needs: tuple[str, ...] = ()
    """For a skipped node: the nodes that it needs and that have not run."""

    def line(self) -> str:
        """Format the step for a model. Its text is quoted line by line, so no line can look like a step."""
        if self.state == "skipped":
            return f"{self.node} ({self.tool}): skipped, as it needs {', '.join(self.needs)}"
        said = f"{self.node} ({self.tool}): {self.state}"
        if self.state == "failed":
            return f"{said}, {self.reason}: {self.message}" if self.message else f"{said}, {self.reason}"
        quoted = "".join(f"\n| {line}" for line in self.text.splitlines())
        return f"{said}{quoted}\n| [truncated]" if self.truncated else said + quoted


class GraphRun:
    """One run of one graph, for the current call."""

    def __init__(self, rt: ToolRuntime, policy: NodesPolicy, graph: NodeGraph) -> None:
        """Check the graph, without running anything.

        Raises:
            Denied: `tool_not_allowed`.
            ToolError: `cycle`, `missing_output`, `too_large`.
        """
        for node in graph.nodes:
            require_tool(node.tool, policy)
        graph.require_within_limits(policy)
        graph.require_outputs()
        self._rt = rt
        self._policy = policy
        self._order = graph.order()
        self._outputs: dict[str, Output] = {}
        self.steps: list[Step] = []
        self.is_overtime = False

    async def decide_known(self) -> None:
        """Let the gate decide each call in advance, as far as its arguments are known.

        A call that waits for others is not denied for a precondition that they may still fulfil.

        Raises:
            Denied: `node_denied`. The message lists each denied call.
            ToolError: `node_invalid`. The message lists each call with invalid arguments.
        """
        denied, invalid = [], []
        for node in self._order:
            decision = await self._rt.adecide(node.tool, node.arguments)
            if _is_denied(node, decision):
                denied.append(_refusal_of(node, decision))
            elif node.is_known and decision.outcome == "error" and decision.stage == "arguments":
                invalid.append(_refusal_of(node, decision))
        if denied:
            raise Denied(NodesReason.NODE_DENIED, "\n".join(denied), hint="Nothing has run.")
        if invalid:
            raise ToolError("\n".join(invalid), reason=NodesReason.NODE_INVALID, hint="Nothing has run.")

    async def run(self) -> None:
        """Run the calls. `steps` then has the result of each."""
        left = min(self._policy.max_run_s, self._rt.deadline - time.monotonic() - _TELLING_S)
        at = self._order[0] if self._order else None
        limit = asyncio.timeout(max(0.0, left))
        try:
            async with limit:
                for at in self._order:
                    self.steps.append(await self._step(at))
        except TimeoutError:
            if not limit.expired():
                raise
            self.is_overtime = True
            self._stop(at)

    async def _step(self, node: Node) -> Step:
        lacking = tuple(need for need in node.needs if need not in self._outputs)
        if lacking:
            return Step(node.name, node.tool, "skipped", needs=lacking)
        try:
            arguments = ReferenceFiller(self._outputs, self._policy.max_argument_bytes).fill(node.arguments)
        except ToolError as error:
            return Step(node.name, node.tool, "failed", "error", str(error.reason), error.message)
        return self._step_of_result(node, await self._rt.acall(node.tool, arguments))

    def _step_of_result(self, node: Node, result: ToolResult) -> Step:
        if result.outcome != "ok":
            message = (result.message or "")[:_MAX_MESSAGE] or None
            return Step(node.name, node.tool, "failed", result.outcome, result.reason, message, call_id=result.call_id)
        self._outputs[node.name] = output_of(result, self._policy.max_output_bytes)
        most = self._policy.max_text_chars
        text, is_cut = result.text[:most], len(result.text) > most
        return Step(node.name, node.tool, "ran", "ok", text=text, truncated=is_cut, call_id=result.call_id)

    def _stop(self, at: Node | None) -> None:
        """Add a step for the interrupted call *at*, and for each call after it."""
        for node in self._order[len(self.steps) :]:
            if node is at:
                self.steps.append(
                    Step(
                        node.name,
                        node.tool,
                        "failed",
                        "error",
                        Reason.TIMED_OUT,
                        "The time limit of the run was reached.",
                    )
                )
            else:
                self.steps.append(Step(node.name, node.tool, "skipped", needs=("time",)))

    def text(self) -> str:
        """Format the results of the run for a model."""
        counts = {state: sum(step.state == state for step in self.steps) for state in ("ran", "failed", "skipped")}
        head = ", ".join(f"{number} {state}" for state, number in counts.items())
        return "\n".join((head + ".", *(step.line() for step in self.steps)))

    def data(self) -> dict[str, Any]:
        """Return the results of the run as JSON."""
        return {"nodes": [{**asdict(step), "needs": list(step.needs)} for step in self.steps]}


def require_tool(tool: str, policy: NodesPolicy) -> None:
    """Refuse a tool that the policy does not list.

    Raises:
        Denied: `tool_not_allowed`.
    """
    if not any(name in {"*", tool.lower()} for name in map(str.lower, policy.allowed_tools)):
        raise Denied(NodesReason.TOOL_NOT_ALLOWED, f"The profile does not allow graphs to call {tool[:80]!r}.")


def output_of(result: ToolResult, max_bytes: int) -> Output:
    """Return the part of *result* that other calls can refer to."""
    text = result.text if size_of(result.text) <= max_bytes else None
    is_kept = size_of(result.data) <= max_bytes
    return Output(text, result.data if is_kept else None, is_kept)


def _is_denied(node: Node, decision: Decision) -> bool:
    """Whether the call will be denied whatever the earlier calls do."""
    if decision.outcome == "error":
        return False
    if not node.is_known:
        return decision.outcome == "deny" and decision.stage == "name"
    may_come = bool(node.needs) and decision.reason == Reason.PRECONDITION_FAILED
    return decision.outcome == "deny" and not may_come


def _refusal_of(node: Node, decision: Decision) -> str:
    said = f": {decision.message}" if decision.message else ""
    return f"{node.name} ({node.tool}): {decision.reason}{said}"
