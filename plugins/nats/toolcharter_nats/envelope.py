"""The envelope of events: `event_id, source, type, timestamp, context, payload, security`. Pure.

Source: artificial_mind, `eventbus/types.go` and `docs/Tools.md` (`agi.tool.discovered|created|invoked|result|failed`).
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import orjson

SOURCE = "toolcharter"
_TYPES = {"hook.tool.before": "invoked", "tool.discovered": "discovered", "tool.created": "created"}
_INVOKED = ("action", "args", "agent", "user", "profile", "profile_digest", "runner")
_ENDED = (
    *_INVOKED[:1],
    *_INVOKED[2:],
    "status",
    "outcome",
    "reason",
    "message",
    "elapsed_ms",
    "output_chars",
    "fields",
)
_HANDED_ON = "approval_handed_on"
"""The reason of an after-event that does not end its call: another process continues it and reports its end."""
_REGISTERED = ("name", "safety", "agent", "principal")


class Message(NamedTuple):
    """A message to publish."""

    tenant: str
    kind: str
    """`discovered`, `created`, `invoked`, `result` or `failed`."""
    event_id: str
    """Stable: publishing the same event again gives the same id."""
    body: bytes


def messages(lines: bytes) -> Iterator[Message]:
    """Convert the gate's lines to messages: the events `hook.tool.before`, `hook.tool.after` and `service.admin`."""
    for line in lines.splitlines():
        event: dict[str, Any] = orjson.loads(line)
        kind = _kind(event)
        if kind:
            yield _message(event, kind)


def _kind(event: Mapping[str, Any]) -> str:
    if event.get("stage") == "approval" and event.get("reason") == _HANDED_ON:
        return ""
    if event["event"] == "hook.tool.after":
        return "result" if event["outcome"] == "ok" else "failed"
    if event["event"] == "service.admin":
        return _TYPES.get(str(event.get("action")), "")
    return _TYPES.get(event["event"], "")


def _message(event: Mapping[str, Any], kind: str) -> Message:
    tenant = event.get("tenant") or ""
    tool = event.get("tool") or event.get("tool_id")
    facts = {"invoked": _INVOKED, "result": _ENDED, "failed": _ENDED}.get(kind, _REGISTERED)
    identity = f"{kind} {event.get('call_id') or (event['ts'], tool)} {tenant}"
    event_id = f"tool_{event['ts'][:10].replace('-', '')}_{hashlib.sha256(identity.encode()).hexdigest()[:16]}"
    metadata = {"tool_id": tool, "call_id": event.get("call_id"), "parent_id": event.get("parent_id")}
    metadata |= {name: event.get(name) for name in facts}
    envelope = {
        "event_id": event_id,
        "source": SOURCE,
        "type": f"agi.tool.{kind}",
        "timestamp": event["ts"],
        "context": _without_none({"session_id": event.get("session"), "project_id": event.get("project")}),
        "payload": {"metadata": _without_none(metadata)},
        "security": _without_none({"origin_auth": tenant or None}),
    }
    return Message(tenant, kind, event_id, orjson.dumps(envelope))


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
