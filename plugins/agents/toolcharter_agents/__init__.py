"""The tools of toolcharter for sessions and other agents.

Sessions, subagents and tasks are records in the profile's store, so that limits, claims and states hold over all workers.
Whatever an agent starts sees no more than it does itself.
"""

from typing import Any

from toolcharter import ToolSpec, hookimpl
from toolcharter_agents import (
    agents_list,
    delegate_to_agent,
    session,
    session_status,
    sessions_history,
    sessions_list,
    sessions_send,
    sessions_spawn,
    subagents,
    team_message,
    team_tasks,
)


@hookimpl
def register_tools() -> list[ToolSpec[Any]]:
    """All tools of this distribution."""
    return [
        agents_list.SPEC,
        delegate_to_agent.SPEC,
        session.SPEC,
        session_status.SPEC,
        sessions_history.SPEC,
        sessions_list.SPEC,
        sessions_send.SPEC,
        sessions_spawn.SPEC,
        sessions_spawn.SPAWN,
        subagents.SPEC,
        team_message.SPEC,
        team_tasks.SPEC,
    ]
