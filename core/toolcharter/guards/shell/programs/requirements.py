"""`read_command`: finds what a rule has to mention to allow a command, according to the table of its program.

Pure: it opens only the file of the table, and runs nothing. Linear in the words and their letters.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from toolcharter._lazy import lazy
from toolcharter.api.command import PathAccess, Requirement
from toolcharter.guards.shell import path_checks
from toolcharter.guards.shell.assignments import assignment_violation as assignment_objection
from toolcharter.guards.shell.assignments import is_line_variable
from toolcharter.guards.shell.nodes import TEMP_FILE, Command, Reading, Redirection, Requirements, Word
from toolcharter.guards.shell.programs import expressions, unknown
from toolcharter.guards.shell.programs.collector import RequirementCollector
from toolcharter.guards.shell.programs.launchers import started_words
from toolcharter.guards.shell.programs.operands import assign_roles, collect_extra_mentions, needs_no_rule
from toolcharter.guards.shell.programs.options import ParsedWords, parse_options
from toolcharter.guards.shell.programs.table import NO_OPERANDS, STARTING, Operands, OptionSpec, Role, Style, Table
from toolcharter.guards.shell.programs.tables import CORE_TABLES, Tables
from toolcharter.guards.shell.setters import sets_only_line_variables

if TYPE_CHECKING:
    from toolcharter.guards.shell import links
else:
    links = lazy("toolcharter.guards.shell.links")

UNKNOWN_SUBCOMMAND: Final = "is no subcommand that is known"
_DUPLICATIONS: Final = frozenset({">&", "<&"})
_OUT: Final = frozenset({"", "1", "2"})
_UNKNOWN_FOLDER: Final = "(unknown folder)"
"""The form of a requirement for an unknown working folder, which only `bash:*` covers."""
_HERE: Final = (".",)
_HERE_WORD: Final = Word(".", ".", prefix=".")
_READ: Final = Role("read")
_COMMAND_GROUP: Final = re.compile(
    r"(?!(?:get|print|reset|show|set|export|generate|create|add|regenerate|rotate)-)[a-z][a-z0-9-]*"
)
# Subcommands that a star in a table must not match: they print secrets.
_CREDENTIALS: Final = re.compile(
    r"(?:^|-)(?:credentials?|passwords?|passphrases?|(?:auth|access|id|identity|bearer|session|security|refresh)-?tokens?|token|secret-values?"
    r"|connection-strings?|access-details|auth-string|key-strings?|private-keys?|api-keys?|embed-url|user-pool-client)(?:-|$)"
)
_HARMLESS: Final = frozenset({"text", "number", "only", "read"})
_INPUTS: Final = frozenset({"-", "/dev/stdin"})

_WRAPPERS: Final = {"./gradlew": "gradle", "./mvnw": "mvn"}
_PROJECT_PROGRAMS: Final = re.compile(
    r"(?:\./)?(?:node_modules/\.bin/(biome|cypress|esbuild|eslint|jest|mocha|next|nx|playwright|prettier|stylelint|tsc|turbo|vite|vitest)"
    r"|vendor/bin/(phpunit)|bin/(rails|rake|rspec|rubocop)"
    r"|\.?venv/bin/(bandit|black|coverage|flake8|isort|mypy|nox|pre-commit|pylint|pyright|pytest|ruff|tox))"
)


def read_command(command: Command, *, workspace: str, tables: Tables = CORE_TABLES) -> Reading:
    """Read one command by the table of its program.

    Args:
        command: The command, with the folders that it may run in.
        workspace: The real path of the workspace.
        tables: The tables of programs: those of the core, possibly with those of plugins.

    Raises:
        TableError: The table of the program is invalid.
    """
    collector = RequirementCollector(command.folders, workspace)
    for redirection in command.redirections:
        _collect_redirection(redirection, collector)
    if not command.words:
        for assignment in command.assignments:
            if assignment.form == "SECONDS=0":
                continue  # It only restarts bash's count of seconds.
            if not is_line_variable(assignment.name):
                collector.needs.append(Requirement(assignment.form, f"{assignment.form} changes the shell itself"))
            elif command.is_unread:
                collector.needs.append(
                    Requirement(assignment.form, f"{assignment.form} keeps output that the line does not use")
                )
        demand = Requirements(tuple(collector.needs), tuple(collector.reaches))
        return Reading(demand, is_transparent=not collector.needs)  # For example, the `>/dev/null` of a whole loop.
    for assignment in command.assignments:
        if assignment.name == "IFS" and command.words[0].text == "read" and assignment.value.text is not None:
            continue  # It affects only how this `read` splits its input.
        why = assignment_objection(assignment)
        if why:
            collector.needs.append(Requirement(assignment.form, f"{assignment.form} {why}"))
    return _read_program(command, collector, tables)


def _read_program(command: Command, collector: RequirementCollector, tables: Tables) -> Reading:
    program, words = command.words[0], tuple(word.placed for word in command.words[1:])
    entry = tables.find(table_name(program))
    if program.text is None:
        collector.require(program, "names the program, and cannot be determined")
    if not _is_inside(command.folders, collector.workspace):
        collector.needs.append(Requirement(_UNKNOWN_FOLDER, "it cannot be determined that it runs in the workspace"))
    if entry is None:
        name = table_name(program)
        started = started_words(name, command.words)
        unknown.collect(words[: len(words) - len(started)], collector, is_vault=not started and name in unknown.VAULTS)
        collector.add_command(started)
        return Reading(
            Requirements(tuple(collector.needs), tuple(collector.reaches), is_known=False), tuple(collector.inner)
        )
    reader = _TableReader(collector, tables)
    runs_input = reader.read_table(program, words, entry.table)
    if collector.link_targets:
        _collect_link_targets(collector.given_options, collector)
    is_transparent = (
        not collector.needs and program.text in entry.programs and needs_no_rule(entry.table, command.words)
    )
    demand = Requirements(
        tuple(collector.needs),
        tuple(collector.reaches),
        kept=tuple(collector.kept) if collector.kept else (),
        marks=tuple(sorted(reader.marks)) if reader.marks else (),
        module=reader.module,
    )
    inner, scripts = tuple(collector.inner), tuple(collector.scripts)
    folders = () if collector.folders == command.folders else collector.folders
    return Reading(demand, inner, scripts, runs_input, is_transparent, collector.subcommand_index or 0, folders)


def table_name(program: Word) -> str:
    """The name under which the table of *program* is looked up.

    A program in the workspace has no table, whatever its name is. Exceptions are the wrappers of gradle and maven and tools that
    are installed in a project: a rule has to contain their path, and their options are those of the program.

    Returns:
        The name; empty for a program that has no table.
    """
    text = program.text or ""
    if "/" not in text:
        return text
    if text.startswith("/"):
        return text.rpartition("/")[2]
    installed = _PROJECT_PROGRAMS.fullmatch(text)
    return _WRAPPERS.get(text, "") if installed is None else installed[installed.lastindex or 0]


def _is_inside(folders: tuple[str, ...], workspace: str) -> bool:
    if folders == _HERE:
        return True
    return bool(folders) and not any(path_checks.is_outside(folder, workspace) for folder in folders)


class _TableReader:
    """Reads words by a table, which may refer to further tables."""

    def __init__(self, collector: RequirementCollector, tables: Tables) -> None:
        self.collector = collector
        self.marks: set[str] = set()
        """Prefixes that no name may have which a glob matches: the program would take such a name for more than a name."""
        self.module = ""
        """The module that Python would import from its working folder, if a module of that name were there."""
        self._tables = tables

    def read_table(self, name: Word, words: Sequence[Word], table: Table) -> bool:
        """Collect the requirements of *words*; *name* is the word of the program or subcommand. Whether it runs its input."""
        collector = self.collector
        if table.transparent == "own variables" and sets_only_line_variables((name, *words)):
            return False
        if table.named and not needs_no_rule(table, (name, *words)):
            collector.require(name, "is nothing that a program's ordinary rule covers")
        if table.arguments_from or table.prefixes:
            self._record_prefixes(words, table)
        if table.style in _EXPRESSION_STYLES:
            _EXPRESSION_STYLES[table.style](words, table, collector)
            return False
        parsed = ParsedWords(words, frozenset()) if table.style == "words" else parse_options(words, table, collector)
        if parsed.module is not None:
            return self._read_module(parsed.module, parsed, table)
        if table.alone_named or table.named_with_operands or table.requires or table.at_least:
            collect_extra_mentions(name, words, parsed, table, collector)
        if table.style == "subcommands":
            return self._read_subcommand(words, parsed.operands, table)
        if (parsed.behind or collector.placeholder is not None or collector.scripts) and self._read_remaining(
            name, parsed, table
        ):
            return False
        operands = parsed.operands
        assign_roles(operands, _operands_of(table, parsed), collector, appends=table.appends)
        collector.given_options = parsed.given
        if collector.started_command:
            self._read_started()
        return table.runs_input and _runs_input(operands, parsed.given, table)

    def _read_remaining(self, name: Word, parsed: ParsedWords, table: Table) -> bool:
        """Handle words behind `--`, a placeholder for the input, and source with further words; whether no operand is left."""
        collector = self.collector
        if table.behind is not None and parsed.behind:
            self.read_table(name, parsed.behind, table.behind)
        if collector.placeholder is not None and not parsed.given.isdisjoint(table.replace_undone_by):
            collector.require(name, "takes its input in two ways")
        if collector.scripts and not parsed.given.isdisjoint(table.joined_by):
            collector.add_joined_source(collector.scripts.pop(), parsed.operands)
            return True
        return False

    def _read_subcommand(self, words: Sequence[Word], operands: Sequence[Word], table: Table) -> bool:
        if self.collector.subcommand_index is None and operands:
            self.collector.subcommand_index = next(place for place, word in enumerate(words) if word is operands[0])
        name = operands[0].text or "" if operands else ""
        if operands and operands[0].pattern is not None:
            self.collector.require(operands[0], "cannot be determined, and names the subcommand")
        subcommand = table.subcommands.get(name) or _match_pattern(name, table)
        if operands and subcommand is not None and subcommand.starts_itself:
            self.collector.add_required_command(operands)
            self._read_started()
            return False
        if operands and subcommand is not None:
            return self.read_table(operands[0], operands[1:], subcommand)
        if operands and table.operands == NO_OPERANDS:
            self.collector.require(operands[0], UNKNOWN_SUBCOMMAND)
            unknown.collect(operands[1:], self.collector)
        elif operands:
            # Behind a word that is no subcommand, options may come anywhere, unless the word begins another command.
            style: Style = "posix" if _starts_command(table.operands) else "gnu"
            plain = table._replace(style=style, named=False, alone_named=False, requires=frozenset())
            self.read_table(operands[0], operands, plain)
        return False

    def _read_started(self) -> None:
        """Collect the requirements of the started command. The commands that it starts are found when it is read itself."""
        words, self.collector.started_command = self.collector.started_command, ()
        inner, scripts = len(self.collector.inner), len(self.collector.scripts)
        entry = self._tables.find(table_name(words[0]))
        if entry is None:
            unknown.collect(words[1:], self.collector)
        else:
            self.read_table(words[0], words[1:], entry.table)
        del self.collector.inner[inner:], self.collector.scripts[scripts:]

    def _record_prefixes(self, words: Sequence[Word], table: Table) -> None:
        """Collect words that name a file of further words, and record the prefixes that make a name more than a name."""
        if table.arguments_from:
            _collect_argument_files(words, table.arguments_from, self.collector)
            self.marks.add(table.arguments_from)
        self.marks.update(prefix for prefix, spec in table.prefixes.items() if _does_more(prefix, spec))

    def _read_module(self, name: Word, parsed: ParsedWords, table: Table) -> bool:
        words = parsed.operands
        if name.text in table.unshadowed and parsed.given.isdisjoint(table.unshadowed_with):
            self.module = name.text or ""
        module = table.modules.get(name.text or "")
        if isinstance(module, str):
            entry = self._tables.find(module)
            module = None if entry is None else entry.table
        if module is not None:
            return self.read_table(name, words, module)
        self.collector.require(name, "is no module that is known")
        unknown.collect(words, self.collector)
        return False


def _does_more(prefix: str, spec: OptionSpec) -> bool:
    """Whether words that begin with *prefix* make the program do more than read something or print it."""
    return prefix[0] != "-" and (spec.needs_mention or any(role.kind not in _HARMLESS for role in spec.roles))


def _collect_link_targets(given: frozenset[str], collector: RequirementCollector) -> None:
    """Collect the targets of links. Only the target of a symbolic link without `-r` is relative to the link's folder."""
    if "-s" in given and "-r" not in given:
        links.require_safe_targets(
            collector.link_targets, collector.destinations or [_HERE_WORD], collector, in_folder="-t" in given
        )
    else:
        for word in collector.link_targets:
            collector.take_read(_READ, word)


def _match_pattern(name: str, table: Table) -> Table | None:
    """The subcommand *name* that a star in *table* matches, or the same table for the name of a nested group; else None."""
    subcommand = (
        next((sub for begin, sub in table.patterns if name.startswith(begin)), None) if table.patterns else None
    )
    if subcommand is not None and _CREDENTIALS.search(name):
        return subcommand._replace(named=True)
    if subcommand is None and table.nested and _COMMAND_GROUP.fullmatch(name):
        return table._replace(alone_named=True)
    return subcommand


def _starts_command(operands: Operands) -> bool:
    roles = (*operands.first, operands.rest, *operands.last)
    return any(role is not None and role.kind in STARTING for role in roles)


def _collect_argument_files(words: Sequence[Word], mark: str, collector: RequirementCollector) -> None:
    for word in words:
        if (word.prefix if word.text is None else word.text).startswith(mark):
            collector.require(word, "stands for words in a file")


def _runs_input(operands: Sequence[Word], given: frozenset[str], table: Table) -> bool:
    if not given.isdisjoint(table.input_options):
        return True
    if (table.input_only_with and given.isdisjoint(table.input_only_with)) or not given.isdisjoint(table.input_unless):
        return False
    return sum(word.text not in _INPUTS for word in operands) <= table.input_operands


def _operands_of(table: Table, parsed: ParsedWords) -> Operands:
    for options, operands in table.operands_if:
        if not options.isdisjoint(parsed.given):
            return operands
    return table.operands


_EXPRESSION_STYLES: Final = {"find": expressions.collect_find, "test": expressions.collect_test}


def _is_known_input(redirection: Redirection) -> bool:
    """Whether a here-document or here-string holds only text of the line and output of its commands."""
    body = redirection.body
    return redirection.text is not None or (body is not None and (body.is_literal or body.is_output))


def _collect_redirection(redirection: Redirection, collector: RequirementCollector) -> None:
    """Collect the requirements of *redirection*: only the null device, the standard streams and input need no mention."""
    operator = redirection.operator
    if operator in {"<<", "<<-", "<<<"}:
        if not _is_known_input(redirection) or redirection.descriptor not in {"", "0"}:
            _require_redirection(redirection, collector, "feeds what cannot be determined")
    elif operator == "<":
        _collect_input(redirection, collector)
    elif not _is_ordinary_redirection(redirection):
        _require_redirection(redirection, collector, "is a redirection that writes or joins")
        if redirection.operator not in _DUPLICATIONS or not _is_descriptor(redirection.target):
            _record_written_file(redirection.target, collector)


def _is_descriptor(target: Word | None) -> bool:
    return target is not None and target.text is not None and (target.text == "-" or target.text.rstrip("-").isdigit())


def _record_written_file(target: Word | None, collector: RequirementCollector) -> None:
    """Record the written file, if its text keeps it in the workspace: a rule may mention it, and it may be protected."""
    if (
        target is not None
        and target.text
        and target.text != "/dev/null"
        and not path_checks.path_violation(target.text, collector.folders, collector.workspace)
    ):
        collector.reaches.append(PathAccess(target.text, folders=collector.folders, change="write"))


def _is_ordinary_redirection(redirection: Redirection) -> bool:
    """Whether the output goes to the null device, to a file that the line has made with `mktemp`, or to the other stream."""
    operator, target = redirection.operator, redirection.target
    text = None if target is None else target.text
    if operator == ">&" and text in {"1", "2"}:
        return redirection.descriptor in _OUT
    if text != "/dev/null" and (target is None or target.pattern != TEMP_FILE):
        return False
    if operator in {"&>", "&>>", ">&"}:
        return not redirection.descriptor
    return operator in {">", ">>", ">|"} and redirection.descriptor in _OUT


def _collect_input(redirection: Redirection, collector: RequirementCollector) -> None:
    target = None if redirection.target is None else redirection.target.placed
    if target is None or redirection.descriptor not in {"", "0"} or (target.text is None and target.splits):
        _require_redirection(redirection, collector, "reads what cannot be determined")
    elif target.text == "-":
        collector.add_path(Word(redirection.form, "./-", prefix="./-"))  # For a shell, this is a file of that name.
    elif target.pattern is not None:
        collector.take_read(_READ, target._replace(form=redirection.form))  # It is one name in the pattern.
    else:
        collector.add_value(_READ, target._replace(form=redirection.form))


def _require_redirection(redirection: Redirection, collector: RequirementCollector, why: str) -> None:
    collector.require(Word(redirection.form), why)
