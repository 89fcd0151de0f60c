"""Find the sessions of a caller's own agent and user, and format their records."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NamedTuple

from toolcharter import Caller, Denied, SessionMessage, SessionRecord, Store, ToolError, session_key
from toolcharter_agents.names import agent_of, key_names_agent

MAX_MESSAGE_CHARS = 4_000
"""The limit for each message that is shown, in characters."""
MAX_HISTORY_BYTES = 80 * 1024
"""The limit for all messages of an answer, in bytes of UTF-8."""
_PAGE = 100
KEY_CHARS = 400
"""The longest key of a session in records, in characters."""
_MAX_READ = 2_000
"""The most messages that are searched for the requested ones."""


class SessionReason(StrEnum):
    """Why the tools about sessions refuse."""

    OTHER_AGENT = "other_agent"
    SESSION_NOT_FOUND = "session_not_found"


def owner_filter(caller: Caller) -> dict[str, str]:
    """Return the fields by which the records of the caller's agent and user are found."""
    return {"agent": caller.agent or "", "user": caller.user or ""}


def require_own_key(caller: Caller, key: str) -> None:
    """Refuse a key that names another agent, whether such a session exists or not. Does not use the store.

    Raises:
        Denied: `other_agent`.
    """
    if key.startswith("agent:") and key != session_key(caller) and not key_names_agent(key, agent_of(caller)):
        raise Denied(SessionReason.OTHER_AGENT, "Only the agent's own sessions can be read.")


def get_own_session(store: Store, caller: Caller, key: str) -> SessionRecord:
    """Return the session *key* if it belongs to the caller's agent and user, or to the group in which it calls.

    Raises:
        Denied: `other_agent`: the key names another agent, whether such a session exists or not.
        ToolError: `session_not_found`; also for a session of another user or of a group without the caller.
    """
    found = store.get(SessionRecord, key) if 0 < len(key) <= KEY_CHARS else None
    if found is not None and found.record.is_of(caller):
        return found.record
    if key == session_key(caller) or key_names_agent(key, agent_of(caller)):
        raise ToolError(f"There is no session {key!r}.", reason=SessionReason.SESSION_NOT_FOUND)
    raise Denied(SessionReason.OTHER_AGENT, "Only the agent's own sessions can be read.")


def latest_sessions(
    store: Store, caller: Caller, limit: int, *, since: int = 0, **where: Any
) -> tuple[SessionRecord, ...]:
    """Return the latest sessions of the caller's agent and user, and of the group in which it calls, newest first.

    Args:
        store: The tenant's store.
        caller: The caller.
        limit: The most sessions to return.
        since: Leave out sessions that were last updated before this time, in seconds since 1970.
        where: Values that fields of the records must have.
    """
    group = _group_sessions(store, caller, where)
    page = _read_page(store, caller, limit, "", where)
    found = page.found
    while page.after and len(found) < limit:
        page = _read_page(store, caller, limit, page.after, where)
        found += page.found
    latest = sorted([*group, *found], key=lambda one: one.updated, reverse=True)
    return tuple(one for one in latest[: max(1, limit)] if one.updated >= since)


class _Page(NamedTuple):
    found: list[SessionRecord]
    after: str


def _read_page(store: Store, caller: Caller, limit: int, after: str, where: dict[str, Any]) -> _Page:
    """A page of the sessions of the caller's agent and user, without those of groups.

    For a caller without a user, sessions of groups match as well, since they have no user.
    """
    page = store.page(
        SessionRecord,
        where={**owner_filter(caller), **where},
        order="updated",
        descending=True,
        after=after,
        limit=max(1, limit),
    )
    return _Page([one.record for one in page.records if not one.record.is_of_group], page.after)


def _group_sessions(store: Store, caller: Caller, where: dict[str, Any]) -> list[SessionRecord]:
    """The session of the group in which the caller calls, if there is one and its fields match *where*."""
    if caller.peer != "group":
        return []
    found = store.get(SessionRecord, session_key(caller))
    is_meant = found is not None and found.record.is_of_group and found.record.is_of(caller)
    has_all = found is not None and all(getattr(found.record, name) == value for name, value in where.items())
    return [found.record] if found is not None and is_meant and has_all else []


def session_item(record: SessionRecord) -> dict[str, Any]:
    """Return a session as an item of a list."""
    return {
        "session": record.session,
        "label": record.label,
        "channel": record.channel,
        "model": record.model,
        "messages": record.messages,
        "tokens": record.input_tokens + record.output_tokens,
        "updated": record.updated,
        "is_completed": record.is_completed,
    }


def sessions_text(sessions: "list[dict[str, Any]]") -> str:
    """Return sessions as text, one line for each."""
    rows = (
        f"{one['session']}{' (' + one['label'] + ')' if one['label'] else ''}: {one['messages']} messages,"
        f" updated {one['updated']}"
        for one in sessions
    )
    return "\n".join(rows) or "There are no sessions."


class History(NamedTuple):
    """The latest messages of a session, the oldest of them first."""

    messages: list[dict[str, Any]]
    truncated: bool
    """Whether a message was cut or left out because of its size."""


def read_history(store: Store, session: str, limit: int, *, include_tools: bool) -> History:
    """Return the latest messages that fit: 4,000 characters of each message, 80 KB in all."""
    messages: list[dict[str, Any]] = []
    room, truncated = MAX_HISTORY_BYTES, False
    for message in _newest_first(store, session):
        if message.role == "tool" and not include_tools:
            continue
        if len(messages) == limit:
            break
        text = message.text[:MAX_MESSAGE_CHARS]
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > room:
            truncated = True
            break
        room -= size
        truncated = truncated or len(text) < len(message.text)
        messages.append({"role": message.role, "text": text, "at": message.at})
    return History(messages[::-1], truncated)


def _newest_first(store: Store, session: str) -> Iterator[SessionMessage]:
    after = ""
    for _ in range(_MAX_READ // _PAGE):
        page = store.page(
            SessionMessage, where={"session": session}, order="number", descending=True, after=after, limit=_PAGE
        )
        yield from (one.record for one in page.records)
        after = page.after
        if not after:
            return


def history_text(found: History) -> str:
    """Return messages as text."""
    cut = "[Messages were cut or left out.]\n" if found.truncated else ""
    return cut + ("\n".join(f"{one['role']}: {one['text']}" for one in found.messages) or "There are no messages.")


def find_by_label(store: Store, caller: Caller, label: str) -> SessionRecord:
    """Return the latest session of the caller's agent and user with this label.

    Raises:
        ToolError: `session_not_found`.
    """
    found = latest_sessions(store, caller, 1, label=label)
    if not found:
        raise ToolError(f"There is no session with the label {label!r}.", reason=SessionReason.SESSION_NOT_FOUND)
    return found[0]
