"""Analyses loops over names on disk: `for f in $(git ls-files)`, `find src -name '*.py' | while read -r f`.

The line does not contain the names, but it determines the folders that they lie in. So a word that is exactly such a variable
is treated as a glob over these folders, and the gate checks on disk that no name there would be split, expanded or taken for
an option.
Source: bash(1), "Word Splitting", "Pathname Expansion", `read`.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from toolcharter.api.command import ListedNames
from toolcharter.guards.shell.assignments import is_line_variable
from toolcharter.guards.shell.listings import Output, filters_lines, pipeline_output
from toolcharter.guards.shell.nodes import Command, Word
from toolcharter.guards.shell.xargs_inputs import pipeline_before

_ONE_OUTPUT: Final = re.compile(r"\$\([^`]*\)", re.DOTALL)
_ONE_LINE: Final = re.compile(r"(?:head|tail) (?:-1|-n ?1)")
_SILENT: Final = frozenset(
    "[ [[ test : true false basename break continue date dirname du echo ls printf pwd sleep stat".split()
)
"""Commands that never read their standard input."""
_SILENT_SUBCOMMANDS: Final = {
    "git": frozenset({"blame", "diff", "log", "rev-parse", "show", "status"}),
    "docker": frozenset({"inspect", "logs", "port", "restart", "rm", "start", "stop", "top"}),
    "kubectl": frozenset({"describe", "get", "logs", "top"}),
}
_TAKES_TEXT: Final = frozenset({"egrep", "fgrep", "grep", "jq", "rg", "sed"})
"""Programs whose first operand is a pattern or a script, not a file."""
_GREP: Final = re.compile(r"-[EFGHPchilnoqsvwx]+")
_NUMBER: Final = re.compile(r"-[0-9]+|-[nc] ?\+?[0-9]+|-q")
_READS_FILE: Final = {
    "cat": re.compile(r"-[AETbnstv]+"),
    "cut": re.compile(r"-d[^ ]|-[fc][0-9,-]+"),
    "egrep": _GREP,
    "fgrep": _GREP,
    "grep": _GREP,
    "head": _NUMBER,
    "jq": re.compile(r"-[rcMSe]+"),
    "md5sum": re.compile(r"-b"),
    "file": re.compile(r"-b"),
    "nl": re.compile(r"-ba"),
    "rg": re.compile(r"-[FNSchilnosvw]+"),
    "sed": re.compile(r"-[nErs]+"),
    "sha256sum": re.compile(r"-b"),
    "sort": re.compile(r"-[bdfhinruV]+"),
    "tac": re.compile(r"-b"),
    "tail": _NUMBER,
    "wc": re.compile(r"-[Lclmw]+"),
}
"""Programs that read only the file in their last word; for each, the options that may precede it."""


class NamesOnDisk(NamedTuple):
    """The names that the variable of a loop holds."""

    pattern: str
    """A glob that matches each of the names."""
    prefix: str
    names: tuple[ListedNames, ...]
    """What the gate has to check of the names on disk."""
    is_quoted: bool
    """Whether the variable is one word only if it is quoted."""
    is_row: bool = False
    """Whether the variable holds one name per line, so that it becomes these names only without quotes."""


def names_in_words(words: Sequence[Word], commands: Sequence[Command], start: int, source: str) -> NamesOnDisk | None:
    """The names that a loop over *words* runs over, if the words are the output of *commands* and these print names.

    Args:
        words: The words as the source has them.
        commands: The commands of the substitution.
        start: The position of the first of them in the line.
        source: The source of the line.
    """
    if len(words) != 1 or not _ONE_OUTPUT.fullmatch(words[0].form) or "IFS" in source or not commands:
        return None
    fed = (tuple(range(start, start + place)) for place in range(len(commands)))
    if any(one.stdin_from != before for one, before in zip(commands, fed, strict=True)):
        return None
    if len({(one.within, one.folders) for one in commands}) != 1:
        return None
    if any(one.substitutes for one in commands) or not all(map(filters_lines, commands[1:])):
        return None
    return _names_on_disk(pipeline_output(commands))


def names_in_value(word: Word, commands: Sequence[Command], start: int, source: str) -> NamesOnDisk | None:
    """The names that a variable holds which is set to *word*; the arguments are those of `names_in_words`."""
    form = word.form[1:-1] if word.form.startswith('"') else word.form
    found = names_in_words([word._replace(form=form)], commands, start, source)
    last = " ".join(one.text or "$" for one in commands[-1].words) if commands else ""
    return None if found is None else found._replace(is_row=_ONE_LINE.fullmatch(last) is None)


def names_from_read(commands: Sequence[Command], at: int, source: str) -> tuple[str, NamesOnDisk] | None:
    """The variable of a loop whose condition is the `read` at position *at*, and the names that it holds."""
    command = commands[at]
    texts = [word.text or "" for word in command.words]
    forms = [one.form for one in command.assignments]
    is_null = texts[-3:-1] == ["-d", ""]
    flags = texts[1 : -3 if is_null else -1]
    is_whole = forms == ["IFS=''"]
    if not texts or not is_line_variable(texts[-1]):
        return None
    if texts[:1] != ["read"] or flags not in ([], ["-r"]) or command.redirections or not (is_whole or not forms):
        return None
    # With another IFS, or with a second reader of the same input, the variable may hold half a name.
    if "<(" in source or "IFS" in source.replace("IFS= read", "") or (is_null and not (is_whole and flags)):
        return None
    chain = pipeline_before(commands, at, within=command.within[:-1])
    printed = pipeline_output(chain) if chain else None
    if printed is None or printed.is_null != is_null:
        return None
    found = _names_on_disk(printed)
    return None if found is None else (texts[-1], found._replace(is_quoted=is_null))


def _names_on_disk(printed: Output | None) -> NamesOnDisk | None:
    if printed is None or printed.lines or len(printed.words) != 1 or printed.words[0].pattern is None:
        return None
    names = tuple(one._replace(is_globbed=one.is_split) for one in printed.listings)
    return NamesOnDisk(printed.words[0].pattern, printed.words[0].prefix, names, is_quoted=printed.is_null)


def leaves_loop_input(body: Sequence[Command], start: int, name: str) -> bool:
    """Whether no command in *body*, which begins at position *start*, reads the input of the loop over *name*."""
    return all(
        _leaves_input_alone(one, start, {f'"${name}"', f'"${{{name}}}"', f"${name}", f"${{{name}}}"}) for one in body
    )


def _has_own_input(command: Command) -> bool:
    """Whether a redirection gives *command* an input of its own."""
    feeds = [one.operator for one in command.redirections if one.descriptor in {"", "0"}]
    return "<" in feeds and {"<", ">"}.issuperset(one.operator for one in command.redirections)


def _leaves_input_alone(command: Command, start: int, names: set[str]) -> bool:
    texts = [word.text or "" for word in command.words]
    if not texts or any(one >= start for one in command.stdin_from):
        return (
            bool(texts) or not command.redirections
        )  # Its input is a pipe within the body, or it only sets variables.
    if any(text == "-" or "stdin" in text or text.startswith(("/dev", "/proc")) for text in texts):
        return False
    if (
        _has_own_input(command)
        or texts[0] in _SILENT
        or (texts[1:2] and texts[1] in _SILENT_SUBCOMMANDS.get(texts[0], ()))
    ):
        return True
    known = _READS_FILE.get(texts[0])
    if known is None or command.words[-1].form not in names:
        return False
    options = texts[1:-1]
    if texts[0] in _TAKES_TEXT and (not options or options.pop().startswith("-")):
        return False
    return not options or re.fullmatch(rf"(?:{known.pattern})(?: (?:{known.pattern}))*", " ".join(options)) is not None
