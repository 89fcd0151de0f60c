"""The values in a program's table: its options, the values that they take, and the roles of its operands.

`toolcharter.guards.shell.programs.table_file` reads them from TOML and documents the format.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

Style = Literal["gnu", "posix", "single-dash", "subcommands", "find", "test", "words"]

STYLES: Final = ("gnu", "posix", "single-dash", "subcommands", "find", "test", "words")
"""How words divide into options and operands; `toolcharter.guards.shell.programs.table_file` explains each style."""

HARMLESS: Final = frozenset(
    {"text", "said", "shown", "read", "object", "tree", "node", "tests", "folder", "change", "into", "plain"}
)
"""Kinds of roles that several words may fill without a change of meaning, so that a pattern is accepted."""

STARTING: Final = frozenset({"command", "source_or_command", "run"})
"""Kinds of roles that make the rest of the words another command."""

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
    """The meaning of a word for the program."""

    kind: str
    """One of `KINDS`."""
    argument: str = ""
    """The text behind the colon in `only:a|b`, `format:NAME`, `made:KIND` and `object:NAME`."""
    needs_mention: bool = False
    """Whether a rule has to mention the word in any case (`!read`)."""

    @property
    def is_repeatable(self) -> bool:
        """Whether several words in place of one would mean the same."""
        return self.kind in HARMLESS and not self.needs_mention


class OptionSpec(NamedTuple):
    """The values that an option or a predicate takes."""

    name: str
    """Its first spelling in the table, which identifies it."""
    roles: tuple[Role, ...] = ()
    """The roles of its values, in order; empty for a flag."""
    is_attached: bool = False
    """Whether its only value is optional, and part of the same word if present."""
    needs_mention: bool = False
    """Whether a rule has to mention the option itself."""


class Operands(NamedTuple):
    """The roles of the operands."""

    first: tuple[Role, ...] = ()
    rest: Role | None = None
    """The role of all operands between the first and the last ones; None if there can be none between."""
    last: tuple[Role, ...] = ()

    def are_repeatable(self, place: int) -> bool:
        """Whether more or fewer words from *place* on would mean the same."""
        roles = (*self.first[place:], self.rest, *self.last)
        return all(role is not None and role.is_repeatable for role in roles)


NO_OPERANDS: Final = Operands()
_NO_OPTIONS: Final[Mapping[str, OptionSpec]] = MappingProxyType({})


class Table(NamedTuple):
    """One program, or one subcommand of one."""

    style: Style = "gnu"
    options: Mapping[str, OptionSpec] = _NO_OPTIONS
    """The options by every spelling. In style `find`, those before the starting points."""
    predicates: Mapping[str, OptionSpec] = _NO_OPTIONS
    """In style `find`, the words of its expression; in style `test`, the operators between two operands."""
    operands: Operands = NO_OPERANDS
    operands_if: tuple[tuple[frozenset[str], Operands], ...] = ()
    """The roles of the operands if one of the options (by `OptionSpec.name`) is given; the first that applies counts."""
    conditions: tuple[tuple[frozenset[str], frozenset[str], bool], ...] = ()
    """Options (by `OptionSpec.name`) that a rule has to mention if one of others is given; with False, if none is."""
    subcommands: Mapping[str, "Table"] = MappingProxyType({})
    patterns: "tuple[tuple[str, Table], ...]" = ()
    """Of style `subcommands`, by what they begin with, the subcommands that are written with a star (`describe-*`)."""
    nested: bool = False
    """Whether a plain word that is no subcommand names a group of the same subcommands: `gcloud compute instances list`."""
    starts_itself: bool = False
    """Whether the subcommand is itself a program that is started with the words behind it, as in `pnpm vitest run`."""
    behind: "Table | None" = None
    """The table for the words behind `--`, if they are for another program; None if they are further operands."""
    at_least: int = 0
    """With fewer operands and none of `requires`, the program reads its orders from its input: a rule has to mention all words."""
    modules: "Mapping[str, Table | str]" = MappingProxyType({})
    """The modules that an option of role `module` names; each has a table for all words behind it, or names a program with one."""
    unshadowed: frozenset[str] = frozenset()
    """Those of `modules` that run no code of the project; no module of the working folder may be imported in their place."""
    unshadowed_with: frozenset[str] = frozenset()
    """Options (by `OptionSpec.name`) with which nothing in the working folder is imported."""
    arguments_from: str = ""
    """The prefix of words, at any position, that name a file of further words."""
    dashes_named: bool = False
    """Whether a rule has to mention a word with a leading `-` in a place for no option: a value, or behind `--`."""
    number: bool = False
    """Whether `-5` is an option."""
    prefixes: Mapping[str, OptionSpec] = _NO_OPTIONS
    """Words with certain prefixes (`+`, `if=`); the rest of such a word is a value."""
    abbreviations: bool = True
    """Whether long options may be abbreviated."""
    separate: bool = False
    """Whether a short option in a cluster takes the next word and the cluster continues, as with tree's `-Lo 2 FILE`."""
    bundled: bool = False
    """Whether the first word is a cluster of options without a dash, as for tar."""
    named: bool = False
    """Whether a rule has to mention the word of the program or subcommand in any case."""
    alone_named: bool = False
    """As `named`, if no operand and no subcommand follows."""
    named_with_operands: bool = False
    """As `named`, if an operand follows: `npm install` installs what the project's files list, `npm install x` anything."""
    requires: frozenset[str] = frozenset()
    """As `named`, without one of these options (by `OptionSpec.name`): the program then prompts, edits or pages."""
    written_out: bool = False
    """Whether `requires`, `alone_named` and `named_with_operands` make a rule mention all words, not only the program's."""
    transparent: str = ""
    """`always`: no rule of its own is needed if nothing else is. `numbers`: only with numbers for operands. `settings`:
    where all its words make a script end at its first fault; `own variables`: where it sets nothing but variables that mean
    something to the line alone; `at the end`: where its text runs as the line ends or fails. In these three cases it has not to
    be mentioned either."""
    runs_input: bool = False
    """Whether its standard input is shell source if it has no operands."""
    input_options: frozenset[str] = frozenset()
    """The options (by `OptionSpec.name`) with which its input is shell source, whatever its operands are."""
    input_only_with: frozenset[str] = frozenset()
    """Its input is shell source only with one of these options (by `OptionSpec.name`)."""
    input_unless: frozenset[str] = frozenset()
    """Its input is no shell source with one of these options (by `OptionSpec.name`)."""
    input_operands: int = 0
    """The most operands with which its input is still shell source: `su`'s first operand is a user."""
    replace_undone_by: frozenset[str] = frozenset()
    """Options (by `OptionSpec.name`) that override an option of role `replace`."""
    joined_by: frozenset[str] = frozenset()
    """Options (by `OptionSpec.name`) whose value is source that all operands continue."""
    appends: bool = False
    """Whether the program appends unknown words to the command that it starts, as xargs does."""


class TableEntry(NamedTuple):
    """The table of a program, and its origin."""

    programs: tuple[str, ...]
    source: str
    """The manual and its version, for readers."""
    table: Table
    file: str
    """The name of the file it was read from."""
