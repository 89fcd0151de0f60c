"""Names in a profile: how they are written and compared."""

import json
import re

NAME = r"[A-Za-z0-9_-]{1,64}"
"""Without flags and look-around, a pattern means the same in Python, Rust and ECMAScript (used by JSON Schema)."""
NAME_FIX = "Names have 1 to 64 letters, digits, '_' and '-'."


def fold_tool_name(name: str) -> str:
    """Return the form of a tool's name in which names are compared."""
    return name.lower()


def canonical_distribution(distribution: str) -> str:
    """Return the form of a distribution's name in which names are compared (PEP 503)."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def anchored(pattern: str) -> str:
    """Anchor *pattern* for JSON Schema, whose patterns may otherwise match anywhere."""
    return f"^(?:{pattern})$"


def any_case_pattern(word: str) -> str:
    """Return a pattern for *word* in upper and lower case: JSON Schema has no flags."""
    return "".join(f"[{letter.upper()}{letter}]" if letter.isalpha() else letter for letter in word.lower())


def quote_list_item(text: str) -> str:
    """Return *text* for a YAML list in brackets: in quotes, unless it is a plain word."""
    return text if re.fullmatch(r"[A-Za-z.][\w./-]*(?::[\w./-]+)*", text) else json.dumps(text, ensure_ascii=False)
