"""Commands that programs unknown to the floor may start, in words that no table declares harmless.

A program without a table may start any command among its words, and run any text in them. For a program with a table, only
the words that a rule has to mention are checked. Values of variables that are set for a program may be commands, too.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from toolcharter._lazy import lazy
from toolcharter.guards.shell.floor.code_patterns import texts_in
from toolcharter.guards.shell.floor.context import Call, Scene, base_name
from toolcharter.guards.shell.floor.data_sources import INTERPRETERS, SHELLS, language
from toolcharter.guards.shell.floor.destructive_programs import MAKERS, RULES, SYSTEM
from toolcharter.guards.shell.floor.embedded_commands import SETTERS
from toolcharter.guards.shell.nodes import Command, Word
from toolcharter.guards.shell.programs.launchers import CONTAINERS, LAUNCHERS, started_words
from toolcharter.guards.shell.programs.tables import CORE

if TYPE_CHECKING:
    from toolcharter.guards.shell.programs import requirements
else:
    requirements = lazy("toolcharter.guards.shell.programs.requirements")

_TOLD_BY_NAME = SHELLS - {"fish", "nu"} | frozenset(
    """rm srm grm unlink shred dd wipefs chmod chown chgrp truncate busybox toybox sudo doas cmake""".split()
)
"""Names of programs that are unlikely to be plain words: they suffice to take a text for a command."""
_SAYERS = frozenset(
    """tldr apropos whatis info help cheat howdoi say espeak figlet toilet cowsay logger wall notify-send hash type history
    alias complete compgen bind set shopt pgrep pidof whereis trash""".split()
)
"""Programs without a table that only search for, print or store their words."""
_ELSEWHERE = frozenset({"git", "make", "gmake", "remake", "parallel", "emacs", "emacsclient"})
"""Programs whose words another check parses by position."""
_RUN_SETTING = re.compile(
    r"PS4|(?:.*_)?(?:CMD|COMMAND|RUNNER|WRAPPER|EXEC|PAGER|EDITOR|BROWSER|SHELL|SSH|RSH|HOOK|FLAGS|OPTS|OPTIONS|TOOL|ASKPASS"
    r"|CC|CXX|LD|AR|LINKER|VALUE_[0-9]+|PARAMETERS)"
)
"""Variables whose value a later program may run."""
_PREFIX = re.compile(r"-{0,2}[A-Za-z_][\w.-]*[=:]")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*\+?=")
_STARTS = frozenset({"--", "exec", "run", "do", "shell"})
_MAX_CHARS = 10_000
_MAX_TAILS = 16
_SHORT = 80
"""The longest word whose result is cached, in characters."""


def is_other(name: str) -> bool:
    """Whether a program is unknown, so that its words may be commands."""
    return not (name in _SAYERS or name in SHELLS or _is_contained(name) or CORE.find(name) is not None)


def _is_contained(name: str) -> bool:
    return name in CONTAINERS or language(name) in INTERPRETERS


def is_telling(word: Word) -> bool:
    """Whether a word may hold a whole command."""
    return " " in (word.text or "") or "\n" in (word.text or "")


def started(call: Call, scene: Scene) -> str | None:
    """`pee TEXT`, `new-launcher -- rm -rf /`, `go test -exec TEXT`, `x --on-change=TEXT`."""
    name, words = call.name, call.command.words
    if language(name) == "python":
        return _module(call, scene)
    if name in scene.script.functions or name in _SAYERS or name in _ELSEWHERE or name in SHELLS or _is_contained(name):
        return None
    is_path = "/" in (words[0].text or "") and not (words[0].text or "").startswith("/")
    if is_path or CORE.find(name) is None:
        inner = started_words(name, words)
        own = words[: len(words) - len(inner)]
        return _of_tails(own, call, scene) or _of_texts((*own[1:], *inner[:1]), scene)
    is_joined = name not in LAUNCHERS or LAUNCHERS[name].is_text
    own = words if is_joined else words[: len(words) - len(started_words(name, words)) + 1]
    return _of_known(call, scene) if one_may_begin(own[1:]) and not _starts_more(own) else None


def _starts_more(own: tuple[Word, ...]) -> bool:
    """Whether the last word of a launcher is another launcher, which is checked separately."""
    return base_name(own[-1].text or "") in LAUNCHERS and not one_may_begin(own[1:-1])


def _module(call: Call, scene: Scene) -> str | None:
    """`python3 -m poetry run TEXT`: a module that is a program."""
    texts = call.texts
    at = texts.index("-m") + 2 if "-m" in texts and len(texts) + 1 == len(call.command.words) else 0
    rest = call.command.words[at:] if at else ()
    return scene.of_command(call.command._replace(words=rest, assignments=())) if len(rest) > 1 else None


def may_begin(word: Word) -> bool:
    """Whether *word* holds a command, or begins one."""
    return is_telling(word) or base_name(word.text or "") in _TOLD_BY_NAME


def one_may_begin(words: Iterable[Word]) -> bool:
    """Whether one of *words* may begin a command. It is called for every word of every line, so results are cached."""
    for word in words:
        text = word.text
        if text and (_may_begin(text) if len(text) < _SHORT else may_begin(word)):
            return True
    return False


@lru_cache(4096)
def _may_begin(text: str) -> bool:
    return may_begin(Word(text, text))


def set_for(command: Command, scene: Scene) -> str | None:
    """`RUSTC_WRAPPER=TEXT cargo build`, `env PS4='$(TEXT)' bash -x s`."""
    given = [one.value.text or "" for one in command.assignments if command.words]
    return next((why for text in given for one in _readings(text) if (why := scene.of_text(one))), None)


def set_by(call: Call, scene: Scene) -> str | None:
    """`export CC=TEXT`, `env GIT_CONFIG_VALUE_0='!TEXT' git x`."""
    if call.name not in SETTERS:
        return None
    is_now = call.name in {"env", "sudo", "doas"}
    words = call.command.words
    own = words[1 : len(words) - len(started_words(call.name, words))]
    given = ((word.text or "").partition("=")[::2] for word in own if _ASSIGNED.match(word.text or ""))
    texts = (text for name, text in given if is_now or text[:1] == "!" or _RUN_SETTING.fullmatch(name))
    return next((why for text in texts for one in _readings(text) if (why := scene.of_text(one))), None)


def _of_known(call: Call, scene: Scene) -> str | None:
    """Check the words of a program with a table that a rule has to mention, and the words behind such options."""
    known = (reading for command, reading in scene.readings if command is call.command)
    reading = next(known, None) or requirements.read(call.command, workspace=scene.places.workspace)
    needs = {need.form for need in reading.demand.needs}
    words = call.command.words
    if any(need.why.endswith(requirements.UNKNOWN_SUBCOMMAND) for need in reading.demand.needs):
        return _of_tails(words, call, scene) or _of_texts(words[1:], scene)
    asked = [at for at in range(1, len(words)) if words[at].form in needs or _is_value(words[at - 1], needs)]
    why = _of_texts(tuple(words[at] for at in asked), scene)
    if why is not None or reading.inner or reading.scripts or not needs:
        return why
    starts = [
        at for at in range(1, len(words)) if may_begin(words[at]) and (at in asked or words[at - 1].text in _STARTS)
    ][:_MAX_TAILS]
    tails = (call.command._replace(words=words[at:], redirections=(), assignments=()) for at in starts)
    return next((why for tail in tails if (why := scene.of_command(tail)) is not None), None)


def _is_value(before: Word, needs: set[str]) -> bool:
    return before.form in needs and before.form.startswith("-")


def _of_tails(words: tuple[Word, ...], call: Call, scene: Scene) -> str | None:
    """Why a command that begins with one of *words* is catastrophic."""
    tails = 0
    for at, word in enumerate(words[1:], 1):
        if not _begins(word, words[at - 1]) or (at > 1 and _starts(words[at - 1 : at + 1])):
            continue
        tails += 1
        if tails > _MAX_TAILS:
            return "holds more commands among its words than anybody reads"
        if (
            why := scene.of_command(call.command._replace(words=words[at:], redirections=(), assignments=()))
        ) is not None:
            return why
    return None


def _starts(words: tuple[Word, ...]) -> bool:
    """Whether the first of two words is a launcher of the second: then the started program is checked with it."""
    return bool(started_words(base_name(words[0].text or ""), words))


def _begins(word: Word, before: Word) -> bool:
    if not word.text or word.text.startswith("-"):
        return False
    name = base_name(word.text)
    is_known = name in LAUNCHERS or name in _TOLD_BY_NAME or name.startswith(MAKERS)
    return (
        (is_known and name not in {"start", "time", "command"})
        or before.text == "--"
        or word.text.startswith(("/bin/", "/sbin/", "/usr/"))
    )


def _of_texts(words: tuple[Word, ...], scene: Scene) -> str | None:
    texts = (text for word in words if is_telling(word) for text in _readings(word.text or ""))
    return next((why for text in texts if (why := scene.of_text(text)) is not None and not _is_prose(text, why)), None)


def _is_prose(text: str, why: str) -> bool:
    """Whether a text only looks like a command: `deploy done; reboot not needed`."""
    first = base_name(next(iter(text.replace(";", " ").split()), ""))
    is_program = first in RULES or first in LAUNCHERS or first in _TOLD_BY_NAME or CORE.find(first) is not None
    return why.startswith(SYSTEM) and ";" in text and not is_program


def _readings(text: str) -> Iterator[str]:
    """The parts of a text with blanks that a shell may run: all of it, the text behind a separator, in parentheses, in quotes."""
    if len(text) > _MAX_CHARS or not (" " in text or "\n" in text or "$" in text):
        return
    yield text.lstrip("|!@:= ")
    if found := _PREFIX.match(text):
        value = text[found.end() :].lstrip("|!= ")
        yield value
        # `EXEC:rm -rf /,pty`, `template:target:rm -rf /`.
        yield value.partition(",")[0]
        yield value.rpartition(":")[2].lstrip("= ")
    if "(" in text:
        yield text.partition("(")[2].rpartition(")")[0].strip("\"'`")
        yield from (one for one in texts_in(text) if " " in one)
    elif "{" in text:
        yield text.partition("{")[2].rpartition("}")[0]
