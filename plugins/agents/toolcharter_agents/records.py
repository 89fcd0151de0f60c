"""The sessions of a caller's own agent and user, and how their records are shown."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NamedTuple

from toolcharter import Caller, Denied, SessionMessage, SessionRecord, Store, ToolError, session_key
from toolcharter_agents.names import agent_of, names_agent

MAX_MESSAGE_CHARS = 4_000
"""How much of a message is shown, in characters."""
MAX_HISTORY_BYTES = 80 * 1024
"""How much all messages of an answer take, in bytes of UTF-8."""
_PAGE = 100
KEY_CHARS = 400
"""How long the key of a session is at most; records have none that is longer."""
_MOST_READ = 2_000
"""How many messages are looked through for those that are asked for."""


class SessionReason(StrEnum):
    """Why the tools about sessions refuse."""

    OTHER_AGENT = "other_agent"
    SESSION_NOT_FOUND = "session_not_found"


def own(caller: Caller) -> dict[str, str]:
    """What records of the caller's agent and user have."""
    return {"agent": caller.agent or "", "user": caller.user or ""}


def require_own(caller: Caller, key: str) -> None:
    """Refuse a key that names another agent, whether there is such a session or not; the store is not asked.

    Raises:
        Denied: `other_agent`.
    """
    if key.startswith("agent:") and key != session_key(caller) and not names_agent(key, agent_of(caller)):
        raise Denied(SessionReason.OTHER_AGENT, "Only sessions of the agent itself can be looked at.")


def own_session(store: Store, caller: Caller, key: str) -> SessionRecord:
    """The session *key*, if it is one of the caller's agent and user, or of the group in which it calls.

    Raises:
        Denied: `other_agent`: the key names another agent, whether there is such a session or not.
        ToolError: `session_not_found`; also for another user's, and for a group's in which the caller is not.
    """
    found = store.get(SessionRecord, key) if 0 < len(key) <= KEY_CHARS else None
    if found is not None and found.record.is_of(caller):
        return found.record
    if key == session_key(caller) or names_agent(key, agent_of(caller)):
        raise ToolError(f"There is no session {key!r}.", reason=SessionReason.SESSION_NOT_FOUND)
    raise Denied(SessionReason.OTHER_AGENT, "Only sessions of the agent itself can be looked at.")


def newest(store: Store, caller: Caller, limit: int, *, since: int = 0, **where: Any) -> tuple[SessionRecord, ...]:
    """At most *limit* sessions of the caller's agent and user, and of the group in which it calls, the latest first."""
    group = _of_group(store, caller, where)
    page = _page(store, caller, limit, "", where)
    found = page.found
    while page.after and len(found) < limit:
        page = _page(store, caller, limit, page.after, where)
        found += page.found
    latest = sorted([*group, *found], key=lambda one: one.updated, reverse=True)
    return tuple(one for one in latest[: max(1, limit)] if one.updated >= since)


class _Page(NamedTuple):
    found: list[SessionRecord]
    after: str


def _page(store: Store, caller: Caller, limit: int, after: str, where: dict[str, Any]) -> _Page:
    """Sessions of the caller's agent and user; those of groups have no user either, as some callers."""
    page = store.page(
        SessionRecord,
        where={**own(caller), **where},
        order="updated",
        descending=True,
        after=after,
        limit=max(1, limit),
    )
    return _Page([one.record for one in page.records if not one.record.is_of_group], page.after)


def _of_group(store: Store, caller: Caller, where: dict[str, Any]) -> list[SessionRecord]:
    """The session of the group in which the caller calls, if there is one with what *where* says."""
    if caller.peer != "group":
        return []
    found = store.get(SessionRecord, session_key(caller))
    is_meant = found is not None and found.record.is_of_group and found.record.is_of(caller)
    has_all = found is not None and all(getattr(found.record, name) == value for name, value in where.items())
    return [found.record] if found is not None and is_meant and has_all else []


def shown(record: SessionRecord) -> dict[str, Any]:
    """A session in a list."""
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


def lines_of(sessions: "list[dict[str, Any]]") -> str:
    """Sessions as text, a line for each."""
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
    """A message was cut, or there was no room for one."""


def history(store: Store, session: str, limit: int, *, include_tools: bool) -> History:
    """The latest messages that fit: 4,000 characters each, 80 KB together."""
    messages: list[dict[str, Any]] = []
    room, truncated = MAX_HISTORY_BYTES, False
    for message in _backwards(store, session):
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


def _backwards(store: Store, session: str) -> Iterator[SessionMessage]:
    after = ""
    for _ in range(_MOST_READ // _PAGE):
        page = store.page(
            SessionMessage, where={"session": session}, order="number", descending=True, after=after, limit=_PAGE
        )
        yield from (one.record for one in page.records)
        after = page.after
        if not after:
            return


def text_of(found: History) -> str:
    """Messages as text."""
    cut = "[Messages were cut or left out.]\n" if found.truncated else ""
    return cut + ("\n".join(f"{one['role']}: {one['text']}" for one in found.messages) or "There are no messages.")


def by_label(store: Store, caller: Caller, label: str) -> SessionRecord:
    """The latest session of the caller's agent and user with this label.

    Raises:
        ToolError: `session_not_found`.
    """
    found = newest(store, caller, 1, label=label)
    if not found:
        raise ToolError(f"There is no session with the label {label!r}.", reason=SessionReason.SESSION_NOT_FOUND)
    return found[0]
