"""`session_status`: show the record of the current session, or of another session of the agent."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolcharter import Caller, SessionRecord, ToolError, ToolPolicy, ToolRuntime, ToolSpec, session_key
from toolcharter_agents.names import Actor
from toolcharter_agents.records import KEY_CHARS, SessionReason, get_own_session, require_own_key

_FACT_CHARS = 512
"""The longest provider or channel in a record, in characters."""


class SessionStatusPolicy(ToolPolicy):
    """No settings: `session_status` shows only sessions of the agent itself."""


def build(workspace: Path, policy: SessionStatusPolicy, rt: ToolRuntime) -> Callable[..., str]:  # noqa: ARG001 - `rt.store`
    """Bind `session_status`."""

    def session_status(session_key: str = "") -> str:
        """Show a session's model, provider, channel, messages, tokens, compactions, label and last change.

        Args:
            session_key: Another session of the agent; the current session by default.
        """
        ctx = rt.start("session_status", session_key=session_key)
        actor = Actor.of(rt.caller)
        require_own_key(rt.caller, session_key)
        ctx.policy_passed()
        if len(actor.session) > KEY_CHARS:
            message = f"The key of this session is longer than {KEY_CHARS} characters, and has no record."
            raise ToolError(message, reason=SessionReason.SESSION_NOT_FOUND)
        if session_key in {"", actor.session}:
            found = rt.store.get(SessionRecord, actor.session)
            record = found.record if found is not None and found.record.is_of(rt.caller) else _default_record(rt.caller)
        else:
            record = get_own_session(rt.store, rt.caller, session_key)
        data: dict[str, Any] = {
            "session": record.session,
            "model": record.model,
            "provider": record.provider,
            "channel": record.channel,
            "messages": record.messages,
            "input_tokens": record.input_tokens,
            "output_tokens": record.output_tokens,
            "compactions": record.compactions,
            "label": record.label,
            "updated": record.updated,
        }
        return ctx.ok("\n".join(f"{name}: {value}" for name, value in data.items()), data=data)

    return session_status


def _default_record(caller: Caller) -> SessionRecord:
    """A record for a session without one: only the caller's key, provider and channel are known."""
    provider, channel = (caller.provider or "")[:_FACT_CHARS], (caller.channel or "")[:_FACT_CHARS]
    return SessionRecord(session=session_key(caller), provider=provider, channel=channel)


SPEC = ToolSpec(
    "session_status",
    SessionStatusPolicy,
    build,
    reasons=SessionReason,
    capabilities={"session:read"},
    safety="low",
    staged=True,
    group="sessions",
)
