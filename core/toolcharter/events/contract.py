"""The event contract: which events a call leaves, with which fields, in which order.

`events/lines.py`, `gate/stages/s9_record.py`, `gate/stages/s5_approval.py` and `gate/state.py` write the fields in the same order
by hand, because a loop over the names here would cost a part of every call; `tests/core/events/test_lines.py` and `tests/core/gate/test_events_of_a_call.py` compare.

Two events frame those of the calls: `toolbox.open` comes before the first of them, `toolbox.close` after the last.

A call has two halves. The first (`before`, `policy.before`) is written ahead of the body, so that
a crash cannot hide a call; the second (`policy.deny`, `after`) when its outcome is known.
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
"""On every event, in this order; on the two of a toolbox, those of a call are null."""

RARE_BASE_FIELDS = ("tenant", "channel", "chat", "peer", "agent_type")
"""On every event of a caller that has it, in this order before `session`."""

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
"""The level of `hook.tool.after` by outcome; `hook.policy.deny` is a warning, the rest info."""

MAX_FIELD_CHARS = 400
"""Longer strings in `args`, `fields` and `message` are cut, so that a line stays one that people can read."""

CUT_NOTICE = "...<truncated>"
