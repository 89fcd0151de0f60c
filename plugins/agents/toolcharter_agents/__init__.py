"""The tools of toolcharter for sessions and other agents.

Sessions, subagents and tasks are records in the profile's store. Limits, claims and states therefore hold across all
workers. A subagent never sees more than the agent that started it.
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
    """Offer the tools for sessions, subagents and teams."""
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
