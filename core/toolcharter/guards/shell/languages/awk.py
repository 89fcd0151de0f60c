"""Finds out whether an awk program does more than read its input and print.

Source: POSIX.1-2017, awk; the manuals of gawk 5.2, mawk 1.3.4 and the one true awk. The module objects to programs that these
split into different tokens.
"""

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from toolcharter.guards.shell.languages.cursor import Cursor, ObjectionableError

# Possessive, so that hostile input takes linear time. A regex must not hold what may, or may not, be an open bracket.
# A backslash at the end of a comment is refused.
_SPACE = re.compile(r"(?:[ \t]|\\\n|#[^\n]*+(?<!\\))*+")
_STRING = re.compile(r'"(?:[^"\\\n]|\\[^\n])*+"')
_REGEX = re.compile(
    r"/(?:[^\[\\/\n]|\\[^\n]|\[\^?+\]?+(?:[^\]\[\\/\n]|\\[^\n]|\[:[a-z]++:\])*+\])*+/",
)
_SHORT_TOKEN = re.compile(
    r"(?P<name>[A-Za-z_][A-Za-z0-9_]*+)"
    r"|(?P<number>(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?+(?![A-Za-z_]))"
    r"|(?P<operator>\*\*=|&&|\|\||\+\+|--|\*\*|>>|[-+*/%^!=<>]=|!~|[-+*/%^!=<>(){}\[\],;?:~$])"
)
_FUNCTIONS = frozenset(
    [
        *("and", "asort", "asorti", "atan2", "close", "compl", "cos", "exp", "fflush", "gensub", "gsub", "index"),
        *("int", "isarray", "length", "log", "lshift", "match", "mkbool", "mktime", "or", "patsplit", "rand", "rshift"),
        *("sin", "split", "sprintf", "sqrt", "srand", "strftime", "strtonum", "sub", "substr", "systime", "tolower"),
        *("toupper", "typeof", "xor"),
    ]
)
"""Functions that compute."""
_KEYWORDS = frozenset(
    [
        *("BEGIN", "BEGINFILE", "END", "ENDFILE", "break", "case", "continue", "default", "delete", "do", "else"),
        *("exit", "for", "func", "function", "getline", "if", "in", "next", "nextfile", "print", "printf", "return"),
        *("switch", "while"),
    ]
)
_FORBIDDEN = {
    "system": "runs a program",
    "ENVIRON": "is the environment",
    "PROCINFO": "tells about the process and steers its input and output",
    "SYMTAB": "reaches every variable",
    "FUNCTAB": "names functions to call",
    "ARGV": "chooses the files that are read",
    "ARGC": "chooses the files that are read",
    "TEXTDOMAIN": "chooses files of translations",
}
_UNKNOWN = {
    "|": "'|' in an awk program runs a program",
    "@": "'@' in an awk program loads files or calls what cannot be determined",
}
_STREAMS = frozenset({'"/dev/stdout"', '"/dev/stderr"', '"/dev/null"'})
"""Names that awk takes for its own streams."""
_BEFORE_DIVISION = frozenset({")", "]", "number", "string", "name"})
_BEFORE_EITHER = frozenset(
    [
        *("++", "--", "$", "regex", "function name", "condition", "getline", "in"),
        # Keywords of some awks, names of variables for the others.
        *("BEGINFILE", "ENDFILE", "case", "default", "delete", "func", "nextfile", "switch"),
    ]
)
"""Tokens behind which one awk takes a slash for a division and another for the beginning of a regex."""
_ENDING = frozenset({"name", "number", "string", "regex", ")", "]", "++", "--", "getline", "print", "printf"})
"""Tokens behind which a newline ends a statement that prints. Behind any other operator, busybox continues it."""


class _Token(NamedTuple):
    kind: str
    """The operator or keyword itself, else `name`, `number`, `string`, `regex`, `newline`, `end`."""
    text: str


def awk(text: str) -> str | None:
    """Why a rule has to mention a program; None if the program only reads its input and prints."""
    try:
        tokens = _Lexer(text).tokens()
        _check_names(tokens)
        _check_output(tokens)
    except ObjectionableError as error:
        return str(error)
    return None


class _Lexer(Cursor):
    """Splits a program into tokens."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._last = "newline"
        """The last token, which decides the meaning of a slash: its kind, `function name`, or `condition` for a `)`."""
        self._conditions: list[bool] = []
        """For each open parenthesis, whether it holds the condition of a statement."""

    def tokens(self) -> list[_Token]:
        """All tokens; the last has the kind `end`."""
        found: list[_Token] = []
        while not found or found[-1].kind != "end":
            self.take_match(_SPACE)
            token = self._next_token()
            found.append(token)
            self._last = self._slash_context(token)
        return found

    def _slash_context(self, token: _Token) -> str:
        if token.kind == "(":
            self._conditions.append(self._last in {"if", "while", "for", "switch"})
        elif token.kind == ")":
            if not self._conditions:
                raise ObjectionableError("the awk program closes a parenthesis that it did not open")
            return "condition" if self._conditions.pop() else ")"
        return "function name" if token.text in _FUNCTIONS else token.kind

    def _next_token(self) -> _Token:
        next_char = self.next_char
        if not next_char:
            return _Token("end", "")
        if next_char == "\n":
            self.at += 1
            return _Token("newline", next_char)
        if next_char == '"':
            return self._take_delimited("string", _STRING)
        if next_char == "/" and not self._is_division():
            return self._take_delimited("regex", _REGEX)
        return self._take_short_token(next_char)

    def _take_delimited(self, kind: str, pattern: re.Pattern[str]) -> _Token:
        found = self.take_match(pattern)
        if found is None:
            raise ObjectionableError(f"it cannot be determined where a {kind} of the awk program ends")
        return _Token(kind, found[0])

    def _take_short_token(self, next_char: str) -> _Token:
        found = self.take_match(_SHORT_TOKEN)
        if found is None:
            raise ObjectionableError(_UNKNOWN.get(next_char, f"{next_char!r} is no known part of an awk program"))
        text, kind = found[0], found.lastgroup or ""
        return _Token(text if kind == "operator" or text in _KEYWORDS else kind, text)

    def _is_division(self) -> bool:
        if self._last in _BEFORE_DIVISION:
            return True
        if self._last not in _BEFORE_EITHER:
            return False
        end = self.text.find("\n", self.at)
        # No awk can take it for a regex if the line has no other slash.
        if self.text.find("/", self.at + 1, len(self.text) if end < 0 else end) >= 0:
            raise ObjectionableError("a '/' in the awk program may be a division or begin a regex")
        return True


def _check_names(tokens: list[_Token]) -> None:
    """Object to variables and functions that do more than compute, and to unknown functions."""
    known = _FUNCTIONS | {after.text for token, after in pairwise(tokens) if token.kind in {"function", "func"}}
    for token, after in pairwise(tokens):
        if token.kind == "name" and token.text in _FORBIDDEN:
            raise ObjectionableError(f"{token.text!r} in an awk program {_FORBIDDEN[token.text]}")
        if token.kind == "name" and after.kind == "(" and token.text not in known:
            raise ObjectionableError(f"{token.text!r} is no known function of awk")
        if token.kind == after.kind == ":":
            raise ObjectionableError("'::' in an awk program reaches other name spaces")
    if {"getline", "<"} <= {token.kind for token in tokens}:
        raise ObjectionableError("'getline' in an awk program may read another file")


def _check_output(tokens: list[_Token]) -> None:
    """Object to redirections: every `>` of a print statement outside parentheses."""
    prints, depth, last = False, 0, "newline"
    for place, token in enumerate(tokens):
        kind = token.kind
        if kind in {"print", "printf"}:
            prints, depth = True, 0
        elif kind in {";", "}"} or (kind == "newline" and last in _ENDING):
            prints = False
        depth += (kind == "(") - (kind == ")")
        if kind == ">>" or (kind in {">", ">="} and prints and not depth):
            _check_target(tokens[place + 1 : place + 3])
        if kind != "newline":  # However many follow a comma, the statement goes on.
            last = kind


def _check_target(after: Iterable[_Token]) -> None:
    """Object to the target of a `>` unless it is exactly the name of a stream."""
    kinds = [token.text in _STREAMS or token.kind in {";", "}", "newline", "end"} for token in after]
    if kinds != [True, True]:
        raise ObjectionableError("'>' in an awk program writes to a file")
