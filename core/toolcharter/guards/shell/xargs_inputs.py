"""Determines the commands that xargs starts, if its input is known.

Source: xargs(1) of findutils 4.9.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from toolcharter.api.command import ListedNames
from toolcharter.guards.shell.effects import sets_options
from toolcharter.guards.shell.listings import Output, pipeline_output
from toolcharter.guards.shell.nodes import Command, Inner, Reading, Requirements, Word

_OPTION: Final = re.compile(r"-([0rt]*)([nPI]?)(.*)", re.DOTALL)
_LONG_OPTIONS: Final = {"--null": "0", "--no-run-if-empty": "r", "--verbose": "t"}
_NO_ERRORS: Final = "2>/dev/null"
_HARMLESS_REDIRECTIONS: Final = frozenset({_NO_ERRORS, ">/dev/null", "2>&1"})
# They neither create nor rename files, so the names on disk stay the same while they run.
_READERS: Final = frozenset(
    """[ awk basename cat cd cksum cmp column comm cut date diff dirname du echo egrep false fd fgrep file find fold grep
    head join jq ls md5sum nl od paste printf pwd readlink realpath rev rg sed seq sha1sum sha256sum sha512sum sort stat
    sum tac tail test tr tree true uniq wc xargs""".split()
)
# They create and rename no files; a rule has to mention an option that makes them rewrite files.
_LINTERS: Final = frozenset(
    """bandit codespell eslint flake8 hadolint markdownlint markdownlint-cli2 prettier pylint pyright rubocop ruff
    shellcheck stylelint vulture yamllint""".split()
)
_SHELLS: Final = frozenset({"bash", "sh"})
_PYTHON: Final = frozenset({"python", "python3"})
_HARMLESS_BUILTINS: Final = frozenset(
    """: [[ break continue declare exit local mapfile
    read readarray shopt sleep typeset""".split()
)
_PACKAGE_RUNNERS: Final = ("npx", "bunx", "pnpx")
_READ_ONLY_SUBCOMMANDS: Final = {
    "git": frozenset({"blame", "diff", "grep", "log", "ls-files", "rev-list", "rev-parse", "show", "status"}),
    "docker": frozenset({"images", "inspect", "logs", "port", "ps", "top"}),
    "kubectl": frozenset({"describe", "get", "logs", "top"}),
    **dict.fromkeys(_PACKAGE_RUNNERS, _LINTERS),
}
"""For each program, subcommands that leave the names on disk alone, and tools of the project that do so when it starts them."""


RULE_ONLY: Final = frozenset({"read", "mapfile", "readarray", "shopt"})
"""Builtins that a rule has to mention, though they change nothing on disk."""


class XargsInput(NamedTuple):
    """The words that xargs gives to a command that it starts."""

    words: tuple[tuple[Word, ...], ...]
    """One entry for each way in which the command may run, with all its words."""
    listings: tuple[ListedNames, ...]
    """What the gate has to check of the names on disk."""


class _Xargs(NamedTuple):
    """The options of xargs that say how it splits its input, and the command that it starts."""

    letters: str
    """The letters of options without values."""
    max_words: int | None
    """The most words of its input that one command gets; None without `-n`."""
    placeholder: str | None
    command_words: Sequence[Word]
    """The words of the command that it starts."""


def xargs_input(commands: Sequence[Command], at: int, inner: Inner) -> XargsInput | None:
    """Determine all words of *inner*, which the command at position *at* starts; None if they are not known."""
    starter = commands[at]
    if starter.program is None or starter.program.text != "xargs":
        return None
    # In a loop, xargs would continue where its last run stopped, perhaps in the middle of a name.
    if "loop" in starter.within or starter.assignments or any(one.form != _NO_ERRORS for one in starter.redirections):
        return None
    chain = pipeline_before(commands, at)
    xargs, printed = _parse_xargs(starter.words[1:]), pipeline_output(chain) if chain else None
    if xargs is None or printed is None or printed.is_null != ("0" in xargs.letters):
        return None
    return _apply_input(xargs, printed, inner)


def pipeline_before(commands: Sequence[Command], at: int, within: tuple[str, ...] | None = None) -> Sequence[Command]:
    """The commands before the one at position *at* in its pipeline, if all of these are simple commands.

    Each of them is the only reader of the output of the one before it.

    Args:
        commands: All commands of the line.
        at: A position.
        within: What encloses the pipeline, if that differs from what encloses the command.

    Returns:
        The commands in order; empty if the pipeline has any other part.
    """
    stdin_from, reader = commands[at].stdin_from, commands[at]
    start = stdin_from[0] if stdin_from else at
    chain, outer = commands[start:at], reader.within if within is None else within
    for place, one in enumerate(chain, start):
        inputs = tuple(range(start, place))
        if one.stdin_from != inputs or one.substitutes or (one.within, one.folders) != (outer, reader.folders):
            return ()
    return chain if stdin_from == tuple(range(start, at)) else ()


def _parse_xargs(words: Sequence[Word]) -> _Xargs | None:
    place, letters = 0, ""
    values: dict[str, str] = {}
    while place < len(words):
        text = words[place].text
        if text is None or text == "-" or not text.startswith("-"):
            break
        place += 1
        if text == "--":
            break
        found = _OPTION.fullmatch("-" + _LONG_OPTIONS.get(text, text[1:]))
        flags, option, value = found.groups() if found is not None else ("", "", "")
        if option and not value:
            value = (words[place].text if place < len(words) else None) or ""
            place += 1
        if (option in values) or bool(option) != bool(value):
            return None
        letters += flags
        values.update({option: value} if option else {})
    return _validate_options(letters, values, words[place:])


def _validate_options(letters: str, values: dict[str, str], command_words: Sequence[Word]) -> _Xargs | None:
    text = values.get("n")
    if (text is not None and not (text.isascii() and text.isdigit() and int(text))) or {"n", "I"} <= values.keys():
        return None
    return _Xargs(letters, None if text is None else int(text), values.get("I"), command_words)


def _apply_input(xargs: _Xargs, printed: Output, inner: Inner) -> XargsInput | None:
    if xargs.placeholder is None:
        inputs = _append_words(xargs, printed)
        return XargsInput(tuple((*inner.words[:-1], *words) for words in inputs), printed.listings)
    if len(xargs.command_words) != len(inner.words):
        return None
    holding = [place for place, word in enumerate(xargs.command_words) if xargs.placeholder in (word.text or word.form)]
    if any(xargs.command_words[place].text != xargs.placeholder for place in holding) or 0 in holding:
        return None
    filled = tuple(_replace_placeholder(inner.words, holding, word) for word in _placeholder_values(printed))
    return XargsInput(filled, printed.listings)


def _append_words(xargs: _Xargs, printed: Output) -> list[tuple[Word, ...]]:
    words = [word._replace(form="(input)") for word in printed.words]
    none = [] if "r" in xargs.letters else [()]
    if printed.lines:
        max_words = xargs.max_words or len(words)
        return [tuple(words[start : start + max_words]) for start in range(0, len(words), max_words)]
    if xargs.max_words == 1:
        return [*none, *((word._replace(splits=False),) for word in words)]
    # The program may treat the first of several words in another way than the others.
    return [*none, *((word,) for word in words), *((word, word) for word in words)]


def _placeholder_values(printed: Output) -> Iterable[Word]:
    if printed.lines:
        return [Word("", line, prefix=line) for line in printed.lines]
    return [word._replace(splits=False) for word in printed.words]


def _replace_placeholder(words: Sequence[Word], holding: Sequence[int], word: Word) -> tuple[Word, ...]:
    return tuple(word._replace(form=one.form) if place in holding else one for place, one in enumerate(words))


def merge_readings(reading: Reading, readings: Sequence[Reading], listings: tuple[ListedNames, ...]) -> Reading:
    """Merge the *readings* of a command that runs in several ways; return *reading* if it starts a command or evaluates source.

    A started command whose requirements are among its own, as for `npx eslint`, is merged: its words are among its own words.
    """
    if any(one.scripts or one.runs_input for one in (reading, *readings)):
        return reading
    if any(not inner.is_asked_for for one in (reading, *readings) for inner in one.inner):
        return reading
    demands = [one.demand for one in readings]
    needs = tuple(dict.fromkeys(need for demand in demands for need in demand.needs))
    reaches = tuple(dict.fromkeys(reach for demand in demands for reach in demand.reaches))
    kept = tuple(dict.fromkeys(word for demand in demands for word in demand.kept))
    return Reading(Requirements(needs, reaches, reading.demand.is_known, listings, kept), reading.inner)


def starts_linter(command: Command, form: str) -> bool:
    """Whether *command* starts the linter *form* by `npx` or a similar program; a rule has to mention the linter."""
    texts = [word.text for word in command.words[:2]]
    return texts[1:] == [form] and form in _LINTERS and texts[0] in _PACKAGE_RUNNERS


def keep_file_names(commands: Iterable[Command]) -> bool:
    """Whether none of *commands*, which include those that others start, creates, renames or removes a file."""
    return all(map(_keeps_file_names, commands))


def _keeps_file_names(command: Command) -> bool:
    name, subcommand, module = ([word.text for word in command.words[:3]] + [None, None, None])[:3]
    # A command without words only assigns; commands in its substitutions are checked, too. A lone redirection is a group's.
    is_reader = not (command.words or command.redirections) or name in _READERS or name in _LINTERS
    is_reader = is_reader or name in _HARMLESS_BUILTINS or (name == "set" and sets_options(command.words[1:]))
    # It creates files only in `__pycache__`.
    is_reader = is_reader or (name in _PYTHON and (subcommand, module) == ("-m", "py_compile"))
    # They only check the syntax.
    is_reader = is_reader or (name in _SHELLS and subcommand == "-n" and not command.words[3:])
    is_reader = is_reader or subcommand in _READ_ONLY_SUBCOMMANDS.get(name or "", ())
    return is_reader and all(
        one.operator.startswith("<") or one.form in _HARMLESS_REDIRECTIONS for one in command.redirections
    )
