"""Finds the variables that builtins and arithmetic set: `read -r a b`, `readonly x=5`, `i=$((i + 1))`, `((n > 3))`.

In arithmetic, bash evaluates the value of each variable, which may run commands: `x='a[$(reboot)]'; echo $((x))`. So each
variable has to hold a number; `variable_values` checks that when the whole line is parsed. An expression with a subscript is refused.
Source: bash(1), "SHELL BUILTIN COMMANDS", "ARITHMETIC EVALUATION".
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from toolcharter._lazy import lazy
from toolcharter.guards.shell.assignments import exports_harmless, is_line_variable
from toolcharter.guards.shell.nodes import Command, Word

if TYPE_CHECKING:
    from toolcharter.guards.shell.languages import formats
else:
    formats = lazy("toolcharter.guards.shell.languages.formats")

DECLARING: Final = frozenset({"readonly", "declare", "typeset", "local", "export"})
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DECLARED: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(=?)", re.DOTALL)
_FLAGS: Final[Mapping[str, re.Pattern[str]]] = {
    "read": re.compile(r"-[rs]*"),
    "mapfile": re.compile(r"-t"),
    "readarray": re.compile(r"-t"),
    **{name: re.compile(r"-r") for name in DECLARING - {"export"}},
    **{name: re.compile(r"-[raA]") for name in ("declare", "typeset", "local")},
}
"""For each builtin, its options without a value that do not change which variables it sets."""
# `-t 0` sets nothing, and `-u` may read from nowhere.
_OPTIONS_WITH_VALUE: Final[Mapping[str, re.Pattern[str]]] = {
    "read": re.compile(r"-[rs]*[pndN]"),
    "mapfile": re.compile(r"-t?[dns]"),
    "readarray": re.compile(r"-t?[dns]"),
}
"""For each builtin, its options whose value is the next word."""
_ARRAY: Final = re.compile(r"-[rs]*a")
_PRINTF_V: Final = ["printf", "-v"]
_READ_LINES: Final = frozenset({"mapfile", "readarray"})


def may_set_variables(command: Command) -> bool:
    """Whether *command* may set variables of the line."""
    words = command.words
    return (
        not words
        or words[0].text in DECLARING
        or words[0].text in _OPTIONS_WITH_VALUE
        or [one.text for one in words[:2]] == _PRINTF_V
    )


def variables_set_by(words: Sequence[Word]) -> tuple[str, ...] | None:
    """The variables that a command sets; None if it is no such builtin, or if its *words* do not determine them."""
    name = words[0].text if words else None
    if name == "printf" and [word.text for word in words[:2]] == _PRINTF_V:
        return _set_by_printf(words[2:])
    if name in DECLARING:
        return _set_by_declaration(words[1:], name or "")
    return _set_by_read(words[1:], name or "") if name in _OPTIONS_WITH_VALUE else None


def sets_only_line_variables(words: Sequence[Word]) -> bool:
    """Whether a command only sets variables that have a meaning only in its line, as `x=1` does.

    Or whether it exports settings that no rule has to mention: `export CI=true`.
    """
    if words and words[0].text == "export":
        return exports_harmless(words)
    names = variables_set_by(words) or ()
    return bool(names) and all(map(is_line_variable, names))  # Without a name, `declare` prints every variable.


def _set_by_printf(words: Sequence[Word]) -> tuple[str, ...] | None:
    """The variable that `printf -v` sets; None unless all words are literal, as it could copy unknown text into a variable."""
    texts = [word.text for word in words if word.text is not None]
    if len(texts) < max(2, len(words)) or not _NAME.fullmatch(texts[0]) or any(map(formats.printf, texts[1:])):
        return None
    return (texts[0],)


def sets_array(command: Command) -> bool:
    """Whether *command* sets an array: `mapfile`, `read -a`."""
    texts = [word.text or "" for word in command.words]
    return texts[0] in _READ_LINES or (texts[0] == "read" and any(map(_ARRAY.fullmatch, texts[1:])))


def _set_by_read(words: Sequence[Word], program: str) -> tuple[str, ...] | None:
    if not all(word.is_literal for word in words):
        return None
    rest = [word.text or "" for word in words]
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if program == "read" and _ARRAY.fullmatch(option) and rest:
            return (rest[0],) if len(rest) == 1 and _NAME.fullmatch(rest[0]) else None
        if _OPTIONS_WITH_VALUE[program].fullmatch(option) and rest:
            rest.pop(0)
        elif not _FLAGS[program].fullmatch(option):
            return None
    if not rest or not all(map(_NAME.fullmatch, rest)) or (program in _READ_LINES and len(rest) > 1):
        return None
    return tuple(rest)


def _set_by_declaration(words: Sequence[Word], program: str) -> tuple[str, ...] | None:
    texts = [word.text for word in words]
    is_array = texts[:1] in (["-a"], ["-A"])
    while texts and texts[0] is not None and texts[0].startswith("-"):
        if program == "export" or not _FLAGS[program].fullmatch(texts[0]):
            return None
        texts, words = texts[1:], words[1:]
    names = list(_declared_names(words))
    if is_array and any("=" in (text or "") for text in texts):
        return None
    return tuple(names) if len(names) == len(words) else None


def _declared_names(words: Sequence[Word]) -> Iterator[str]:
    for word in words:
        found = _DECLARED.match(word.text if word.text is not None else word.form)
        if found is None:
            return
        rest = (word.text or "")[found.end() :]
        # Unknown parts are accepted only behind the `=`: `local $x` could set any variable.
        if (word.text is None and not found[2]) or (word.text is not None and not found[2] and rest):
            return
        yield found[1]


# Arithmetic -----------------------------------------------------------------------------------------------------------

_TOKEN: Final = re.compile(
    r"[ \t\n]+|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|[0-9]+(?![A-Za-z0-9_#])|\+\+|--|<<=?|>>=?|&&|\|\||\*\*|[-+*/%&|^<>=!]=|[-+*/%<>=!&|^~?:,()]"
)
_ASSIGNED: Final = re.compile(
    r"([A-Za-z_]\w*)[ \t\n]*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)|(?:\+\+|--)[ \t\n]*([A-Za-z_]\w*)"
)
# Such an expression adds a small number: no line runs long enough to make it overflow.
_COUNTS_UP: Final = re.compile(
    r"[ \t\n]*(?:[a-zA-Z_]\w*[ \t\n]*(?:\+\+|\+=?[ \t\n]*[0-9]{1,6})|\+\+[ \t\n]*[A-Za-z_]\w*|[0-9]{1,6}[ \t\n]*\+[ \t\n]*[a-zA-Z_]\w*)[ \t\n]*"
)
_STARTS: Final = re.compile(r"[ \t\n]*([A-Za-z_]\w*)[ \t\n]*=(?!=)(?P<value>[^=?:&|,]*)")
_DIGITS: Final = re.compile(r"[ \t\n]*[0-9]{1,15}[ \t\n]*")
# Bash keeps numbers in them, whatever the environment sets.
_ALWAYS_NUMBERS: Final = frozenset({"LINENO", "RANDOM", "SECONDS"})
_DIVIDES: Final = re.compile(r"[/%](?![ \t\n]*0*[1-9])|\*\*")


class Arithmetic(NamedTuple):
    """What one arithmetic expression reads and sets."""

    names: frozenset[str]
    """The variables that have to hold numbers, including those that it assigns to."""
    assigned: frozenset[str]
    """The variables that it may assign a number to."""
    certain: frozenset[str]
    """The variables that it assigns a number to whenever it is evaluated."""
    sets_alone: bool
    """Whether it does not read the variable that it certainly assigns to."""
    counts_up: bool
    """Whether it only adds a small number to a variable, or assigns a number."""
    may_fail: bool
    """Whether it may divide by zero, which ends the line."""


def parse_arithmetic(text: str) -> Arithmetic | None:
    """Analyse the expression *text*, in which each `$x` is written `x`; None if it may do more than compute."""
    at = 0
    names: set[str] = set()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            return None
        at = found.end()
        if found["name"]:
            names.add(found["name"])
    assigned = frozenset(found[1] or found[2] for found in _ASSIGNED.finditer(text))
    if not all(map(is_line_variable, names - _ALWAYS_NUMBERS)) or not assigned.isdisjoint(_ALWAYS_NUMBERS):
        return None
    start, may_fail = _STARTS.fullmatch(text), _DIVIDES.search(text) is not None
    certain = frozenset({start[1]}) if start is not None and not may_fail else frozenset[str]()
    counts_up = _COUNTS_UP.fullmatch(text) is not None
    counts_up = counts_up or (start is not None and _DIGITS.fullmatch(start["value"]) is not None)
    sets_alone = start is not None and start[1] not in re.findall(r"\w+", start["value"])
    return Arithmetic(frozenset(names - _ALWAYS_NUMBERS), assigned, certain, sets_alone, counts_up, may_fail)
