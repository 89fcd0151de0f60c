"""Finds every command that a tool call would run, and what rules, the disk and the floor have to check for each.

`parse.script` parses a line, and `programs.requirements` reads each command by the table of its program. Commands that another
one starts, and source for a shell, are appended and read in turn. The floor checks all. Pure: nothing is run or opened.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from sys import maxsize
from typing import TYPE_CHECKING, NamedTuple

from toolcharter._lazy import lazy
from toolcharter.api.command import AnalysedCommand, ListedNames, PathAccess, Requirement, Starter
from toolcharter.guards.shell.deny_forms import bare, deny_forms
from toolcharter.guards.shell.floor import check_script as check_floor
from toolcharter.guards.shell.nested_commands import nest, program_name, rebase, runs_bash, start_inner, stdin_text
from toolcharter.guards.shell.nodes import Command, Inner, NotUnderstood, Reading, Script, Word
from toolcharter.guards.shell.parse.cwd import may_change_folder
from toolcharter.guards.shell.parse.script import command_of_argv, parse
from toolcharter.guards.shell.programs.requirements import read_command
from toolcharter.guards.shell.programs.tables import CORE_TABLES

if TYPE_CHECKING:
    from toolcharter.guards.shell import eval_outputs, stored_text, xargs_inputs
    from toolcharter.guards.shell import links as links_of_lines
    from toolcharter.guards.shell.programs.tables import Tables
    from toolcharter.guards.shell.xargs_inputs import XargsInput
else:
    eval_outputs = lazy("toolcharter.guards.shell.eval_outputs")
    xargs_inputs = lazy("toolcharter.guards.shell.xargs_inputs")
    stored_text = lazy("toolcharter.guards.shell.stored_text")
    links_of_lines = lazy("toolcharter.guards.shell.links")

MAX_COMMANDS = 200
"""The most commands that one call may run, with those that its commands start."""
MAX_DEPTH = 8
"""How many levels deep commands may start other commands."""
_TOP = (".",)
_LINKERS = frozenset({"ln", "link", "cp", "mv", "rsync", "tar", "gtar", "bsdtar", "unzip", "cpio"})
_GIT_LINKERS = frozenset({"mv", "clone"})
_END_OF_SOURCE = maxsize
"""A position behind the end of any source."""
_TESTS = frozenset({"[[", "["})
_TRAP = "trap"
"""Its text runs later, in the folder that the shell is in by then."""


class Analysis(NamedTuple):
    """The commands that a call would run, and why the floor or the parser refuses it."""

    commands: tuple[AnalysedCommand, ...] = ()
    catastrophe: str | None = None
    """Why the floor refuses the call; None if it does not."""
    unresolved_program: str | None = None
    """Why the program of a command cannot be determined; None if each can."""
    unsupported: str | None = None
    """The construct that no allow rule can cover; None if there is none."""
    reaches: tuple[PathAccess, ...] = ()
    """Paths that the shell itself reads. The gate has to check on disk, not only by their text, that they lie in the workspace."""


def analyse(commands: Iterable[object], workspace: str, tables: "Tables | None" = None) -> Analysis:
    """Analyse every command that one call would run.

    Args:
        commands: Shell lines (text) and argument vectors (tuples of texts).
        workspace: Real path of the workspace.
        tables: The tables of programs; by default those of the core.

    Raises:
        NotUnderstood: A command does not parse, or the call exceeds a limit.
    """
    commands = tuple(commands)
    analyser = _run_analysis(commands, workspace, tables, resolves_names=True)
    if (analyser.xargs_words or analyser.listings is not None) and not (
        _keep_file_names(commands, analyser) and (analyser.listings is None or _stays_in_folder(analyser))
    ):
        analyser = _run_analysis(commands, workspace, tables, resolves_names=False)
    if analyser.has_unknown_folder:
        analyser = _analyse_with_cd(commands, analyser, workspace, tables) or analyser
    programs = {program_name(command) for command in analyser.commands}
    if analyser.functions and not programs.isdisjoint(analyser.functions):
        analyser.unsupported = analyser.unsupported or "A function runs under the name of a program."
    if analyser.may_store_output or len(analyser.commands) > 1 or analyser.reaches:
        analyser.add_joint_needs(programs)
    results = tuple(map(_make_result, analyser.commands, analyser.readings))
    if analyser.started_by:
        results = tuple(
            one._replace(starters=_find_starters(at, results, analyser)) if at in analyser.started_by else one
            for at, one in enumerate(results)
        )
    script = Script(
        tuple(analyser.commands), analyser.unsupported, analyser.unresolved_program, tuple(analyser.functions)
    )
    # The floor uses the tables of the core only, so these readings serve it only if they come from there.
    readings = analyser.plain_readings if tables is None or tables is CORE_TABLES else ()
    why, seen = check_floor(script, workspace=workspace, readings=readings)
    seen = (*seen, *analyser.written)
    if seen and results:
        results = (results[0]._replace(deny_forms=(*results[0].deny_forms, *seen)), *results[1:])
    return Analysis(results, why, analyser.unresolved_program, analyser.unsupported, tuple(analyser.reaches))


def _run_analysis(
    commands: Iterable[object], workspace: str, tables: "Tables | None", *, resolves_names: bool, enters: int = 0
) -> "_Analyser":
    analyser = _Analyser(workspace, tables, resolves_names=resolves_names)
    for command in commands:
        analyser.analyse(_parse(command, workspace, enters=enters, is_line=True, lists=resolves_names))
    if analyser.listings:
        analyser.add_requirements(0, (), analyser.listings)
    return analyser


def _analyse_with_cd(
    commands: tuple[object, ...], analyser: "_Analyser", workspace: str, tables: "Tables | None"
) -> "_Analyser | None":
    """Analyse again as if each `cd` succeeds, which the gate checks on disk; None if a command before may change folders."""
    if (
        not any(isinstance(one, str) and ".." in one for one in commands)
        or analyser.xargs_words
        or analyser.listings is not None
    ):
        return None
    until = _END_OF_SOURCE
    entered = _run_analysis(commands, workspace, tables, resolves_names=False, enters=until)
    if not _keep_file_names(commands, entered):
        until = 0 if entered.functions or entered.written or len(commands) > 1 else _first_change(entered)
        entered = _run_analysis(commands, workspace, tables, resolves_names=False, enters=until) if until else entered
    if not until:
        return None
    for at, command in enumerate(entered.commands):
        if program_name(command) == "cd" and len(command.words) > 1 and command.at < until:
            folder = ListedNames(command.words[1].text or "", command.folders, "folder")
            reading = entered.readings[at]
            entered.readings[at] = reading._replace(demand=reading.demand._replace(listings=(folder,)))
    return entered


def _first_change(analyser: "_Analyser") -> int:
    """The position in the source of the first command that may change files, or that is not fully known."""
    return min(
        command.at
        for command, reading in zip(analyser.commands, analyser.readings, strict=True)
        if not (
            xargs_inputs.keep_file_names([command])
            and xargs_inputs.RULE_ONLY.issuperset(one.form for one in reading.demand.needs)
        )
    )


def _keep_file_names(commands: Iterable[object], analyser: "_Analyser") -> bool:
    """Whether no command changes the files that are to be listed, or prints more than their names."""
    if analyser.functions or any(isinstance(one, str) and "|&" in one for one in commands):
        return False
    needs = (
        need.form
        for command, reading in zip(analyser.commands, analyser.readings, strict=True)
        for need in reading.demand.needs
        if not xargs_inputs.starts_linter(command, need.form)
    )
    return xargs_inputs.RULE_ONLY.issuperset(needs) and xargs_inputs.keep_file_names(analyser.commands)


def _stays_in_folder(analyser: "_Analyser") -> bool:
    """Whether all commands run in the folder in which the names for loops are listed, and the line is fully understood."""
    if analyser.unsupported or analyser.unresolved_program:
        return False
    places = {one.folders for one in analyser.commands}
    return len(places) == 1 and all(not one.folders or one.folders in places for one in analyser.readings)


def _parse(
    item: object, workspace: str, *, is_posix: bool = False, enters: int = 0, is_line: bool = False, lists: bool = False
) -> Script:
    if isinstance(item, str):
        return parse(item, workspace, is_posix=is_posix, enters=enters, is_line=is_line, lists=lists)
    if isinstance(item, tuple) and all(isinstance(word, str) for word in item):
        return Script((command_of_argv(item),))
    raise NotUnderstood(f"A command is a line or a vector of words, not {type(item).__name__}.")


class _Analyser:
    """One pass over all commands of a call. Commands that another command starts are appended and analysed in turn."""

    def __init__(self, workspace: str, tables: "Tables | None", *, resolves_names: bool) -> None:
        self.commands: list[Command] = []
        self.readings: list[Reading] = []
        self.plain_readings: list[tuple[Command, Reading]] = []
        """Each command with its reading by the tables, before requirements are added or removed."""
        self.functions: list[str] = []
        self.written: list[str] = []
        """Commands as the source has them, where other forms of them are analysed."""
        self.reaches: list[PathAccess] = []
        self.unsupported: str | None = None
        self.unresolved_program: str | None = None
        self.xargs_words: dict[int, XargsInput] = {}
        """By the position of a command that xargs starts: the words that it gets from xargs' input, where they are known."""
        self.listings: tuple[ListedNames, ...] | None = None
        """What the gate has to check of the names that loops run over; None if no loop runs over names on disk."""
        self.has_unknown_folder = False
        """Whether a command has requirements and it is not certain in which folder it runs."""
        self.may_store_output = False
        """Whether a command may store the output of others beyond the line."""
        self.started_by: dict[int, int] = {}
        """The position of each started command, with the position of the command that starts it."""
        self._read_from: dict[int, int] = {}
        """The position of each command with that of the command whose input it reads: its starter, or the shell of its source."""
        self._asked_for: set[int] = set()
        """The positions of commands whose requirements are already among those of their starter."""
        self._resolves_names = resolves_names
        self._depths: list[int] = []
        self._workspace = workspace
        self._read = partial(read_command, workspace=workspace, tables=CORE_TABLES if tables is None else tables)

    def analyse(self, script: Script) -> None:
        """Analyse *script* and every command that it starts."""
        done = len(self.commands)
        self._add(script, 0)
        while done < len(self.commands):
            command, depth = self.commands[done], self._depths[done] + 1
            reading = self._read(command)
            self.plain_readings.append((command, reading))
            if done in self.xargs_words:
                reading = self._resolve_xargs_words(done, reading)
            self.readings.append(reading if done not in self._asked_for else _without_needs(reading))
            if reading.demand.kept:
                self.may_store_output = True
            if reading.demand.needs and len(command.folders) != 1:
                self.has_unknown_folder = True
            if reading.inner or reading.scripts or reading.runs_input:
                if depth > MAX_DEPTH:
                    raise NotUnderstood(f"Commands start commands more than {MAX_DEPTH} deep.")
                self._add_started(done, reading, depth)
            done += 1

    def add_joint_needs(self, programs: Collection[str]) -> None:
        """Add requirements that follow from several commands together; *programs* are all their names."""
        if self.may_store_output:
            for at in range(len(self.readings)):
                self.add_requirements(at, stored_text.requirements_of(at, self.commands, self.readings))
        if "set" in programs:
            for at in range(len(self.readings)):
                self.add_requirements(at, stored_text.trace_requirements(at, self.commands))
        if self._may_link(programs):
            links = links_of_lines.Links(self.commands, self.readings, self._workspace)
            for at, needs, listings in links.extra_requirements():
                self.add_requirements(at, needs, listings)
            if links.are_crossed_by(self.reaches):
                self.unsupported = self.unsupported or "The shell itself looks behind a link that the line makes."

    def _may_link(self, programs: Collection[str]) -> bool:
        """Whether a command may make, move or copy links."""
        if "git" in programs and any(word.text in _GIT_LINKERS for command in self.commands for word in command.words):
            return True
        # A program that is named by a path may be any of them.
        return not _LINKERS.isdisjoint(programs) or "/" in "".join(programs)

    def add_requirements(self, at: int, needs: Iterable[Requirement], listings: Iterable[ListedNames] = ()) -> None:
        """Add to the requirements of the command at position *at*."""
        reading = self.readings[at]
        demand = reading.demand
        needs, listings = (*demand.needs, *needs), (*demand.listings, *listings)
        self.readings[at] = reading._replace(demand=demand._replace(needs=needs, listings=listings))

    def _resolve_xargs_words(self, at: int, reading: Reading) -> Reading:
        """The reading of a command that xargs starts, with the words that xargs adds to it."""
        words, listings = self.xargs_words[at]
        return xargs_inputs.merge_readings(
            reading, [self._read(self.commands[at]._replace(words=one)) for one in words], listings
        )

    def _add_started(self, at: int, reading: Reading, depth: int) -> None:
        command = self.commands[at]
        for inner in reading.inner:
            if self._resolves_names and program_name(command) == "xargs":
                self._record_xargs_words(at, inner)
            if inner.is_asked_for:
                self._asked_for.add(len(self.commands))
            if inner.words[:1] and inner.words[0].text == "[[" and self.unresolved_program is None:
                self.unresolved_program = "'[[' is a word of bash: who starts it starts a program of this name."
            self.started_by[len(self.commands)] = self._read_from[len(self.commands)] = at
            self._append(start_inner(command, inner), depth)
        if (scripts := reading.scripts) and program_name(command) == "eval":
            scripts = eval_outputs.eval_scripts(command, reading, self.commands, self.functions)
        for source in scripts:
            start = len(self.commands)
            self._add_source(command, source.text, depth, f"{source.form} is shell source that cannot be determined.")
            if len(self.commands) == start + 1:
                self._read_from[start] = at
        if reading.runs_input:
            why = f"{program_name(command)!r} runs what it reads, and that cannot be determined."
            self._add_source(command, stdin_text(self.commands, at, self._read_from), depth, why)

    def _record_xargs_words(self, at: int, inner: Inner) -> None:
        found = xargs_inputs.xargs_input(self.commands, at, inner)
        if found is not None:
            self.xargs_words[len(self.commands)] = found

    def _add_source(self, starter: Command, source: str | None, depth: int, why_not: str) -> None:
        if source is None:
            self.unresolved_program = self.unresolved_program or why_not
            return
        folders = starter.folders
        if program_name(starter) == _TRAP:
            if source == "-":
                return  # `trap -` resets the traps.
            if any(may_change_folder(one.words) for one in self.commands):
                folders = ()
        # Only at the top of the workspace can an absolute `cd` be made relative to the workspace. Elsewhere it stays unknown.
        workspace = self._workspace if folders == _TOP else ""
        script = _parse(source, workspace, is_posix=not runs_bash(starter))
        commands = tuple(nest(starter, folders, one) for one in script.commands)
        reaches = tuple(one._replace(folders=rebase(folders, one.folders)) for one in script.reaches)
        self._add(script._replace(commands=commands, reaches=reaches), depth, starter.stdin_from)

    def _add(self, script: Script, depth: int, outer: tuple[int, ...] = ()) -> None:
        """Append the commands of *script*. Each of them may also read the output of the commands *outer*."""
        offset = len(self.commands)
        for command in script.commands:
            if outer or (offset and (command.stdin_from or command.substitutes)):
                stdin_from = tuple(one + offset for one in command.stdin_from)
                substitutes = tuple(one + offset for one in command.substitutes)
                command = command._replace(stdin_from=(*stdin_from, *outer), substitutes=substitutes)  # noqa: PLW2901
            self._append(command, depth)
        self.functions += script.functions
        self.written += script.written
        self.reaches += script.reaches
        if script.listings is not None:
            self.listings = (*(self.listings or ()), *script.listings)
        self.unsupported = self.unsupported or script.unsupported
        self.unresolved_program = self.unresolved_program or script.unresolved_program

    def _append(self, command: Command, depth: int) -> None:
        if len(self.commands) >= MAX_COMMANDS:
            raise NotUnderstood(f"It would run more than {MAX_COMMANDS} commands.")
        self.commands.append(command)
        self._depths.append(depth)
        program = command.program
        if program is not None and not program.text:
            self.unresolved_program = (
                self.unresolved_program or f"{program.form} names the program, and cannot be determined."
            )


def _without_needs(reading: Reading) -> Reading:
    """The reading of a command that the rule for its starter covers, too: it has no requirements of its own."""
    return reading._replace(demand=reading.demand._replace(needs=()), is_transparent=True)


def _make_result(command: Command, reading: Reading) -> AnalysedCommand:
    demand, words = reading.demand, command.words
    text = words[0].text or "" if words else ""
    needs = demand.needs if "/" not in text else (_path_requirement(words[0]), *demand.needs)
    has_more = command.assignments or command.redirections or text in _TESTS
    return AnalysedCommand(
        command.form,
        _with_counts(needs, command) if needs else (),
        demand.reaches,
        text or program_name(command),
        reading.folders or command.folders,
        demand.is_known,
        bare(command, demand.needs) if has_more else None,
        reading.is_transparent and not needs,
        command.within,
        deny_forms(command, reading),
        demand.listings,
        demand.marks,
        demand.module,
    )


def _find_starters(at: int, results: Sequence[AnalysedCommand], analyser: _Analyser) -> tuple[Starter, ...]:
    """The starters of the command at *at*, nearest first: a rule for one that mentions the programs between covers it, too."""
    needs = results[at].needs
    found: list[Starter] = []
    while at in analyser.started_by:
        program = analyser.commands[at].program
        if program is not None:
            needs = (Requirement(program.form, f"{program.form} is the program that is started"), *needs)
        at = analyser.started_by[at]
        needs = (*results[at].needs, *needs)
        found.append(Starter(results[at].form, _with_counts(needs, analyser.commands[at]), results[at].bare))
    return tuple(found)


def _with_counts(needs: tuple[Requirement, ...], command: Command) -> tuple[Requirement, ...]:
    """The requirements *needs*, each with the number of times that its word occurs in *command*."""
    times = Counter(word.form for word in command.words)
    return tuple(need._replace(times=max(1, times[need.form])) for need in needs)


def _path_requirement(program: Word) -> Requirement:
    """The requirement that a rule contains the path, since a path may name any program."""
    return Requirement(program.form, f"{program.form} is a path, which a rule has to write out")
