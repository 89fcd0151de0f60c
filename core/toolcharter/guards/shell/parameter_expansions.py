"""Applies parameter expansions to a known value: `${f%.txt}`, `${f//a/b}`, `${f^^}`, `${f:0:2}`, `${f:-b}`.

Source: bash(1), "Parameter Expansion".
"""

import re
from typing import Final

# The star is the only character of a pattern that these accept. The replacement behind the second slash is no pattern.
_TRIMS: Final = re.compile(r"(%%?|##?)(\*?)([A-Za-z0-9_./-]+)(\*?)")
_SUFFIX: Final = re.compile(r"%%?((?:\.[A-Za-z0-9_-]+)+)")
_REPLACES: Final = re.compile(r"(//?)((?:[A-Za-z0-9_.-]|\\/)+)/([A-Za-z0-9_./-]*)")
_CASES: Final = re.compile(r"([\^,])\1?")
_CUTS: Final = re.compile(r":([0-9]{1,4})(?::([0-9]{1,4}))?")
_DEFAULTS: Final = re.compile(r":?-[^$`\"'\\]*")


def apply_expansion(value: str, how: str) -> str | None:
    """Apply an expansion such as `%.txt` or `//a/b` to *value*; None if the result is not certain."""
    if found := _TRIMS.fullmatch(how):
        return _trim(value, *found.groups())
    if found := _REPLACES.fullmatch(how):
        return value.replace(found[2].replace("\\", ""), found[3], -1 if found[1] == "//" else 1)
    if _CASES.fullmatch(how) or _CUTS.fullmatch(how):
        # For other characters, the result depends on the locale.
        return _cut_or_recase(value, how) if value.isascii() else None
    return value if value and _DEFAULTS.fullmatch(how) else None


def apply_to_glob(glob: str, how: str) -> str | None:
    """Apply an expansion such as `%.txt` to *glob*; None unless each matching name ends with that suffix."""
    found = _SUFFIX.fullmatch(how)
    if found is None or not glob.endswith(found[1]):
        return None
    left = glob.removesuffix(found[1])
    return left if left and left[-1] not in "/\\" else None


def _cut_or_recase(value: str, how: str) -> str:
    """Apply `:1:2`, `^^` or a similar expansion to *value*."""
    if found := _CUTS.fullmatch(how):
        start = int(found[1])
        return value[start:] if found[2] is None else value[start : start + int(found[2])]
    end = len(value) if len(how) > 1 else 1
    return (value[:end].upper() if how.startswith("^") else value[:end].lower()) + value[end:]


def _trim(value: str, operator: str, before: str, text: str, behind: str) -> str | None:
    is_front, is_long = operator[0] == "#", len(operator) > 1
    if not (before or behind):
        return value.removeprefix(text) if is_front else value.removesuffix(text)
    if (before, behind) != (("*", "") if is_front else ("", "*")):
        return None
    if text not in value:
        return value
    # The longest match at the front ends at the last occurrence of the text; the longest at the end begins at the first one.
    start, _, end = value.rpartition(text) if is_front == is_long else value.partition(text)
    return end if is_front else start
