"""Reads the keys that a file of git settings sets, without git. Pure, linear and strict: it refuses unusual syntax.

Source: git-config(1), "CONFIGURATION FILE", and config.c of git 2.39.
"""

import re
from collections.abc import Iterator
from typing import Final

_SECTION: Final = re.compile(r'\[[ \t]*([A-Za-z0-9.-]+)[ \t]*(?:[ \t]"((?:[^"\\\n]|\\[^\n])*)")?[ \t]*\]')
_KEY: Final = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[ \t]*|[#;].*$|$)")


class UnreadableConfigError(ValueError):
    """The file has a syntax that git itself never writes; the text says where."""


def parse_settings(text: str) -> tuple[tuple[str, str], ...]:
    """The keys that *text* sets, with the source of their values, in order.

    A key is in lower case and without its subsection: `filter.clean`. A value is the source of its first line, with quotes and
    a comment behind it: compare it with known values only, since it is not parsed.

    Raises:
        UnreadableConfigError: A line is neither a section nor a setting, or its continuation is ambiguous.
    """
    settings: list[tuple[str, str]] = []
    section = ""
    for number, line in _logical_lines(text):
        rest = line.strip(" \t\v\f\r")
        found = _SECTION.match(rest)
        if found:
            section = found[1].partition(".")[0].lower()
            rest = rest[found.end() :].lstrip(" \t")
        if rest and rest[0] not in "#;":
            settings.append(_parse_setting(section, rest, number))
    return tuple(settings)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of *text* with their numbers; lines that a backslash joins count as one."""
    begun = ""
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        # Git sees no end of the line in a value, and one in a comment; which of them it is depends on quotes.
        if _is_continued(line.removesuffix("\r")):
            if "#" in line or ";" in line:
                raise UnreadableConfigError(f"line {number}: a comment, or none, that ends with a backslash.")
            begun = begun or line
        else:
            yield number, begun or line
            begun = ""
    if begun:
        raise UnreadableConfigError("the last line ends with a backslash.")


def _parse_setting(section: str, rest: str, number: int) -> tuple[str, str]:
    found = _KEY.match(rest)
    if found is None or not section:
        raise UnreadableConfigError(f"line {number}: neither a section nor a setting.")
    return f"{section}.{found[1].lower()}", rest[found.end() :]


def _is_continued(line: str) -> bool:
    """Whether *line* ends with an unescaped backslash."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1
