"""The JSON Schema of every event line, made from the names in `events/contract.py`."""

from typing import Any, get_args

from toolcharter.api.call import Stage
from toolcharter.events import contract

TEXT: dict[str, Any] = {"type": "string"}
COUNT: dict[str, Any] = {"type": "integer", "minimum": 0}
FLAG: dict[str, Any] = {"type": "boolean"}
MOMENT: dict[str, Any] = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|\+00:00)$"}
DURATION: dict[str, Any] = {"type": "number", "minimum": 0}
OBJECT: dict[str, Any] = {"type": "object"}


def _or_null(form: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [form, {"type": "null"}]}


RULE = {
    "type": "object",
    "properties": {"text": TEXT, "source": TEXT},
    "required": ["text", "source"],
    "additionalProperties": False,
}
FORMS: dict[str, dict[str, Any]] = {
    "event": {"enum": list(contract.EVENTS)},
    "level": {"enum": list(contract.LEVELS.values())},
    "ts": MOMENT,
    "seq": {"type": "integer", "minimum": 1},
    "tenant": TEXT,
    "channel": TEXT,
    "chat": TEXT,
    "peer": TEXT,
    "agent_type": TEXT,
    "depth": COUNT,
    "profile": TEXT,
    "profile_digest": TEXT,
    "args": _or_null(OBJECT),
    "files": {"type": "array", "items": TEXT},
    "workspace": TEXT,
    "versions": {"type": "object", "additionalProperties": TEXT},
    "host": {"type": "object", "additionalProperties": TEXT},
    "hidden_from_programs": _or_null(FLAG),
    "elapsed_ms": DURATION,
    "lost": COUNT,
    "always": FLAG,
    "expires": _or_null(MOMENT),
    "answer": {"enum": ["allow_once", "allow_always", "deny", "none"]},
    "rule": _or_null(RULE),
    "stage": _or_null({"enum": list(get_args(Stage))}),
    "status": {"enum": ["ok", "error"]},
    "outcome": {"enum": list(contract.LEVELS)},
    "output_chars": COUNT,
    "truncated": FLAG,
    "redactions": COUNT,
    "fields": OBJECT,
    "fault": {"type": "array", "items": TEXT, "minItems": 1},
    "abandoned": {"const": True},
}
"""The schema of each field. A field that is not listed is text or null."""

ADDED: dict[str, tuple[str, ...]] = {
    contract.TOOLBOX_OPEN: contract.OPEN_FIELDS,
    contract.APPROVAL_REQUEST: contract.REQUEST_FIELDS,
    contract.APPROVAL_DECISION: contract.DECISION_FIELDS,
    contract.POLICY_DENY: contract.DENY_FIELDS,
    contract.AFTER: contract.AFTER_FIELDS,
    contract.TOOLBOX_CLOSE: contract.CLOSE_FIELDS,
}
"""The fields of each event, in addition to the base fields."""

RARE = {contract.AFTER: contract.RARE_FIELDS}


def event_schema() -> dict[str, Any]:
    """Return the schema of an event line of any event."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An event line of toolcharter",
        "oneOf": [schema_of(event) for event in contract.EVENTS],
    }


def schema_of(event: str) -> dict[str, Any]:
    """Return the schema of the lines of one event."""
    required = (*contract.BASE_FIELDS, *ADDED.get(event, ()))
    names = (*required, *contract.RARE_BASE_FIELDS, *RARE.get(event, ()))
    return {
        "title": event,
        "type": "object",
        "properties": {**{name: FORMS.get(name, _or_null(TEXT)) for name in names}, "event": {"const": event}},
        "required": list(required),
        "additionalProperties": False,
    }
