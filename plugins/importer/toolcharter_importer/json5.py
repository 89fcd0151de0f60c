"""Parse JSON5, the format of GoClaw's configuration.

JSON5 is JSON with comments, names without quotes, trailing commas and more kinds of numbers.
Source: https://spec.json5.org, sections 2 to 8.
"""

import re
from bisect import bisect
from collections.abc import Callable
from typing import Any, Final, NoReturn

from toolcharter import ConfigurationError, Fault

_SPACE: Final = re.compile(r"(?:[\s\ufeff]|//[^\n\r\u2028\u2029]*|/\*[\s\S]*?\*/)*")
_NAME: Final = re.compile(r"[^\W\d][\w$]*|\$[\w$]*")
_WORDS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None}
_NUMBER: Final = re.compile(
    r"([+-]?)(?:(0[xX][0-9A-Fa-f]+)|(Infinity|NaN)|((?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?))"
    r"(?![\w$.])"
)
_TEXT: Final[dict[str, re.Pattern[str]]] = {
    quote: re.compile(rf"{quote}((?:[^{quote}\\\n\r]|\\(?:\r\n|[\s\S]))*){quote}") for quote in "\"'"
}
_ESCAPE: Final = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|(\r\n|[\s\S]))")
_ESCAPED: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_NO_TEXT: Final = frozenset("\n\r\u2028\u2029")
"""Line ends. After a backslash, they continue the string on the next line and are not part of it."""
_MAX_DEPTH: Final = 100
Keys = tuple[str | int, ...]


def parse(text: str, file: str) -> tuple[Any, dict[Keys, str]]:
    """Parse *text*; return its value, and the place of each nested value as `FILE:LINE:COLUMN`.

    Raises:
        ConfigurationError: *text* is not JSON5, is nested more than 100 deep, or has a name twice in one object.
    """
    reader = _Parser(text, file)
    value = reader.value((), 0)
    if reader.at < len(text):
        reader.fail("nothing more is expected here.")
    return value, reader.places


class _Parser:
    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.places: dict[Keys, str] = {}
        self._file = file
        self._lines = [found.end() for found in re.finditer("\n", text)]
        """The offset of each line, except the first."""
        self.at = 0
        self._skip_space()

    def fail(self, what: str) -> NoReturn:
        raise ConfigurationError([Fault(self._place(), "", what, "Correct the file; nothing was imported.")])

    def value(self, path: Keys, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            self.fail(f"it is nested more than {_MAX_DEPTH} deep.")
        self.places[path] = self._place()
        sign = self.text[self.at : self.at + 1]
        found = (
            self._object(path, depth) if sign == "{" else self._array(path, depth) if sign == "[" else self._leaf(sign)
        )
        self._skip_space()
        return found

    def _leaf(self, sign: str) -> Any:
        if sign in _TEXT and sign:
            return self._string(sign)
        if number := _NUMBER.match(self.text, self.at):
            self.at = number.end()
            return _parse_number(number)
        name = _NAME.match(self.text, self.at)
        if name is None or name[0] not in _WORDS:
            self.fail("a value of JSON5 is expected here.")
        self.at = name.end()
        return _WORDS[name[0]]

    def _object(self, path: Keys, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}

        def member() -> None:
            name = self._name()
            if name in found:
                self.fail("the name is given twice in one object.")
            self._expect(":")
            found[name] = self.value((*path, name), depth + 1)

        self._list("}", member)
        return found

    def _array(self, path: Keys, depth: int) -> list[Any]:
        found: list[Any] = []
        self._list("]", lambda: found.append(self.value((*path, len(found)), depth + 1)))
        return found

    def _list(self, end: str, read: Callable[[], None]) -> None:
        self.at += 1
        self._skip_space()
        while not self._accept(end):
            read()
            if not self._accept(","):
                self._expect(end)
                return

    def _name(self) -> str:
        sign = self.text[self.at : self.at + 1]
        if sign in _TEXT and sign:
            name = self._string(sign)
        elif found := _NAME.match(self.text, self.at):
            name, self.at = found[0], found.end()
        else:
            self.fail("the name of a member is expected here.")
        self._skip_space()
        return name

    def _string(self, quote: str) -> str:
        found = _TEXT[quote].match(self.text, self.at)
        if found is None:
            self.fail("the text does not end on its line.")
        self.at = found.end()
        # Two escapes may be the surrogates of one character; a lone surrogate is replaced.
        halves = _ESCAPE.sub(_unescape, found[1]).encode("utf-16-le", "surrogatepass")
        return halves.decode("utf-16-le", "replace")

    def _accept(self, sign: str) -> bool:
        if self.text[self.at : self.at + 1] != sign:
            return False
        self.at += 1
        self._skip_space()
        return True

    def _expect(self, sign: str) -> None:
        if not self._accept(sign):
            self.fail(f"{sign!r} is expected here.")

    def _skip_space(self) -> None:
        if found := _SPACE.match(self.text, self.at):
            self.at = found.end()

    def _place(self) -> str:
        line = bisect(self._lines, self.at)
        begin = self._lines[line - 1] if line else 0
        return f"{self._file}:{line + 1}:{self.at - begin + 1}"


def _parse_number(found: re.Match[str]) -> int | float:
    sign, hexadecimal, word, decimal = found.groups()
    factor = -1 if sign == "-" else 1
    if hexadecimal:
        return factor * int(hexadecimal, 16)
    if word:
        return factor * float(word.lower())
    return factor * (int(decimal) if decimal.isdecimal() else float(decimal))


def _unescape(found: re.Match[str]) -> str:
    code, sign = found[1] or found[2], found[3]
    if code:
        return chr(int(code, 16))
    return "" if sign[0] in _NO_TEXT else _ESCAPED.get(sign, sign)
