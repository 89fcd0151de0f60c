"""`edit_file`: replace text in a file exactly."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TypedDict

from toolcharter import OpenPlace, ToolError, ToolRuntime, ToolSpec
from toolcharter_files.access import Access, AccessReason, ChangingPolicy
from toolcharter_files.common import PATH_ALIASES, Count, quote_unprintable
from toolcharter_files.decoding import Decoded, decode
from toolcharter_files.diffs import compute_diff, diff_of_edit
from toolcharter_files.edits import find_occurrences, line_numbers
from toolcharter_files.text import Encoding, NotText

MAX_PLACES = 20
"""How many line numbers the message about an ambiguous `old_string` names."""
MAX_LINES = 1000
"""How many line numbers of replaced text `data` holds at most."""


class EditFilePolicy(ChangingPolicy):
    """How far one profile lets `edit_file` go."""

    max_file_bytes: Count = 4_000_000
    """Larger files are not edited, and no edit makes a file larger than this. In bytes."""


class EditFileReason(StrEnum):
    """Why `edit_file` fails. The path guard adds reasons of its own."""

    TEXT_NOT_FOUND = "text_not_found"
    TEXT_NOT_UNIQUE = "text_not_unique"
    EMPTY_OLD_STRING = "empty_old_string"
    BINARY_FILE = "binary_file"
    FILE_TOO_LARGE = "file_too_large"
    NOT_ENCODABLE = "not_encodable"


class EditFileData(TypedDict):
    """The structured result."""

    path: str
    replacements: int
    lines: list[int]
    """Where the replaced text began, counted from 1; at most 1000."""


def build(workspace: Path, policy: EditFilePolicy, rt: ToolRuntime) -> Callable[..., str]:  # noqa: ARG001 - `rt.paths`
    """Bind `edit_file` to one profile's policy."""
    access = Access(policy, rt)

    def edit_file(
        path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002 - called by name
        encoding: Encoding | None = None,
    ) -> str:
        """Replace text in a file of the workspace. The text must match exactly, white space and line ends included.

        Args:
            path: The file, relative to the workspace.
            old_string: The text to replace; the file must contain it exactly once, unless *replace_all* is given.
            new_string: The text to put in its place; may be empty.
            replace_all: Replace every occurrence.
            encoding: The file's encoding; detected by default, and kept.
        """
        ctx = rt.start("edit_file", path=path, replace_all=replace_all)
        if not old_string:
            raise ToolError("old_string is empty; give the text to replace.", reason=EditFileReason.EMPTY_OLD_STRING)
        with access.paths.open_place(path) as place:
            access.require_scope(place.path)
            decoded = _read_text(place, path, policy.max_file_bytes, encoding)
            text = decoded.text
            count = text.count(old_string)
            lines = line_numbers(text, find_occurrences(text, old_string, MAX_LINES))
            _require_count(path, text, old_string, lines, count, replace_all=replace_all)
            # Checked before the text is built: a long text in many places would take all memory.
            # The count of characters is a lower bound of the size in bytes.
            _require_size(path, len(text) + count * (len(new_string) - len(old_string)), policy.max_file_bytes)
            raw = decoded.encode(text.replace(old_string, new_string))
            _require_size(path, len(raw), policy.max_file_bytes)
            ctx.policy_passed()
            if old_string != new_string:
                place.write(raw)
            diff = compute_diff(rt, diff_of_edit, place.path, text, old_string, new_string)
            data = EditFileData(path=place.path, replacements=count, lines=lines)
        summary = "no change" if old_string == new_string else f"{count} replacement{'s' if count > 1 else ''}"
        return ctx.ok(f"Edited file: {quote_unprintable(place.path)} ({summary})", data=data, user_text=diff)

    return edit_file


SPEC = ToolSpec(
    "edit_file",
    EditFilePolicy,
    build,
    reasons=[*AccessReason, *EditFileReason],
    capabilities={"fs:read", "fs:write"},
    safety="medium",
    staged=True,
    group="fs",
    aliases=("Edit",),
    argument_aliases={
        **PATH_ALIASES,
        **dict.fromkeys(("old", "old_text", "oldText", "search", "from"), "old_string"),
        **dict.fromkeys(("new", "new_text", "newText", "replace", "to"), "new_string"),
        "all": "replace_all",
    },
    output=EditFileData,
)


def _read_text(place: OpenPlace, path: str, max_bytes: int, encoding: str | None) -> Decoded:
    if place.kind == "missing":
        hint = "Write a new file with write_file, or look for this one with glob."
        raise ToolError(f"{path!r} does not exist.", reason="path_not_found", hint=hint)
    _require_size(path, place.size, max_bytes)
    try:
        return decode(place.read(max_bytes), encoding)
    except NotText:
        what = f"{path!r} is not text" + (f" in {encoding}" if encoding else "")
        raise ToolError(f"{what}.", reason=EditFileReason.BINARY_FILE) from None


def _require_size(path: str, size: int, max_bytes: int) -> None:
    if size > max_bytes:
        message = f"{path!r} has {size} bytes, or would have them after the edit; the limit is {max_bytes} bytes."
        raise ToolError(message, reason=EditFileReason.FILE_TOO_LARGE)


def _require_count(path: str, text: str, old: str, lines: list[int], count: int, *, replace_all: bool) -> None:
    if not lines:
        hint = "Read the file again; the text must match exactly."
        if "\r\n" in text and old.replace("\n", "\r\n") in text:
            hint = r"The lines of this file end with \r\n; old_string must have the same line ends."
        message = f"old_string was not found in file: {path}"
        raise ToolError(message, reason=EditFileReason.TEXT_NOT_FOUND, hint=hint)
    if count > 1 and not replace_all:
        numbers = ", ".join(map(str, lines[:MAX_PLACES])) + (", ..." if count > MAX_PLACES else "")
        message = (
            f"old_string matched {count} locations in {path}. "
            f"Provide a more specific old_string or set replace_all=true. The matches begin in the lines {numbers}."
        )
        raise ToolError(message, reason=EditFileReason.TEXT_NOT_UNIQUE)
