"""Decides whether a command sets only the variables that its words name: it runs no text and computes no names.

Source: bash(1), "SHELL BUILTIN COMMANDS".
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

from toolcharter.guards.shell.nodes import CHECKED_NAME, Command, Word
from toolcharter.guards.shell.parse.cwd import only_prints_message
from toolcharter.guards.shell.parse.word_parts import SET_MARK
from toolcharter.guards.shell.setters import variables_set_by

# They run text that may set any variable, or evaluate names that the line computes.
_ALTERERS: Final = frozenset(
    {
        *("eval", "source", ".", "trap", "alias", "enable", "builtin", "command"),
        *("wait", "let", "mapfile", "readarray", "getopts", "coproc", "set", "shopt"),
    }
)
_GLOB_SETTINGS: Final = frozenset({"nullglob", "failglob", "globstar"})
_EVALUATING: Final = frozenset({"-v", "-R"})
_HARMLESS_SETTINGS: Final = re.compile(r"[-+][euvx]+o?|pipefail|errexit|nounset|verbose|xtrace|[-+]o")


def sets_only_named_variables(command: Command) -> bool:
    """Whether the words of *command* contain the name of each variable that it sets."""
    if any("{" in one.descriptor for one in command.redirections):
        return False
    if not command.words or variables_set_by(command.words) is not None:
        return True
    name, words = command.words[0].text, command.words[1:]
    if name in _ARGUMENT_CHECKS:
        return _ARGUMENT_CHECKS[name](words)
    return name is not None and name not in _ALTERERS


def sets_options(words: Sequence[Word]) -> bool:
    """Whether the arguments *words* of `set` only turn on harmless options: they set neither `$1` nor how bash expands words."""
    return all(_HARMLESS_SETTINGS.fullmatch(word.text or "") for word in words)


def _tests_plainly(words: Sequence[Word]) -> bool:
    """Whether `test` with the arguments *words* evaluates no name."""
    return all(
        (_stays_one_word(word) and word.text not in _EVALUATING)
        or (word.text == "-v" and [one.named_by for one in words[at + 1 : at + 2]] == [CHECKED_NAME])
        for at, word in enumerate(words)
    )


def _are_plain_names(words: Sequence[Word]) -> bool:
    """Whether all arguments of `read` or a similar builtin are plain names."""
    return all(map(_is_plain_name, words))


def _unsets_plainly(words: Sequence[Word]) -> bool:
    """Whether all arguments of `unset` are plain names, or elements of arrays whose subscripts are not evaluated."""
    return all(_is_plain_name(word) or word.named_by == CHECKED_NAME for word in words)


def _declares_plainly(words: Sequence[Word]) -> bool:
    """Whether all arguments of `declare` or a similar builtin are plain names, without options that change their meaning."""
    return _are_plain_names(words) and not _has_options(words)


def _only_prints(words: Sequence[Word]) -> bool:
    """Whether `printf` with these arguments only prints and sets no variable."""
    return not _has_options(words[:1]) or [word.text for word in words[:1]] == ["--"]


def _only_looks_up(words: Sequence[Word]) -> bool:
    """Whether `command` only looks up a name: `command -v NAME`."""
    return [word.text for word in words[:1]] in (["-v"], ["-V"]) and not words[2:]


def _changes_only_globs(words: Sequence[Word]) -> bool:
    """Whether `shopt` changes only which names a glob matches."""
    return len(words) > 1 and words[0].text in {"-s", "-u"} and all(word.text in _GLOB_SETTINGS for word in words[1:])


def _runs_at_the_end(words: Sequence[Word]) -> bool:
    """Whether the source that `trap` gets runs only after all other commands, or only prints a message."""
    if not all(word.is_literal for word in words):
        return False
    return [word.text for word in words[1:]] in (["EXIT"], ["0"]) or only_prints_message([word.text for word in words])


def _waits_plainly(words: Sequence[Word]) -> bool:
    """Whether `wait` gets no option that names a variable."""
    return not _has_options(words)


def _is_plain_name(word: Word) -> bool:
    return word.text is not None and "[" not in word.text


def _has_options(words: Sequence[Word]) -> bool:
    return any((word.text or "-").startswith("-") for word in words)


def _stays_one_word(word: Word) -> bool:
    """Whether *word* cannot become several words, such as an operator and its operand."""
    return not word.splits or (len(word.parts) == 1 and word.parts[0].name.startswith(SET_MARK))


_ARGUMENT_CHECKS: Final[dict[str | None, Callable[[Sequence[Word]], bool]]] = {
    "command": _only_looks_up,
    "printf": _only_prints,
    "set": sets_options,
    "shopt": _changes_only_globs,
    "trap": _runs_at_the_end,
    "wait": _waits_plainly,
    **dict.fromkeys(("test", "[", "[["), _tests_plainly),
    "read": _are_plain_names,
    "unset": _unsets_plainly,
    **dict.fromkeys(("export", "readonly", "declare", "typeset", "local"), _declares_plainly),
}
"""For each builtin, the check of its arguments that has to pass for it to set only the variables that they name."""
