"""Finds suspicious parts of generated code. They are warnings for the reader of the result; the gate ignores them."""

import re
import tomllib
from functools import cache
from importlib import import_module, resources
from typing import Any, NamedTuple, TypedDict


class Suspicion(TypedDict):
    """One thing that the code seems to do."""

    line: int
    """The first line that does it, counted from 1."""
    what: str


class _Pattern(NamedTuple):
    what: str
    compiled: Any
    network: bool
    """Whether the pattern is skipped for code that may use the network."""


def suspicions(code: str, language: str, *, network: bool = False) -> list[Suspicion]:
    """Return what *code* seems to do that is suspicious, each thing once. The time is linear in its length.

    Args:
        code: The program, which need not be valid.
        language: `python`, `bash` or `javascript`.
        network: Whether the code may use the network.
    """
    plain = without_comments(code, language)
    found: dict[str, int] = {}
    for pattern in _patterns(language):
        match = None if network and pattern.network else pattern.compiled.search(plain)
        if match is not None:
            # Some patterns match the character before the word, which may be the end of the previous line.
            at = match.start() + (plain[match.start()] == "\n")
            found[pattern.what] = min(found.get(pattern.what, at), at)
    return [{"line": plain.count("\n", 0, at) + 1, "what": what} for what, at in sorted(found.items(), key=_place)]


def _place(item: tuple[str, int]) -> tuple[int, str]:
    return item[1], item[0]


@cache
def _patterns(language: str) -> tuple[_Pattern, ...]:
    re2 = import_module("re2")  # imported on first use: the tool `bash` does not need it
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False  # the errors would go to standard error, among the events
    text = resources.files("toolcharter_shell").joinpath("suspicions.toml").read_text(encoding="utf-8")
    rows = tomllib.loads(text)
    return tuple(
        _Pattern(row["what"], re2.compile(row["pattern"], options), row.get("network", False))
        for row in (*rows["any"], *rows[language])
    )


_TOKENS = {
    "python": re.compile(r'"""|\'\'\'|["\'#]'),
    "javascript": re.compile(r"//|/\*|[\"'`]"),
    "bash": re.compile(r"(?<![^\s;&|()])#|[\"']"),
}
_COMMENT_ENDS = {"#": "\n", "//": "\n", "/*": "*/"}
_TRIPLE = ('"""', "'''")


def without_comments(code: str, language: str) -> str:
    """Replace comments and docstrings in *code* by blanks; length and line breaks stay the same."""
    parts: list[str] = []
    at = 0
    while (match := _TOKENS[language].search(code, at)) is not None:
        parts.append(code[at : match.start()])
        sign, start = match[0], match.start()
        at = _end(code, match.end(), sign)
        text = code[start:at]
        is_remark = sign in _COMMENT_ENDS or (sign in _TRIPLE and _is_statement(code, start))
        parts.append(_blank(text) if is_remark else text)
    return "".join((*parts, code[at:]))


def _end(code: str, at: int, sign: str) -> int:
    """Return the end of the comment or string that *sign* begins: the end of the code if it is not closed."""
    if sign in _COMMENT_ENDS:
        end = code.find(_COMMENT_ENDS[sign], at)
        return len(code) if end < 0 else end + (0 if _COMMENT_ENDS[sign] == "\n" else len(_COMMENT_ENDS[sign]))
    is_short = len(sign) == 1 and sign != "`"
    while at < len(code):
        if code[at] == "\\":
            at += 2
        elif code.startswith(sign, at):
            return at + len(sign)
        elif is_short and code[at] == "\n":
            return at  # not closed: do not lose the rest of the code
        else:
            at += 1
    return len(code)


def _is_statement(code: str, at: int) -> bool:
    """Return whether the string at *at* is a statement of its own, which no expression uses."""
    before = at
    while before and code[before - 1].isspace():
        before -= 1
    begins_line = before == 0 or "\n" in code[before:at]
    return begins_line and (before == 0 or code[before - 1] not in "([{,=+-*/%|&^~<>.\\")


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
