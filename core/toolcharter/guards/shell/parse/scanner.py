"""The scanner that all functions of this folder share: where the reading is in its source, and what it has found so far.

Each construct of the language has a function `read_...` that takes the scanner. Constructs hold each other, so that one of
them, `lists.read_list`, is reached through the scanner.
"""

import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from toolcharter._lazy import lazy
from toolcharter.api.command import ListedNames, PathAccess
from toolcharter.guards.shell.arrays import Arrays
from toolcharter.guards.shell.nodes import MAX_COMMANDS, MAX_WORDS, Command, NotUnderstood, Word
from toolcharter.guards.shell.parse.cwd import Flow, Folders
from toolcharter.guards.shell.parse.word_parts import MAX_HINTS, combined

if TYPE_CHECKING:
    from toolcharter.guards.shell import settled
    from toolcharter.guards.shell.listed import Listed
    from toolcharter.guards.shell.parse.notes import Notes
    from toolcharter.guards.shell.setters import Sum
    from toolcharter.guards.shell.settled import Gained, Value
else:
    settled = lazy("toolcharter.guards.shell.settled")

MAX_DEPTH = 20
"""How deep substitutions, compound commands and braced parameters may stand in each other."""

_BLANKS = re.compile(r"(?:[ \t]|\\\n)+")
_BARE = re.compile(r"[^ \t\n|&;()<>'\"\\$`]*")
_BREAKS = frozenset(" \t\n|&;()<>")
_SHOWN = 20

Span: TypeAlias = tuple[int, int]


class Feeding(NamedTuple):
    """What the words of one command start by the way, by position."""

    inputs: list[int]
    """Commands in `<(...)`."""
    outputs: list[int]
    """Commands in `>(...)`."""


ListReader: TypeAlias = Callable[["Scanner", frozenset[str]], Flow]


class Scanner:
    """One pass over a source."""

    at: int
    """Where in its source it stands, in characters."""
    unsupported: str | None
    unresolved_program: str | None
    within: tuple[str, ...]
    stdin_from: tuple[int, ...]
    here: Folders
    moves: int
    """How often what has been read left its folder in a way that outlives it."""
    branches: int
    """How many conditionals, loops and functions the reading stands in."""
    turning: int
    """How many of these are loops over words."""
    inners: int
    """How many sources have been read within this one."""
    settles: bool
    """Whether the source is a whole line: then nothing but itself sets variables while it runs."""
    set_names: frozenset[str]
    """Variables that the line has set for certain by here, if `settled` finds nothing that sets them again."""
    gained: "Gained"
    """What the pipeline, or the list, that was read last has certainly set."""
    values: dict[str, tuple[str, ...]]
    """Texts that variables may have."""
    patterns: dict[str, str]
    """Globs that loop variables stand for."""
    lists: bool
    """Whether names that a loop runs over may be looked for on disk."""
    listed: "dict[str, Listed]"
    """What loop variables stand for that are names on disk."""
    lasting: "dict[str, Value]"
    """What variables hold that stand for names on disk, and have to hold to the end of the line."""
    listings: tuple[ListedNames, ...] | None
    """What has to hold of these names, of all loops so far; None if there is none."""
    loops: dict[str, tuple[str, ...]]
    """The variables of the loops over literal words that the reading stands in, and those words."""
    entered: set[str]
    """Those of them that a subshell has moved to."""
    set_values: "dict[str, Value | None]"
    """What all variables hold that the line sets; None for one that is set again."""
    sums: "dict[str, Sum]"
    """The arithmetic expressions that have been read, by their text."""
    compared: set[str]
    """Variables that conditions look at."""
    tops: set[str]
    """Variables that have to hold the top of the repository, or nothing: the line goes there by them."""
    left: Folders
    """What `OLDPWD` may be, behind as many moves as `left_at` says; none, if that cannot be determined."""
    left_at: int
    relied: set[str]
    """Variables whose values stand in the words of loops: they have to hold these."""
    computed: set[str]
    """Variables that arithmetic reads: they have to hold numbers."""
    _before: "dict[str, Value | None]"
    """What variables held before they were assigned to last; none that held nothing."""
    assigned: list[Word]
    """The words of the array that has been read last."""
    names_program: bool
    """Whether the word being read names a program: what arrays hold is not put in its place."""
    looping_at: int
    """How deep the reading stood when it began a word of a loop: which of these comes first does not matter."""
    takes_names: bool
    """Whether the word being read may become names that a command prints."""
    notes: "Notes | None"
    """What is noted of functions; None before the first."""
    statement: int
    """Where the statement begins that is being read, or that has been read last."""
    is_timed: bool
    """Whether `time` has just been read, which the second reader takes for the program of what follows."""
    body: Span | None
    """The newline before the body of a here-document that has been read, and where that ends."""
    expression_at: int
    """The position of a regular expression, behind `=~`."""
    tested_at: int
    """The position of the last word between `[[` and `]]`, of which bash makes no more than one."""
    _made: int
    _bare_at: int
    """Where the bare word last looked at begins, and it; each is looked at by several."""
    _bare: str

    list_reader: ListReader
    """`lists.read_list`."""
    is_posix: bool
    """Whether the shell may be another than bash, such as dash."""
    enters: int
    """Before which place each `cd` to a folder that its letters tell succeeds."""
    spans: set[Span]
    """Where each word, assignment and target stands: for the second reader (`crosscheck`)."""
    programs: set[Span]
    """The same of words that name programs."""
    tests: set[Span]
    """The same of whole `[ ]` and `[[ ]]`."""
    timed: list[Span]
    """Where the words of `time` stand that was read last."""
    hidden: list[Span]
    """What the second reader is not shown: `time` before a compound command."""
    masks: list[int]
    """Where in here-documents a backslash makes a `$` or a backtick a plain character."""
    here_strings: list[int]
    """Where each `<<<` stands that has no descriptor: the second reader knows none behind another redirection."""
    reaches: list[PathAccess]
    """Where the shell itself looks for the names that loops run over."""
    substitutes: list[int]
    """The commands whose output becomes part of the words being read."""

    def __init__(
        self,
        source: str,
        workspace: str,
        read_list: ListReader,
        depth: int = 0,
        *,
        is_posix: bool = False,
        enters: int = 0,
    ) -> None:
        self.at = 0
        self.unsupported = self.unresolved_program = self.body = self.listings = self.notes = None
        self.within = self.stdin_from = ()
        self.here = (".",)
        self.moves = self.branches = self.turning = self.inners = self._made = 0
        self.lists = self.settles = self.names_program = self.takes_names = self.is_timed = False
        self.set_names = frozenset()
        self.gained = settled.Gained(frozenset(), frozenset())
        self.expression_at = self.tested_at = self.looping_at = self._bare_at = self.statement = -1
        self._bare = ""
        self.source = source
        self.workspace = workspace
        self.list_reader = read_list
        self.depth = depth
        self.is_posix = is_posix
        self.enters = enters
        self.commands: list[Command] = []
        self.functions: list[str] = []
        self.spans, self.programs, self.tests = set(), set(), set()
        self.timed, self.hidden = [], []
        self.masks, self.here_strings = [], []
        self.values = {}
        self.patterns, self.listed, self.lasting = {}, {}, {}
        self.loops, self.entered = {}, set()
        self.set_values = {}
        self.sums = {}
        self.compared = set()
        self.computed = set()
        self.relied, self.tops = set(), set()
        self.left, self.left_at = (), 0
        self._before = {}
        self.arrays = Arrays(source)
        self.assigned = []
        self.reaches, self.substitutes = [], []
        self.feeding = Feeding([], [])

    def read_list(self, ends: frozenset[str]) -> Flow:
        """Read a list of commands up to one of the words *ends*, a `)`, a `;;` or the end."""
        return self.list_reader(self, ends)

    def learn(self, name: str, value: Word, *, adds: bool = False) -> None:
        """Remember what variable *name* may be, which is set to *value* or has it added."""
        texts = value.hints if value.text is None else (value.text,)
        known = self.values.get(name, ())
        if adds:
            texts = combined((known or ("",), texts))
        self.values[name] = tuple(dict.fromkeys((*known, *texts)))[-MAX_HINTS:]
        self.loops.pop(name, None)
        self.forget(name)
        if self.patterns.pop(name, None) is not None or self.listed.pop(name, None) is not None:
            self.mark_unsupported("A loop variable is assigned to.")

    def forget(self, name: str) -> None:
        """Variable *name* is set, and it is not known to what."""
        self._before.pop(name, None)
        if name in self.set_values:
            self._before[name] = self.set_values[name]
            self.set_values[name] = None

    def put(self, name: str, value: "Value | None") -> None:
        """Variable *name*, which has just been forgotten, is set to this *value*."""
        self.set_values[name] = settled.united(self._before[name], value) if name in self._before else value

    def look_for(self, pattern: str) -> None:
        """Note the folders in which bash looks for names: a link on the way may lead out."""
        folder = pattern.rpartition("/")[0]
        if folder:
            path = folder if folder.startswith("/") else f"./{folder}"
            self.reaches.append(PathAccess(path, is_pattern=True, folders=self.here))

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

    def mark_unsupported(self, what: str) -> None:
        """Note something that no rule may cover."""
        self.unsupported = self.unsupported or what

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

    def bare(self) -> str:
        """The word that stands here without any quotes; empty, if it is another."""
        if self.at != self._bare_at:
            self._bare_at, self._bare = self.at, self._look()
        return self._bare

    def _look(self) -> str:
        found = _BARE.match(self.source, self.at)
        word = "" if found is None else found.group()
        follows = self.source[self.at + len(word) : self.at + len(word) + 1]
        return "" if follows and follows in "'\"\\$`" else word

    def close(self, word: str) -> None:
        """Skip *word*, which has to stand here."""
        if self.bare() != word:
            raise self.fail(f"A {word!r} is missing.")
        self.at += len(word)

    def is_break(self) -> bool:
        """Whether no word goes on here."""
        return self.at >= len(self.source) or self.source[self.at] in _BREAKS

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
    def subprocess_scope(self, label: str) -> Generator[None]:
        """A process of its own: what it does to folders ends with it."""
        here, moves, within, names, branches = self.here, self.moves, self.within, self.set_names, self.branches
        self.within = (*within, label)
        if label == "subshell" and not any(one.startswith("function ") for one in within):
            self.branches = 0  # Whether it runs or not, it begins here, and nothing behind it sees where it has gone.
        yield
        self.here, self.moves, self.within, self.set_names, self.branches = here, moves, within, names, branches

    @contextmanager
    def collecting(self) -> Generator[None]:
        """One command, whose words start commands of its own."""
        outer = self.feeding, self.substitutes
        self.feeding, self.substitutes = Feeding([], []), []
        yield
        self.feeding, self.substitutes = outer

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
