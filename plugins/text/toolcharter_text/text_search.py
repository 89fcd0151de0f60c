"""`text_search`: finds matching lines in a text or in one file. For folders there is `grep`."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

from toolcharter import ToolError, ToolRuntime, ToolSpec
from toolcharter_text.common import (
    NARROWER,
    SOURCE_ALIASES,
    Count,
    SharedReason,
    TextPolicy,
    check_time,
    open_input,
)
from toolcharter_text.lines import NotText, decode_any, shorten_line
from toolcharter_text.patterns import MAX_COST, Pattern, PatternError


class TextSearchPolicy(TextPolicy):
    """How far one profile lets `text_search` go."""

    max_results: Count = 200
    """The most matching lines one call returns; a call may ask for fewer."""
    max_context: Annotated[int, Field(ge=0)] = 10
    """The most lines of context on either side."""


class TextSearchReason(StrEnum):
    """Why `text_search` fails, in addition to the reasons of the path guard."""

    INVALID_PATTERN = "invalid_pattern"
    BINARY_FILE = "binary_file"


class TextMatch(BaseModel):
    """One matching line."""

    line: int
    """The line's number, counted from 1."""
    column: int
    """The column of the line's first match, in characters, counted from 1."""
    text: str
    """The line, or the beginning of a long line."""
    before: list[str]
    """The lines of context above, if the call wants context."""
    after: list[str]


class TextSearchData(BaseModel):
    """The structured result."""

    path: str | None
    """The file's path, as in the call."""
    matches: list[TextMatch]
    truncated: bool


@dataclass(frozen=True, slots=True)
class Hit:
    """The number of a matching line, and the place of the match in it, both counted from 0."""

    line: int
    at: int


def build(
    workspace: Path,  # noqa: ARG001 - every constructor takes it
    policy: TextSearchPolicy,
    rt: ToolRuntime,
) -> Callable[..., str]:
    """Bind `text_search` to one profile's policy."""
    paths = policy.paths(rt)

    def text_search(
        pattern: str,
        text: str | None = None,
        path: str | None = None,
        ignore_case: bool = False,  # noqa: FBT001, FBT002 - passed by name
        literal: bool = False,  # noqa: FBT001, FBT002 - passed by name
        context: Annotated[int, Field(ge=0)] = 0,
        max_results: Count | None = None,
    ) -> str:
        """Find the lines of a text, or of one file of the workspace, that match a pattern.

        Args:
            pattern: A regular expression in RE2's syntax, matched line by line.
            text: The text to search. Give this or `path`.
            path: The file to search.
            ignore_case: Let upper and lower case match each other.
            literal: Take the pattern as plain text.
            context: Show so many lines before and after each match.
            max_results: Return at most so many matching lines; the profile may allow fewer.
        """
        ctx = rt.start("text_search", pattern=pattern, path=path)
        compiled = _compile_pattern(pattern, ignore_case=ignore_case, literal=literal)
        limit = min(policy.max_results, max_results or policy.max_results)
        with open_input(paths, text, path, policy.max_bytes) as read:
            ctx.policy_passed()
            content = _lines(read())
        hits = list(islice(_hits(compiled, content, policy.deadline(rt)), limit + 1))
        around = min(context, policy.max_context)
        matches = [_match(hit, content, around) for hit in hits[:limit]]
        truncated = len(hits) > limit
        printed = _text(matches, truncated=truncated)
        return ctx.ok(printed, data={"path": path, "matches": matches, "truncated": truncated})

    return text_search


SPEC = ToolSpec(
    "text_search",
    TextSearchPolicy,
    build,
    reasons=(*TextSearchReason, *SharedReason),
    capabilities={"fs:read"},
    safety="low",
    staged=True,
    group="text",
    aliases=("tool_text_search",),
    argument_aliases={**SOURCE_ALIASES, "query": "pattern", "regex": "pattern"},
    output=TextSearchData,
)


def _compile_pattern(source: str, *, ignore_case: bool, literal: bool) -> Pattern:
    if not source or "\n" in source:
        raise _invalid("it is empty, or spans lines", literal=literal)
    try:
        return Pattern(source, ignore_case=ignore_case, literal=literal)
    except PatternError as error:
        raise _invalid(str(error), literal=literal) from None


def _invalid(why: str, *, literal: bool) -> ToolError:
    hint = None if literal else "RE2 has no backreferences and no lookaround; for plain text say `literal`."
    return ToolError(f"The pattern cannot be used: {why}.", reason=TextSearchReason.INVALID_PATTERN, hint=hint)


def _lines(raw: bytes) -> list[str]:
    try:
        content = decode_any(raw)
    except NotText as error:
        raise ToolError("This is no text.", reason=TextSearchReason.BINARY_FILE) from error
    lines = [line.removesuffix("\r") for line in content.split("\n")]
    return lines[:-1] if lines[-1] == "" else lines


def _hits(pattern: Pattern, content: Iterable[str], until: float) -> Iterator[Hit]:
    for number, line in enumerate(content):
        check_time(until)
        if pattern.cost(line) > MAX_COST:
            message = f"The pattern is too large for line {number + 1}, which has {len(line)} characters."
            raise ToolError(message, reason=SharedReason.TOO_COSTLY, hint=NARROWER)
        at = pattern.find(line)
        if at is not None:
            yield Hit(number, at)


def _match(hit: Hit, content: list[str], around: int) -> dict[str, object]:
    before = content[max(hit.line - around, 0) : hit.line]
    after = content[hit.line + 1 : hit.line + 1 + around]
    return {
        "line": hit.line + 1,
        "column": hit.at + 1,
        "text": shorten_line(content[hit.line]),
        "before": [shorten_line(line) for line in before],
        "after": [shorten_line(line) for line in after],
    }


def _text(matches: list[dict[str, object]], *, truncated: bool) -> str:
    rows = list(_rows([TextMatch.model_validate(match) for match in matches]))
    if truncated:
        rows.append(f"[truncated: the first {len(matches)} matching lines; narrow the search]")
    return "\n".join(rows) or "No line matches."


def _rows(matches: list[TextMatch]) -> Iterator[str]:
    """Format rows as grep(1) does: `:` after the number of a match, `-` for context, `--` between blocks."""
    matching = {match.line: match.text for match in matches}
    spaced = any(match.before or match.after for match in matches)
    rows: dict[int, str] = {}
    for match in matches:
        rows |= dict(enumerate((*match.before, match.text, *match.after), match.line - len(match.before)))
    last = None
    for number in sorted(rows):
        if spaced and last not in {None, number - 1}:
            yield "--"
        last = number
        yield f"{number}:{matching[number]}" if number in matching else f"{number}-{rows[number]}"
