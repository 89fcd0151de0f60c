"""Replaces `{name}` in the words of a record. It works in one pass: a value is never searched for placeholders."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from toolcharter import Denied, Reason, ToolError
from toolcharter_service.registry.reasons import RunReason

_PLACEHOLDER: Final = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


def placeholder_names(args: Sequence[str]) -> tuple[str, ...]:
    """Return the names of all placeholders, without duplicates."""
    return tuple(dict.fromkeys(found for word in args for found in _PLACEHOLDER.findall(word)))


def fill_placeholders(
    args: Sequence[str], values: Mapping[str, Any], *, may_begin_with_dash: Collection[str] = ()
) -> tuple[str, ...]:
    """Replace the placeholders in the words: by text unchanged, by any other value as JSON.

    Args:
        args: The words.
        values: The values by name.
        may_begin_with_dash: The names of values that may begin a word with `-`.

    Raises:
        ToolError: `invalid_arguments`, for a placeholder without a value.
        Denied: `leading_dash_not_allowed`, for a value that a program would read as an option.
    """
    return tuple(_fill_word(text, values, may_begin_with_dash) for text in args)


def _fill_word(text: str, values: Mapping[str, Any], may_begin_with_dash: Collection[str]) -> str:
    parts = list(_fill_parts(text, values))
    made = "".join(part for _, part in parts)
    # An empty value does not begin the word; the next part does.
    name = next((name for name, part in parts if part), "")
    if name and name not in may_begin_with_dash:
        refuse_leading_dash(made, name)
    return made


def _fill_parts(text: str, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the parts of a word, each with its placeholder's name; the name is empty for plain text."""
    for index, part in enumerate(_PLACEHOLDER.split(text)):
        if index % 2:
            yield part, as_text(part, values)
        else:
            yield "", part


def as_text(name: str, values: Mapping[str, Any]) -> str:
    """Convert a value to text for a program.

    Raises:
        ToolError: `invalid_arguments`, if the value is missing or contains NUL.
    """
    value = values.get(name)
    if value is None:
        raise ToolError(f"{name} required", reason=Reason.INVALID_ARGUMENTS)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if "\0" in text:
        raise ToolError(f"{name} holds NUL, which no program can be passed", reason=Reason.INVALID_ARGUMENTS)
    return text


def refuse_leading_dash(word: str, name: str) -> None:
    """Refuse a word that a program would read as an option.

    Raises:
        Denied: `leading_dash_not_allowed`.
    """
    if word.startswith("-"):
        raise Denied(
            RunReason.LEADING_DASH_NOT_ALLOWED,
            f"The argument {name!r} begins with '-', so a program would read it as an option.",
        )
