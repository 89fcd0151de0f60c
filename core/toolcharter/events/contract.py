"""The event contract: which events a call emits, with which fields, in which order.

`events/lines.py`, `gate/stages/s9_record.py`, `gate/stages/s5_approval.py` and `gate/state.py` write the fields in this
order by hand, because a loop over these names would slow down every call. `tests/core/events/test_lines.py` and
`tests/core/gate/test_events_of_a_call.py` compare the order.

Two events frame those of the calls: `toolbox.open` comes before the first of them, `toolbox.close` after the last.

The events of a call have two halves. The first half (`before`, `policy.before`) is written before the body runs, so
that a crash cannot hide a call; the second half (`policy.deny`, `after`) is written when the outcome is known.
"""

BEFORE = "hook.tool.before"
POLICY_BEFORE = "hook.policy.before"
POLICY_DENY = "hook.policy.deny"
AFTER = "hook.tool.after"
APPROVAL_REQUEST = "hook.approval.request"
APPROVAL_DECISION = "hook.approval.decision"
TOOLBOX_OPEN = "toolbox.open"
TOOLBOX_CLOSE = "toolbox.close"
FRAMES = (TOOLBOX_OPEN, TOOLBOX_CLOSE)
EVENTS = (TOOLBOX_OPEN, BEFORE, POLICY_BEFORE, APPROVAL_REQUEST, APPROVAL_DECISION, POLICY_DENY, AFTER, TOOLBOX_CLOSE)

BASE_FIELDS = (
    "event",
    "level",
    "ts",
    "seq",
    "call_id",
    "parent_id",
    "session",
    "agent",
    "user",
    "project",
    "group",
    "provider",
    "depth",
    "profile",
    "profile_digest",
    "runner",
    "tool",
    "action",
    "plugin",
    "args",
)
"""On every event, in this order. On the two events of a toolbox, the fields of a call are null."""

RARE_BASE_FIELDS = ("tenant", "channel", "chat", "peer", "agent_type")
"""On every event of a caller for which they are set, in this order, before `session`."""

OPEN_FIELDS = ("files", "workspace", "versions", "host", "hidden_from_programs")
"""Added by `toolbox.open`."""

CLOSE_FIELDS = ("elapsed_ms", "lost")
"""Added by `toolbox.close`."""

REQUEST_FIELDS = ("reason", "message", "always", "expires")
"""Added by `hook.approval.request`."""

DECISION_FIELDS = ("approver", "answer", "reason", "message", "expires")
"""Added by `hook.approval.decision`."""

DENY_FIELDS = ("reason", "message", "rule", "stage")
"""Added by `hook.policy.deny`."""

AFTER_FIELDS = (
    "status",
    "outcome",
    "reason",
    "message",
    "rule",
    "stage",
    "elapsed_ms",
    "output_chars",
    "truncated",
    "redactions",
    "fields",
)
"""Added by `hook.tool.after`."""

RARE_FIELDS = ("fault", "abandoned")
"""Added by `hook.tool.after` only when they are set."""

LEVELS = {"ok": "info", "denied": "warning", "error": "error"}
"""The level of `hook.tool.after` by outcome. `hook.policy.deny` is a warning, all other events are info."""

MAX_FIELD_CHARS = 400
"""Longer strings in `args`, `fields` and `message` are truncated, so that people can still read the line."""

CUT_NOTICE = "...<truncated>"
