"""Names in a profile: how they are written, and in which form they are compared."""

import json
import re

NAME = r"[A-Za-z0-9_-]{1,64}"
"""Patterns of a profile mean the same to Python, Rust and ECMAScript, which JSON Schema prescribes: no flags, no look-around."""
NAME_FIX = "Names have 1 to 64 letters, digits, '_' and '-'."


def same_tool(name: str) -> str:
    """A tool's name in the one form in which names are compared."""
    return name.lower()


def canonical(distribution: str) -> str:
    """A distribution's name in the one form in which names are compared (PEP 503)."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def whole(pattern: str) -> str:
    """*pattern* as JSON Schema has it, where a pattern may match anywhere unless it says otherwise."""
    return f"^(?:{pattern})$"


def any_case(word: str) -> str:
    """A pattern for *word*, upper and lower case alike: JSON Schema knows no flags."""
    return "".join(f"[{letter.upper()}{letter}]" if letter.isalpha() else letter for letter in word.lower())


def in_a_list(text: str) -> str:
    """*text* as YAML takes it between brackets: in quotes, unless it is a plain word."""
    return text if re.fullmatch(r"[A-Za-z.][\w./-]*(?::[\w./-]+)*", text) else json.dumps(text, ensure_ascii=False)
