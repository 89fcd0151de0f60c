"""What a host hands to its model: the result of a call, and a tool as it is shown."""

from typing import Any, NamedTuple

from toolcharter.api.call import ToolResult
from toolcharter.gate.toolbox import Tool
from toolcharter.hosts.formats import HostTool
from toolcharter.hosts.pending import PendingApproval


class HostResult(NamedTuple):
    """What a host hands to its model."""

    text: str
    structured: dict[str, Any] | None
    """The tool's data, under `result` if it is no object; for a refusal or an error its `outcome`, `reason`, `message`,
    `hint` and whether it is `retryable`. None if the tool gave text alone."""
    is_error: bool
    result: ToolResult
    """All of it."""
    pending: PendingApproval | None = None
    """Set if the call waits for a person; the result then says `approval_unavailable`."""


def described(tool: Tool) -> HostTool:
    """A toolbox's *tool* as a host shows it."""
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


def structured(result: ToolResult) -> dict[str, Any] | None:
    """What `HostResult.structured` holds."""
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
