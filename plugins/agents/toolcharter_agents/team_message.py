"""`team_message`: send a message to the latest session of another agent of the team."""

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import Field

from toolcharter import Ask, Call, SessionRecord, ToolError, ToolPolicy, ToolRuntime, ToolSpec
from toolcharter_agents.agent_files import Names, is_listed
from toolcharter_agents.names import agent_of, fold_name
from toolcharter_agents.records import latest_sessions

EVERYBODY = "all"


class TeamMessagePolicy(ToolPolicy):
    """How far one profile lets `team_message` go."""

    members: Names = ()
    """The agents that messages may be sent to; none by default."""
    max_message_chars: Annotated[int, Field(ge=1, le=20_000)] = 4_000
    """The longest message, in characters."""
    unattended: bool = False
    """Whether messages are sent without asking a person."""


class TeamMessageReason(StrEnum):
    """Why `team_message` refuses."""

    NOT_IN_TEAM = "not_in_team"
    NO_SESSION = "no_session"
    MESSAGE_TOO_LONG = "message_too_long"
    INBOX_FULL = "inbox_full"
    WRITES_TO_AN_AGENT = "writes_to_an_agent"


def build(workspace: Path, policy: TeamMessagePolicy, rt: ToolRuntime) -> Callable[..., str]:  # noqa: ARG001 - `rt.inbox`
    """Bind `team_message` to one profile's policy."""

    def team_message(
        to: Annotated[str, Field(min_length=1, max_length=64)], text: Annotated[str, Field(min_length=1)]
    ) -> str:
        """Send a message to another agent of the team, which reads it as data in the next turn of its latest session.

        Args:
            to: The agent's name; or all, for each other agent of the team.
            text: The message.
        """
        ctx = rt.start("team_message", to=to)
        me = fold_name(agent_of(rt.caller))
        if to == EVERYBODY:
            names = tuple(name for name in policy.members if fold_name(name) != me and name != "*")
        elif is_listed(to, policy.members):
            names = (to,)
        else:
            return ctx.deny(TeamMessageReason.NOT_IN_TEAM, f"The profile has no member {to!r}.")
        if len(text) > policy.max_message_chars:
            most = f"A message has at most {policy.max_message_chars} characters."
            return ctx.error(most, reason=TeamMessageReason.MESSAGE_TOO_LONG)
        ctx.policy_passed()
        sessions = [found for name in names if (found := _latest_session_of(name, rt)) is not None]
        if not sessions:
            return ctx.error(
                f"No session of {to!r} has begun yet.", reason=TeamMessageReason.NO_SESSION, retryable=True
            )
        ctx.policy_passed()
        reached = []
        for session in sessions:
            try:
                rt.inbox.put(text, source=f"team member {agent_of(rt.caller)}", session=session.session)
            except ToolError:
                if len(sessions) == 1:
                    raise
            else:
                reached.append(session.agent)
        return ctx.ok(f"Sent to {', '.join(reached) or 'nobody'}.", data={"reached": reached})

    return team_message


def _latest_session_of(name: str, rt: ToolRuntime) -> SessionRecord | None:
    """The latest session of the agent *name* with the caller's user, or in the caller's group."""
    found = latest_sessions(rt.store, replace(rt.caller, agent=name), 1, is_completed=False)
    return found[0] if found else None


def asks(policy: TeamMessagePolicy, call: Call) -> Ask | None:  # noqa: ARG001 - the answer is the same for every call
    """Ask a person before each message, unless the policy waives it: a page may have injected the order."""
    return None if policy.unattended else Ask(TeamMessageReason.WRITES_TO_AN_AGENT, "The call messages another agent.")


SPEC = ToolSpec(
    "team_message",
    TeamMessagePolicy,
    build,
    reasons=TeamMessageReason,
    capabilities={"team:write"},
    safety="medium",
    staged=True,
    asks=asks,
    group="team",
)
