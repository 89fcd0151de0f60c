"""`sessions_send`: send a message to the inbox of another session of the agent."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import Field

from toolcharter import Ask, Call, ToolPolicy, ToolRuntime, ToolSpec
from toolcharter_agents.names import Actor
from toolcharter_agents.records import SessionReason, find_by_label, get_own_session, require_own_key


class SessionsSendPolicy(ToolPolicy):
    """How far one profile lets `sessions_send` go."""

    max_message_chars: Annotated[int, Field(ge=1, le=20_000)] = 4_000
    """The longest message, in characters."""
    unattended: bool = False
    """Whether messages are sent without asking a person."""


class SendReason(StrEnum):
    """Why `sessions_send` refuses."""

    OTHER_AGENT = SessionReason.OTHER_AGENT
    SESSION_NOT_FOUND = SessionReason.SESSION_NOT_FOUND
    OWN_SESSION = "own_session"
    MESSAGE_TOO_LONG = "message_too_long"
    INBOX_FULL = "inbox_full"
    WRITES_TO_A_SESSION = "writes_to_a_session"


def build(workspace: Path, policy: SessionsSendPolicy, rt: ToolRuntime) -> Callable[..., str]:  # noqa: ARG001 - `rt.inbox`
    """Bind `sessions_send` to one profile's policy."""

    def sessions_send(message: Annotated[str, Field(min_length=1)], session_key: str = "", label: str = "") -> str:
        """Send a message to another session of the agent, which reads it in its next turn, as data.

        Args:
            message: The text.
            session_key: The key of the session.
            label: Instead of the key, a label: the message goes to the latest session with it.
        """
        ctx = rt.start("sessions_send", session_key=session_key, label=label)
        if bool(session_key) == bool(label):
            return ctx.error("Give either session_key or label.", reason="invalid_arguments")
        if len(message) > policy.max_message_chars:
            most = f"A message has at most {policy.max_message_chars} characters."
            return ctx.error(most, reason=SendReason.MESSAGE_TOO_LONG)
        caller, actor = rt.caller, Actor.of(rt.caller)
        require_own_key(caller, session_key)
        if session_key == actor.session:
            return ctx.error("A session cannot send a message to itself.", reason=SendReason.OWN_SESSION)
        ctx.policy_passed()
        record = (
            get_own_session(rt.store, caller, session_key) if session_key else find_by_label(rt.store, caller, label)
        )
        if record.session == actor.session:
            return ctx.error("A session cannot send a message to itself.", reason=SendReason.OWN_SESSION)
        rt.inbox.put(message, source=f"session {actor.session}", session=record.session)
        return ctx.ok(f"Sent to {record.session}.", data={"session": record.session})

    return sessions_send


def asks(policy: SessionsSendPolicy, call: Call) -> Ask | None:  # noqa: ARG001 - the answer is the same for every call
    """Ask a person before each message, unless the policy waives it: a page may have injected the order."""
    return (
        None
        if policy.unattended
        else Ask(SendReason.WRITES_TO_A_SESSION, "The call sends a message to another conversation of the agent.")
    )


SPEC = ToolSpec(
    "sessions_send",
    SessionsSendPolicy,
    build,
    reasons=SendReason,
    capabilities={"session:write"},
    safety="medium",
    staged=True,
    asks=asks,
    group="sessions",
)
