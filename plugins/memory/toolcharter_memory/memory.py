"""`memory`: writes notes and documents of the memory, and recalls them."""

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

from pydantic import Field

from toolcharter import (
    Ask,
    Call,
    Caller,
    Denied,
    Reason,
    StoreTransaction,
    ToolContext,
    ToolError,
    ToolRuntime,
    ToolSpec,
)
from toolcharter_memory.documents import (
    Found,
    MemoryWritePolicy,
    MemoryWriteReason,
    Writer,
    documents_in,
    find_document,
    now,
    storable_content,
    write_document,
)
from toolcharter_memory.excerpts import Excerpt, ExcerptData, excerpt_data, excerpts_of, excerpts_text
from toolcharter_memory.scopes import DAILY, MAIN, TOPIC, WORLD, scopes_of

Action = Literal["recall", "remember", "reflect", "update_world"]
MAX_DAYS = 366


class MemoryPolicy(MemoryWritePolicy):
    """What one profile lets `memory` do."""

    allowed_actions: tuple[Action, ...] = ("recall", "remember", "reflect", "update_world")
    """The actions that the tool may be used for."""
    max_recall_bytes: Annotated[int, Field(ge=1_000, le=1_000_000)] = 49_152
    """How much text `recall` returns at most, in bytes of UTF-8."""


class MemoryReason(StrEnum):
    """Why `memory` refuses or fails."""

    ACTION_NOT_ALLOWED = "action_not_allowed"
    INVALID_TOPIC = "invalid_topic"


class MemoryData(TypedDict, total=False):
    """The structured result: `path` and `written` for actions that write, the other fields for `recall`."""

    path: str
    written: int
    """The size of the written document, in bytes."""
    excerpts: list[ExcerptData]
    truncated: bool


def build(workspace: Path, policy: MemoryPolicy, rt: ToolRuntime) -> Callable[..., str]:  # noqa: ARG001 - `rt.store`
    """Bind `memory` to one profile's policy."""

    def memory(
        action: Action,
        content: str | None = None,
        topic: str | None = None,
        days: Annotated[int, Field(ge=1, le=MAX_DAYS)] = 3,
    ) -> str:
        """Remember things beyond this conversation, and recall them.

        Args:
            action: `recall` returns the world files, the long-term memory and the notes of the last days. `remember`
                adds a note to today's notes. `reflect` replaces the long-term memory (MEMORY.md). `update_world`
                replaces the world file of one topic, for all agents.
            content: The text to write, in Markdown; for `remember`, `reflect` and `update_world`.
            topic: The topic for `update_world`: a word of lower-case letters, digits, `-` and `_`.
            days: How many days `recall` goes back, today included.
        """
        ctx = rt.start("memory", action=action)
        if action not in policy.allowed_actions:
            raise Denied(MemoryReason.ACTION_NOT_ALLOWED, f"The profile does not let `memory` {action}.")
        if action == "recall":
            ctx.policy_passed()
            return _recall_result(ctx, policy, rt.store.transact(lambda rows: _find_recalled(rows, rt.caller, days)))
        path, text = _target_path(action, topic), _require_content(content, action)
        change = storable_content(text, policy)
        ctx.policy_passed()
        written = write_document(rt, Writer(rt.caller, policy), path, lambda old: _changed_text(action, old, change))
        size = len(written.content.encode())
        return ctx.ok(f"Written to {path} ({size} bytes).", data=MemoryData(path=path, written=size))

    return memory


def _target_path(action: Action, topic: str | None) -> str:
    if action == "reflect":
        return MAIN
    if action == "remember":
        return f"{DAILY}{now().date().isoformat()}.md"
    if topic is None or TOPIC.fullmatch(topic) is None:
        message = f"The topic {topic!r} is no word of small letters, digits, '-' and '_', up to 64."
        raise ToolError(message, reason=MemoryReason.INVALID_TOPIC, hint="Write a topic such as 'deployment'.")
    return f"{WORLD}{topic}.md"


def _require_content(content: str | None, action: Action) -> str:
    if content is None or not content.strip():
        raise ToolError(f"`{action}` needs content.", reason=Reason.INVALID_ARGUMENTS)
    return content.strip("\n")


def _changed_text(action: Action, old: str | None, text: str) -> str:
    if action != "remember":
        return f"{text}\n"
    above = f"{old}\n" if old and old.endswith("\n") else f"{old}\n\n" if old else ""
    return f"{above}## {now().time().isoformat(timespec='seconds')} UTC\n\n{text}\n"


def _find_recalled(rows: StoreTransaction, caller: Caller, days: int) -> list[Found]:
    """Return world files, then MEMORY.md, then the notes of the last days, latest first."""
    world: dict[str, Found] = {}
    for scope in scopes_of(caller, WORLD):
        for document in documents_in(rows, scope, WORLD):
            world.setdefault(document.path, Found(scope, document, 0))
    today = now().date()
    paths = [MAIN, *(f"{DAILY}{_date_before(today, back)}.md" for back in range(days))]
    others = (find_document(rows, caller, path) for path in paths)
    return [*(found for _, found in sorted(world.items())), *(found for found in others if found is not None)]


def _date_before(today: date, back: int) -> str:
    return (today - timedelta(days=back)).isoformat()


def _recall_result(ctx: ToolContext, policy: MemoryPolicy, found: list[Found]) -> str:
    room, truncated = policy.max_recall_bytes, False
    excerpts: list[Excerpt] = []
    for one in found:
        for excerpt in excerpts_of(one):
            size = len(excerpt.text.encode())
            if size > room:
                truncated = True
                continue
            room -= size
            excerpts.append(excerpt)
    if not found:
        return ctx.ok("Nothing was remembered yet.", data=MemoryData(excerpts=[], truncated=False))
    text = excerpts_text(excerpts)
    if truncated:
        text += "\n[truncated: there is more; use memory_search or memory_get]"
    data = MemoryData(excerpts=[excerpt_data(one) for one in excerpts], truncated=truncated)
    return ctx.ok(text, data=data, truncated=truncated)


def advertise(policy: MemoryPolicy, schema: dict[str, Any]) -> dict[str, Any]:
    """Show the model only the actions that its profile allows."""
    properties = schema.get("properties", {})
    narrowed = {**properties.get("action", {}), "enum": list(policy.allowed_actions)}
    return {**schema, "properties": {**properties, "action": narrowed}}


def asks(policy: MemoryPolicy, call: Call) -> Ask | None:
    """Ask a person about an action that writes, unless the policy waives it."""
    named = {"remember": DAILY, "reflect": MAIN, "update_world": WORLD}
    return policy.asks_about(named[call.args["action"]]) if call.args["action"] in named else None


_READS = {"memory:read"}
_WRITES = {"memory:read", "memory:write"}
CAPABILITIES: Mapping[str, set[str]] = {
    "recall": _READS,
    "remember": _WRITES,
    "reflect": _WRITES,
    "update_world": _WRITES,
}
SPEC = ToolSpec(
    "memory",
    MemoryPolicy,
    build,
    reasons=[*MemoryReason, *MemoryWriteReason],
    capabilities=CAPABILITIES,
    safety="medium",
    staged=True,
    group="memory",
    output=MemoryData,
    advertise=advertise,
    asks=asks,
)
