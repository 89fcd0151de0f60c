"""Maps events to OpenTelemetry: the names of attributes and metrics, and the values that events give them.

Source: OpenTelemetry's semantic conventions for GenAI, "Semantic conventions for generative AI tool execution": the
span `execute_tool`, its attributes, and the metric `gen_ai.execute_tool.duration`, all in the state "development"; and
"Recording errors" for `error.type`. Names that begin with `toolcharter.` are not in the conventions.
"""

import json
from collections.abc import Mapping
from typing import Any

OPERATION = "execute_tool"
DURATION = "gen_ai.execute_tool.duration"
CALLS = "toolcharter.calls"
DENIALS = "toolcharter.denials"
REDACTIONS = "toolcharter.redactions"
APPROVALS = "toolcharter.approvals"
BUCKETS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
"""The borders of the histogram, in seconds: from a look-up in memory to a call that waits for a person."""
UNKNOWN_TOOL = "_OTHER"
"""The name in metrics for a tool that the profile does not have: the model makes up its name, and may make up many."""

Attributes = dict[str, str | bool | int | float | tuple[str, ...]]

_BEGINNING = {
    "gen_ai.tool.name": "tool",
    "gen_ai.tool.call.id": "call_id",
    "gen_ai.agent.name": "agent",
    "gen_ai.conversation.id": "session",
    "gen_ai.provider.name": "provider",
    "toolcharter.action": "action",
    "toolcharter.plugin": "plugin",
    "toolcharter.parent_call.id": "parent_id",
    "toolcharter.profile.name": "profile",
    "toolcharter.profile.digest": "profile_digest",
    "toolcharter.runner": "runner",
    "toolcharter.tenant": "tenant",
    "toolcharter.user": "user",
    "toolcharter.project": "project",
    "toolcharter.group": "group",
    "toolcharter.depth": "depth",
}
"""The attributes that a span has from its start, with the event's fields that hold their values."""
_END = {
    "error.type": "reason",
    "toolcharter.outcome": "outcome",
    "toolcharter.stage": "stage",
    "toolcharter.output_chars": "output_chars",
    "toolcharter.truncated": "truncated",
    "toolcharter.redactions": "redactions",
    "toolcharter.abandoned": "abandoned",
}
"""Attributes that a span gets at its end."""
_ANSWER = {
    "toolcharter.approval.approver": "approver",
    "toolcharter.approval.answer": "answer",
    "toolcharter.approval.reason": "reason",
    "toolcharter.approval.message": "message",
    "toolcharter.approval.expires": "expires",
}


def start_attributes(event: Mapping[str, Any], *, arguments: bool) -> Attributes:
    """Return the attributes of a span as it begins, from `hook.tool.before`; samplers see them."""
    known = _map_attributes(_BEGINNING, event)
    known |= {"gen_ai.operation.name": OPERATION, "gen_ai.tool.type": "function"}
    if arguments and event.get("args") is not None:
        known["gen_ai.tool.call.arguments"] = json.dumps(event["args"], ensure_ascii=False, separators=(",", ":"))
    return known


def end_attributes(event: Mapping[str, Any]) -> Attributes:
    """Return the attributes that a span gets when the call's outcome is known, from `hook.tool.after`."""
    known = _map_attributes(_END, event)
    if rule := event.get("rule"):
        known |= {"toolcharter.rule.text": rule["text"], "toolcharter.rule.source": rule["source"]}
    if fault := event.get("fault"):
        known["toolcharter.fault"] = tuple(fault)
    return known


def approval_attributes(event: Mapping[str, Any]) -> Attributes:
    """Return the attributes of a span's event, from the request or the decision of an approval."""
    return _map_attributes(_ANSWER, event)


def metric_attributes(event: Mapping[str, Any]) -> Attributes:
    """Return the attributes of metrics. Each has few values, so none is text that a model chooses."""
    tool = UNKNOWN_TOOL if event.get("reason") == "unknown_tool" else event["tool"]
    return {"gen_ai.tool.name": tool, "toolcharter.profile.name": event["profile"]}


def duration_attributes(event: Mapping[str, Any]) -> Attributes:
    """Return the attributes of `gen_ai.execute_tool.duration`."""
    named = _map_attributes({"gen_ai.agent.name": "agent", "error.type": "reason"}, event)
    return {
        **metric_attributes(event),
        **named,
        "gen_ai.operation.name": OPERATION,
        "gen_ai.tool.type": "function",
    }


def _map_attributes(names: Mapping[str, str], event: Mapping[str, Any]) -> Attributes:
    return {name: event[field] for name, field in names.items() if event.get(field) is not None}
