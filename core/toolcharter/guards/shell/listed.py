"""Loops over names on disk: `for f in $(git ls-files)`, `find src -name '*.py' | while read -r f`.

Which names they are, no letters tell; where they lie, do. Each word that is such a variable and nothing else stands for a
path there, as a glob would, and a look at the disk refuses names that a shell would part, expand or take for options.
Source: bash(1), "Word Splitting", "Pathname Expansion", `read`.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from toolcharter.api.command import ListedNames
from toolcharter.guards.shell.assignments import is_own
from toolcharter.guards.shell.inputs import chain_of
from toolcharter.guards.shell.listings import Output, chain_output, drops_lines
from toolcharter.guards.shell.nodes import Command, Word

_ONE_OUTPUT: Final = re.compile(r"\$\([^`]*\)", re.DOTALL)
_ONE_LINE: Final = re.compile(r"(?:head|tail) (?:-1|-n ?1)")
_SILENT: Final = frozenset(
    "[ [[ test : true false basename break continue date dirname du echo ls printf pwd sleep stat".split()
)
"""They never look at their standard input."""
_SILENT_SUBCOMMANDS: Final = {
    "git": frozenset({"blame", "diff", "log", "rev-parse", "show", "status"}),
    "docker": frozenset({"inspect", "logs", "port", "restart", "rm", "start", "stop", "top"}),
    "kubectl": frozenset({"describe", "get", "logs", "top"}),
}
_TAKES_TEXT: Final = frozenset({"egrep", "fgrep", "grep", "jq", "rg", "sed"})
"""They take a text in front of the file."""
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
"""With a file as the last of their words they look at that alone: by program, the options that may stand in front of it."""


class Listed(NamedTuple):
    """What the variable of a loop stands for."""

    pattern: str
    """A glob."""
    prefix: str
    names: tuple[ListedNames, ...]
    """What has to hold of the names on disk."""
    is_quoted: bool
    """Whether it stands for one word in quotes alone."""
    is_row: bool = False
    """Whether it holds one name a line, so that it stands for these without quotes alone."""


def of_words(words: Sequence[Word], commands: Sequence[Command], start: int, source: str) -> Listed | None:
    """What a loop over *words* runs over, if that is what *commands*, from position *start* on, print: names."""
    if len(words) != 1 or not _ONE_OUTPUT.fullmatch(words[0].form) or "IFS" in source or not commands:
        return None
    fed = (tuple(range(start, start + place)) for place in range(len(commands)))
    if any(one.stdin_from != before for one, before in zip(commands, fed, strict=True)):
        return None
    if len({(one.within, one.folders) for one in commands}) != 1:
        return None
    if any(one.substitutes for one in commands) or not all(map(drops_lines, commands[1:])):
        return None
    return _listed(chain_output(commands))


def of_value(word: Word, commands: Sequence[Command], start: int, source: str) -> Listed | None:
    """What a variable stands for that is set to *word*, if that is what *commands*, from position *start* on, print: names."""
    form = word.form[1:-1] if word.form.startswith('"') else word.form
    found = of_words([word._replace(form=form)], commands, start, source)
    last = " ".join(one.text or "$" for one in commands[-1].words) if commands else ""
    return None if found is None else found._replace(is_row=_ONE_LINE.fullmatch(last) is None)


def of_read(commands: Sequence[Command], at: int, source: str) -> tuple[str, Listed] | None:
    """The variable of a loop whose condition is `read`, the command at position *at*, and what it stands for."""
    command = commands[at]
    texts = [word.text or "" for word in command.words]
    forms = [one.form for one in command.assignments]
    is_null = texts[-3:-1] == ["-d", ""]
    flags = texts[1 : -3 if is_null else -1]
    is_whole = forms == ["IFS=''"]
    if not is_own(texts[-1]):
        return None
    if texts[:1] != ["read"] or flags not in ([], ["-r"]) or command.redirections or not (is_whole or not forms):
        return None
    # Who else splits at other characters, or reads from where the loop does, may leave half a name.
    if "<(" in source or "IFS" in source.replace("IFS= read", "") or (is_null and not (is_whole and flags)):
        return None
    chain = chain_of(commands, at, within=command.within[:-1])
    printed = chain_output(chain) if chain else None
    if printed is None or printed.is_null != is_null:
        return None
    found = _listed(printed)
    return None if found is None else (texts[-1], found._replace(is_quoted=is_null))


def _listed(printed: Output | None) -> Listed | None:
    if printed is None or printed.lines or len(printed.words) != 1 or printed.words[0].pattern is None:
        return None
    names = tuple(one._replace(is_globbed=one.is_split) for one in printed.listings)
    return Listed(printed.words[0].pattern, printed.words[0].prefix, names, is_quoted=printed.is_null)


def leaves_input(body: Sequence[Command], start: int, name: str) -> bool:
    """Whether nothing in *body*, which begins at position *start*, reads what the loop over *name* has yet to read."""
    return all(_leaves_input(one, start, {f'"${name}"', f'"${{{name}}}"', f"${name}", f"${{{name}}}"}) for one in body)


def _has_input(command: Command) -> bool:
    """Whether it reads a file of its own in place of its input."""
    feeds = [one.operator for one in command.redirections if one.descriptor in {"", "0"}]
    return "<" in feeds and {"<", ">"}.issuperset(one.operator for one in command.redirections)


def _leaves_input(command: Command, start: int, names: set[str]) -> bool:
    texts = [word.text or "" for word in command.words]
    if not texts or any(one >= start for one in command.stdin_from):
        return bool(texts) or not command.redirections  # A pipe within the body feeds it, or it sets variables alone.
    if any(text == "-" or "stdin" in text or text.startswith(("/dev", "/proc")) for text in texts):
        return False
    if _has_input(command) or texts[0] in _SILENT or (texts[1:2] and texts[1] in _SILENT_SUBCOMMANDS.get(texts[0], ())):
        return True
    known = _READS_FILE.get(texts[0])
    if known is None or command.words[-1].form not in names:
        return False
    options = texts[1:-1]
    if texts[0] in _TAKES_TEXT and (not options or options.pop().startswith("-")):
        return False
    return not options or re.fullmatch(rf"(?:{known.pattern})(?: (?:{known.pattern}))*", " ".join(options)) is not None
