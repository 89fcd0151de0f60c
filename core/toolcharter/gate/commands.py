"""From what a tool says it would run to the commands that rules see."""

from collections.abc import Iterable

from toolcharter.guards.shell.plain import NotUnderstood, of_line, of_vector
from toolcharter.policy.facts import Refusal
from toolcharter.spec.reasons import Reason


def understood(commands: Iterable[str | tuple[str, ...]]) -> tuple[tuple[str, ...], Refusal | None]:
    """Each command in normal form; or why the call is refused, if even one is not understood."""
    try:
        return tuple(map(_normal_form, commands)), None
    except NotUnderstood as error:
        return (), Refusal(Reason.NOT_UNDERSTOOD, str(error))


def _normal_form(command: object) -> str:
    if isinstance(command, str):
        return of_line(command)
    if isinstance(command, tuple) and all(isinstance(word, str) for word in command):
        return of_vector(command)
    raise NotUnderstood(f"A command is a line or a vector of words, not {type(command).__name__}.")
