"""Whether text that a program keeps, such as a commit message, may hold what a file says.

What a program prints is scrubbed of secrets; what it writes into history is not. So the commands whose output is kept
may say no more than the line itself, names, dates and numbers.
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
"""They print names and numbers, and the words that they are given."""
_FILTERS: Final = frozenset(
    """awk base64 bc cat column cut egrep fgrep fmt fold gawk grep head jq mawk nl paste rev sed sha256sum sort tac tail
    tr uniq""".split()
)
"""They print what they read."""
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


def needs_of(at: int, commands: Sequence[Command], readings: Sequence[Reading]) -> Iterator[Requirement]:
    """What of the command at position *at* a rule has to mention, because it may keep what a file says."""
    command = commands[at]
    # What starts it, such as xargs, may hand it words of any file.
    is_started = any(one not in _CONTEXTS for one in command.within)
    for word in readings[at].demand.kept:
        sources = command.stdin_from if word.text == "-" else command.substitutes
        is_told = word.text == "-" and _has_text(command)
        if is_started or not (is_told or (sources and _say_nothing_read(sources, commands, readings))):
            yield Requirement(word.form, f"{word.form} is kept, and may hold what a file says")


def _say_nothing_read(sources: Sequence[int], commands: Sequence[Command], readings: Sequence[Reading]) -> bool:
    left = [*sources]
    seen: set[int] = set()
    while left:
        at = left.pop()
        if at not in seen:
            seen.add(at)
            if not _says_nothing_read(commands[at], readings[at]):
                return False
            left += (*commands[at].stdin_from, *commands[at].substitutes)
    return True


def _says_nothing_read(command: Command, reading: Reading) -> bool:
    """Whether what one command prints tells nothing that stands in a file, if that is true of what it is fed."""
    demand = reading.demand
    if not command.words or demand.needs or reading.inner or reading.scripts or reading.runs_input:
        return False
    # A variable may hold what `read` has read.
    if any(word.is_shown for word in command.words):
        return False
    name, words = command.words[0].text, [word.text or "" for word in command.words[1:]]
    if name in _NAMERS:
        return True
    if name == "git":
        return _git_says_names(words)
    if name in _FILTERS:
        is_fed = bool(command.stdin_from) or _has_text(command)
        is_recursive = (name or "").endswith("grep") and any(map(_RECURSIVE.match, words))
        return is_fed and not demand.reaches and not is_recursive
    return name == "date" and not demand.reaches


def _git_says_names(words: Sequence[str]) -> bool:
    subcommand, rest = "".join(words[:1]), words[1:]
    if subcommand == "diff":
        return any(map(_GIT_SUMMARIES.fullmatch, rest)) and not any(word[:2] in {"-p", "-u", "-U"} for word in rest)
    known = {"log": _GIT_LOG, "status": _GIT_STATUS}.get(subcommand)
    return subcommand in _GIT_NAMERS or (known is not None and all(map(known.fullmatch, rest)))


def _has_text(command: Command) -> bool:
    """Whether the command reads text that stands in the line."""
    inputs = [one for one in command.redirections if one.operator.startswith("<") and one.descriptor in {"", "0"}]
    return bool(inputs) and inputs[-1].text is not None


# What `set -x` shows -------------------------------------------------------------------------------------------------
# Each command with its words and assignments as they are expanded: a line that prints nothing of a variable of the environment
# may still test it or assign it, and then its trace shows a secret. Source: bash(1), `set`, "PS4".

_TRACES: Final = re.compile(r"-[a-z]*x[a-z]*|xtrace")


def traced_by(at: int, commands: Sequence[Command]) -> tuple[Requirement, ...]:
    """What a rule has to mention of the command at position *at*, if it has bash show what cannot be determined."""
    words = commands[at].words
    if [word.text for word in words[:1]] != ["set"]:
        return ()
    tracing = [word for word in words[1:] if _TRACES.fullmatch(word.text or "")]
    if not tracing or all(map(_is_told, _shown(commands))):
        return ()
    return (Requirement(tracing[0].form, f"{tracing[0].form} shows values that cannot be determined"),)


def _shown(commands: Iterable[Command]) -> Iterable[Word]:
    for command in commands:
        yield from command.words
        yield from (one.value for one in command.assignments)


def _is_told(word: Word) -> bool:
    """Whether nothing in *word* may be a variable that the line has found."""
    if word.text is not None or word.pattern is not None:
        return True
    return word.is_output or word.is_shown or word.is_number or bool(word.named_by)
