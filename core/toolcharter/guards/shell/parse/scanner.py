"""The scanner that all functions of this folder share: its position in the source, and all that was parsed so far.

Each construct of the language has a function `read_...` that takes the scanner. Constructs nest in each other, so the
function for the outermost one, `lists.read_list`, is called through the scanner: that avoids an import circle.
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
from toolcharter.guards.shell.parse.word_parts import MAX_HINTS, combine_texts

if TYPE_CHECKING:
    from toolcharter.guards.shell import variable_values
    from toolcharter.guards.shell.listing_loops import NamesOnDisk
    from toolcharter.guards.shell.parse.notes import Notes
    from toolcharter.guards.shell.setters import Arithmetic
    from toolcharter.guards.shell.variable_values import SetVariables, Value
else:
    variable_values = lazy("toolcharter.guards.shell.variable_values")

MAX_DEPTH = 20
"""How deep substitutions, compound commands and braced parameters may nest."""

_BLANKS = re.compile(r"(?:[ \t]|\\\n)+")
_BARE = re.compile(r"[^ \t\n|&;()<>'\"\\$`]*")
_BREAKS = frozenset(" \t\n|&;()<>")
_SHOWN = 20

Span: TypeAlias = tuple[int, int]


class ProcessSubstitutions(NamedTuple):
    """The positions of the commands in process substitutions among the words of one command."""

    inputs: list[int]
    """The commands in `<(...)`."""
    outputs: list[int]
    """The commands in `>(...)`."""


ListReader: TypeAlias = Callable[["Scanner", frozenset[str]], Flow]


class Scanner:
    """One pass over a source."""

    at: int
    """The position in the source, in characters."""
    unsupported: str | None
    unresolved_program: str | None
    within: tuple[str, ...]
    stdin_from: tuple[int, ...]
    cwd: Folders
    cd_count: int
    """How many commands so far changed the folder of the shell that runs the line."""
    branches: int
    """How many conditionals, loops and functions enclose the position."""
    word_loops: int
    """How many of these are loops over words."""
    inner_sources: int
    """How many sources have been parsed within this one."""
    is_line: bool
    """Whether the source is a whole line: then only the line itself sets variables while it runs."""
    set_names: frozenset[str]
    """The variables that the line has certainly set by here, unless `variable_values` finds that a later command sets them again."""
    set_by_last: "SetVariables"
    """The variables that the last pipeline or list has certainly set."""
    values: dict[str, tuple[str, ...]]
    """Possible texts of each variable."""
    patterns: dict[str, str]
    """The glob that each loop variable runs over."""
    lists: bool
    """Whether the gate may look on disk for names that a loop runs over."""
    disk_names: "dict[str, NamesOnDisk]"
    """The names on disk that variables hold."""
    fixed_values: "dict[str, Value]"
    """The values of variables that hold names on disk and have to keep them to the end of the line."""
    listings: tuple[ListedNames, ...] | None
    """What the gate has to check of the names of all loops so far; None if no loop runs over names on disk."""
    loops: dict[str, tuple[str, ...]]
    """The variables of the enclosing loops over literal words, each with these words."""
    loop_cd_names: set[str]
    """Those of them that a `cd` in a subshell uses as its folder."""
    set_values: "dict[str, Value | None]"
    """The value of each variable that the line sets; None for one that is set again."""
    arithmetic: "dict[str, Arithmetic]"
    """The arithmetic expressions so far, by their text."""
    compared_names: set[str]
    """The variables that conditions use."""
    assumed_tops: set[str]
    """The variables that the line relies on to hold the top of the repository or the empty text: a `cd` uses them."""
    old_cwd: Folders
    """The folders that `OLDPWD` may be after the number of moves in `old_cwd_count`; empty if they are not known."""
    old_cwd_count: int
    relied_on: set[str]
    """The variables whose values were put into the words of loops: these values have to be certain."""
    numeric_names: set[str]
    """The variables that arithmetic reads: they have to hold numbers."""
    _before: "dict[str, Value | None]"
    """The value of each variable before its last assignment, if it had been set before."""
    array_words: list[Word]
    """The words of the array that was read last."""
    names_program: bool
    """Whether the current word names a program: then arrays in it are not replaced by their elements."""
    looping_at: int
    """The depth at which the current word of a loop began: the order of such words does not matter."""
    takes_names: bool
    """Whether the current word may become names that a command prints."""
    notes: "Notes | None"
    """Notes on functions; None before the first function."""
    statement_at: int
    """Where the current or last statement begins."""
    is_timed: bool
    """Whether `time` was just read: for tree-sitter-bash, `time` is the program of the following command."""
    body: Span | None
    """The newline before the body of a here-document that was read, and the end of the body."""
    expression_at: int
    """The position of a regular expression, behind `=~`."""
    tested_at: int
    """The position of the last word between `[[` and `]]`, which bash never splits."""
    _word_count: int
    _bare_at: int
    """Where the last result of `next_bare` begins: a cache, since several functions ask for the same word."""
    _bare: str

    list_reader: ListReader
    """`lists.read_list`."""
    is_posix: bool
    """Whether the shell may be one other than bash, such as dash."""
    enters: int
    """Each `cd` before this position to a folder that its text determines is taken to succeed."""
    word_spans: set[Span]
    """The spans of all words, assignments and targets, which `crosscheck` compares."""
    program_spans: set[Span]
    """The spans of words that name programs."""
    test_spans: set[Span]
    """The spans of whole `[ ]` and `[[ ]]`."""
    time_spans: list[Span]
    """The spans of the last `time` and its option."""
    hidden_spans: list[Span]
    """Spans that `crosscheck` hides from tree-sitter-bash: `time` before a compound command."""
    escape_positions: list[int]
    """The positions in here-documents at which a backslash escapes a `$` or a backtick."""
    here_strings: list[int]
    """The position of each `<<<` without a descriptor: tree-sitter-bash does not parse it behind another redirection."""
    reaches: list[PathAccess]
    """The folders that the shell itself lists for the names that loops run over."""
    substitutes: list[int]
    """The positions of commands whose output becomes part of the current command's words."""

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
        self.cwd = (".",)
        self.cd_count = self.branches = self.word_loops = self.inner_sources = self._word_count = 0
        self.lists = self.is_line = self.names_program = self.takes_names = self.is_timed = False
        self.set_names = frozenset()
        self.set_by_last = variable_values.SetVariables(frozenset(), frozenset())
        self.expression_at = self.tested_at = self.looping_at = self._bare_at = self.statement_at = -1
        self._bare = ""
        self.source = source
        self.workspace = workspace
        self.list_reader = read_list
        self.depth = depth
        self.is_posix = is_posix
        self.enters = enters
        self.commands: list[Command] = []
        self.functions: list[str] = []
        self.word_spans, self.program_spans, self.test_spans = set(), set(), set()
        self.time_spans, self.hidden_spans = [], []
        self.escape_positions, self.here_strings = [], []
        self.values = {}
        self.patterns, self.disk_names, self.fixed_values = {}, {}, {}
        self.loops, self.loop_cd_names = {}, set()
        self.set_values = {}
        self.arithmetic = {}
        self.compared_names = set()
        self.numeric_names = set()
        self.relied_on, self.assumed_tops = set(), set()
        self.old_cwd, self.old_cwd_count = (), 0
        self._before = {}
        self.arrays = Arrays(source)
        self.array_words = []
        self.reaches, self.substitutes = [], []
        self.process_substitutions = ProcessSubstitutions([], [])

    def read_list(self, ends: frozenset[str]) -> Flow:
        """Read a list of commands up to one of the words *ends*, a `)`, a `;;` or the end of the source."""
        return self.list_reader(self, ends)

    def learn(self, name: str, value: Word, *, adds: bool = False) -> None:
        """Record *value* as a possible text of variable *name*; with *adds*, it is appended to the texts so far."""
        texts = value.hints if value.text is None else (value.text,)
        known = self.values.get(name, ())
        if adds:
            texts = combine_texts((known or ("",), texts))
        self.values[name] = tuple(dict.fromkeys((*known, *texts)))[-MAX_HINTS:]
        self.loops.pop(name, None)
        self.forget(name)
        if self.patterns.pop(name, None) is not None or self.disk_names.pop(name, None) is not None:
            self.mark_unsupported("A loop variable is assigned to.")

    def forget(self, name: str) -> None:
        """Record that variable *name* is set to an unknown value."""
        self._before.pop(name, None)
        if name in self.set_values:
            self._before[name] = self.set_values[name]
            self.set_values[name] = None

    def set_value(self, name: str, value: "Value | None") -> None:
        """Record that variable *name*, for which `forget` was just called, is set to *value*."""
        self.set_values[name] = (
            variable_values.merge_values(self._before[name], value) if name in self._before else value
        )

    def record_glob(self, pattern: str) -> None:
        """Record the folder in which bash expands *pattern*: a link on the way may lead out of the workspace."""
        folder = pattern.rpartition("/")[0]
        if folder:
            path = folder if folder.startswith("/") else f"./{folder}"
            self.reaches.append(PathAccess(path, is_pattern=True, folders=self.cwd))

    def fail(self, why: str) -> NotUnderstood:
        """The exception to raise, with *why* and the position."""
        return NotUnderstood(f"{why} (at {self.source[self.at : self.at + _SHOWN]!r})")

    def bash_only(self, what: str) -> None:
        """Refuse the construct *what* if the shell may be one that parses it in another way than bash.

        Raises:
            NotUnderstood: The shell may be another one.
        """
        if self.is_posix:
            raise self.fail(f"{what} means something else to other shells than bash.")

    def mark_unsupported(self, what: str) -> None:
        """Record a construct that no allow rule can cover."""
        self.unsupported = self.unsupported or what

    def skip_blanks(self) -> None:
        """Skip blanks and joined lines."""
        if self.source.startswith((" ", "\t", "\\\n"), self.at) and (found := _BLANKS.match(self.source, self.at)):
            self.at = found.end()
            self.check_body()

    def skip_comment(self) -> None:
        """Skip blanks, then a comment."""
        self.skip_blanks()
        if self.source.startswith("#", self.at):
            end = self.source.find("\n", self.at)
            self.at = len(self.source) if end < 0 else end

    def skip_newlines(self) -> None:
        """Skip blanks, comments, newlines, and the bodies of here-documents behind them."""
        self.skip_comment()
        while self.source.startswith("\n", self.at):
            self._newline()
            self.skip_comment()

    def _newline(self) -> None:
        if self.body is None:
            self.at += 1
        else:
            self.at, self.body = self.body[1], None

    def check_body(self) -> None:
        """Refuse a construct that continues across the newline before the body of a here-document."""
        if self.body is not None and self.at > self.body[0]:
            raise self.fail("Something is continued on the line after a here-document.")

    def take(self, text: str) -> bool:
        """Skip *text* if it comes next; whether it did."""
        if self.source.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    def expect(self, text: str) -> None:
        """Skip *text*, which has to come next."""
        if not self.take(text):
            raise self.fail(f"A {text!r} is missing.")

    def next_bare(self) -> str:
        """The next word, if it is written without quotes and expansions; else empty."""
        if self.at != self._bare_at:
            self._bare_at, self._bare = self.at, self._read_bare()
        return self._bare

    def _read_bare(self) -> str:
        found = _BARE.match(self.source, self.at)
        word = "" if found is None else found.group()
        follows = self.source[self.at + len(word) : self.at + len(word) + 1]
        return "" if follows and follows in "'\"\\$`" else word

    def expect_word(self, word: str) -> None:
        """Skip *word*, which has to be the next word."""
        if self.next_bare() != word:
            raise self.fail(f"A {word!r} is missing.")
        self.at += len(word)

    def is_word_end(self) -> bool:
        """Whether a word ends here."""
        return self.at >= len(self.source) or self.source[self.at] in _BREAKS

    @contextmanager
    def nested(self) -> Generator[None]:
        """Parse one level deeper. After an exception the depth is not restored, since the parsing ends.

        Raises:
            NotUnderstood: The constructs nest too deep.
        """
        if self.depth >= MAX_DEPTH:
            raise NotUnderstood(f"Parts of the command line stand more than {MAX_DEPTH} deep in each other.")
        self.depth += 1
        yield
        self.depth -= 1

    @contextmanager
    def subprocess_scope(self, label: str) -> Generator[None]:
        """Parse commands that run in a process of their own: their changes of the folder and of variables end with it."""
        here, moves, within, names, branches = self.cwd, self.cd_count, self.within, self.set_names, self.branches
        self.within = (*within, label)
        if label == "subshell" and not any(one.startswith("function ") for one in within):
            self.branches = 0  # If it runs, it begins in this folder, and it cannot move later commands.
        yield
        self.cwd, self.cd_count, self.within, self.set_names, self.branches = here, moves, within, names, branches

    @contextmanager
    def collecting(self) -> Generator[None]:
        """Collect the commands in substitutions among the words of one command."""
        outer = self.process_substitutions, self.substitutes
        self.process_substitutions, self.substitutes = ProcessSubstitutions([], []), []
        yield
        self.process_substitutions, self.substitutes = outer

    def emit(self, command: Command) -> int:
        """Append *command*; return its position."""
        if len(self.commands) >= MAX_COMMANDS:
            raise NotUnderstood(f"The command line runs more than {MAX_COMMANDS} commands.")
        self.commands.append(command)
        return len(self.commands) - 1

    def record_span(self, start: int, made: int = 1) -> None:
        """Record the span of a word from *start* to here, which expands to *made* words."""
        self.word_spans.add((start, self.at))
        self._word_count += made
        if self._word_count > MAX_WORDS:
            raise NotUnderstood(f"The command line has more than {MAX_WORDS} words.")
