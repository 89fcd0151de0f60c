"""What an expansion makes of a value that is known: `${f%.txt}`, `${f//a/b}`, `${f^^}`, `${f:0:2}`, `${f:-b}`.

Source: bash(1), "Parameter Expansion".
"""

import re
from typing import Final

# In these no character is one of a pattern but the star; what follows a replacement's second slash is no pattern.
_TRIMS: Final = re.compile(r"(%%?|##?)(\*?)([A-Za-z0-9_./-]+)(\*?)")
_SUFFIX: Final = re.compile(r"%%?((?:\.[A-Za-z0-9_-]+)+)")
_REPLACES: Final = re.compile(r"(//?)((?:[A-Za-z0-9_.-]|\\/)+)/([A-Za-z0-9_./-]*)")
_CASES: Final = re.compile(r"([\^,])\1?")
_CUTS: Final = re.compile(r":([0-9]{1,4})(?::([0-9]{1,4}))?")
_DEFAULTS: Final = re.compile(r":?-[^$`\"'\\]*")


def made(value: str, how: str) -> str | None:
    """What an expansion such as `%.txt` or `//a/b` makes of *value*; None if that is not certain."""
    if found := _TRIMS.fullmatch(how):
        return _trimmed(value, *found.groups())
    if found := _REPLACES.fullmatch(how):
        return value.replace(found[2].replace("\\", ""), found[3], -1 if found[1] == "//" else 1)
    if _CASES.fullmatch(how) or _CUTS.fullmatch(how):
        # Which letters others have, and how many bytes, is the locale's to say.
        return _cut(value, how) if value.isascii() else None
    return value if value and _DEFAULTS.fullmatch(how) else None


def made_of_glob(glob: str, how: str) -> str | None:
    """The glob that all match which `%.txt` makes of names that match *glob*: each of them ends so. None if that differs."""
    found = _SUFFIX.fullmatch(how)
    if found is None or not glob.endswith(found[1]):
        return None
    left = glob.removesuffix(found[1])
    return left if left and left[-1] not in "/\\" else None


def _cut(value: str, how: str) -> str:
    """What `:1:2`, `^^` and their like make of *value*."""
    if found := _CUTS.fullmatch(how):
        start = int(found[1])
        return value[start:] if found[2] is None else value[start : start + int(found[2])]
    end = len(value) if len(how) > 1 else 1
    return (value[:end].upper() if how.startswith("^") else value[:end].lower()) + value[end:]


def _trimmed(value: str, operator: str, before: str, text: str, behind: str) -> str | None:
    is_front, is_long = operator[0] == "#", len(operator) > 1
    if not (before or behind):
        return value.removeprefix(text) if is_front else value.removesuffix(text)
    if (before, behind) != (("*", "") if is_front else ("", "*")):
        return None
    if text not in value:
        return value
    # The longest is cut at the last text in front, and at the first text behind.
    start, _, end = value.rpartition(text) if is_front == is_long else value.partition(text)
    return end if is_front else start
