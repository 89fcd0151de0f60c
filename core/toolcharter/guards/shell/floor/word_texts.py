"""All texts that a word of a command may become, for the worst case; an unset variable becomes empty.

Nothing is ever permitted because of these texts: they only show the floor what a command might do.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from toolcharter.guards.shell.nodes import Word

OPAQUE = "\x1a"
"""A character in place of unknown text that is not empty."""
QUOTED_GLOB = "\x1b"
"""A character in place of a quoted `*`, `?` or `[`, which matches no names."""
_MAX_DEPTH = 8
# `{a..z}` where nobody has said what it becomes.
_SEQUENCE = re.compile(r"\{[^{}]*\.\.[^{}]*\}")
# Variables that hold a place; the rest are taken for unset.
_WORKSPACE_VARIABLES = frozenset({"PWD", "WORKSPACE", "GITHUB_WORKSPACE", "CI_PROJECT_DIR", "OLDPWD"})
_KNOWN_VALUES = {"TMPDIR": "/tmp", "TMP": "/tmp", "TEMP": "/tmp", "IFS": " ", "USER": OPAQUE, "RANDOM": OPAQUE}  # noqa: S108 - compared with, never opened
_HERE_COMMANDS = frozenset({"pwd", "git rev-parse --show-toplevel"})
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "\\": "\\", "'": "'", '"': '"'}
_BASES = {"x": (16, 2), "u": (16, 4), "U": (16, 8)}


class Arg(NamedTuple):
    """One text that a program may get."""

    text: str
    is_fixed: bool = True
    """Whether it is certainly that text; if not, `*`, `?` and `[` in it match names."""


def possible_args(words: tuple[Word, ...], home: str) -> tuple[Arg, ...]:
    """All possible texts of *words*, one after the other; a word may have several."""
    found: list[Arg] = []
    for word in words:
        if word.text is not None:
            found.append(Arg(word.text))
        else:
            found += possible_texts(word, home)
    return tuple(found)


def possible_texts(word: Word, home: str) -> Iterator[Arg]:
    """The possible texts of one word; a word that splits gives its parts."""
    if word.text is not None:
        yield Arg(word.text)
        return
    for text in (
        (_expand_tilde(hint, home) for hint in word.hints) if word.hints else (_WordExpander(word.form, home).read(),)
    ):
        for part in text.split() if word.splits else (text,):
            yield Arg(_SEQUENCE.sub("?", part), is_fixed=False)


def _expand_tilde(hint: str, home: str) -> str:
    """A hint with the home folder in place of a leading tilde."""
    name, slash, rest = hint.partition("/")
    return home + slash + rest if name[:1] == "~" else hint


def likely_text(word: Word, home: str = "") -> str:
    """The most likely text of a word."""
    return next((arg.text for arg in possible_texts(word, home)), "")


def decode_escapes(text: str) -> str:
    r"""Decode the backslash escapes of `$'...'` and `printf`.

    Source: bash(1), "QUOTING". `\0` before octal digits is printf's and echo's.
    """
    parts = text.split("\\")
    found, at = [parts[0]], 1
    while at < len(parts):
        if parts[at]:
            found.append(_decode_escape(parts[at]))
        else:
            found.append("\\" + (parts[at + 1] if at + 1 < len(parts) else ""))
            at += 1
        at += 1
    return "".join(found)


def _decode_escape(rest: str) -> str:
    first = rest[0]
    if first in _BASES:
        base, most = _BASES[first]
        return _decode_number(rest, 1, base, most)
    if first in "01234567":
        return _decode_number(rest, 0, 8, 4 if first == "0" else 3)
    return _ESCAPES.get(first, "\\" + first) + rest[1:]


def _decode_number(rest: str, start: int, base: int, most: int) -> str:
    digits = "0123456789abcdef"[:base]
    end = start
    while end < len(rest) and end - start < most and rest[end].lower() in digits:
        end += 1
    if end == start:
        return "\\" + rest
    return chr(min(int(rest[start:end], base), 0x10FFFF)) + rest[end:]


class _WordExpander:
    """One pass over the source of a word: it removes quotes and replaces variables and substitutions by their worst values."""

    def __init__(self, form: str, home: str, depth: int = 0) -> None:
        self._depth = depth
        self._form = form
        self._home = home
        self._at = 0
        self._out: list[str] = []

    def read(self) -> str:
        if self._form.startswith("~"):
            self._tilde()
        while self._at < len(self._form):
            self._unquoted(self._form[self._at])
        return "".join(self._out)

    def _unquoted(self, character: str) -> None:
        if character == "'":
            self._until_quote()
        elif character == '"':
            self._double()
        elif character == "\\":
            self._put_quoted(self._form[self._at + 1 : self._at + 2])
            self._at += 2
        elif character in "$`":
            self._dollar()
        elif character in "<>" and self._form[self._at + 1 : self._at + 2] == "(":
            self._skip_parentheses(self._at + 2)
            self._out.append(OPAQUE)
        else:
            self._out.append(character)
            self._at += 1

    def _tilde(self) -> None:
        name, _slash, _rest = self._form[1:].partition("/")
        if name in {"+", "-"}:
            self._out.append(".")
        elif name.replace("-", "").replace("_", "").replace(".", "").isalnum() or not name:
            self._out.append(self._home)
        else:
            return
        self._at = 1 + len(name)

    def _put_quoted(self, text: str) -> None:
        self._out.extend(QUOTED_GLOB if character in "*?[" else character for character in text)

    def _until_quote(self) -> None:
        end = self._form.find("'", self._at + 1)
        end = len(self._form) if end < 0 else end
        self._put_quoted(self._form[self._at + 1 : end])
        self._at = end + 1

    def _ansi(self) -> None:
        start = end = self._at + 2
        while end < len(self._form) and self._form[end] != "'":
            end += 2 if self._form[end] == "\\" else 1
        self._put_quoted(decode_escapes(self._form[start:end]))
        self._at = end + 1

    def _double(self) -> None:
        self._at += 1
        while self._at < len(self._form) and self._form[self._at] != '"':
            character = self._form[self._at]
            if character in "$`":
                self._dollar(quoted=True)
            elif character == "\\":
                self._put_quoted(self._form[self._at + 1 : self._at + 2])
                self._at += 2
            else:
                self._put_quoted(character)
                self._at += 1
        self._at += 1

    def _dollar(self, *, quoted: bool = False) -> None:
        following = self._form[self._at + 1 : self._at + 2]
        if self._form[self._at] == "`":
            end = self._form.find("`", self._at + 1)
            end = len(self._form) if end < 0 else end
            self._out.append(self._substituted(self._form[self._at + 1 : end]))
            self._at = end + 1
        elif following == "(":
            start = self._at + 2
            self._skip_parentheses(start)
            self._out.append(self._substituted(self._form[start : self._at - 1]))
        elif following == "{":
            end = self._closing_brace(self._at + 2)
            self._out.append(self._parameter(self._form[self._at + 2 : end]))
            self._at = end + 1
        elif following == "'" and not quoted:
            self._ansi()
        else:
            self._variable()

    def _variable(self) -> None:
        start = end = self._at + 1
        while end < len(self._form) and (self._form[end].isalnum() or self._form[end] == "_"):
            end += 1
            if self._form[start].isdigit():
                break
        if end == start and self._form[start : start + 1] in {"@", "*", "#", "?", "-", "$", "!"}:
            end += 1
        self._out.append(self._value(self._form[start:end]) if end > start else "")
        self._at = end

    def _value(self, name: str) -> str:
        if name in {"HOME", "USERPROFILE"}:
            return self._home
        return "." if name in _WORKSPACE_VARIABLES else _KNOWN_VALUES.get(name, "")

    def _parameter(self, inside: str) -> str:
        end = 0
        while end < len(inside) and (inside[end].isalnum() or inside[end] == "_"):
            end += 1
        name, operator = inside[:end], inside[end:]
        value = self._value(name)
        if operator.startswith((":?", "?")):
            # It stops where the variable is empty, which is what people write to be safe.
            return value or OPAQUE
        if operator.startswith((":-", ":=", "-", "=", ":+", "+")):
            return value or self._default(operator.lstrip(":")[1:])
        return value

    def _default(self, source: str) -> str:
        return _WordExpander(source, self._home, self._depth + 1).read() if self._depth < _MAX_DEPTH else OPAQUE

    def _closing_brace(self, start: int) -> int:
        depth, at = 1, start
        while at < len(self._form):
            depth += {"{": 1, "}": -1}.get(self._form[at], 0)
            if not depth:
                break
            at += 1
        return at

    def _skip_parentheses(self, start: int) -> None:
        depth, at = 1, start
        while at < len(self._form) and depth:
            depth += {"(": 1, ")": -1}.get(self._form[at], 0)
            at += 1
        self._at = at

    def _substituted(self, source: str) -> str:
        """The output of a substitution, where it is obvious."""
        words = source.split()
        if " ".join(words) in _HERE_COMMANDS:
            return "."
        if words[:1] == ["echo"] or words[:1] == ["printf"]:
            return decode_escapes(
                " ".join(self._default(word) if word[:1] in {"~", "$"} else word.strip("'\"") for word in words[1:])
            )
        return OPAQUE
