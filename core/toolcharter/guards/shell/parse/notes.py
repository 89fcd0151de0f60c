"""Notes that the parser takes on functions, from the first definition on, and on loops, for the modules that rewrite them.

All positions are in characters of the source.
"""

import re
from typing import Final, NamedTuple, TypeAlias

from toolcharter.guards.shell.nodes import Word

Span: TypeAlias = tuple[int, int]

_NAMED: Final = re.compile(r"\$\{?[!#]?([A-Za-z_][A-Za-z0-9_]*)")
_POSITIONAL: Final = re.compile(r"\$\{?[!#]?[0-9@*#]")
_NAMES: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Definition(NamedTuple):
    """`name() { ...; }`."""

    name: str
    start: int
    body: int
    """Where its body begins."""
    closed: int
    """Where the compound command of its body ends."""
    end: int
    """Where the redirections of the body end."""
    depth: int
    """The depth of the statements in its body."""
    is_plain: bool
    """Whether it is a statement at the top of the line, which certainly runs once."""


class Use(NamedTuple):
    """A simple command."""

    start: int
    end: int
    """The position behind its last word or redirection."""
    words: tuple[Word, ...]
    spans: tuple[Span, ...]
    """The spans of its words in the source."""
    is_bare: bool
    """Whether it has no assignment."""
    within: tuple[str, ...]
    depth: int
    """How many constructs enclose it."""
    branches: int
    """How many conditionals, loops and functions enclose it."""
    is_first: bool
    """Whether it is the beginning of a statement."""

    @property
    def program(self) -> str | None:
        """The name of the program; None if it is not known."""
        return self.words[0].text if self.words else None


class Loop(NamedTuple):
    """A compound command."""

    start: int
    closed: int
    end: int
    """The position behind its redirections."""
    is_statement: bool


class Reference(NamedTuple):
    """`$1`, `"$@"`, `${2:-x}`, `$#`."""

    start: int
    end: int
    is_quoted: bool
    is_number: bool
    """Whether it is part of an arithmetic expression."""


class Notes:
    """The notes on one source."""

    def __init__(self) -> None:
        self.definitions: list[Definition] = []
        self.uses: list[Use] = []
        self.loops: list[Loop] = []
        """Loops and all other compound commands."""
        self.statements: set[int] = set()
        """The positions of assignments that are statements at the top of the line."""
        self.references: list[Reference] = []
        self.named: set[Span] = set()
        """The spans of all names of variables that are read or set."""
        self.is_odd = False
        """Whether the parameters are used without a reference to them, as in `for x; do`."""
        self.closed = self.end = 0
        """Where the last compound command ends, without and with its redirections."""
        self.arithmetic = 0
        """How many arithmetic expressions enclose the position."""

    def note_expansion(self, source: str, start: int, end: int, *, quoted: bool) -> None:
        """Note an expansion from *start* to *end*."""
        if _POSITIONAL.match(source, start, end):
            self.references.append(Reference(start, end, quoted, self.arithmetic > 0))
        elif found := _NAMED.match(source, start, end):
            self.named.add(found.span(1))

    def note_arithmetic(self, start: int, text: str) -> None:
        """Note the variables in *text*, a piece of an arithmetic expression that begins at *start*."""
        self.named.update((start + one.start(), start + one.end()) for one in _NAMES.finditer(text))
