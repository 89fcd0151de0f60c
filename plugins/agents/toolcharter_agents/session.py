"""`session`: list and read the other sessions of the agent.

Source: Duragent's tool of the same name: 10 sessions, 1 to 50 messages.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from toolcharter import ToolPolicy, ToolRuntime, ToolSpec
from toolcharter_agents.records import (
    SessionReason,
    get_own_session,
    history_text,
    latest_sessions,
    read_history,
    require_own_key,
    session_item,
    sessions_text,
)

MAX_SESSIONS = 10
MAX_MESSAGES = 50


class SessionPolicy(ToolPolicy):
    """No settings: `session` shows only sessions of the agent itself."""


def build(workspace: Path, policy: SessionPolicy, rt: ToolRuntime) -> Callable[..., str]:  # noqa: ARG001 - `rt.store`
    """Bind `session`."""

    def session(action: Literal["list", "read"], session_id: str = "", limit: int = 20) -> str:
        """List or read the agent's other sessions.

        Args:
            action: list: the latest 10 sessions that have not ended; read (session_id, limit): the latest messages of a
                session.
            session_id: The session's key, as list shows it.
            limit: How many messages, 1 to 50; a smaller number counts as 1, a larger as 50.
        """
        ctx = rt.start("session", action=action)
        data: dict[str, Any]
        if action == "list":
            ctx.policy_passed()
            sessions = [
                session_item(one) for one in latest_sessions(rt.store, rt.caller, MAX_SESSIONS, is_completed=False)
            ]
            return ctx.ok(sessions_text(sessions), data={"sessions": sessions})
        if not session_id:
            return ctx.error("read needs a session_id.", reason="invalid_arguments", hint="Call list for the keys.")
        require_own_key(rt.caller, session_id)
        ctx.policy_passed()
        record = get_own_session(rt.store, rt.caller, session_id)
        found = read_history(rt.store, record.session, min(max(limit, 1), MAX_MESSAGES), include_tools=True)
        data = {"session": record.session, "messages": found.messages}
        return ctx.ok(history_text(found), data=data, truncated=found.truncated)

    return session


SPEC = ToolSpec(
    "session",
    SessionPolicy,
    build,
    reasons=SessionReason,
    capabilities={"list": {"session:read"}, "read": {"session:read"}},
    safety="low",
    staged=True,
    group="sessions",
    argument_aliases={"session_key": "session_id", "id": "session_id"},
)
