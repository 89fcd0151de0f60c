"""`sessions_history`: show the latest messages of one of the agent's sessions."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from pydantic import Field

from toolcharter import ToolPolicy, ToolRuntime, ToolSpec
from toolcharter_agents.records import SessionReason, get_own_session, history_text, read_history, require_own_key


class SessionsHistoryPolicy(ToolPolicy):
    """How far one profile lets `sessions_history` go."""

    max_messages: Annotated[int, Field(ge=1, le=1000)] = 100
    """The most messages that one answer shows."""


def build(workspace: Path, policy: SessionsHistoryPolicy, rt: ToolRuntime) -> Callable[..., str]:  # noqa: ARG001 - `rt.store`
    """Bind `sessions_history` to one profile's policy."""

    def sessions_history(
        session_key: str,
        limit: Annotated[int, Field(ge=1)] = 20,
        include_tools: bool = False,  # noqa: FBT001, FBT002 - called by name
    ) -> str:
        """Show the latest messages of one of the agent's sessions, 4,000 characters of each and 80 KB in all.

        Args:
            session_key: The session's key, as sessions_list shows it.
            limit: How many messages.
            include_tools: Also show the results of tools.
        """
        ctx = rt.start("sessions_history", session_key=session_key)
        require_own_key(rt.caller, session_key)
        ctx.policy_passed()
        record = get_own_session(rt.store, rt.caller, session_key)
        found = read_history(rt.store, record.session, min(limit, policy.max_messages), include_tools=include_tools)
        data = {"session": record.session, "messages": found.messages}
        return ctx.ok(history_text(found), data=data, truncated=found.truncated)

    return sessions_history


SPEC = ToolSpec(
    "sessions_history",
    SessionsHistoryPolicy,
    build,
    reasons=SessionReason,
    capabilities={"session:read"},
    safety="low",
    staged=True,
    group="sessions",
)
