"""A shell line with `{{.name}}` for arguments: each is single-quoted, in one pass, so that it stays one word of data.

A place in quotes is refused: the quotes would end where the value's begin. So is one where quotes quote nothing, as in a
here-document, a comment, an expansion or an arithmetic.
Source: POSIX.1-2017, Shell Command Language, 2.2 Quoting; bash(1), QUOTING.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from toolcharter_service.registry.placeholders import as_text, refuse_dash

_PLACE: Final = re.compile(r"\{\{\.([A-Za-z_][A-Za-z0-9_]*)\}\}")
_LIKE_A_PLACE: Final = re.compile(r"\{\{[ \t]*\.?[A-Za-z_]")
_BEGUN: Final = re.compile(r"(?:[=:/,.@%+-]|(?<![\w$])\w+)\Z")
"""A text behind which a word has begun, with more than what may turn out to be nothing, such as `$a` or `''`."""
_BEGINS_WORD: Final = frozenset(" \t\n;&|()<>")


class TemplateFault(ValueError):
    """The line cannot be a template."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(f"command: {message} ({reason})")
        self.reason = reason


class Template(NamedTuple):
    """A line that has been read."""

    parts: tuple[str, ...]
    """Text and names, in turn; the first is text."""

    @classmethod
    def parsed(cls, line: str) -> "Template":
        """Read a line.

        Raises:
            TemplateFault: `placeholder_in_quotes`; `bad_placeholder`, for what only looks like one.
        """
        if any(ord(sign) < 32 and sign not in "\t\n" for sign in line):  # noqa: PLR2004 - ASCII's control characters
            raise TemplateFault("bad_command", "a control character stands in the line")
        inside = _quoted(line)
        for place in _PLACE.finditer(line):
            if what := inside.get(place.start()):
                raise TemplateFault(
                    "placeholder_in_quotes", f"{place[0]} stands in {what}, where its value is not quoted"
                )
        if found := _LIKE_A_PLACE.search(_PLACE.sub("", line)):
            shown = found[0]
            raise TemplateFault("bad_placeholder", f"{shown!r} is no placeholder; write {{{{.name}}}}")
        return cls(tuple(_PLACE.split(line)))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all places, each once."""
        return tuple(dict.fromkeys(self.parts[1::2]))

    def rendered(self, values: Mapping[str, Any], *, checks: bool = True) -> str:
        """The line with its values.

        Args:
            values: By name.
            checks: Whether a value may not begin a word with `-`.

        Raises:
            ToolError: `invalid_arguments`, for a place without a value.
            Denied: `leading_dash_not_allowed`.
        """
        return "".join(self._pieces(values, checks=checks))

    def _pieces(self, values: Mapping[str, Any], *, checks: bool) -> Iterator[str]:
        has_begun = False
        for index, part in enumerate(self.parts):
            if index % 2 == 0:
                yield part
                has_begun = (has_begun and not part) or _BEGUN.search(part) is not None
                continue
            text = as_text(part, values)
            if checks and not has_begun:
                refuse_dash(text, part)
            yield single_quoted(text)
            has_begun = has_begun or bool(text)


def single_quoted(text: str) -> str:
    """*text* as one word of a shell, whatever it holds."""
    return "'" + text.replace("'", "'\\''") + "'"


def _quoted(line: str) -> dict[int, str]:
    """Where places stand that are quoted, or in something where quotes do not count: by position, what that is."""
    if re.search(r"<<(?!<)", line.replace("<<<", "   ")):
        return {place.start(): "a line with a here-document" for place in _PLACE.finditer(line)}
    found: dict[int, str] = {}
    stack, at = list[str](), 0
    while at < len(line):
        if place := _PLACE.match(line, at):
            if stack:
                found[at] = _SAID.get(stack[-1], "an expansion")
            at = place.end()
        else:
            at = _step(line, at, stack)
    return found


_SAID: Final = {
    "'": "single quotes",
    "$'": "quotes",
    '"': "double quotes",
    "`": "backquotes",
    "#": "a comment",
    "((": "an arithmetic",
    "$((": "an arithmetic",
    "[[": "a condition",
}
_ENDS: Final = {
    "'": "'", "$'": "'", '"': '"', "`": "`", "#": "\n", "$((": "))", "((": "))", "${": "}", "$[": "]", "[[": "]]"
}  # fmt: skip
"""What ends each thing that a line can be within. What begins within double quotes counts as quoted all the same."""
_LITERAL: Final = frozenset({"'", "$'", '"', "#"})
"""Within these, nothing else begins."""
_ESCAPES: Final = frozenset({"'", "#"})
"""Within these, a backslash is a sign like others."""
_WORDS: Final = frozenset({"#", "((", "[["})
"""What begins at the beginning of a word only."""


def _step(line: str, at: int, stack: list[str]) -> int:
    """Read one sign, or the beginning or the end of something; returns the position behind it."""
    inside = stack[-1] if stack else ""
    if line[at] == "\\" and inside not in _ESCAPES:
        return at + 2
    end = _ENDS.get(inside)
    if end and line.startswith(end, at):
        stack.pop()
        return at + len(end)
    if inside not in _LITERAL:
        begins_word = at == 0 or line[at - 1] in _BEGINS_WORD
        for opening in _ENDS:
            if line.startswith(opening, at) and (begins_word or opening not in _WORDS):
                stack.append(opening)
                return at + len(opening)
    return at + 1
