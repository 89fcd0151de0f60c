"""Parses the output of `set -x` into the argument vectors of the commands that bash ran."""

import re
from collections.abc import Iterator

_RECORD = re.compile(r"^\++ ", re.MULTILINE)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
_COMPOUND = ("for ", "case ", "select ", "[[ ", "((")
_WORD = re.compile(r"(?:'[^']*'|\$'(?:[^'\\]|\\.)*'|\\.|[^\s'\\$]|\$)+", re.DOTALL)
_PART = re.compile(r"'([^']*)'|\$'((?:[^'\\]|\\.)*)'|\\(.)|([^'\\])", re.DOTALL)
_ESCAPE = re.compile(r"\\([0-7]{1,3}|x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|.)", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "v": "\v", "f": "\f", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b"}


def vectors(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the commands with a program, in order of execution, without assignments and heads of compound commands."""
    position = 0
    while match := _RECORD.match(text, position):
        position = match.end()
        compound = text.startswith(_COMPOUND, position) or _ASSIGNMENT.match(text, position)
        words, position = _words(text, position)
        if words and not compound:
            yield tuple(words)


def _words(text: str, position: int) -> tuple[list[str], int]:
    """Return the words up to the end of a record, and the position of the next record."""
    words: list[str] = []
    while position < len(text):
        if text[position] == "\n":
            return words, position + 1
        match = _WORD.match(text, position)
        if match is None:
            position += 1
        else:
            words.append(unquote(match[0]))
            position = match.end()
    return words, position


def unquote(word: str) -> str:
    """Return a word that bash has printed, without its quotes."""
    return "".join(_text(match) for match in _PART.finditer(word))


def _text(match: re.Match[str]) -> str:
    single, ansi, escaped, plain = match.groups()
    if ansi is not None:
        text = _ESCAPE.sub(_sign, ansi)
        return (
            text.encode("latin-1").decode(errors="replace")
            if "\\" in ansi and text.isascii() is False and max(text) <= "\xff"
            else text
        )
    return single if single is not None else escaped if escaped is not None else plain


def _sign(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "xuU" and len(code) > 1:
        return chr(int(code[1:], 16))
    return chr(int(code, 8) & 0xFF) if code[0].isdigit() else _LETTERS.get(code, code)
