"""Converts the gate's events to call records and counters in HDN's format. Pure.

Source: artificial_mind, `hdn/tool_metrics.go` (records, counters, the average) and `fsm/engine.go` (usage lists).
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import orjson

from toolcharter import RecordKind, StoreRecord
from toolcharter_service.approvals.record_approver import APPROVAL_HANDED_ON

RECENT = "tool_calls:recent"
"""The list of the latest call records."""
RECENT_MAX = 100
USAGE_MAX = 200
UNKNOWN = "unknown_tool"
"""The name under which calls of unknown tools are counted."""
_TOOL = re.compile(r"[A-Za-z0-9_-]{1,64}")
_AGENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
"""Agents that have their own usage list."""
_STATUS = {"ok": "success", "error": "failure", "denied": "blocked"}

Describe = Callable[[str | None, str], tuple[tuple[str, ...], str]]
"""Returns the permissions and safety level of a tool, by the agent and the tool's name."""


class ToolMetrics(StoreRecord):
    """The counters of a tool's calls."""

    store_kind: ClassVar[RecordKind] = RecordKind("tool_metrics", ("tool_id",))

    tool_id: str
    tool_name: str
    total_calls: int = 0
    success_calls: int = 0
    failure_calls: int = 0
    blocked_calls: int = 0
    avg_duration_ms: float = 0
    last_called: str
    created_at: str

    def with_calls(self, calls: "Sequence[EndedCall]") -> "ToolMetrics":
        """Return the counters after *calls*. Calls without a duration do not change the average duration."""
        update: dict[str, Any] = {"last_called": calls[-1].record["timestamp"]}
        total, average = self.total_calls, self.avg_duration_ms
        for call in calls:
            total += 1
            if call.duration_ms > 0:
                average = (average * (total - 1) + call.duration_ms) / total if average else call.duration_ms
        for status, number in Counter(call.record["status"] for call in calls).items():
            update[f"{status}_calls"] = getattr(self, f"{status}_calls") + number
        return self.model_copy(update={**update, "total_calls": total, "avg_duration_ms": average})


class UsageMark(StoreRecord):
    """How much of a spool is in the store. It is written with the records themselves, so no call counts twice."""

    store_kind: ClassVar[RecordKind] = RecordKind("usage_mark", ("spool",))

    spool: str
    offset: int


class EndedCall(NamedTuple):
    """A call record, and the call's exact duration."""

    record: Mapping[str, Any]
    duration_ms: float


def ended_calls(lines: bytes, describe: Describe) -> list[EndedCall]:
    """Return a record for each call that ended in *lines*. Lines that are no events are skipped."""
    known: dict[tuple[str | None, str], tuple[tuple[str, ...], str]] = {}
    found = []
    for line in lines.splitlines():
        try:
            event = orjson.loads(line)
        except orjson.JSONDecodeError:  # A process died while writing.
            continue
        if event.get("event") != "hook.tool.after" or is_handed_on(event):
            continue
        key = event["agent"], event["tool"]
        if key not in known:
            known[key] = describe(*key)
        found.append(_build_call(event, *known[key]))
    return found


def is_handed_on(event: Mapping[str, Any]) -> bool:
    """Whether an after-event only ends a turn: another process continues the call, and will report its end."""
    return bool(event.get("stage") == "approval" and event.get("reason") == APPROVAL_HANDED_ON)


def usage_entry(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call's entry in the usage lists."""
    kind = "result" if record["status"] == "success" else "failed"
    entry = {"ts": record["timestamp"], "agent_id": record["agent_id"], "type": kind, "tool": record["tool_id"]}
    entry |= {name: record[name] for name in ("id", "status", "duration_ms", "project_id")}
    return entry | ({"error": record["error"]} if "error" in record else {})


def usage_lists(calls: Sequence[EndedCall]) -> dict[str, list[dict[str, Any]]]:
    """Return the new entries of each usage list, the oldest first, and at most `USAGE_MAX` of them."""
    by_list: dict[str, list[Mapping[str, Any]]] = {"global": [call.record for call in calls]}
    for record in by_list["global"]:
        agent = record["agent_id"]
        if agent != "global" and _AGENT.fullmatch(agent):
            by_list.setdefault(agent, []).append(record)
    return {usage_list(name): [usage_entry(one) for one in its[-USAGE_MAX:]] for name, its in by_list.items()}


def usage_list(agent: str) -> str:
    """Return the name of an agent's usage list; `global` is the list of all calls."""
    return f"tools:{agent}:usage_history"


def _build_call(event: Mapping[str, Any], permissions: tuple[str, ...], level: str) -> EndedCall:
    elapsed_ms = float(event["elapsed_ms"])
    record: dict[str, Any] = {
        "id": event["call_id"],
        # Callers can make up any names of tools: unknown tools are counted as one.
        "tool_id": UNKNOWN if event["reason"] == UNKNOWN or not _TOOL.fullmatch(event["tool"]) else event["tool"],
        "tool_name": event["tool"],
        "parameters": event["args"],
        "status": _STATUS[event["outcome"]],
        "duration_ms": round(elapsed_ms),
        "agent_id": event["agent"] or "",
        "project_id": event["project"] or "",
        "timestamp": event["ts"],
        "response": {"output_chars": event["output_chars"], "truncated": event["truncated"], **(event["fields"] or {})},
        "permissions": list(permissions),
        "safety_level": level,
    }
    if event["outcome"] != "ok":
        record["error"] = ": ".join(str(part) for part in (event["reason"], event["message"]) if part)
    return EndedCall(record, elapsed_ms)
