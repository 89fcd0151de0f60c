"""Turns the commands that a tool says it would run into what rules see, and into preconditions to check on disk."""

import re
from collections.abc import Iterable, Iterator
from posixpath import basename
from typing import TYPE_CHECKING, NamedTuple

from toolcharter._lazy import lazy
from toolcharter.api.command import MAY, AnalysedCommand, DiskPreconditions, ListedNames, PathAccess, Requirement
from toolcharter.api.reasons import Reason
from toolcharter.policy.rule_input import Refusal, Requirements, encode_repeats

if TYPE_CHECKING:
    from toolcharter.guards.shell import analyse, nodes
    from toolcharter.guards.shell.analyse import Analysis
    from toolcharter.guards.shell.programs.tables import Tables
else:
    analyse = lazy("toolcharter.guards.shell.analyse")
    nodes = lazy("toolcharter.guards.shell.nodes")


class CommandAnalysis(NamedTuple):
    """The commands that a call would run, as far as the shell guard understands them."""

    commands: tuple[str, ...] = ()
    """The normal form of each command."""
    refusal: Refusal | None = None
    """Why neither a rule nor a person may permit the call."""
    needs: tuple[Requirements, ...] = ()
    """What a rule that allows the command must mention, for each command."""
    unsupported: str | None = None
    """The construct that no rule can cover, if there is one."""
    preconditions: DiskPreconditions | None = None
    analysed: tuple[AnalysedCommand, ...] = ()
    """The full analysis of each command, for `explain`."""


NO_COMMANDS = CommandAnalysis()
_NO_REQUIREMENTS = Requirements()
_EXEMPT = Requirements(is_exempt=True)
_COPY_PROGRAMS = frozenset({"cp", "install", "link", "ln", "mv"})
_NO_TARGET_DIRECTORY = re.compile("-[A-Za-z]*T[A-Za-z]*|--no-t.*")  # GNU coreutils, `--no-target-directory`
_BLAME_SUBCOMMANDS = frozenset({"blame", "annotate"})
_READ_ADDED_REPOSITORIES = frozenset({"add", "describe", "diff-index", "diff-files"})


def analyse_commands(commands: Iterable[object], workspace: str, tables: "Tables | None" = None) -> CommandAnalysis:
    """Analyse the commands of one call.

    Args:
        commands: Shell lines and argument vectors, as a tool's `invocation` returns them.
        workspace: Real path of the workspace.
        tables: The tables of programs; by default those of the core.
    """
    commands = tuple(commands)
    if not commands:
        return NO_COMMANDS

    try:
        analysis = analyse.analyse(commands, workspace, tables)
    except nodes.NotUnderstood as error:
        return CommandAnalysis(refusal=Refusal(Reason.NOT_UNDERSTOOD, str(error)))
    except Exception as error:  # noqa: BLE001 - commands that cannot be analysed cannot be permitted
        message = f"The commands cannot be analysed: {type(error).__name__}."
        return CommandAnalysis(refusal=Refusal(Reason.NOT_UNDERSTOOD, message))
    analysed = analysis.commands
    forms, needs = tuple([one.form for one in analysed]), tuple(map(_make_requirements, analysed))
    return CommandAnalysis(
        forms, _make_refusal(analysis), needs, analysis.unsupported, _disk_preconditions(analysis), analysed
    )


def _make_refusal(analysis: "Analysis") -> Refusal | None:
    if analysis.catastrophe is not None:
        return Refusal(Reason.DENIED_BY_FLOOR, analysis.catastrophe)
    if analysis.unresolved_program is not None:
        return Refusal(Reason.NOT_UNDERSTOOD, analysis.unresolved_program)
    return None


def _make_requirements(one: AnalysedCommand) -> Requirements:
    if not (one.needs or one.deny_forms or one.bare is not None or one.starters):
        return _EXEMPT if one.is_transparent else _NO_REQUIREMENTS  # This is true of most commands.
    return Requirements(
        _required_words(one.needs),
        one.needs[0].why if one.needs else None,
        one.bare,
        one.deny_forms,
        one.is_transparent,
        tuple(
            (starter.form, Requirements(_required_words(starter.needs), starter.needs[0].why, starter.bare))
            for starter in one.starters
        ),
    )


def _required_words(needs: Iterable[Requirement]) -> frozenset[str]:
    return frozenset([encode_repeats(need.form, need.times) for need in needs])


def _disk_preconditions(analysis: "Analysis") -> DiskPreconditions:
    places = [*analysis.reaches]
    gits: list[AnalysedCommand] = []
    programs: dict[str, None] = {}
    names: dict[ListedNames, None] = {}
    marks: dict[str, None] = {}
    for one in analysis.commands:
        program = one.program
        if program and "/" not in program:
            programs[program] = None
        if program.endswith("git") and basename(program) == "git":
            gits.append(one)
        if one.reaches:
            # A command that does more than its program's ordinary use may change the paths that it is given.
            reaches = _with_copy_targets(one) if program.rpartition("/")[2] in _COPY_PROGRAMS else one.reaches
            places += _as_possible_changes(reaches) if one.needs else reaches
        if one.listings or one.marks:
            names |= dict.fromkeys(one.listings)
            marks |= dict.fromkeys(one.marks)
    modules = _imported_modules(analysis.commands)
    forms = [one.form.split() for one in gits]
    return DiskPreconditions(
        tuple(places),
        tuple(programs),
        tuple(dict.fromkeys([folder for one in gits for folder in one.folders])),
        _links_repositories(forms),
        tuple(names),
        any(not _BLAME_SUBCOMMANDS.isdisjoint(words) for words in forms) if gits else False,
        tuple(marks),
        modules,
        bool(modules) and any(access.change for one in analysis.commands if not one.module for access in one.reaches),
    )


def _imported_modules(analysed: Iterable[AnalysedCommand]) -> tuple[tuple[str, str], ...]:
    """Return the modules that commands import in Python by name alone, each with the folder in which Python runs."""
    return tuple(dict.fromkeys([(folder, one.module) for one in analysed if one.module for folder in one.folders]))


def _as_possible_changes(reaches: Iterable[PathAccess]) -> Iterator[PathAccess]:
    for access in reaches:
        yield access if access.change else access._replace(change=MAY)


def _with_copy_targets(one: AnalysedCommand) -> Iterable[PathAccess]:
    """Return the paths of a copying command, each with the folder that it is copied into."""
    into = next((access for access in one.reaches if access.change == "into"), None)
    if into is None:
        return one.reaches
    is_content = any(_NO_TARGET_DIRECTORY.fullmatch(word) for word in one.form.split())
    return [
        access
        if access.change == "into"
        else access._replace(copied_into=into, copies_content=is_content or access.path.endswith(("/.", "/..")))
        for access in one.reaches
    ]


def _links_repositories(commands: list[list[str]]) -> bool:
    """Whether a git command would look into repositories that an earlier one of *commands*, not run yet, adds."""
    added = False
    for words in commands:
        if added and not _READ_ADDED_REPOSITORIES.isdisjoint(words):
            return True
        added = added or "add" in words
    return False
