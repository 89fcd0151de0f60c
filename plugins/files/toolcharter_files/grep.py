"""`grep`: find the lines of text files that match a query."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from enum import StrEnum
from itertools import groupby, islice
from math import inf
from pathlib import Path
from typing import Annotated, NamedTuple, TypedDict

from pydantic import Field

from toolcharter import Denied, OpenFile, Paths, Reason, ToolError, ToolRuntime, ToolSpec
from toolcharter_files.common import (
    MAX_LINE_CHARS,
    PATH_ALIASES,
    Count,
    FilesPolicy,
    cut_between_tokens,
    effective_limit,
    quote_unprintable,
    to_valid_text,
)
from toolcharter_files.keys import mask_keys
from toolcharter_files.ripgrep import search_bytes, search_folder
from toolcharter_files.scopes import Scope, open_scopes, parse_all
from toolcharter_files.text import FALLBACK, NotText, read_lines

MAX_QUERY_CHARS = 10_000


class GrepPolicy(FilesPolicy):
    """How far one profile lets `grep` go."""

    max_results: Count = 200
    """The most matching lines one call returns; a call may ask for fewer."""
    max_context: Annotated[int, Field(ge=0)] = 10
    """The most lines of context on either side."""
    max_file_bytes: Count = 4_000_000
    """Files larger than this are not searched."""


class GrepReason(StrEnum):
    """Why `grep` fails. The path guard adds reasons of its own."""

    INVALID_GLOB = "invalid_glob"
    INVALID_QUERY = "invalid_query"
    FILE_TOO_LARGE = "file_too_large"


class Match(TypedDict):
    """One matching line."""

    path: str
    """Relative to the workspace; absolute below a read root."""
    line: int
    """Counted from 1."""
    text: str
    before: list[str]
    """The lines of context above, if any were asked for."""
    after: list[str]


class GrepData(TypedDict):
    """The structured result."""

    matches: list[Match]
    truncated: bool


Hits = dict[str, set[tuple[int, bytes]]]
"""Ripgrep's hits: for each path, the number and the bytes of each matching line."""


class Line(NamedTuple):
    """One matching line as it was read through the path guard."""

    path: str
    line: int
    text: str
    before: list[str]
    after: list[str]

    def numbered(self) -> Iterator[tuple[int, str]]:
        """Yield the line and its context, each with its line number."""
        yield from enumerate((*self.before, self.text, *self.after), self.line - len(self.before))


def build(
    workspace: Path,  # noqa: ARG001 - every constructor takes it
    policy: GrepPolicy,
    rt: ToolRuntime,
) -> Callable[..., str]:
    """Bind `grep` to one profile's policy."""
    paths = policy.paths(rt)

    def grep(
        query: str,
        globs: str | list[str] | None = None,
        path: str = ".",
        literal: bool = False,  # noqa: FBT001, FBT002 - given by name
        ignore_case: bool = False,  # noqa: FBT001, FBT002 - given by name
        context: Annotated[int, Field(ge=0)] = 0,
        max_results: Count | None = None,
    ) -> str:
        """Search the contents of the workspace's text files; ignore files are respected, links not followed.

        Args:
            query: A regular expression in Rust's syntax, matched line by line.
            globs: Search only files that match one of these: `*.py`, `src/**/*.{ts,tsx}`.
            path: The folder to search, or one file.
            literal: Take the query as plain text.
            ignore_case: Let upper and lower case match each other.
            context: Show this many lines before and after each match.
            max_results: Return at most this many matching lines; the profile may allow fewer.
        """
        ctx = rt.start("grep", query=query, path=path)
        limit = effective_limit(policy.max_results, max_results)
        options = _options(query, limit, literal=literal, ignore_case=ignore_case)
        parsed = parse_all(globs)
        with ExitStack() as stack:
            try:
                scopes, file = stack.enter_context(open_scopes(paths, path, parsed)), None
            except ToolError as error:
                scopes, file = [], stack.enter_context(_open_single_file(paths, path, error))
            ctx.policy_passed()
            hits, cut = (
                _search_file(rt, file, policy, options) if file else _search_folders(rt, paths, scopes, policy, options)
            )
        lines = list(islice(_read_hits(paths, hits, policy, min(context, policy.max_context)), limit + 1))
        truncated = cut or len(lines) > limit
        shown = lines[:limit]
        matches = [
            {"path": each.path, "line": each.line, "text": each.text, "before": each.before, "after": each.after}
            for each in shown
        ]
        data = {"matches": matches, "truncated": truncated}
        return ctx.ok(_text(shown, truncated=truncated), data=data, truncated=truncated)

    return grep


SPEC = ToolSpec(
    "grep",
    GrepPolicy,
    build,
    reasons=GrepReason,
    capabilities={"fs:read"},
    safety="low",
    staged=True,
    group="fs",
    aliases=("search", "search_files"),
    argument_aliases={**PATH_ALIASES, "glob": "globs", "include": "globs", "pattern": "query", "regex": "query"},
    output=GrepData,
)


def _options(query: str, limit: int, *, literal: bool, ignore_case: bool) -> list[str]:
    if not query or "\0" in query or "\n" in query:
        raise ToolError("The query is empty, or holds a line break or NUL.", reason=GrepReason.INVALID_QUERY)
    if len(query) > MAX_QUERY_CHARS:
        raise ToolError(f"The query is longer than {MAX_QUERY_CHARS} characters.", reason=GrepReason.INVALID_QUERY)
    switches = [*(["--fixed-strings"] if literal else []), *(["--ignore-case"] if ignore_case else [])]
    return [*switches, f"--max-count={limit + 1}", f"--regexp={query}"]


def _open_single_file(paths: Paths, path: str, error: ToolError) -> OpenFile:
    """Open *path* as a file if *error* was raised because it is not a folder; else raise *error* again."""
    if error.reason != "not_directory":
        raise error
    try:
        return paths.open_file(path)
    except ToolError:
        raise error from None


def _search_file(rt: ToolRuntime, file: OpenFile, policy: GrepPolicy, options: list[str]) -> tuple[Hits, bool]:
    if file.size > policy.max_file_bytes:
        raise ToolError(f"{file.path!r} has {file.size} bytes, too many to search.", reason=GrepReason.FILE_TOO_LARGE)
    found, cut = search_bytes(rt, file.read(policy.max_file_bytes), options)
    return {file.path: {(each.line, each.raw) for each in found}}, cut


def _search_folders(
    rt: ToolRuntime, paths: Paths, scopes: list[Scope], policy: GrepPolicy, options: list[str]
) -> tuple[Hits, bool]:
    virtual = {scope.path(name) for scope in scopes for name in scope.virtual()}
    hits, cut = _search_virtual(rt, paths, sorted(virtual), policy, options)
    limits = [f"--max-filesize={policy.max_file_bytes}", *options]
    for scope in scopes:
        if not scope.folder.is_on_disk():
            continue
        found, incomplete = search_folder(rt, scope.folder, scope.globs, limits)
        cut = cut or incomplete
        for name, group in groupby(found, key=lambda each: each.name):
            if scope.includes(name):
                hits.setdefault(scope.path(name), set()).update((each.line, each.raw) for each in group)
    return hits, cut


def _search_virtual(
    rt: ToolRuntime, paths: Paths, names: list[str], policy: GrepPolicy, options: list[str]
) -> tuple[Hits, bool]:
    """Search files that are not on the disk. Ripgrep cannot open them: it gets their contents, joined into one text."""
    hits: Hits = {}
    cut, text, lines = False, bytearray(), list[tuple[str, int]]()

    def search() -> bool:
        found, incomplete = search_bytes(rt, bytes(text), options) if text else ([], False)
        for each in found:
            path, number = lines[each.line - 1]
            hits.setdefault(path, set()).add((number, each.raw))
        text.clear()
        lines.clear()
        return incomplete

    for name in names:
        content = _virtual_content(paths, name, policy.max_file_bytes)
        if not content or b"\0" in content:
            continue
        if len(text) + len(content) > policy.max_file_bytes:
            cut = search() or cut
        content = content.removesuffix(b"\n") + b"\n"
        text += content
        lines += [(name, number) for number in range(1, content.count(b"\n") + 1)]
    return hits, search() or cut


def _virtual_content(paths: Paths, name: str, most: int) -> bytes:
    """The content to search; empty if the file is hidden, has disappeared or is too large."""
    try:
        with paths.open_file(name) as file:
            return file.read(most) if file.size <= most else b""
    except (Denied, ToolError) as error:
        if error.reason not in {Reason.PROTECTED_PATH, "path_not_found"}:
            raise
        return b""


def _read_hits(paths: Paths, hits: Hits, policy: GrepPolicy, context: int) -> Iterator[Line]:
    """Read the lines of *hits* again through the path guard; drop those that have changed since ripgrep found them."""
    for path in sorted(hits):
        try:
            with paths.open_file(path) as file:
                found = read_lines(file, None, 1, inf, 4 * policy.max_file_bytes)
        except (Denied, ToolError, NotText):
            continue  # it changed since ripgrep saw it
        content = found.content.split("\n")
        masked = mask_keys(content)
        encoding = FALLBACK if found.encoding == FALLBACK else "utf-8"
        for number, raw in sorted(hits[path]):
            if number <= len(content) and content[number - 1].encode(encoding) == raw:
                yield _line(path, masked, number, context)


def _line(path: str, content: list[str], number: int, context: int) -> Line:
    before = content[max(number - 1 - context, 0) : number - 1]
    after = content[number : number + context]
    if content[-1] == "" and number + context >= len(content):
        after = content[number:-1]
    return Line(
        to_valid_text(path), number, _cut_line(content[number - 1]), [*map(_cut_line, before)], [*map(_cut_line, after)]
    )


def _cut_line(line: str) -> str:
    line = line.removesuffix("\r")
    short = cut_between_tokens(line, MAX_LINE_CHARS)
    return line if short == line else f"{short}[...]"


def _text(lines: list[Line], *, truncated: bool) -> str:
    rows = list(_rows(lines))
    if truncated:
        rows.append(f"[truncated: the first {len(lines)} matching lines; narrow the search]")
    return "\n".join(rows) or "No line matches."


def _rows(lines: list[Line]) -> Iterator[str]:
    """Rows as grep(1) prints them: `:` after a match, `-` after context, `--` between blocks of context."""
    spaced = any(line.before or line.after for line in lines)
    first = True
    for path, group in groupby(lines, key=lambda line: line.path):
        found = list(group)
        matching = {line.line for line in found}
        rows = dict(row for line in found for row in line.numbered())
        for number in sorted(rows):
            if spaced and not first and number - 1 not in rows:
                yield "--"
            first = False
            mark = ":" if number in matching else "-"
            yield f"{quote_unprintable(path)}{mark}{number}{mark}{rows[number]}"
