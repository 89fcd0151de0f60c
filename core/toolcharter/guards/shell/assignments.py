"""Which assignments before a command change nothing but how its output looks."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from toolcharter.guards.shell.parts import Assignment

# With another encoding than UTF-8 or ASCII, a shell would read the bytes of a script as other characters than we do.
_LOCALE: Final = re.compile(r"C|POSIX|(?:C|[a-z]{2}_[A-Z]{2})\.(?:UTF-8|utf8)")
_SWITCH: Final = re.compile(r"[01]?")
_SIZE: Final = re.compile(r"[0-9]{1,4}")
# Neither a slash nor a leading dot or colon: zones and terminals are looked up as files below the system's folders.
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+-]{0,31}")
_CATEGORIES: Final = "ALL COLLATE CTYPE MESSAGES MONETARY NUMERIC TIME".split()  # noqa: SIM905 - reads as a list

HARMLESS: Final[Mapping[str, re.Pattern[str]]] = MappingProxyType(
    {
        **{f"LC_{category}": _LOCALE for category in _CATEGORIES},
        "LANG": _LOCALE,
        "TZ": _NAME,
        "TERM": _NAME,
        "COLUMNS": _SIZE,
        "LINES": _SIZE,
        "NO_COLOR": _SWITCH,
        "CLICOLOR": _SWITCH,
        "GIT_OPTIONAL_LOCKS": _SWITCH,
        "GIT_TERMINAL_PROMPT": _SWITCH,
        "GIT_PAGER": re.compile("cat"),  # git takes this one word for "no pager" and starts nothing.
        "PYTHONDONTWRITEBYTECODE": re.compile("1"),
        "PYTHONUNBUFFERED": re.compile("1"),
    }
)
"""The names that a rule need not name, with the values that it need not name either."""


def objection(assignment: Assignment) -> str | None:
    """Why a rule has to name *assignment*, which stands before a command; None if it is harmless."""
    harmless = HARMLESS.get(assignment.name)
    value = assignment.value.text
    # `NAME+=value` and `NAME[0]=value` have the same name.
    if harmless is None or value is None or assignment.form != f"{assignment.name}={value}":
        return "changes the environment of a program"
    return None if harmless.fullmatch(value) else "gives a value that is not known to be harmless"
