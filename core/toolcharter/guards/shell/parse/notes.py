"""What a reading notes of functions, from the first definition on, and of loops: for what writes them out.

All places are characters of the source.
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
    """Where the redirections behind that end."""
    depth: int
    """How deep its statements stand in other constructs."""
    is_plain: bool
    """Whether it is a statement of the line itself, which runs once and for certain."""


class Use(NamedTuple):
    """A simple command."""

    start: int
    end: int
    """Behind its last word or redirection."""
    words: tuple[Word, ...]
    spans: tuple[Span, ...]
    """Of its words, as they are written."""
    is_bare: bool
    """Whether no assignment stands in it."""
    within: tuple[str, ...]
    depth: int
    """How deep it stands in other constructs."""
    branches: int
    """How many conditionals, loops and functions it stands in."""
    is_first: bool
    """Whether a statement begins with it."""

    @property
    def program(self) -> str | None:
        """What runs; None if that cannot be determined."""
        return self.words[0].text if self.words else None


class Loop(NamedTuple):
    """A compound command."""

    start: int
    closed: int
    end: int
    """Behind the redirections."""
    is_statement: bool


class Reference(NamedTuple):
    """`$1`, `"$@"`, `${2:-x}`, `$#`."""

    start: int
    end: int
    is_quoted: bool
    is_number: bool
    """Whether it stands in arithmetic."""


class Notes:
    """All of one source."""

    def __init__(self) -> None:
        self.definitions: list[Definition] = []
        self.uses: list[Use] = []
        self.loops: list[Loop] = []
        """And all other compound commands."""
        self.statements: set[int] = set()
        """Where assignments begin that are statements of the line itself."""
        self.references: list[Reference] = []
        self.named: set[Span] = set()
        """Where variables are named that are read or set."""
        self.is_odd = False
        """Whether the words of the function are used without being named: `for x; do`."""
        self.closed = self.end = 0
        """Where the compound command that was read last ends, without its redirections and with them."""
        self.arithmetic = 0
        """How deep the reading stands in arithmetic."""

    def expanded(self, source: str, start: int, end: int, *, quoted: bool) -> None:
        """Note an expansion that has been read."""
        if _POSITIONAL.match(source, start, end):
            self.references.append(Reference(start, end, quoted, self.arithmetic > 0))
        elif found := _NAMED.match(source, start, end):
            self.named.add(found.span(1))

    def counted(self, start: int, text: str) -> None:
        """Note the variables of a piece of arithmetic."""
        self.named.update((start + one.start(), start + one.end()) for one in _NAMES.finditer(text))
