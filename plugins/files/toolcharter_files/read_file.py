"""`read_file`: read the text of one file, or some of its lines."""

from collections.abc import Callable
from enum import StrEnum
from math import inf
from pathlib import Path, PurePosixPath
from typing import TypedDict

from toolcharter import OpenFile, Paths, ToolError, ToolRuntime, ToolSpec
from toolcharter_files.common import PATH_ALIASES, Count, FilesPolicy, effective_limit, quote_unprintable
from toolcharter_files.globs import Glob, escape_glob
from toolcharter_files.keys import mask_rest_of_key
from toolcharter_files.ripgrep import list_names
from toolcharter_files.text import Encoding, NotText, TextSlice, read_lines

MAX_HINTS = 3
KEY_LINES = 250
"""How many lines above the first shown line are searched for the beginning of a private key. A key of 16384 bits has
200 lines."""
KEY_BYTES = 1_000_000


class ReadFilePolicy(FilesPolicy):
    """How far one profile lets `read_file` go."""

    max_bytes: Count = 65_536
    """The most that one call returns, in bytes of UTF-8; a call may ask for less."""


class ReadFileReason(StrEnum):
    """Why `read_file` fails. The path guard adds reasons of its own."""

    BINARY_FILE = "binary_file"
    INVALID_LINE_RANGE = "invalid_line_range"


class ReadFileData(TypedDict):
    """The structured result."""

    path: str
    """Relative to the workspace, links resolved; absolute below a read root."""
    content: str
    encoding: str
    start_line: int
    end_line: int
    total_lines: int | None
    """None if the file was not read to its end."""
    size: int
    """The size of the file in bytes."""
    truncated: bool


def build(
    workspace: Path,  # noqa: ARG001 - every constructor takes it
    policy: ReadFilePolicy,
    rt: ToolRuntime,
) -> Callable[..., str]:
    """Bind `read_file` to one profile's policy."""
    paths = policy.paths(rt)

    def read_file(
        path: str,
        line_range: list[int] | None = None,
        max_bytes: Count | None = None,
        encoding: Encoding | None = None,
    ) -> str:
        """Read a text file of the workspace.

        Args:
            path: Relative to the workspace, or absolute inside it; taken literally.
            line_range: The first and the last line, counted from 1: [10, 20].
            max_bytes: Return at most this many bytes; the profile may allow fewer.
            encoding: The file's encoding. Detected by default.
        """
        ctx = rt.start("read_file", path=path)
        first, last = _parse_range(line_range)
        try:
            opened = paths.open_file(path)
        except ToolError as error:
            if error.reason == "path_not_found":
                error.hint = _similar_paths_hint(rt, paths, path)
            raise
        with opened as file:
            ctx.policy_passed()
            try:
                found = read_lines(file, encoding, first, last, effective_limit(policy.max_bytes, max_bytes))
                found = _mask_rest_of_key(file, found)
            except NotText:
                what = f"not text in {encoding}" if encoding else "not text"
                return ctx.error(f"{path!r} is {what}.", reason=ReadFileReason.BINARY_FILE)
            if line_range and found.total_lines is not None and found.total_lines < first:
                message = f"{path!r} has {found.total_lines} lines; there is no line {first}."
                return ctx.error(message, reason=ReadFileReason.INVALID_LINE_RANGE)
            content = found.content.removesuffix("\n") if line_range else found.content
            return ctx.ok(
                content + _truncation_notice(found, file.size, last), data=_data(found, content, file.path, file.size)
            )

    return read_file


SPEC = ToolSpec(
    "read_file",
    ReadFilePolicy,
    build,
    reasons=ReadFileReason,
    capabilities={"fs:read"},
    safety="low",
    staged=True,
    group="fs",
    aliases=("Read", "file_read", "tool_file_read"),
    argument_aliases=PATH_ALIASES,
    output=ReadFileData,
)


def _mask_rest_of_key(file: OpenFile, found: TextSlice) -> TextSlice:
    if found.start_line == 1:
        return found
    last = found.start_line - 1
    above = read_lines(file, found.encoding, max(1, found.start_line - KEY_LINES), last, KEY_BYTES)
    return found._replace(content=mask_rest_of_key(above.content.splitlines(), found.content))


def _parse_range(line_range: list[int] | None) -> tuple[int, float]:
    if line_range is None:
        return 1, inf
    match line_range:
        case [first, last] if 1 <= first <= last:
            return first, last
        case _:
            pass
    message = f"line_range is {line_range!r}; write [first, last], counted from 1."
    raise ToolError(message, reason=ReadFileReason.INVALID_LINE_RANGE)


def _truncation_notice(found: TextSlice, size: int, last: float) -> str:
    if not found.truncated:
        return ""
    if found.end_line < found.start_line or not found.content.endswith("\n"):
        return f"\n[truncated: only the beginning of line {found.start_line}; the file has {size} bytes]"
    rest = "" if last == inf else f" up to {last}"
    return f"\n[truncated after line {found.end_line}{rest}; the file has {size} bytes; use line_range to read on]"


def _data(found: TextSlice, content: str, path: str, size: int) -> dict[str, object]:
    return {
        "path": path,
        "content": content,
        "encoding": found.encoding,
        "start_line": found.start_line,
        "end_line": found.end_line,
        "total_lines": found.total_lines,
        "size": size,
        "truncated": found.truncated,
    }


def _similar_paths_hint(rt: ToolRuntime, paths: Paths, path: str) -> str | None:
    """A hint that names files of the same name in other folders. No other file is read in place of the missing one."""
    wanted = PurePosixPath(path).name
    glob = Glob(".", escape_glob(wanted), anchored=False)
    try:
        with paths.open_folder() as folder:
            names = [*folder.virtual(), *(name for name in list_names(rt, folder, [glob])[0] if folder.shows(name))]
    except ToolError:
        return None
    near = [quote_unprintable(name) for name in names if PurePosixPath(name).name == wanted][:MAX_HINTS]
    return f"Did you mean {' or '.join(map(repr, near))}?" if near else None
