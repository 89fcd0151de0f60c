"""Decides whether text that a program stores, such as a commit message, may hold the content of a file.

The gate masks secrets in what a program prints, but not in what it writes into history. So the commands whose output is
stored may print only text of the line itself, names, dates and numbers.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from toolcharter.api.command import Requirement
from toolcharter.guards.shell.nodes import Command, Reading, Word

_NAMERS: Final = frozenset(
    """: [ basename dirname du expr false find hostname id ls mktemp nproc printf echo pwd readlink realpath seq stat test
    true uname uuidgen wc whoami which""".split()
)
"""Programs that print only names, numbers and their own arguments."""
_FILTERS: Final = frozenset(
    """awk base64 bc cat column cut egrep fgrep fmt fold gawk grep head jq mawk nl paste rev sed sha256sum sort tac tail
    tr uniq""".split()
)
"""Programs that print what they read."""
_RECURSIVE: Final = re.compile(r"-[A-Za-z]*[rR]|--(?:dereference-)?recursive|--directories")
_GIT_NAMERS: Final = frozenset(
    """branch describe ls-files merge-base name-rev rev-list rev-parse symbolic-ref tag""".split()
)
_GIT_STATUS: Final = re.compile(r"-[sb]+|--(?:short|branch|porcelain)")
_GIT_SUMMARIES: Final = re.compile(r"--(?:(?:short|num)?stat|name-only|name-status)")
_GIT_LOG: Final = re.compile(
    r"-[0-9]+|-n|[0-9]+|--(?:oneline|no-merges|merges|reverse|first-parent|no-decorate|abbrev-commit|since=.*|format=.*"
    r"|pretty=.*|max-count=.*)|[A-Za-z0-9_@^~/][A-Za-z0-9_.@^~{}/-]*",
    re.DOTALL,
)
_CONTEXTS: Final = frozenset({"loop", "subshell", "substitution", "background"})


def requirements_of(at: int, commands: Sequence[Command], readings: Sequence[Reading]) -> Iterator[Requirement]:
    """The words of the command at position *at* that a rule has to mention, because they may store the content of a file."""
    command = commands[at]
    # A program that starts it, such as xargs, may give it words from any file.
    is_started = any(one not in _CONTEXTS for one in command.within)
    for word in readings[at].demand.kept:
        sources = command.stdin_from if word.text == "-" else command.substitutes
        is_told = word.text == "-" and _reads_literal_text(command)
        if is_started or not (is_told or (sources and _print_no_file_content(sources, commands, readings))):
            yield Requirement(word.form, f"{word.form} is kept, and may hold what a file says")


def _print_no_file_content(sources: Sequence[int], commands: Sequence[Command], readings: Sequence[Reading]) -> bool:
    left = [*sources]
    seen: set[int] = set()
    while left:
        at = left.pop()
        if at not in seen:
            seen.add(at)
            if not _prints_no_file_content(commands[at], readings[at]):
                return False
            left += (*commands[at].stdin_from, *commands[at].substitutes)
    return True


def _prints_no_file_content(command: Command, reading: Reading) -> bool:
    """Whether the output of one command holds no content of a file, provided that its input holds none."""
    demand = reading.demand
    if not command.words or demand.needs or reading.inner or reading.scripts or reading.runs_input:
        return False
    # A variable may hold input that `read` has read.
    if any(word.is_shown for word in command.words):
        return False
    name, words = command.words[0].text, [word.text or "" for word in command.words[1:]]
    if name in _NAMERS:
        return True
    if name == "git":
        return _git_prints_names(words)
    if name in _FILTERS:
        is_fed = bool(command.stdin_from) or _reads_literal_text(command)
        is_recursive = (name or "").endswith("grep") and any(map(_RECURSIVE.match, words))
        return is_fed and not demand.reaches and not is_recursive
    return name == "date" and not demand.reaches


def _git_prints_names(words: Sequence[str]) -> bool:
    subcommand, rest = "".join(words[:1]), words[1:]
    if subcommand == "diff":
        return any(map(_GIT_SUMMARIES.fullmatch, rest)) and not any(word[:2] in {"-p", "-u", "-U"} for word in rest)
    known = {"log": _GIT_LOG, "status": _GIT_STATUS}.get(subcommand)
    return subcommand in _GIT_NAMERS or (known is not None and all(map(known.fullmatch, rest)))


def _reads_literal_text(command: Command) -> bool:
    """Whether the input of the command is text of the line itself."""
    inputs = [one for one in command.redirections if one.operator.startswith("<") and one.descriptor in {"", "0"}]
    return bool(inputs) and inputs[-1].text is not None


# The trace of `set -x` -----------------------------------------------------------------------------------------------
# Bash prints each command with its expanded words and assignments. So a line that only tests or assigns a variable of the
# environment prints it in the trace, and it may be a secret. Source: bash(1), `set`, "PS4".

_TRACES: Final = re.compile(r"-[a-z]*x[a-z]*|xtrace")


def trace_requirements(at: int, commands: Sequence[Command]) -> tuple[Requirement, ...]:
    """The option of `set` at position *at* that a rule has to mention, if the trace would show a value that is not known."""
    words = commands[at].words
    if [word.text for word in words[:1]] != ["set"]:
        return ()
    tracing = [word for word in words[1:] if _TRACES.fullmatch(word.text or "")]
    if not tracing or all(map(_is_from_line, _words_in_trace(commands))):
        return ()
    return (Requirement(tracing[0].form, f"{tracing[0].form} shows values that cannot be determined"),)


def _words_in_trace(commands: Iterable[Command]) -> Iterable[Word]:
    for command in commands:
        yield from command.words
        yield from (one.value for one in command.assignments)


def _is_from_line(word: Word) -> bool:
    """Whether no part of *word* can be a variable that the environment has set."""
    if word.text is not None or word.pattern is not None:
        return True
    return word.is_output or word.is_shown or word.is_number or bool(word.named_by)
