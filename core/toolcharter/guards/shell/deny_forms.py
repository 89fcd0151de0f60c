"""Other forms of a command that rules match: without what stands around it, or what it starts elsewhere."""

from collections.abc import Sequence
from typing import Final

from toolcharter.api.command import Requirement
from toolcharter.guards.shell.nodes import NOWHERE, Command, Reading, Word, quoted
from toolcharter.guards.shell.programs.launchers import STARTERS, contained_words, started_words

_TESTS: Final = frozenset({"[", "[["})
_OTHERWISE_WRITTEN: Final = _TESTS | STARTERS


def bare(command: Command, needs: Sequence[Requirement]) -> str | None:
    """The normal form without harmless redirections, and without assignments that are all harmless; None if it is the same.

    Of `[[ ... ]]`, as `test` has it.
    """
    if command.words and command.words[0].text == "[[":
        # The same conditions in bash's own words: what is not the same is unsupported.
        return " ".join(word.form for word in _test(command.words))
    if not command.words or not (command.assignments or command.redirections):
        return None
    named = {need.form for need in needs}
    is_set = any(assignment.form in named for assignment in command.assignments)
    kept = tuple(one for one in command.redirections if one.form not in NOWHERE)
    if not ((command.assignments and not is_set) or len(kept) < len(command.redirections)):
        return None
    return command._replace(assignments=command.assignments if is_set else (), redirections=kept).form


def deny_forms(command: Command, reading: Reading) -> tuple[str, ...]:
    """Further spellings of a command that rules of `deny` are matched with."""
    if not command.words:
        return ()
    words = command.words
    name = (words[0].text or "").rpartition("/")[2]
    is_plain = not (command.assignments or command.redirections or reading.leading) and words[0].text == name
    if is_plain and name not in _OTHERWISE_WRITTEN:
        return ()  # As most commands.
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
    """The words of `[` and `[[` as those of `test`."""
    end = -1 if words[-1].text in {"]", "]]"} else None
    return Word("test", "test", prefix="test"), *words[1:end]
