"""What a program's table says, as values: its options, what they take, and the roles of its operands.

`toolcharter.guards.shell.programs.table_file` makes them from TOML; docs of the format stand there.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

Style = Literal["gnu", "posix", "single-dash", "subcommands", "find", "test", "words"]

STYLES: Final = ("gnu", "posix", "single-dash", "subcommands", "find", "test", "words")
"""How words divide into options and operands; `toolcharter.guards.shell.programs.table_file` says what each means."""

HARMLESS: Final = frozenset(
    {"text", "said", "shown", "read", "object", "tree", "node", "tests", "folder", "change", "into", "plain"}
)
"""Kinds of roles that more than one word may fill without a change of meaning: a pattern may stand there."""

STARTING: Final = frozenset({"command", "source_or_command", "run"})
"""Kinds of roles with which the rest of the words is another command."""

KINDS: Final = frozenset(
    {
        *HARMLESS,
        "number",
        "name",
        "local",
        "message",
        "target",
        "module",
        "assignment",
        "chdir",
        "write",
        "made",
        "trusted",
        "mount",
        "program",
        "code",
        "script",
        *STARTING,
        "exec",
        "passed",
    }
    | {"replace", "only", "format"}
)
"""All kinds of roles."""


class Role(NamedTuple):
    """What a word is to the program."""

    kind: str
    """One of `KINDS`."""
    argument: str = ""
    """Of `only:a|b`, `format:NAME`, `made:KIND` and `object:NAME`, what follows the colon."""
    is_named: bool = False
    """Whether the word has to be mentioned whatever it is (`!read`)."""

    @property
    def takes_many(self) -> bool:
        """Whether several words may stand where one was written without a change of meaning."""
        return self.kind in HARMLESS and not self.is_named


class Takes(NamedTuple):
    """What an option or a predicate takes."""

    name: str
    """Its first spelling in the table, which stands for all of them."""
    roles: tuple[Role, ...] = ()
    """Of its values, in order; none for a flag."""
    is_attached: bool = False
    """Whether its only value may be left out, and is part of the same word if it is there."""
    is_named: bool = False
    """Whether the option itself has to be mentioned."""


class Operands(NamedTuple):
    """The roles of the words that are no options."""

    first: tuple[Role, ...] = ()
    rest: Role | None = None
    """Of all between the first and the last; None if there can be no more than those."""
    last: tuple[Role, ...] = ()

    def take_many(self, place: int) -> bool:
        """Whether the words from *place* on may become more, or fewer, without a change of meaning."""
        roles = (*self.first[place:], self.rest, *self.last)
        return all(role is not None and role.takes_many for role in roles)


NO_OPERANDS: Final = Operands()
_NO_OPTIONS: Final[Mapping[str, Takes]] = MappingProxyType({})


class Table(NamedTuple):
    """One program, or one subcommand of one."""

    style: Style = "gnu"
    options: Mapping[str, Takes] = _NO_OPTIONS
    """By every spelling. In style `find` the options before the starting points."""
    predicates: Mapping[str, Takes] = _NO_OPTIONS
    """Of style `find`, the words of its expression; of style `test`, the operators between two operands."""
    operands: Operands = NO_OPERANDS
    operands_if: tuple[tuple[frozenset[str], Operands], ...] = ()
    """Other roles if one of the options (by `Takes.name`) is given; the first that applies counts."""
    conditions: tuple[tuple[frozenset[str], frozenset[str], bool], ...] = ()
    """Options (by `Takes.name`) that have to be mentioned if one of others is given, or, where it says False, if none is."""
    subcommands: Mapping[str, "Table"] = MappingProxyType({})
    patterns: "tuple[tuple[str, Table], ...]" = ()
    """Of style `subcommands`, by what they begin with, the subcommands that are written with a star (`describe-*`)."""
    nested: bool = False
    """Whether a plain word that is no subcommand names a group of the same subcommands: `gcloud compute instances list`."""
    starts_itself: bool = False
    """Of a subcommand: whether it is a program that is started with the words behind it, as in `pnpm vitest run`."""
    behind: "Table | None" = None
    """How the words behind `--` are read, if they are for another program; None if they are further operands."""
    at_least: int = 0
    """Where fewer operands and none of `requires` are given, it takes what to do from its input: all words are to be named."""
    modules: "Mapping[str, Table | str]" = MappingProxyType({})
    """What an option of role `module` names: all words after it are for that table, or for that program's."""
    unshadowed: frozenset[str] = frozenset()
    """Those of `modules` that run nothing of the project: nothing in the folder may be imported in their place."""
    unshadowed_with: frozenset[str] = frozenset()
    """Options (by `Takes.name`) with which nothing in the folder is imported."""
    arguments_from: str = ""
    """What a word begins with that names a file of further words, wherever it stands."""
    dashes_named: bool = False
    """Whether a word that begins with `-` has to be mentioned where no option can stand: a value, or behind `--`."""
    number: bool = False
    """Whether `-5` is an option."""
    prefixes: Mapping[str, Takes] = _NO_OPTIONS
    """What words are that begin like this (`+`, `if=`); the rest of the word is the value."""
    abbreviations: bool = True
    """Whether long options may be cut short."""
    separate: bool = False
    """Whether a short option in a cluster takes the next word, and the cluster goes on, as with tree's `-Lo 2 FILE`."""
    bundled: bool = False
    """Whether the first word is a cluster of options without a dash, as for tar."""
    named: bool = False
    """Whether it is never ordinary: the word itself has to be mentioned."""
    alone_named: bool = False
    """As `named`, where no operand and no subcommand follows."""
    named_with_operands: bool = False
    """As `named`, where an operand follows: `npm install` keeps to what the project's files say, `npm install x` does not."""
    requires: frozenset[str] = frozenset()
    """Without one of these options (by `Takes.name`) it is as if it were `named`: it asks, edits, pages."""
    written_out: bool = False
    """Of `requires`, `alone_named` and `named_with_operands`: all words have to be mentioned, not only its own."""
    transparent: str = ""
    """`always`: no rule of its own is needed if nothing else is. `numbers`: only with numbers for operands. `settings`:
    where all its words make a script end at its first fault; `own variables`: where it sets nothing but variables that mean
    something to the line alone; `at the end`: where its text runs as the line ends or fails. In these three cases it has not to
    be mentioned either."""
    runs_input: bool = False
    """Whether its standard input is shell source if it has no operands."""
    input_options: frozenset[str] = frozenset()
    """The options (by `Takes.name`) with which its input is shell source whatever its operands are."""
    input_only_with: frozenset[str] = frozenset()
    """Its input is shell source only with one of these options (by `Takes.name`)."""
    input_unless: frozenset[str] = frozenset()
    """Its input is no shell source with one of these options (by `Takes.name`)."""
    input_operands: int = 0
    """How many operands may stand there while its input is shell source: `su`'s first is a user."""
    replace_undone_by: frozenset[str] = frozenset()
    """With one of these options (by `Takes.name`), role `replace` does not say what becomes of the input."""
    joined_by: frozenset[str] = frozenset()
    """Behind one of these options (by `Takes.name`), whose value is source, all other words continue it."""
    appends: bool = False
    """Whether the command that it starts gets words that nobody knows, as with xargs."""


class Entry(NamedTuple):
    """The table of a program, and where it comes from."""

    programs: tuple[str, ...]
    source: str
    """The manual and its version, for people."""
    table: Table
    file: str
    """Where it was read from."""
