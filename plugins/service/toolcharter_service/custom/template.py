"""A shell line with placeholders `{{.name}}`. Each is replaced by the single-quoted argument, which stays one word.

All placeholders are replaced in one pass. A placeholder within quotes is refused, since the argument's own quote would
end them. It is also refused where quotes have no effect: in a here-document, a comment, an expansion or an arithmetic.
Source: POSIX.1-2017, Shell Command Language, 2.2 Quoting; bash(1), QUOTING.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from toolcharter_service.registry.placeholders import as_text, refuse_leading_dash

_PLACEHOLDER: Final = re.compile(r"\{\{\.([A-Za-z_][A-Za-z0-9_]*)\}\}")
_LIKE_A_PLACEHOLDER: Final = re.compile(r"\{\{[ \t]*\.?[A-Za-z_]")
_WORD_BEGUN: Final = re.compile(r"(?:[=:/,.@%+-]|(?<![\w$])\w+)\Z")
"""Matches text that ends inside a word which cannot turn out to be empty, as `$a` or `''` could."""
_BEGINS_WORD: Final = frozenset(" \t\n;&|()<>")


class TemplateFault(ValueError):
    """A line that is no valid template."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(f"command: {message} ({reason})")
        self.reason = reason


class Template(NamedTuple):
    """A parsed line."""

    parts: tuple[str, ...]
    """Text and placeholders' names, alternating; the first is text."""

    @classmethod
    def parse(cls, line: str) -> "Template":
        """Parse a line.

        Raises:
            TemplateFault: `bad_command`, if it has control characters; `placeholder_in_quotes`; `bad_placeholder`, for
                text that only resembles a placeholder.
        """
        if any(ord(sign) < 32 and sign not in "\t\n" for sign in line):  # noqa: PLR2004 - ASCII's control characters
            raise TemplateFault("bad_command", "the line has a control character")
        inside = _quoted_placeholders(line)
        for place in _PLACEHOLDER.finditer(line):
            if what := inside.get(place.start()):
                raise TemplateFault(
                    "placeholder_in_quotes", f"{place[0]} is in {what}, where its value would not be quoted"
                )
        if found := _LIKE_A_PLACEHOLDER.search(_PLACEHOLDER.sub("", line)):
            shown = found[0]
            raise TemplateFault("bad_placeholder", f"{shown!r} is no placeholder; write {{{{.name}}}}")
        return cls(tuple(_PLACEHOLDER.split(line)))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all placeholders, without duplicates."""
        return tuple(dict.fromkeys(self.parts[1::2]))

    def render(self, values: Mapping[str, Any], *, checks: bool = True) -> str:
        """Replace the placeholders by quoted values.

        Args:
            values: The values by name.
            checks: Whether to refuse a value that begins a word with `-`.

        Raises:
            ToolError: `invalid_arguments`, for a placeholder without a value.
            Denied: `leading_dash_not_allowed`.
        """
        return "".join(self._render_parts(values, checks=checks))

    def _render_parts(self, values: Mapping[str, Any], *, checks: bool) -> Iterator[str]:
        has_begun = False
        for index, part in enumerate(self.parts):
            if index % 2 == 0:
                yield part
                has_begun = (has_begun and not part) or _WORD_BEGUN.search(part) is not None
                continue
            text = as_text(part, values)
            if checks and not has_begun:
                refuse_leading_dash(text, part)
            yield single_quoted(text)
            has_begun = has_begun or bool(text)


def single_quoted(text: str) -> str:
    """Quote *text* as one word of a shell line, whatever characters it has."""
    return "'" + text.replace("'", "'\\''") + "'"


def _quoted_placeholders(line: str) -> dict[int, str]:
    """Find placeholders within quotes, or where quotes have no effect. Return what surrounds each, by its position."""
    if re.search(r"<<(?!<)", line.replace("<<<", "   ")):
        return {place.start(): "a line with a here-document" for place in _PLACEHOLDER.finditer(line)}
    found: dict[int, str] = {}
    stack, at = list[str](), 0
    while at < len(line):
        if place := _PLACEHOLDER.match(line, at):
            if stack:
                found[at] = _CONSTRUCT_NAMES.get(stack[-1], "an expansion")
            at = place.end()
        else:
            at = _step(line, at, stack)
    return found


_CONSTRUCT_NAMES: Final = {
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
"""The end of each construct, by its beginning. A construct within double quotes counts as quoted, too."""
_LITERAL: Final = frozenset({"'", "$'", '"', "#"})
"""Constructs in which no other construct begins."""
_ESCAPES: Final = frozenset({"'", "#"})
"""Constructs in which a backslash is an ordinary character."""
_AT_WORD_START: Final = frozenset({"#", "((", "[["})
"""Constructs that only begin at the start of a word."""


def _step(line: str, at: int, stack: list[str]) -> int:
    """Consume one character, or the beginning or end of a construct, and return the position after it."""
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
            if line.startswith(opening, at) and (begins_word or opening not in _AT_WORD_START):
                stack.append(opening)
                return at + len(opening)
    return at + 1
