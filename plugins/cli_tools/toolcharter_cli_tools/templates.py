"""Templates: argument vectors with placeholders. Each placeholder is filled once, and a value never leaves its word."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

from toolcharter import Denied, Reason, ToolError
from toolcharter_cli_tools.bundles import UnusableTool

SKILL_DIR = "SKILL_DIR"
"""The name in a manifest for the manifest's own folder."""
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_OPEN_TEXT = re.compile(r'(?:[^"]|"(?:[^"\\]|\\.)*")*"(?:[^"\\]|\\.)*', re.DOTALL)
"""Matches JSON that ends inside a string."""
_QUOTED_PLACEHOLDER = re.compile(r"\{\{ *\.?[A-Za-z_][A-Za-z0-9_]* *\}\}")
_SHELL = re.compile(
    r"""(?P<space>[ \t]+)
      | (?P<place>\{\{\ *\.?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\ *\}\})
      | (?P<folder>\$SKILL_DIR\b|\$\{SKILL_DIR\})
      | '(?P<single>[^']*)'
      | "(?P<double>[^"\\$`!]*)"
      | \\(?P<escaped>[^\n])
      | (?P<plain>[A-Za-z0-9_./:=,@%+^-]+)""",
    re.VERBOSE,
)


class CliReason(StrEnum):
    """Why a tool from a folder or a profile refuses a call."""

    LEADING_DASH_NOT_ALLOWED = "leading_dash_not_allowed"


class Part(NamedTuple):
    """A part of a word: literal text, or a placeholder for a value."""

    text: str
    is_placeholder: bool = False


Word = tuple[Part, ...]


def parse_words(args: Sequence[str]) -> tuple[Word, ...]:
    """Parse an argument vector in which `{name}` is a placeholder."""
    return tuple(_parse_word(text) for text in args)


def _parse_word(text: str) -> Word:
    parts = [Part(found, bool(index % 2)) for index, found in enumerate(_PLACEHOLDER.split(text))]
    return tuple(part for part in parts if part.text)


def parse_line(line: str) -> tuple[Word, ...]:
    """Parse a shell line in which `{{name}}` or `{{.name}}` is a placeholder. No shell will run it.

    Raises:
        UnusableTool: `placeholder_in_quotes`; `shell_syntax`, if the line needs a shell.

    Source: POSIX.1-2017, Shell Command Language, 2.2 Quoting and 2.3 Token Recognition.
    """
    words: list[list[Part]] = [[]]
    is_open, at = False, 0
    while found := _SHELL.match(line, at):
        at = found.end()
        if found["space"]:
            words += [[]] if is_open else []
            is_open = False
        else:
            words[-1].append(_parse_part(found))
            is_open = True
    if at < len(line):
        raise UnusableTool("shell_syntax", f"the command contains {line[at]!r}, which needs a shell")
    return tuple(tuple(part for part in word if part.text) for word in (words if is_open else words[:-1]))


def _parse_part(found: re.Match[str]) -> Part:
    quoted = found["single"] or found["double"] or ""
    if _QUOTED_PLACEHOLDER.search(quoted):
        raise UnusableTool("placeholder_in_quotes", "a placeholder is in quotes, which would not quote its value")
    if found["place"]:
        return Part(found["name"], is_placeholder=True)
    if found["folder"]:
        return Part(SKILL_DIR, is_placeholder=True)
    return Part(quoted or found["escaped"] or found["plain"] or "")


def placeholder_names(words: Sequence[Word]) -> Iterator[str]:
    """Yield the names of all placeholders, each once."""
    yield from dict.fromkeys(part.text for word in words for part in word if part.is_placeholder)


def fill_words(words: Sequence[Word], values: Mapping[str, Any], dash_allowed: Collection[str]) -> list[str]:
    """Return the words with their values. A word that only consists of the placeholder of an absent value is left out.

    Args:
        words: The template.
        values: The values by name; None for an absent value.
        dash_allowed: The names of placeholders whose values may begin a word with `-`.

    Raises:
        Denied: `leading_dash_not_allowed`.
    """
    filled = list[str]()
    for word in words:
        if len(word) == 1 and word[0].is_placeholder and values.get(word[0].text) is None:
            continue
        inside = _find_json_strings(word)
        texts = [
            _format_in_json(values.get(part.text), in_text=inside[at])
            if inside and part.is_placeholder
            else format_value(values.get(part.text))
            if part.is_placeholder
            else part.text
            for at, part in enumerate(word)
        ]
        # After an empty value, the next part is the beginning of the word.
        first = next((part for part, text in zip(word, texts, strict=True) if text), None)
        if first is not None and first.is_placeholder and first.text not in dash_allowed:
            refuse_dash("".join(texts), first.text)
        filled.append("".join(texts))
    return filled


@lru_cache(256)
def _find_json_strings(word: Word) -> tuple[bool, ...]:
    """For a word that is JSON, whether each of its parts begins inside a JSON string; empty for any other word."""
    if len(word) < 2 or word[0].is_placeholder or word[0].text.lstrip()[:1] not in {"{", "["}:  # noqa: PLR2004 - a pair
        return ()
    inside, prefix = list[bool](), ""
    for part in word:
        inside.append(bool(_OPEN_TEXT.fullmatch(prefix)))
        prefix += ("x" if inside[-1] else "0") if part.is_placeholder else part.text
    try:
        json.loads(prefix)
    except ValueError:
        return ()
    return tuple(inside)


def _format_in_json(value: Any, *, in_text: bool) -> str:
    """*value* as JSON: as the inside of a string, or as a value of its own."""
    return (
        json.dumps(format_value(value), ensure_ascii=False)[1:-1] if in_text else json.dumps(value, ensure_ascii=False)
    )


def require_values(names: Sequence[str], values: Mapping[str, Any]) -> None:
    """Refuse a call without a value for one of *names*.

    Raises:
        ToolError: `invalid_arguments`.
    """
    for name in names:
        if values.get(name) is None:
            raise ToolError(f"missing required argument: {name}", reason=Reason.INVALID_ARGUMENTS)


def refuse_dash(text: str, name: str) -> None:
    """Refuse a word that begins with `-`, which a program would take for an option.

    Raises:
        Denied: `leading_dash_not_allowed`.
    """
    if text.startswith("-"):
        raise Denied(
            CliReason.LEADING_DASH_NOT_ALLOWED,
            f"The argument {name!r} begins with '-', so a program would take it for an option.",
            hint="The profile can allow it with `allow_dash: true`.",
        )


def format_value(value: Any) -> str:
    """Return a text as it is, an absent value as an empty text, and any other value as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def is_filler(value: Any) -> bool:
    """Return whether *value* is empty: models write such values into optional arguments that they mean to leave out."""
    if isinstance(value, str):
        return not value.strip()
    if isinstance(value, list | tuple):
        return all(map(is_filler, value))
    return value is None or value == {}
