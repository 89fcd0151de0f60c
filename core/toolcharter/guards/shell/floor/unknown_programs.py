"""Commands that programs unknown to the floor may start, in words that no table declares harmless.

A program without a table may start any command among its words, and run any text in them. For a program with a table, only
the words that a rule has to mention are checked. Values of variables that are set for a program may be commands, too.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from toolcharter._lazy import lazy
from toolcharter.guards.shell.floor.code_patterns import quoted_texts
from toolcharter.guards.shell.floor.context import Call, Context, base_name
from toolcharter.guards.shell.floor.data_sources import INTERPRETERS, SHELLS, without_version
from toolcharter.guards.shell.floor.destructive_programs import DISABLES_SYSTEM, FILE_SYSTEM_MAKERS, PROGRAM_RULES
from toolcharter.guards.shell.floor.embedded_commands import VARIABLE_SETTERS
from toolcharter.guards.shell.nodes import Command, Word
from toolcharter.guards.shell.programs.launchers import CONTAINERS, LAUNCHERS, started_words
from toolcharter.guards.shell.programs.tables import CORE_TABLES

if TYPE_CHECKING:
    from toolcharter.guards.shell.programs import requirements
else:
    requirements = lazy("toolcharter.guards.shell.programs.requirements")

_UNMISTAKABLE_NAMES = SHELLS - {"fish", "nu"} | frozenset(
    """rm srm grm unlink shred dd wipefs chmod chown chgrp truncate busybox toybox sudo doas cmake""".split()
)
"""Names of programs that are unlikely to be plain words: they suffice to take a text for a command."""
_HARMLESS_PROGRAMS = frozenset(
    """tldr apropos whatis info help cheat howdoi say espeak figlet toilet cowsay logger wall notify-send hash type history
    alias complete compgen bind set shopt pgrep pidof whereis trash""".split()
)
"""Programs without a table that only search for, print or store their words."""
_CHECKED_ELSEWHERE = frozenset({"git", "make", "gmake", "remake", "parallel", "emacs", "emacsclient"})
"""Programs whose words another check parses by position."""
_COMMAND_VARIABLE = re.compile(
    r"PS4|(?:.*_)?(?:CMD|COMMAND|RUNNER|WRAPPER|EXEC|PAGER|EDITOR|BROWSER|SHELL|SSH|RSH|HOOK|FLAGS|OPTS|OPTIONS|TOOL|ASKPASS"
    r"|CC|CXX|LD|AR|LINKER|VALUE_[0-9]+|PARAMETERS)"
)
"""Variables whose value a later program may run."""
_OPTION_NAME = re.compile(r"-{0,2}[A-Za-z_][\w.-]*[=:]")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_STARTS = frozenset({"--", "exec", "run", "do", "shell"})
_MAX_CHARS = 10_000
_MAX_TAILS = 16
_SHORT = 80
"""The longest word whose result is cached, in characters."""


def is_unknown(name: str) -> bool:
    """Whether a program is unknown, so that its words may be commands."""
    return not (
        name in _HARMLESS_PROGRAMS or name in SHELLS or _has_own_check(name) or CORE_TABLES.find(name) is not None
    )


def _has_own_check(name: str) -> bool:
    return name in CONTAINERS or without_version(name) in INTERPRETERS


def may_hold_command(word: Word) -> bool:
    """Whether a word may hold a whole command."""
    return " " in (word.text or "") or "\n" in (word.text or "")


def check_started(call: Call, context: Context) -> str | None:
    """`pee TEXT`, `new-launcher -- rm -rf /`, `go test -exec TEXT`, `x --on-change=TEXT`."""
    name, words = call.name, call.command.words
    if without_version(name) == "python":
        return _check_module(call, context)
    if (
        name in context.script.functions
        or name in _HARMLESS_PROGRAMS
        or name in _CHECKED_ELSEWHERE
        or name in SHELLS
        or _has_own_check(name)
    ):
        return None
    is_path = "/" in (words[0].text or "") and not (words[0].text or "").startswith("/")
    if is_path or CORE_TABLES.find(name) is None:
        inner = started_words(name, words)
        own = words[: len(words) - len(inner)]
        return _check_tails(own, call, context) or _check_texts((*own[1:], *inner[:1]), context)
    is_joined = name not in LAUNCHERS or LAUNCHERS[name].is_text
    own = words if is_joined else words[: len(words) - len(started_words(name, words)) + 1]
    return (
        _check_known_program(call, context) if any_may_start_command(own[1:]) and not _ends_with_launcher(own) else None
    )


def _ends_with_launcher(own: tuple[Word, ...]) -> bool:
    """Whether the last word of a launcher is another launcher, which is checked separately."""
    return base_name(own[-1].text or "") in LAUNCHERS and not any_may_start_command(own[1:-1])


def _check_module(call: Call, context: Context) -> str | None:
    """`python3 -m poetry run TEXT`: a module that is a program."""
    texts = call.texts
    at = texts.index("-m") + 2 if "-m" in texts and len(texts) + 1 == len(call.command.words) else 0
    rest = call.command.words[at:] if at else ()
    return context.check_command(call.command._replace(words=rest, assignments=())) if len(rest) > 1 else None


def may_start_command(word: Word) -> bool:
    """Whether *word* holds a command, or begins one."""
    return may_hold_command(word) or base_name(word.text or "") in _UNMISTAKABLE_NAMES


def any_may_start_command(words: Iterable[Word]) -> bool:
    """Whether one of *words* may begin a command. It is called for every word of every line, so results are cached."""
    for word in words:
        text = word.text
        if text and (_may_start_command(text) if len(text) < _SHORT else may_start_command(word)):
            return True
    return False


@lru_cache(4096)
def _may_start_command(text: str) -> bool:
    return may_start_command(Word(text, text))


def check_assignments(command: Command, context: Context) -> str | None:
    """`RUSTC_WRAPPER=TEXT cargo build`, `env PS4='$(TEXT)' bash -x s`."""
    given = [one.value.text or "" for one in command.assignments if command.words]
    return next((why for text in given for one in _possible_sources(text) if (why := context.check_source(one))), None)


def check_setters(call: Call, context: Context) -> str | None:
    """`export CC=TEXT`, `env GIT_CONFIG_VALUE_0='!TEXT' git x`."""
    if call.name not in VARIABLE_SETTERS:
        return None
    is_now = call.name in {"env", "sudo", "doas"}
    words = call.command.words
    own = words[1 : len(words) - len(started_words(call.name, words))]
    given = ((word.text or "").partition("=")[::2] for word in own if _ASSIGNMENT.match(word.text or ""))
    texts = (text for name, text in given if is_now or text[:1] == "!" or _COMMAND_VARIABLE.fullmatch(name))
    return next((why for text in texts for one in _possible_sources(text) if (why := context.check_source(one))), None)


def _check_known_program(call: Call, context: Context) -> str | None:
    """Check the words of a program with a table that a rule has to mention, and the words behind such options."""
    known = (reading for command, reading in context.readings if command is call.command)
    reading = next(known, None) or requirements.read_command(call.command, workspace=context.paths.workspace)
    needs = {need.form for need in reading.demand.needs}
    words = call.command.words
    if any(need.why.endswith(requirements.UNKNOWN_SUBCOMMAND) for need in reading.demand.needs):
        return _check_tails(words, call, context) or _check_texts(words[1:], context)
    asked = [at for at in range(1, len(words)) if words[at].form in needs or _is_option_value(words[at - 1], needs)]
    why = _check_texts(tuple(words[at] for at in asked), context)
    if why is not None or reading.inner or reading.scripts or not needs:
        return why
    starts = [
        at
        for at in range(1, len(words))
        if may_start_command(words[at]) and (at in asked or words[at - 1].text in _STARTS)
    ][:_MAX_TAILS]
    tails = (call.command._replace(words=words[at:], redirections=(), assignments=()) for at in starts)
    return next((why for tail in tails if (why := context.check_command(tail)) is not None), None)


def _is_option_value(before: Word, needs: set[str]) -> bool:
    return before.form in needs and before.form.startswith("-")


def _check_tails(words: tuple[Word, ...], call: Call, context: Context) -> str | None:
    """Why a command that begins with one of *words* is catastrophic."""
    tails = 0
    for at, word in enumerate(words[1:], 1):
        if not _begins_command(word, words[at - 1]) or (at > 1 and _is_launcher_of(words[at - 1 : at + 1])):
            continue
        tails += 1
        if tails > _MAX_TAILS:
            return "holds more commands among its words than anybody reads"
        if (
            why := context.check_command(call.command._replace(words=words[at:], redirections=(), assignments=()))
        ) is not None:
            return why
    return None


def _is_launcher_of(words: tuple[Word, ...]) -> bool:
    """Whether the first of two words is a launcher of the second: then the started program is checked with it."""
    return bool(started_words(base_name(words[0].text or ""), words))


def _begins_command(word: Word, before: Word) -> bool:
    if not word.text or word.text.startswith("-"):
        return False
    name = base_name(word.text)
    is_known = name in LAUNCHERS or name in _UNMISTAKABLE_NAMES or name.startswith(FILE_SYSTEM_MAKERS)
    return (
        (is_known and name not in {"start", "time", "command"})
        or before.text == "--"
        or word.text.startswith(("/bin/", "/sbin/", "/usr/"))
    )


def _check_texts(words: tuple[Word, ...], context: Context) -> str | None:
    texts = (text for word in words if may_hold_command(word) for text in _possible_sources(word.text or ""))
    return next(
        (why for text in texts if (why := context.check_source(text)) is not None and not _is_prose(text, why)), None
    )


def _is_prose(text: str, why: str) -> bool:
    """Whether a text only looks like a command: `deploy done; reboot not needed`."""
    first = base_name(next(iter(text.replace(";", " ").split()), ""))
    is_program = (
        first in PROGRAM_RULES
        or first in LAUNCHERS
        or first in _UNMISTAKABLE_NAMES
        or CORE_TABLES.find(first) is not None
    )
    return why.startswith(DISABLES_SYSTEM) and ";" in text and not is_program


def _possible_sources(text: str) -> Iterator[str]:
    """The parts of a text with blanks that a shell may run: all of it, the text behind a separator, in parentheses, in quotes."""
    if len(text) > _MAX_CHARS or not (" " in text or "\n" in text or "$" in text):
        return
    yield text.lstrip("|!@:= ")
    if found := _OPTION_NAME.match(text):
        value = text[found.end() :].lstrip("|!= ")
        yield value
        # `EXEC:rm -rf /,pty`, `template:target:rm -rf /`.
        yield value.partition(",")[0]
        yield value.rpartition(":")[2].lstrip("= ")
    if "(" in text:
        yield text.partition("(")[2].rpartition(")")[0].strip("\"'`")
        yield from (one for one in quoted_texts(text) if " " in one)
    elif "{" in text:
        yield text.partition("{")[2].rpartition("}")[0]
