"""`sessions_list`: list the sessions of the agent."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from pydantic import Field

from toolcharter import ToolPolicy, ToolRuntime, ToolSpec
from toolcharter_agents.records import latest_sessions, session_item, sessions_text


class SessionsListPolicy(ToolPolicy):
    """How far one profile lets `sessions_list` go."""

    max_sessions: Annotated[int, Field(ge=1, le=1000)] = 100
    """The most sessions that one answer lists."""


def build(workspace: Path, policy: SessionsListPolicy, rt: ToolRuntime) -> Callable[..., str]:  # noqa: ARG001 - `rt.store`
    """Bind `sessions_list` to one profile's policy."""

    def sessions_list(
        limit: Annotated[int, Field(ge=1)] = 20, active_minutes: Annotated[int, Field(ge=1)] | None = None
    ) -> str:
        """List the agent's sessions, the latest first.

        Args:
            limit: The most sessions to list.
            active_minutes: List only sessions with a message in this number of minutes.
        """
        ctx = rt.start("sessions_list", limit=limit)
        ctx.policy_passed()
        since = 0 if active_minutes is None else int(time.time()) - 60 * active_minutes
        found = latest_sessions(rt.store, rt.caller, min(limit, policy.max_sessions), since=since)
        sessions = [session_item(one) for one in found]
        return ctx.ok(sessions_text(sessions), data={"sessions": sessions})

    return sessions_list


SPEC = ToolSpec(
    "sessions_list",
    SessionsListPolicy,
    build,
    reasons=(),
    capabilities={"session:read"},
    safety="low",
    staged=True,
    group="sessions",
)
