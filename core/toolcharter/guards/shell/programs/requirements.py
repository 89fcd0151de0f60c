"""`read`: finds what a rule has to mention to allow a command, according to the table of its program.

Pure: it opens only the file of the table, and runs nothing. Linear in the words and their letters.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from toolcharter._lazy import lazy
from toolcharter.api.command import PathAccess, Requirement
from toolcharter.guards.shell import places
from toolcharter.guards.shell.assignments import is_own
from toolcharter.guards.shell.assignments import objection as assignment_objection
from toolcharter.guards.shell.nodes import TEMP_FILE, Command, Reading, Redirection, Requirements, Word
from toolcharter.guards.shell.programs import expressions, unknown
from toolcharter.guards.shell.programs.collector import RequirementCollector
from toolcharter.guards.shell.programs.launchers import started_words
from toolcharter.guards.shell.programs.operands import ask_more, assign, needs_no_rule
from toolcharter.guards.shell.programs.options import Divided, divide
from toolcharter.guards.shell.programs.table import NO_OPERANDS, STARTING, Operands, Role, Style, Table, Takes
from toolcharter.guards.shell.programs.tables import CORE, Tables
from toolcharter.guards.shell.setters import sets_own

if TYPE_CHECKING:
    from toolcharter.guards.shell import links
else:
    links = lazy("toolcharter.guards.shell.links")

UNKNOWN_SUBCOMMAND: Final = "is no subcommand that is known"
_JOINS: Final = frozenset({">&", "<&"})
_OUT: Final = frozenset({"", "1", "2"})
_NOWHERE: Final = "(unknown folder)"
"""The form of a requirement for an unknown working folder, which only `bash:*` covers."""
_HERE: Final = (".",)
_HERE_WORD: Final = Word(".", ".", prefix=".")
_READ: Final = Role("read")
_GROUP: Final = re.compile(
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
_INSTALLED: Final = re.compile(
    r"(?:\./)?(?:node_modules/\.bin/(biome|cypress|esbuild|eslint|jest|mocha|next|nx|playwright|prettier|stylelint|tsc|turbo|vite|vitest)"
    r"|vendor/bin/(phpunit)|bin/(rails|rake|rspec|rubocop)"
    r"|\.?venv/bin/(bandit|black|coverage|flake8|isort|mypy|nox|pre-commit|pylint|pyright|pytest|ruff|tox))"
)


def read(command: Command, *, workspace: str, tables: Tables = CORE) -> Reading:
    """Read one command by the table of its program.

    Args:
        command: The command, with the folders that it may run in.
        workspace: The real path of the workspace.
        tables: The tables of programs: those of the core, possibly with those of plugins.

    Raises:
        TableError: The table of the program is invalid.
    """
    asking = RequirementCollector(command.folders, workspace)
    for redirection in command.redirections:
        _ask_redirection(redirection, asking)
    if not command.words:
        for assignment in command.assignments:
            if assignment.form == "SECONDS=0":
                continue  # It only restarts bash's count of seconds.
            if not is_own(assignment.name):
                asking.needs.append(Requirement(assignment.form, f"{assignment.form} changes the shell itself"))
            elif command.is_unread:
                asking.needs.append(
                    Requirement(assignment.form, f"{assignment.form} keeps output that the line does not use")
                )
        demand = Requirements(tuple(asking.needs), tuple(asking.reaches))
        return Reading(demand, is_transparent=not asking.needs)  # For example, the `>/dev/null` of a whole loop.
    for assignment in command.assignments:
        if assignment.name == "IFS" and command.words[0].text == "read" and assignment.value.text is not None:
            continue  # It affects only how this `read` splits its input.
        why = assignment_objection(assignment)
        if why:
            asking.needs.append(Requirement(assignment.form, f"{assignment.form} {why}"))
    return _program(command, asking, tables)


def _program(command: Command, asking: RequirementCollector, tables: Tables) -> Reading:
    program, words = command.words[0], tuple(word.placed for word in command.words[1:])
    entry = tables.find(table_name(program))
    if program.text is None:
        asking.need(program, "names the program, and cannot be determined")
    if not _is_inside(command.folders, asking.workspace):
        asking.needs.append(Requirement(_NOWHERE, "it cannot be determined that it runs in the workspace"))
    if entry is None:
        name = table_name(program)
        started = started_words(name, command.words)
        unknown.ask(words[: len(words) - len(started)], asking, is_vault=not started and name in unknown.VAULTS)
        asking.command(started)
        return Reading(Requirements(tuple(asking.needs), tuple(asking.reaches), is_known=False), tuple(asking.inner))
    reader = _Reader(asking, tables)
    runs_input = reader.table(program, words, entry.table)
    if asking.targets:
        _ask_targets(asking.given, asking)
    is_transparent = not asking.needs and program.text in entry.programs and needs_no_rule(entry.table, command.words)
    demand = Requirements(
        tuple(asking.needs),
        tuple(asking.reaches),
        kept=tuple(asking.kept) if asking.kept else (),
        marks=tuple(sorted(reader.marks)) if reader.marks else (),
        module=reader.module,
    )
    inner, scripts = tuple(asking.inner), tuple(asking.scripts)
    folders = () if asking.folders == command.folders else asking.folders
    return Reading(demand, inner, scripts, runs_input, is_transparent, asking.leading or 0, folders)


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
    installed = _INSTALLED.fullmatch(text)
    return _WRAPPERS.get(text, "") if installed is None else installed[installed.lastindex or 0]


def _is_inside(folders: tuple[str, ...], workspace: str) -> bool:
    if folders == _HERE:
        return True
    return bool(folders) and not any(places.is_outside(folder, workspace) for folder in folders)


class _Reader:
    """Reads words by a table, which may refer to further tables."""

    def __init__(self, asking: RequirementCollector, tables: Tables) -> None:
        self.asking = asking
        self.marks: set[str] = set()
        """Prefixes that no name may have which a glob matches: the program would take such a name for more than a name."""
        self.module = ""
        """The module that Python would import from its working folder, if a module of that name were there."""
        self._tables = tables

    def table(self, name: Word, words: Sequence[Word], table: Table) -> bool:
        """Collect the requirements of *words*; *name* is the word of the program or subcommand. Whether it runs its input."""
        asking = self.asking
        if table.transparent == "own variables" and sets_own((name, *words)):
            return False
        if table.named and not needs_no_rule(table, (name, *words)):
            asking.need(name, "is nothing that a program's ordinary rule covers")
        if table.arguments_from or table.prefixes:
            self._mark(words, table)
        if table.style in _EXPRESSIONS:
            _EXPRESSIONS[table.style](words, table, asking)
            return False
        divided = Divided(words, frozenset()) if table.style == "words" else divide(words, table, asking)
        if divided.module is not None:
            return self._module(divided.module, divided, table)
        if table.alone_named or table.named_with_operands or table.requires or table.at_least:
            ask_more(name, words, divided, table, asking)
        if table.style == "subcommands":
            return self._subcommand(words, divided.operands, table)
        if (divided.behind or asking.placeholder is not None or asking.scripts) and self._other(name, divided, table):
            return False
        operands = divided.operands
        assign(operands, _roles(table, divided), asking, appends=table.appends)
        asking.given = divided.given
        if asking.started:
            self._started()
        return table.runs_input and _runs_input(operands, divided.given, table)

    def _other(self, name: Word, divided: Divided, table: Table) -> bool:
        """Handle words behind `--`, a placeholder for the input, and source with further words; whether no operand is left."""
        asking = self.asking
        if table.behind is not None and divided.behind:
            self.table(name, divided.behind, table.behind)
        if asking.placeholder is not None and not divided.given.isdisjoint(table.replace_undone_by):
            asking.need(name, "takes its input in two ways")
        if asking.scripts and not divided.given.isdisjoint(table.joined_by):
            asking.source_and_words(asking.scripts.pop(), divided.operands)
            return True
        return False

    def _subcommand(self, words: Sequence[Word], operands: Sequence[Word], table: Table) -> bool:
        if self.asking.leading is None and operands:
            self.asking.leading = next(place for place, word in enumerate(words) if word is operands[0])
        name = operands[0].text or "" if operands else ""
        if operands and operands[0].pattern is not None:
            self.asking.need(operands[0], "cannot be determined, and names the subcommand")
        subcommand = table.subcommands.get(name) or _found(name, table)
        if operands and subcommand is not None and subcommand.starts_itself:
            self.asking.run(operands)
            self._started()
            return False
        if operands and subcommand is not None:
            return self.table(operands[0], operands[1:], subcommand)
        if operands and table.operands == NO_OPERANDS:
            self.asking.need(operands[0], UNKNOWN_SUBCOMMAND)
            unknown.ask(operands[1:], self.asking)
        elif operands:
            # Behind a word that is no subcommand, options may come anywhere, unless the word begins another command.
            style: Style = "posix" if _starts_command(table.operands) else "gnu"
            plain = table._replace(style=style, named=False, alone_named=False, requires=frozenset())
            self.table(operands[0], operands, plain)
        return False

    def _started(self) -> None:
        """Collect the requirements of the started command. The commands that it starts are found when it is read itself."""
        words, self.asking.started = self.asking.started, ()
        inner, scripts = len(self.asking.inner), len(self.asking.scripts)
        entry = self._tables.find(table_name(words[0]))
        if entry is None:
            unknown.ask(words[1:], self.asking)
        else:
            self.table(words[0], words[1:], entry.table)
        del self.asking.inner[inner:], self.asking.scripts[scripts:]

    def _mark(self, words: Sequence[Word], table: Table) -> None:
        """Collect words that name a file of further words, and record the prefixes that make a name more than a name."""
        if table.arguments_from:
            _ask_arguments(words, table.arguments_from, self.asking)
            self.marks.add(table.arguments_from)
        self.marks.update(prefix for prefix, takes in table.prefixes.items() if _does_more(prefix, takes))

    def _module(self, name: Word, divided: Divided, table: Table) -> bool:
        words = divided.operands
        if name.text in table.unshadowed and divided.given.isdisjoint(table.unshadowed_with):
            self.module = name.text or ""
        module = table.modules.get(name.text or "")
        if isinstance(module, str):
            entry = self._tables.find(module)
            module = None if entry is None else entry.table
        if module is not None:
            return self.table(name, words, module)
        self.asking.need(name, "is no module that is known")
        unknown.ask(words, self.asking)
        return False


def _does_more(prefix: str, takes: Takes) -> bool:
    """Whether words that begin with *prefix* make the program do more than read something or print it."""
    return prefix[0] != "-" and (takes.is_named or any(role.kind not in _HARMLESS for role in takes.roles))


def _ask_targets(given: frozenset[str], asking: RequirementCollector) -> None:
    """Collect the targets of links. Only the target of a symbolic link without `-r` is relative to the link's folder."""
    if "-s" in given and "-r" not in given:
        links.ask_targets(asking.targets, asking.destinations or [_HERE_WORD], asking, in_folder="-t" in given)
    else:
        for word in asking.targets:
            asking.take_read(_READ, word)


def _found(name: str, table: Table) -> Table | None:
    """The subcommand *name* that a star in *table* matches, or the same table for the name of a nested group; else None."""
    subcommand = (
        next((sub for begin, sub in table.patterns if name.startswith(begin)), None) if table.patterns else None
    )
    if subcommand is not None and _CREDENTIALS.search(name):
        return subcommand._replace(named=True)
    if subcommand is None and table.nested and _GROUP.fullmatch(name):
        return table._replace(alone_named=True)
    return subcommand


def _starts_command(operands: Operands) -> bool:
    roles = (*operands.first, operands.rest, *operands.last)
    return any(role is not None and role.kind in STARTING for role in roles)


def _ask_arguments(words: Sequence[Word], mark: str, asking: RequirementCollector) -> None:
    for word in words:
        if (word.prefix if word.text is None else word.text).startswith(mark):
            asking.need(word, "stands for words in a file")


def _runs_input(operands: Sequence[Word], given: frozenset[str], table: Table) -> bool:
    if not given.isdisjoint(table.input_options):
        return True
    if (table.input_only_with and given.isdisjoint(table.input_only_with)) or not given.isdisjoint(table.input_unless):
        return False
    return sum(word.text not in _INPUTS for word in operands) <= table.input_operands


def _roles(table: Table, divided: Divided) -> Operands:
    for options, operands in table.operands_if:
        if not options.isdisjoint(divided.given):
            return operands
    return table.operands


_EXPRESSIONS: Final = {"find": expressions.find, "test": expressions.test}


def _is_fed(redirection: Redirection) -> bool:
    """Whether a here-document or here-string holds only text of the line and output of its commands."""
    body = redirection.body
    return redirection.text is not None or (body is not None and (body.is_literal or body.is_output))


def _ask_redirection(redirection: Redirection, asking: RequirementCollector) -> None:
    """Collect the requirements of *redirection*: only the null device, the standard streams and input need no mention."""
    operator = redirection.operator
    if operator in {"<<", "<<-", "<<<"}:
        if not _is_fed(redirection) or redirection.descriptor not in {"", "0"}:
            _need_redirection(redirection, asking, "feeds what cannot be determined")
    elif operator == "<":
        _read_input(redirection, asking)
    elif not _is_ordinary_redirection(redirection):
        _need_redirection(redirection, asking, "is a redirection that writes or joins")
        if redirection.operator not in _JOINS or not _is_descriptor(redirection.target):
            _written(redirection.target, asking)


def _is_descriptor(target: Word | None) -> bool:
    return target is not None and target.text is not None and (target.text == "-" or target.text.rstrip("-").isdigit())


def _written(target: Word | None, asking: RequirementCollector) -> None:
    """Record the written file, if its text keeps it in the workspace: a rule may mention it, and it may be protected."""
    if (
        target is not None
        and target.text
        and target.text != "/dev/null"
        and not places.objection(target.text, asking.folders, asking.workspace)
    ):
        asking.reaches.append(PathAccess(target.text, folders=asking.folders, change="write"))


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


def _read_input(redirection: Redirection, asking: RequirementCollector) -> None:
    target = None if redirection.target is None else redirection.target.placed
    if target is None or redirection.descriptor not in {"", "0"} or (target.text is None and target.splits):
        _need_redirection(redirection, asking, "reads what cannot be determined")
    elif target.text == "-":
        asking.path(Word(redirection.form, "./-", prefix="./-"))  # For a shell, this is a file of that name.
    elif target.pattern is not None:
        asking.take_read(_READ, target._replace(form=redirection.form))  # It is one name in the pattern.
    else:
        asking.value(_READ, target._replace(form=redirection.form))


def _need_redirection(redirection: Redirection, asking: RequirementCollector, why: str) -> None:
    asking.need(Word(redirection.form), why)
