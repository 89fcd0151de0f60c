"""Which keys a file of git settings sets, read without git. Pure, linear, and strict: what is not plain is refused.

Source: git-config(1), "CONFIGURATION FILE", and config.c of git 2.39.
"""

import re
from collections.abc import Iterator
from typing import Final

_SECTION: Final = re.compile(r'\[[ \t]*([A-Za-z0-9.-]+)[ \t]*(?:[ \t]"((?:[^"\\\n]|\\[^\n])*)")?[ \t]*\]')
_KEY: Final = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[ \t]*|[#;].*$|$)")


class UnreadableConfigError(ValueError):
    """The file is not written as git writes it; the text says where."""


def settings_of(text: str) -> tuple[tuple[str, str], ...]:
    """The keys that *text* sets with the text of their values, in order.

    A key is in lower case and without its subsection: `filter.clean`. A value is as written, with its quotes and any
    comment after it, and ends with its first line: compare it with what is known, read nothing out of it.

    Raises:
        UnreadableConfigError: A line is neither a section nor a setting, or goes on in a way that can be read in two.
    """
    settings: list[tuple[str, str]] = []
    section = ""
    for number, line in _lines(text):
        rest = line.strip(" \t\v\f\r")
        found = _SECTION.match(rest)
        if found:
            section = found[1].partition(".")[0].lower()
            rest = rest[found.end() :].lstrip(" \t")
        if rest and rest[0] not in "#;":
            settings.append(_setting(section, rest, number))
    return tuple(settings)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of *text* with their numbers; one that a backslash continues is one."""
    begun = ""
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        # Git sees no end of the line in a value, and one in a comment; which of them it is depends on quotes.
        if _continues(line.removesuffix("\r")):
            if "#" in line or ";" in line:
                raise UnreadableConfigError(f"line {number}: a comment, or none, that ends with a backslash.")
            begun = begun or line
        else:
            yield number, begun or line
            begun = ""
    if begun:
        raise UnreadableConfigError("the last line ends with a backslash.")


def _setting(section: str, rest: str, number: int) -> tuple[str, str]:
    found = _KEY.match(rest)
    if found is None or not section:
        raise UnreadableConfigError(f"line {number}: neither a section nor a setting.")
    return f"{section}.{found[1].lower()}", rest[found.end() :]


def _continues(line: str) -> bool:
    """Whether *line* ends with a backslash that no other one makes a letter."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1
