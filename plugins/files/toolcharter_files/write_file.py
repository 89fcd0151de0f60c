"""`write_file`: write a whole file, or append to it."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TypedDict

from toolcharter import OpenPlace, ToolError, ToolRuntime, ToolSpec
from toolcharter_files.access import Access, AccessReason, ChangingPolicy
from toolcharter_files.common import PATH_ALIASES, Count, quote_unprintable
from toolcharter_files.decoding import decode
from toolcharter_files.diffs import compute_diff, diff_of_write
from toolcharter_files.text import NotText

_MAX_OLD_BYTES = 1_000_000


class WriteFilePolicy(ChangingPolicy):
    """How far one profile lets `write_file` go."""

    max_bytes: Count = 1_000_000
    """The most that one call writes, in bytes of UTF-8."""
    max_file_bytes: Count = 50_000_000
    """The largest file that `append` may make, in bytes: an append copies the whole file."""


class WriteFileReason(StrEnum):
    """Why `write_file` fails. The path guard adds reasons of its own."""

    CONTENT_TOO_LARGE = "content_too_large"
    FILE_TOO_LARGE = "file_too_large"


class WriteFileData(TypedDict):
    """The structured result."""

    path: str
    created: bool
    written: int
    """The number of bytes that were written."""


def build(workspace: Path, policy: WriteFilePolicy, rt: ToolRuntime) -> Callable[..., str]:  # noqa: ARG001 - `rt.paths`
    """Bind `write_file` to one profile's policy."""
    access = Access(policy, rt)

    def write_file(path: str, content: str, append: bool = False) -> str:  # noqa: FBT001, FBT002 - called by name
        """Write a text file of the workspace in UTF-8, or append to it. Missing folders are made.

        Args:
            path: The file, relative to the workspace. An existing file is replaced.
            content: The text.
            append: Add *content* at the end of an existing file in place of replacing it.
        """
        ctx = rt.start("write_file", path=path, append=append)
        data = content.encode()
        if len(data) > policy.max_bytes:
            message = f"The content has {len(data)} bytes; one call may write at most {policy.max_bytes}."
            raise ToolError(message, reason=WriteFileReason.CONTENT_TOO_LARGE, hint="Write a part, then append.")
        with access.paths.open_place(path) as place:
            access.require_scope(place.path)
            if append and place.size + len(data) > policy.max_file_bytes:
                limit = policy.max_file_bytes
                message = f"{path!r} has {place.size} bytes; appending must not make a file larger than {limit} bytes."
                raise ToolError(message, reason=WriteFileReason.FILE_TOO_LARGE, hint="Write a new file beside it.")
            old = _read_old_text(place)
            ctx.policy_passed()
            place.write(data, append=append)
            diff = None
            if old is not None:
                diff = compute_diff(rt, diff_of_write, place.path, old, old + content if append else content)
            found = WriteFileData(path=place.path, created=place.kind == "missing", written=len(data))
        verb = "Created" if found["created"] else "Appended to" if append else "Wrote"
        text = f"{verb} file: {quote_unprintable(found['path'])} ({found['written']} bytes)"
        return ctx.ok(text, data=found, user_text=diff)

    return write_file


SPEC = ToolSpec(
    "write_file",
    WriteFilePolicy,
    build,
    reasons=[*AccessReason, *WriteFileReason],
    capabilities={"fs:write"},
    safety="medium",
    staged=True,
    group="fs",
    aliases=("Write", "file_write", "tool_file_write"),
    argument_aliases={**PATH_ALIASES, "contents": "content", "text": "content"},
    output=WriteFileData,
)


def _read_old_text(place: OpenPlace) -> str | None:
    """The file's current text, empty if it does not exist; None if it is too large for a diff or not text."""
    if place.kind == "missing":
        return ""
    if place.size > _MAX_OLD_BYTES:
        return None
    try:
        return decode(place.read(_MAX_OLD_BYTES), None).text
    except NotText:
        return None
