"""`memory_get`: reads one document of the memory, or some of its lines."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypedDict

from pydantic import Field

from toolcharter import Reason, ToolError, ToolPolicy, ToolRuntime, ToolSpec
from toolcharter_memory.documents import Found, find_document
from toolcharter_memory.excerpts import Excerpt, ExcerptData, excerpt_data, excerpts_of, excerpts_text
from toolcharter_memory.scopes import MAX_PATH_CHARS, memory_path

MAX_LINES = 2_000


class MemoryGetPolicy(ToolPolicy):
    """How far one profile lets `memory_get` go."""

    max_bytes: Annotated[int, Field(ge=1, le=1_000_000)] = 65_536
    """The most that one call returns, in bytes of UTF-8."""


class MemoryGetReason(StrEnum):
    """Why `memory_get` fails."""

    NO_MEMORY_PATH = "no_memory_path"
    MEMORY_NOT_FOUND = "memory_not_found"


class MemoryGetData(TypedDict):
    """The structured result."""

    path: str
    excerpts: list[ExcerptData]
    total_lines: int
    truncated: bool


SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "path": {
            "type": "string",
            "maxLength": MAX_PATH_CHARS,
            "description": "A path from memory_search: MEMORY.md, or memory/...",
            "examples": ["MEMORY.md"],
        },
        "from": {"type": "integer", "minimum": 1, "default": 1, "description": "The first line, counted from 1."},
        "lines": {
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_LINES,
            "description": "How many lines; up to the end by default.",
        },
    },
    "required": ["path"],
    "additionalProperties": False,
}
"""Written by hand, because no argument of a Python function can be called `from`."""


def build(workspace: Path, policy: MemoryGetPolicy, rt: ToolRuntime) -> Callable[..., str]:  # noqa: ARG001 - `rt.store`
    """Bind `memory_get` to one profile's policy."""

    def memory_get(path: str, lines: int | None = None, **rest: int) -> str:
        """Read one document of the memory, or some of its lines, with their authors."""
        first = rest.get("from", 1)
        ctx = rt.start("memory_get", path=path)
        wanted = memory_path(path.removeprefix("./"))
        if wanted is None or ".." in wanted.split("/"):
            message = (
                f"{path!r} is no document of the memory; its documents are MEMORY.md, memory.md and files in memory/."
            )
            raise ToolError(message, reason=MemoryGetReason.NO_MEMORY_PATH)
        ctx.policy_passed()
        found = rt.store.transact(lambda rows: find_document(rows, rt.caller, wanted))
        if found is None:
            message = f"Nothing was remembered at {wanted!r}."
            raise ToolError(message, reason=MemoryGetReason.MEMORY_NOT_FOUND, hint="Search with memory_search.")
        total = len(found.document.content.splitlines())
        if first > max(total, 1):
            raise ToolError(f"{wanted!r} has {total} lines.", reason=Reason.INVALID_ARGUMENTS)
        shown_lines = _excerpts_within(found, first, first + (lines or MAX_LINES) - 1)
        excerpts, truncated = _cut_excerpts(shown_lines, policy.max_bytes)
        text = excerpts_text(excerpts) or "There is no text in these lines."
        if truncated:
            text += "\n[truncated: there is more; ask for fewer lines, or begin at a later line]"
        data = MemoryGetData(
            path=wanted, excerpts=[excerpt_data(one) for one in excerpts], total_lines=total, truncated=truncated
        )
        return ctx.ok(text, data=data, truncated=truncated)

    return memory_get


def _excerpts_within(found: Found, first: int, last: int) -> list[Excerpt]:
    """Return the excerpts in the lines *first* to *last*."""
    kept: list[Excerpt] = []
    for one in excerpts_of(found):
        start, end = max(first, one.start_line), min(last, one.end_line)
        if start <= end:
            lines = one.text.split("\n")[start - one.start_line : end - one.start_line + 1]
            kept.append(one._replace(start_line=start, end_line=end, text="\n".join(lines)))
    return kept


def _cut_excerpts(excerpts: list[Excerpt], most: int) -> tuple[list[Excerpt], bool]:
    """Return whole lines of *excerpts*, up to *most* bytes, and whether lines are missing."""
    kept: list[Excerpt] = []
    for one in excerpts:
        if (size := len(one.text.encode())) <= most:
            kept.append(one)
            most -= size
            continue
        whole = one.text.encode()[:most].decode(errors="ignore").rpartition("\n")[0]
        if whole:
            kept.append(one._replace(text=whole, end_line=one.start_line + whole.count("\n")))
        return kept, True
    return kept, False


SPEC = ToolSpec(
    "memory_get",
    MemoryGetPolicy,
    build,
    reasons=MemoryGetReason,
    capabilities={"memory:read"},
    safety="low",
    staged=True,
    group="memory",
    parameters=SCHEMA,
    output=MemoryGetData,
)
