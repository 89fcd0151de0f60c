"""Other spellings of a command that rules match: without redirections or assignments, or only the command that it starts."""

from collections.abc import Sequence
from typing import Final

from toolcharter.api.command import Requirement
from toolcharter.guards.shell.nodes import HARMLESS_REDIRECTIONS, Command, Reading, Word, quoted
from toolcharter.guards.shell.programs.launchers import STARTERS, contained_words, started_words

_TESTS: Final = frozenset({"[", "[["})
_OTHERWISE_WRITTEN: Final = _TESTS | STARTERS


def bare(command: Command, needs: Sequence[Requirement]) -> str | None:
    """The normal form without harmless redirections, and without assignments if all are harmless; None if it is the same.

    For `[[ ... ]]` it is the same condition as a `test` command.
    """
    if command.words and command.words[0].text == "[[":
        # The parser refuses conditions of `[[` that mean something else to `test`.
        return " ".join(word.form for word in _test(command.words))
    if not command.words or not (command.assignments or command.redirections):
        return None
    named = {need.form for need in needs}
    is_set = any(assignment.form in named for assignment in command.assignments)
    kept = tuple(one for one in command.redirections if one.form not in HARMLESS_REDIRECTIONS)
    if not ((command.assignments and not is_set) or len(kept) < len(command.redirections)):
        return None
    return command._replace(assignments=command.assignments if is_set else (), redirections=kept).form


def deny_forms(command: Command, reading: Reading) -> tuple[str, ...]:
    """Other spellings of the command that deny rules also match.

    They leave out assignments and redirections, the path before the program's name, or options before the subcommand; `[` and
    `[[` become `test`.
    """
    if not command.words:
        return ()
    words = command.words
    name = (words[0].text or "").rpartition("/")[2]
    is_plain = not (command.assignments or command.redirections or reading.leading) and words[0].text == name
    if is_plain and name not in _OTHERWISE_WRITTEN:
        return ()  # The common case.
    found = [words] if command.assignments or command.redirections else []
    if name and name != words[0].text:
        words = (Word(quoted(name), name, prefix=name), *words[1:])
        found.append(words)
    if reading.leading:
        found.append((words[0], *words[1 + reading.leading :]))
    if name in _TESTS:
        found.append(_test(words))
    if name in STARTERS and not reading.inner and (inner := contained_words(name, words) or started_words(name, words)):
        found.append(inner)
    return tuple([" ".join([word.form for word in one]) for one in found])


def _test(words: Sequence[Word]) -> tuple[Word, ...]:
    """Turn the words of `[` or `[[` into those of `test`."""
    end = -1 if words[-1].text in {"]", "]]"} else None
    return Word("test", "test", prefix="test"), *words[1:end]
