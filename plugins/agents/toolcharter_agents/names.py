"""Names of agents, and whose session a key is of.

Source: GoClaw's session keys: `agent:{id}:{channel}:direct|group:{peer}`, `agent:{id}:subagent:{label}`,
`agent:{id}:cron:{job}`.
"""

from typing import NamedTuple

from toolcharter import Caller, key_part, session_key

FIRST = "main"
"""The agent of a caller that names none."""


def same_name(name: str) -> str:
    """*name* as it is compared: upper and lower case do not count."""
    return name.strip().casefold()


def agent_of(caller: Caller) -> str:
    """The agent that calls."""
    return caller.agent or FIRST


class Actor(NamedTuple):
    """Who calls, as records name it."""

    agent: str
    user: str
    session: str

    @classmethod
    def of(cls, caller: Caller) -> "Actor":
        """The caller's names."""
        return cls(caller.agent or "", caller.user or "", session_key(caller))


def subagent_key(agent: str, label: str) -> str:
    """The key of a subagent's session."""
    return f"agent:{key_part(agent)}:subagent:{key_part(label)}"


def names_agent(key: str, agent: str) -> bool:
    """Whether the key of a session says that it is one of *agent*; a key that a host has made says nothing."""
    return key.startswith(f"agent:{key_part(agent)}:")
