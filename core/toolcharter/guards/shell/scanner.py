"""Where a reading of shell source stands, and what it has found so far: the ground of `grammar`."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from toolcharter._lazy import lazy
from toolcharter.api.command import PathAccess
from toolcharter.guards.shell.arrays import Arrays
from toolcharter.guards.shell.nodes import Command, NotUnderstood

if TYPE_CHECKING:
    from toolcharter.guards.shell import settled
    from toolcharter.guards.shell.setters import Sum
    from toolcharter.guards.shell.settled import Value
else:
    settled = lazy("toolcharter.guards.shell.settled")

MAX_COMMANDS = 50
MAX_WORDS = 1000
MAX_DEPTH = 20
"""How deep substitutions, compound commands and braced parameters may stand in each other."""

_BLANKS = re.compile(r"(?:[ \t]|\\\n)+")
_SHOWN = 20

Folders: TypeAlias = tuple[str, ...]
"""Possible working folders; none, if they cannot be told."""
Span: TypeAlias = tuple[int, int]


class Reader:
    """One pass over a source."""

    def __init__(
        self, source: str, workspace: str = "", depth: int = 0, *, is_posix: bool = False, enters: bool = False
    ) -> None:
        self.source = source
        self.workspace = workspace
        self.is_posix = is_posix
        """Whether the shell may be another than bash, such as dash."""
        self.enters = enters
        """Whether each `cd` to a folder that its letters tell succeeds."""
        self.at = 0
        self.commands = list[Command]()
        self.functions: list[str] = []
        self.strange: str | None = None
        self.unnamed: str | None = None
        self.spans = set[Span]()
        """Where each word, assignment and target stands: for the second reader (`tree`)."""
        self.programs = set[Span]()
        """The same of words that name programs."""
        self.tests = set[Span]()
        """The same of whole `[ ]` and `[[ ]]`."""
        self.depth = depth
        self.within: tuple[str, ...] = ()
        self.feeders: tuple[int, ...] = ()
        self.here: Folders = (".",)
        self.moves = 0
        """How often what has been read left its folder in a way that outlives it."""
        self.branches = 0
        """How many conditionals, loops and functions the reading stands in."""
        self.values = dict[str, tuple[str, ...]]()
        """Texts that variables may have."""
        self.reaches: list[PathAccess] = []
        """Where the shell itself looks for the names that loops run over."""
        self.patterns = dict[str, str]()
        """Globs that loop variables stand for."""
        self.loops = set[str]()
        """The variables of the loops over literal words that the reading stands in."""
        self._remember_nothing()
        self.arrays = Arrays(source)
        self.names_program = False
        """Whether the word being read names a program: what arrays hold is not put in its place."""
        self.body: Span | None = None
        """The newline before the body of a here-document that has been read, and where that ends."""
        self.masks: list[int] = []
        """Where in here-documents a backslash makes a `$` or a backtick a plain character."""
        self.hidden: list[Span] = []
        """What the second reader is not shown: `time` before a compound command."""
        self.here_strings: list[int] = []
        """Where each `<<<` stands that has no descriptor: the second reader knows none behind another redirection."""
        self._made = 0

    def _remember_nothing(self) -> None:
        """Begin with variables of which nothing is known."""
        self.set_names = frozenset[str]()
        """Variables that the line has set for certain by here, if `settled` finds nothing that sets them again."""
        self.set_values = dict[str, "Value | None"]()
        """What all of them hold; None for one that is set again."""
        self.sums = dict[str, "Sum"]()
        """The arithmetic expressions that have been read, by their text."""
        self.compared = set[str]()
        """Variables that conditions look at."""
        self.computed = set[str]()
        """Variables that arithmetic reads: they have to hold numbers."""
        self.gained = settled.Gained(frozenset(), frozenset())
        """What the pipeline, or the list, that was read last has certainly set."""
        self._before = dict[str, "Value | None"]()
        """What variables held before they were assigned to last; none that held nothing."""
        self.settles = False
        """Whether the source is a whole line: then nothing but itself sets variables while it runs."""

    def forget(self, name: str) -> None:
        """Variable *name* is set, and it is not known to what."""
        self._before.pop(name, None)
        if name in self.set_values:
            self._before[name] = self.set_values[name]
            self.set_values[name] = None

    def put(self, name: str, value: "Value | None") -> None:
        """Variable *name*, which has just been forgotten, is set to this *value*."""
        self.set_values[name] = settled.united(self._before[name], value) if name in self._before else value

    def fail(self, why: str) -> NotUnderstood:
        """What to raise: *why*, and where."""
        return NotUnderstood(f"{why} (at {self.source[self.at : self.at + _SHOWN]!r})")

    def bash_only(self, what: str) -> None:
        """Refuse *what*, if it may be read by a shell that takes it for something else.

        Raises:
            NotUnderstood: It may.
        """
        if self.is_posix:
            raise self.fail(f"{what} means something else to other shells than bash.")

    def wonder(self, what: str) -> None:
        """Note something that no rule may cover."""
        self.strange = self.strange or what

    def blanks(self) -> None:
        """Skip blanks and joined lines."""
        if self.source.startswith((" ", "\t", "\\\n"), self.at) and (found := _BLANKS.match(self.source, self.at)):
            self.at = found.end()
            self.check_body()

    def comment(self) -> None:
        """Skip blanks, then a comment."""
        self.blanks()
        if self.source.startswith("#", self.at):
            end = self.source.find("\n", self.at)
            self.at = len(self.source) if end < 0 else end

    def newlines(self) -> None:
        """Skip blanks, comments, newlines, and the bodies of here-documents behind them."""
        self.comment()
        while self.source.startswith("\n", self.at):
            self._newline()
            self.comment()

    def _newline(self) -> None:
        if self.body is None:
            self.at += 1
        else:
            self.at, self.body = self.body[1], None

    def check_body(self) -> None:
        """Refuse anything that stands across the newline before the body of a here-document."""
        if self.body is not None and self.at > self.body[0]:
            raise self.fail("Something is continued on the line after a here-document.")

    def take(self, text: str) -> bool:
        """Skip *text*, if it stands here."""
        if self.source.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    def expect(self, text: str) -> None:
        """Skip *text*, which has to stand here."""
        if not self.take(text):
            raise self.fail(f"A {text!r} is missing.")

    @contextmanager
    def deeper(self) -> Generator[None]:
        """One level further down; no way back after a fault, which ends the reading.

        Raises:
            NotUnderstood: That is too deep.
        """
        if self.depth >= MAX_DEPTH:
            raise NotUnderstood(f"Parts of the command line stand more than {MAX_DEPTH} deep in each other.")
        self.depth += 1
        yield
        self.depth -= 1

    @contextmanager
    def apart(self, label: str) -> Generator[None]:
        """A process of its own: what it does to folders ends with it."""
        here, moves, within, names = self.here, self.moves, self.within, self.set_names
        self.within = (*within, label)
        yield
        self.here, self.moves, self.within, self.set_names = here, moves, within, names

    def emit(self, command: Command) -> int:
        """Add *command*; its position."""
        if len(self.commands) >= MAX_COMMANDS:
            raise NotUnderstood(f"The command line runs more than {MAX_COMMANDS} commands.")
        self.commands.append(command)
        return len(self.commands) - 1

    def note(self, start: int, made: int = 1) -> None:
        """Remember that a word stood from *start* to here, which *made* so many."""
        self.spans.add((start, self.at))
        self._made += made
        if self._made > MAX_WORDS:
            raise NotUnderstood(f"The command line has more than {MAX_WORDS} words.")
