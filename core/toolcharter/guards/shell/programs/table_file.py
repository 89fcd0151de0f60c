"""Reads a program's table from TOML, strictly: anything unknown is an error that names the file.

    programs = ["sort"]                       # on the first line; the file is named after the first of them
    source = "GNU coreutils 9.1, sort(1)"     # manual and version
    style = "gnu"
    operands = ["read*"]                      # roles in order; `*` repeats (once; more may follow it), `?` may be absent
    [options]
    "-b --ignore-leading-blanks" = ""         # a flag
    "-k --key" = "text"                       # one value, attached or the next word
    "--color" = "text?"                       # a value only if attached
    "--arg" = "text text"                     # two values
    "--files0-from" = "!read"                 # `!`: a rule has to mention the option itself
    "--[no-]pager" = ""                       # both spellings
    [operands_if]
    "-c --check" = ["!read*"]                 # the roles if one of these options is given
    [named_if]
    "-o --output" = "-f --force"              # a rule has to mention it if one of these is given; [named_unless]: if none is
    [prefixes]
    "if=" = "read"                            # words with this prefix; the rest of the word is the value

Styles: `gnu` options anywhere, long ones may be abbreviated; `posix` the same, but options end at the first operand;
`single-dash` long options with one dash, whole; `subcommands` as `posix`, then one of `[sub.NAME]`, tables of the
same form without `programs` and `source` (`operands` is for words that are no subcommand); `find` options, starting
points (`operands`), then `[predicates]`; `test` operands, unary operators (`options`) and binary ones (`predicates`);
`words` no options at all.

Roles: `text` harmless; `number`; `only:a|b` harmless if one of these; `name` a variable's, possibly with `=value`; `read` a
path that the program reads, `local` the same, but a colon makes it remote, `node` a path up to `::`, `tree` a path below which
links are followed, too, `folder` a folder to list, `chdir` a folder to change to; `change` a path that the program writes,
creates or removes as its ordinary purpose, `into` the same as a destination; `made` the program's own output, which a rule has
to mention unless its name is one for output (`made:requirements`: for lists of packages); `plain` a path of plain characters
only; `trusted` a file whose content runs programs; `mount` a mount of a container; `write` an output file; `program`, `code`;
`script` shell source; `command` the words of an inner command, `source_or_command` the same, or `-c` and shell source; `exec`
the same up to `;` (for find, or `+`), with found paths in it; `replace` the text that the input's words replace; `assignment`
NAME=value; `module` a name with `[modules.NAME]` (a table, or `same_as` for the table of another program) for all words behind
it; `format:NAME` a text in one of the languages in `languages`. `!` before the role of an operand: a rule has to mention the
word.

`[groups.NAME]` at the top is a set of options that tables below include with `use = ["NAME"]`; their own options win.
A key of `[sub]` may name several subcommands.

A key of `[sub]` that ends with a star (`list-*`) is for all subcommands with that prefix. `[behind]` is a table for the words
behind `--`. `run` is the role of a command that the rule for its starter covers, `passed` that of a word for any program.

Other keys: `number`, `separate`, `abbreviations`, `nested`, `starts_itself`, `named_with_operands`, `at_least`, `written_out`, `bundled`, `named`, `alone_named`, `transparent`, `runs_input`,
`input_options`, `input_only_with`, `input_unless`, `input_operands`, `joined_by`, `replace_undone_by`, `requires`, `appends`, `arguments_from`, `dashes_named`; see `toolcharter.guards.shell.programs.table.Table`.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, cast

from toolcharter.guards.shell import languages
from toolcharter.guards.shell.programs import outputs
from toolcharter.guards.shell.programs.table import (
    KINDS,
    STARTING,
    STYLES,
    Operands,
    OptionSpec,
    Role,
    Style,
    Table,
    TableEntry,
)

_OPTIONAL_PART = re.compile(r"\[([^\[\]]+)\]")
# Matched for every file if no file has the name of a program, so it must be faster than a TOML parser.
_FIRST_LINE = re.compile(r'programs = \[("[^"\\,]+"(?:, "[^"\\,]+")*)\]')
_FLAGS = (
    *("number", "separate", "bundled", "named", "alone_named", "named_with_operands", "dashes_named", "runs_input"),
    *("appends", "nested", "starts_itself", "written_out"),
)
_OPTION_SETS = (
    *("input_options", "input_only_with", "input_unless", "joined_by", "replace_undone_by", "requires"),
    "unshadowed_with",
)
_KEYS = frozenset(
    {*_FLAGS, "style", "options", "predicates", "operands", "operands_if", "sub", "prefixes", "abbreviations"}
    | {"transparent", "use", "modules", "arguments_from", "input_operands", "behind", "at_least", *_OPTION_SETS}
    | {"unshadowed", "named_if", "named_unless"}
)
_FILE_KEYS = frozenset({"programs", "source", "groups"})
_NONE = "none"
"""The value of `abbreviations` if no option of the program and its subcommands may be abbreviated."""
_Groups = Mapping[str, Mapping[str, OptionSpec]]


class TableError(ValueError):
    """A table is invalid; the text names the file and the fault."""


def parse_table(text: str, file: str) -> TableEntry:
    """Read the table in *text*; *file* is the file's name, for errors.

    Raises:
        TableError: The text is no TOML, or holds a key or value that the format does not have.
    """
    try:
        document = tomllib.loads(text)
        programs = _listed_programs(document)
        source = _check_text(document.get("source"), "source")
        groups = {
            name: _parse_options(_get_mapping(document["groups"], name)) for name in _get_mapping(document, "groups")
        }
        table = _parse_table({key: value for key, value in document.items() if key not in _FILE_KEYS}, groups)
    except (tomllib.TOMLDecodeError, TableError) as error:
        raise TableError(f"{file}: {error}.") from error
    return TableEntry(programs, source, table, file)


def parse_programs(first_line: str, file: str) -> tuple[str, ...]:
    """The programs that a file is for, from its first line only.

    Raises:
        TableError: The line is no list of programs.
    """
    found = _FIRST_LINE.fullmatch(first_line.rstrip())
    if found is None:
        raise TableError(f'{file}: the first line is not `programs = ["...", ...]`.')
    return tuple(found[1][1:-1].split('", "'))


def _listed_programs(document: Mapping[str, Any]) -> tuple[str, ...]:
    programs = _check_texts(document.get("programs"), "programs")
    if not programs:
        raise TableError("`programs` says whose table it is")
    return programs


def _parse_table(document: Mapping[str, Any], groups: _Groups, *, abbreviates: bool = True) -> Table:
    unknown = sorted(document.keys() - _KEYS)
    if unknown:
        raise TableError(f"unknown key {unknown[0]!r}; there are {', '.join(sorted(_KEYS))}")
    options = _merge_groups(
        _check_texts(document.get("use", []), "use"), _parse_options(_get_mapping(document, "options")), groups
    )
    others: dict[str, Any] = {key: _get_flag(document, key) for key in _FLAGS}
    cut = document.get("abbreviations", True)
    if cut not in (True, False, _NONE):
        raise TableError(f"`abbreviations` is true, false or 'none', not {cut!r}")
    abbreviates = abbreviates and cut != _NONE
    subcommands = _parse_subcommands(_get_mapping(document, "sub"), groups, abbreviates=abbreviates)
    behind = None
    if "behind" in document:
        behind = _parse_table(_get_mapping(document, "behind"), groups, abbreviates=abbreviates)
    for key in _OPTION_SETS:
        others[key] = frozenset(_option_names(_check_texts(document.get(key, []), key), options))
    table = Table(
        style=_check_style(document.get("style", "gnu")),
        options=options,
        predicates=_parse_options(_get_mapping(document, "predicates")),
        operands=_parse_operands(document.get("operands", []), "operands"),
        operands_if=_parse_operands_if(_get_mapping(document, "operands_if"), options),
        conditions=(
            *_parse_conditions(document, "named_if", options, is_given=True),
            *_parse_conditions(document, "named_unless", options, is_given=False),
        ),
        subcommands=MappingProxyType({name: sub for name, sub in subcommands.items() if not name.endswith("*")}),
        patterns=tuple((name[:-1], sub) for name, sub in subcommands.items() if name.endswith("*")),
        behind=behind,
        modules=_parse_modules(_get_mapping(document, "modules"), groups),
        unshadowed=frozenset(_check_texts(document.get("unshadowed", []), "unshadowed")),
        arguments_from=_check_text(document["arguments_from"], "arguments_from")
        if "arguments_from" in document
        else "",
        prefixes=_parse_options(_get_mapping(document, "prefixes")),
        abbreviations=abbreviates and cut is True,
        transparent=_check_transparent(document.get("transparent", "")),
        input_operands=_check_number(document.get("input_operands", 0), "input_operands"),
        at_least=_check_number(document.get("at_least", 0), "at_least"),
        **others,
    )
    _check_consistency(table)
    return table


def _check_consistency(table: Table) -> None:
    if bool(table.subcommands or table.patterns) != (table.style == "subcommands"):
        raise TableError("`sub` and style 'subcommands' belong together")
    if table.behind is not None and table.style not in {"gnu", "single-dash"}:
        raise TableError(f"style {table.style!r} has no `behind`")
    if table.predicates and table.style not in {"find", "test"}:
        raise TableError(f"style {table.style!r} has no `predicates`")
    roles = (*table.operands.first, *([table.operands.rest] if table.operands.rest else []), *table.operands.last)
    if any(role.kind in STARTING for role in roles) and table.style == "gnu":
        raise TableError("an inner command is for style 'posix': in style 'gnu' its options would be the program's")


def _merge_groups(use: tuple[str, ...], own: Mapping[str, OptionSpec], groups: _Groups) -> Mapping[str, OptionSpec]:
    """The options of the groups *use* and a table's *own*, which win."""
    options: dict[str, OptionSpec] = {}
    for name in use:
        if name not in groups:
            raise TableError(f"there is no [groups.{name}]")
        options |= groups[name]
    return MappingProxyType({**options, **own})


def _parse_subcommands(document: Mapping[str, Any], groups: _Groups, *, abbreviates: bool) -> dict[str, Table]:
    subcommands: dict[str, Table] = {}
    for key in document:
        try:
            table = _parse_table(_get_mapping(document, key), groups, abbreviates=abbreviates)
        except TableError as error:
            raise TableError(f"sub.{key}: {error}") from error
        for name in key.split():
            if name in subcommands:
                raise TableError(f"the subcommand {name!r} stands in the table twice")
            subcommands[name] = table
    return subcommands


def _parse_modules(document: Mapping[str, Any], groups: _Groups) -> Mapping[str, Table | str]:
    modules = {}
    for name in document:
        module = _get_mapping(document, name)
        modules[name] = (
            _check_text(module["same_as"], "same_as") if [*module] == ["same_as"] else _parse_table(module, groups)
        )
    return MappingProxyType(modules)


def _get_mapping(document: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = document.get(key, {})
    if not isinstance(value, dict):
        raise TableError(f"`{key}` is no table")
    return cast("dict[str, Any]", value)


def _get_flag(document: Mapping[str, Any], key: str, *, default: bool = False) -> bool:
    value = document.get(key, default)
    if not isinstance(value, bool):
        raise TableError(f"`{key}` is true or false, not {value!r}")
    return value


def _check_number(value: object, key: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TableError(f"`{key}` is a number of words, not {value!r}")
    return value


def _check_transparent(value: object) -> str:
    if value not in ("", "always", "numbers", "settings", "own variables", "at the end"):
        raise TableError(
            f"`transparent` is 'always', 'numbers', 'settings', 'own variables' or 'at the end', not {value!r}"
        )
    return str(value)


def _check_style(value: object) -> Style:
    if value not in STYLES:
        raise TableError(f"unknown style {value!r}; there are {', '.join(STYLES)}")
    return value


def _check_text(value: object, key: str) -> str:
    if not isinstance(value, str) or not value:
        raise TableError(f"`{key}` is a text")
    return value


def _check_texts(value: object, key: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise TableError(f"`{key}` is a list of texts")
    return tuple(value)


def _parse_options(document: Mapping[str, Any]) -> Mapping[str, OptionSpec]:
    options: dict[str, OptionSpec] = {}
    for key, value in document.items():
        spellings = list(_expand_spellings(key))
        if not spellings:
            raise TableError("an option has no spelling")
        spec = _parse_option(spellings[0], value)
        for spelling in spellings:
            if spelling in options:
                raise TableError(f"{spelling!r} stands in the table twice")
            options[spelling] = spec
    return MappingProxyType(options)


def _expand_spellings(key: str) -> Iterator[str]:
    for spelling in key.split():
        if _OPTIONAL_PART.search(spelling):
            yield _OPTIONAL_PART.sub("", spelling)
            yield _OPTIONAL_PART.sub(r"\1", spelling)
        else:
            yield spelling


def _parse_option(name: str, value: object) -> OptionSpec:
    if not isinstance(value, str):
        raise TableError(f"{name!r} takes roles in a text, not {value!r}")
    needs_mention = value.startswith("!")
    words = value.removeprefix("!").split()
    is_attached = bool(words) and words[-1].endswith("?")
    if is_attached and len(words) > 1:
        raise TableError(f"{name!r}: only a single value may be left out")
    roles = tuple(_parse_role(word.removesuffix("?")) for word in words)
    # A rule always has to mention an option that writes or runs something, even if the table lacks the `!`.
    needs_mention = needs_mention or any(role.kind in {"write", "program", "code"} for role in roles)
    return OptionSpec(name, roles, is_attached, needs_mention)


def _parse_role(text: str) -> Role:
    kind, _, argument = text.removeprefix("!").partition(":")
    if kind not in KINDS or bool(argument) != (
        kind in {"only", "format", "object"} or (kind == "made" and ":" in text)
    ):
        raise TableError(f"unknown role {text!r}; there are {', '.join(sorted(KINDS))}")
    if kind == "made" and argument not in outputs.KINDS:
        raise TableError(f"{text!r} names no kind of output; there are {', '.join(filter(None, outputs.KINDS))}")
    if kind == "format" and argument not in languages.MODULES:
        raise TableError(f"{text!r} names no little language; there are {', '.join(languages.MODULES)}")
    return Role(kind, argument, text.startswith("!"))


def _parse_operands(value: object, key: str) -> Operands:
    words = _check_texts(value, key)
    repeated = [place for place, word in enumerate(words) if word.endswith("*")]
    if len(repeated) > 1:
        raise TableError(f"`{key}`: only one role may repeat")
    roles = tuple(_parse_role(word.rstrip("*?")) for word in words)
    if not repeated:
        return Operands(roles)
    middle = repeated[0]
    return Operands(roles[:middle], roles[middle], roles[middle + 1 :])


def _parse_operands_if(
    document: Mapping[str, Any], options: Mapping[str, OptionSpec]
) -> tuple[tuple[frozenset[str], Operands], ...]:
    return tuple(
        (frozenset(_option_names(tuple(_expand_spellings(key)), options)), _parse_operands(value, f"operands_if.{key}"))
        for key, value in document.items()
    )


def _parse_conditions(
    document: Mapping[str, Any], key: str, options: Mapping[str, OptionSpec], *, is_given: bool
) -> Iterator[tuple[frozenset[str], frozenset[str], bool]]:
    for spellings, others in _get_mapping(document, key).items():
        sides = (tuple(_expand_spellings(one)) for one in (spellings, _check_text(others, f"{key}.{spellings}")))
        named, given = ((frozenset(_option_names(one, options)), frozenset(one)) for one in sides)
        for names, written in (named, given):
            if any(spec.name in names and one not in written for one, spec in options.items()):
                raise TableError(f"`{key}` names some spellings of an option and not all of them")
        yield named[0], given[0], is_given


def _option_names(spellings: tuple[str, ...], options: Mapping[str, OptionSpec]) -> Iterator[str]:
    for spelling in spellings:
        if spelling not in options:
            raise TableError(f"{spelling!r} is no option of the table")
        yield options[spelling].name
