r"""Finds out whether a jq filter does more than read its input and print.

Source: the manuals of jq 1.6 to 1.8 and `src/lexer.l`. Filters nest in texts: `"\(.a + "\(.b)")"`.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from toolcharter.guards.shell.languages.cursor import Cursor, ObjectionableError

# jq 1.7 lets a backslash continue a comment, jq 1.6 does not.
_SPACE = re.compile(r"(?:[ \t\n]|#[^\n]*+(?<!\\))*+")
_TEXT = re.compile(r'(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+')
_SHORT_TOKEN = re.compile(
    r"(?P<name>[A-Za-z_][A-Za-z0-9_]*+)"
    r"|(?P<field>\.[A-Za-z_][A-Za-z0-9_]*+)"
    r"|(?P<format>@[A-Za-z0-9_]++)"
    r"|(?P<number>(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?+)"
    r"|(?P<operator>\?//=|\?//|//=|\|=|//|\.\.|[-+*/%<>=!]=|[-+*/%<>=.?|,:;$(){}\[\]])"
)
_KEYWORDS = frozenset(
    [
        *("def", "if", "then", "elif", "else", "end", "as", "reduce", "foreach", "try", "catch", "label", "break"),
        *("and", "or", "not", "__loc__"),
    ]
)
_FUNCTIONS = frozenset(
    """
    IN INDEX GROUP_BY UNIQUE_BY JOIN abs acos acosh add all any arrays ascii ascii_downcase ascii_upcase asin asinh
    atan atan2 atanh booleans bsearch builtins capture cbrt ceil combinations contains copysign cos cosh date dateadd
    datesub debug del delpaths drem empty endswith erf erfc error exp exp10 exp2 explode expm1 fabs false fdim finites
    first flatten floor fma fmax fmin fmod format frexp from_entries fromdate fromdateiso8601 fromjson fromstream gamma
    getpath gmtime group_by gsub halt halt_error has have_decnum have_literal_numbers hypot implode in index indices
    infinite input input_filename input_line_number inputs inside isempty isfinite isinfinite isnan isnormal isvalid
    iterables j0 j1 join keys keys_unsorted last ldexp leaf_paths length lgamma lgamma_r limit localtime log log10
    log1p log2 logb ltrim ltrimstr map map_values match max max_by min min_by mktime modf nan nearbyint nextafter
    nexttoward normals now nth null nulls numbers objects path paths pick pow pow10 range recurse recurse_down
    remainder repeat reverse rindex rint round rtrim rtrimstr scalars scalars_or_empty scalb scalbln scan select
    setpath significand sin sinh skip sort sort_by split splits sqrt startswith stderr strflocaltime strftime strings
    strptime sub tan tanh test tgamma to_entries toarray toboolean todate todateiso8601 tojson tonumber tostream
    tostring transpose trim trimstr true trunc truncate_stream type unique unique_by until utf8bytelength values walk
    while with_entries y0 y1
    """.split()
)
"""Functions that compute, read the input or print."""
_FORBIDDEN = {
    "env": "is the environment",
    "import": "reads a file",
    "include": "reads a file",
    "modulemeta": "reads a file",
}
_PAIRS = {"(": ")", "[": "]", "{": "}", "\\(": ")", "if": "end"}
_YQ_REACHES = re.compile(
    r"\b(?:load(?:_\w+)?|load_?(?:str|xml|base64|props)|(?:str|xml|base64|props)_?load|env|str_?env|env_?subst"
    r"|import|include|modulemeta|input_filename|eval|system|exec|split_doc)\b|\$ENV|\$__prog"
)


class _Token(NamedTuple):
    kind: str
    """The operator itself, else `name`, `field`, `format`, `number`, `text`, `end`."""
    text: str
    is_key: bool = False
    """Whether a name is the key of an object."""


def jq(text: str) -> str | None:
    """Why a rule has to mention a filter; None if the filter only reads its input and prints."""
    try:
        _check_tokens(list(_Lexer(text).tokens()))
    except ObjectionableError as error:
        return str(error)
    return None


def yq(text: str) -> str | None:
    """Expressions of yq: that of Mike Farah, and the one that hands them to jq. What reads files or the environment is named.

    None if it computes from the input, and prints.

    Source: yq 4.44, "Operators"; jq 1.7, jq(1).
    """
    return "is an expression that may read files or the environment" if _YQ_REACHES.search(text) else None


class _Lexer(Cursor):
    """Splits a filter into tokens."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._open_brackets: list[str] = []
        """The open brackets, `\\(` for a filter within a text, `if` for a condition."""

    def tokens(self) -> Iterator[_Token]:
        """All tokens, including those within texts; the last has the kind `end`."""
        last = ""
        while True:
            self.take_match(_SPACE)
            token = self._next_token(last)
            yield token
            if token.kind == "end":
                return
            last = token.kind

    def _next_token(self, last: str) -> _Token:
        if not self.next_char:
            if self._open_brackets:
                raise ObjectionableError(f"the jq filter lacks a {_PAIRS[self._open_brackets[-1]]!r}")
            return _Token("end", "")
        if self.next_char == '"':
            self.at += 1
            return self._take_text()
        found = self.take_match(_SHORT_TOKEN)
        if found is None:
            raise ObjectionableError(f"{self.next_char!r} is no known part of a jq filter")
        kind = found.lastgroup or ""
        if kind == "operator":
            return self._take_operator(found[0])
        token = _Token(kind, found[0], kind == "name" and self._is_key(last))
        if kind == "name" and not token.is_key and last != "$":
            self._track_condition(token.text)
        return token

    def _track_condition(self, name: str) -> None:
        """Track `if` and `end`: between them, which is one value since jq 1.7, a comma separates results, not keys."""
        if name == "if":
            self._open_brackets.append(name)
        elif name == "end" and (not self._open_brackets or self._open_brackets.pop() != "if"):
            raise ObjectionableError("'end' closes nothing in the jq filter")

    def _is_key(self, last: str) -> bool:
        return bool(self._open_brackets) and self._open_brackets[-1] == "{" and last in {"{", ","}

    def _take_operator(self, operator: str) -> _Token:
        if operator in _PAIRS:
            self._open_brackets.append(operator)
        elif operator in {")", "]", "}"}:
            opened = self._open_brackets.pop() if self._open_brackets else ""
            if _PAIRS.get(opened) != operator:
                raise ObjectionableError(f"{operator!r} closes nothing in the jq filter")
            if opened == "\\(":
                return self._take_text()
        return _Token(operator, operator)

    def _take_text(self) -> _Token:
        """The rest of a text, up to its end or the next filter within it."""
        self.take_match(_TEXT)
        if self.next_char == '"':
            self.at += 1
            return _Token("text", '"')
        if self.text.startswith("\\(", self.at):
            self.at += 2
            self._open_brackets.append("\\(")
            return _Token("\\(", "\\(")
        raise ObjectionableError("a text of the jq filter does not end, or escapes what jq does not know")


def _check_tokens(tokens: list[_Token]) -> None:
    known = _FUNCTIONS | _KEYWORDS | set(_defined_names(tokens))
    last = ""
    for token, after in pairwise(tokens):
        if token.kind == after.kind == ":":
            raise ObjectionableError("'::' in a jq filter reaches a module")
        if last == "$":
            if token.text == "ENV":
                raise ObjectionableError("'$ENV' in a jq filter is the environment")
        elif token.kind == "name" and not (token.is_key and after.kind in {":", ",", "}"}):
            if token.text in _FORBIDDEN:
                raise ObjectionableError(f"{token.text!r} in a jq filter {_FORBIDDEN[token.text]}")
            if token.text not in known:
                raise ObjectionableError(f"{token.text!r} is no known function of jq")
        last = token.kind


def _defined_names(tokens: list[_Token]) -> Iterator[str]:
    """The names of functions that the filter defines, and of their parameters."""
    heads = ""
    for token, after in pairwise(tokens):
        if token.text == "def":
            heads = "name"
        elif token.kind == "name" and heads:
            yield token.text
            heads = "parameters" if heads == "parameters" or after.kind == "(" else ""
        elif token.kind == ")":
            heads = ""
