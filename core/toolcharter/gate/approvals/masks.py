"""A call as a person is shown it: secrets are masked, and each mask says how much it hides.

The scrubber takes for a quoted password what a shell takes for a command. So a mask must never hide what could be
code: such a call is not shown at all, and cannot be approved.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from toolcharter.guards.secrets import MASK, scrub_text, scrub_value

CODE_ARGUMENTS = frozenset({
    "cmd", "code", "command", "commands", "content", "diff", "expression", "html", "javascript", "new", "new_string",
    "new_text", "old", "old_string", "old_text", "patch", "program", "replacement", "script", "source", "sql", "stdin",
    "template",
})  # fmt: skip
"""Names of arguments whose text is run, or written where it may be run."""
_CODE = frozenset(";|&$(){}<>'\"`\\")


class Hidden(Exception):
    """A mask would hide from the person what could be code; the text says where."""


class ShownCall(NamedTuple):
    """What a person sees of a call."""

    args: dict[str, Any]
    commands: tuple[str, ...]
    is_masked: bool
    """Whether anything of it is hidden."""


def shown_call(args: Mapping[str, Any], commands: Sequence[str], *, runs_arguments: bool) -> ShownCall:
    """Mask the secrets of a call by `[12 characters masked]`.

    Args:
        args: Of JSON types.
        commands: What the call would run, each in normal form.
        runs_arguments: Any argument may be code, as those of a tool of kind `bash` are.

    Raises:
        Hidden: A mask could hide code, or the name of an argument.
    """
    masks = _Masks(runs_arguments)
    return ShownCall(masks.args(args), tuple(map(masks.command, commands)), masks.are_used)


class _Masks:
    def __init__(self, runs_arguments: bool) -> None:  # noqa: FBT001 - the one fact there is
        self._runs_arguments = runs_arguments
        self.are_used = False

    def args(self, args: Mapping[str, Any]) -> dict[str, Any]:
        scrubbed = scrub_value(dict(args))[0]
        _require_same_names(args, scrubbed)
        return {name: self._value(value, scrubbed[name], name) for name, value in args.items()}

    def command(self, command: str) -> str:
        return self._text(command, scrub_text(command)[0], "the command")

    def _value(self, value: Any, scrubbed: Any, name: str) -> Any:
        if isinstance(value, str) and isinstance(scrubbed, str):
            return self._text(value, scrubbed, name)
        if isinstance(value, Mapping) and isinstance(scrubbed, Mapping):
            _require_same_names(value, scrubbed)
            return {key: self._value(item, scrubbed[key], name) for key, item in value.items()}
        if isinstance(value, list | tuple) and isinstance(scrubbed, list | tuple) and len(value) == len(scrubbed):
            return [self._value(item, masked, name) for item, masked in zip(value, scrubbed, strict=True)]
        if value == scrubbed:
            return value
        whole = json.dumps(value, ensure_ascii=False)  # a number, or what nests too deep to be looked into
        return self._text(whole, MASK, name)

    def _text(self, text: str, scrubbed: str, name: str) -> str:
        if text == scrubbed:
            return text
        self.are_used = True
        shown, hidden = _announced(text, scrubbed, name)
        could_run = self._runs_arguments or name.casefold() in CODE_ARGUMENTS
        if could_run or not _CODE.isdisjoint(hidden) or not hidden.isprintable():
            raise Hidden(
                f"{len(hidden)} characters of {name!r} look like a secret, would be masked, and could be code."
            )
        return shown


def _require_same_names(given: Mapping[str, Any], scrubbed: Mapping[str, Any]) -> None:
    """Two names that are masked would look like one, and the value of one of them would be lost."""
    if list(given) != list(scrubbed):
        raise Hidden("The name of an argument looks like a secret and would be masked.")


def _announced(text: str, scrubbed: str, name: str) -> tuple[str, str]:
    """*scrubbed* with the length of what each mask hides, and all that is hidden.

    Which of several equal characters a mask hides does not matter: all masks together hide the same ones.
    """
    first, *others = scrubbed.split(MASK)
    last = others[-1] if others else ""
    position, end = len(first), len(text) - len(last)
    is_known = bool(others) and position <= end and text.startswith(first) and text.endswith(last)
    shown, hidden = [first], ""
    for number, piece in enumerate(others, 1):
        start = end if number == len(others) else text.find(piece, position, end)
        is_known = is_known and start >= 0
        if start > position:  # Two masks may touch.
            hidden += text[position:start]
            shown.append(f"[{start - position} characters masked]")
        shown.append(piece)
        position = start + len(piece)
    if not is_known:
        raise Hidden(f"{name!r} holds a secret, and how much of it would be masked is unknown.")
    return "".join(shown), hidden
