"""Names of agents, and keys of sessions.

Source: GoClaw's session keys: `agent:{id}:{channel}:direct|group:{peer}`, `agent:{id}:subagent:{label}`,
`agent:{id}:cron:{job}`.
"""

from typing import NamedTuple

from toolcharter import Caller, key_part, session_key

FIRST = "main"
"""The name of the agent if the caller gives none."""


def fold_name(name: str) -> str:
    """Return *name* in the form for comparisons, which ignore case."""
    return name.strip().casefold()


def agent_of(caller: Caller) -> str:
    """Return the name of the calling agent."""
    return caller.agent or FIRST


class Actor(NamedTuple):
    """The caller's agent, user and session, as they are written in records."""

    agent: str
    user: str
    session: str

    @classmethod
    def of(cls, caller: Caller) -> "Actor":
        """Return the names for *caller*."""
        return cls(caller.agent or "", caller.user or "", session_key(caller))


def subagent_key(agent: str, label: str) -> str:
    """Return the key of a subagent's session."""
    return f"agent:{key_part(agent)}:subagent:{key_part(label)}"


def key_names_agent(key: str, agent: str) -> bool:
    """Return whether the key of a session names *agent*. Keys that a host has made name no agent."""
    return key.startswith(f"agent:{key_part(agent)}:")
