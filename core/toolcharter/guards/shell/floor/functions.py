"""What functions of a script run once they are called: their commands, with the words of the call in place of `$1`."""

from collections.abc import Iterator

from toolcharter.guards.shell.floor.context import Scene
from toolcharter.guards.shell.nodes import Command, Word


def called(scene: Scene) -> Iterator[Command]:
    """The commands of functions that look at what they are called with, once for each call."""
    for call in scene.script.commands:
        name = (call.words[0].text or "") if call.words else ""
        if name not in scene.script.functions:
            continue
        for command in scene.script.commands:
            if f"function {name}" in command.within and any("$" in word.form for word in command.words):
                yield command._replace(words=tuple(_given(command.words, call.words)))


def _given(words: tuple[Word, ...], given: tuple[Word, ...]) -> Iterator[Word]:
    """*words* of a function that is called with *given*, whose first word is its name."""
    places = {f"{mark}": word for at, word in enumerate(given) if at for mark in (f"${at}", f"${{{at}}}")}
    for word in words:
        bare = word.form.strip('"')
        if bare in {"$@", "$*", "${@}", "${*}"}:
            yield from given[1:]
        elif bare in places:
            yield places[bare]
        else:
            yield word
