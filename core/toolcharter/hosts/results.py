"""The values that a host passes to its model: the result of a call, and the description of a tool."""

from typing import Any, NamedTuple

from toolcharter.api.call import ToolResult
from toolcharter.gate.toolbox import Tool
from toolcharter.hosts.formats import HostTool
from toolcharter.hosts.pending import PendingApproval


class HostResult(NamedTuple):
    """The result of a call, for the model."""

    text: str
    structured: dict[str, Any] | None
    """The tool's data, under `result` if it is no object. For a denial or an error: `outcome`, `reason`, `message`,
    `hint` and `retryable`. None if the tool returned only text."""
    is_error: bool
    result: ToolResult
    """The complete result."""
    pending: PendingApproval | None = None
    """Set if the call waits for a person's approval. The result then has the reason `approval_unavailable`."""


def described(tool: Tool) -> HostTool:
    """Describe a toolbox's *tool* for a host."""
    declared = tool.capabilities
    return HostTool(
        tool.name,
        tool.description,
        tool.parameters,
        tool.output_schema,
        None if declared is None else tuple(sorted(declared)),
        tool.safety,
        tool.kind,
    )


def structured_value(result: ToolResult) -> dict[str, Any] | None:
    """Return the value of `HostResult.structured`."""
    if result.outcome != "ok":
        return {
            "outcome": result.outcome,
            "reason": result.reason,
            "message": result.message,
            "hint": result.hint,
            "retryable": result.retryable,
        }
    if result.data is None:
        return None
    return result.data if isinstance(result.data, dict) else {"result": result.data}
