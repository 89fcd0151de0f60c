"""Closed lists of words and formats of names that specs, profiles and rules share; cheap to import."""

import re
from typing import Literal

Kind = Literal["builtin", "bash", "cli", "mcp", "custom"]
Safety = Literal["low", "medium", "high"]

KINDS = ("builtin", "bash", "cli", "mcp", "custom")
SAFETY_LEVELS = ("low", "medium", "high")
"""From the least to the most harm."""
RULE_PREFIXES = frozenset({"bash", "builtin", "cli", "mcp", "custom", "*", "group", "cap"})
"""The words that a rule can begin with. Except for `bash`, no tool may have one of these names."""

SECRET_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}"  # noqa: S105 - the format of a name, not a secret
_REFERENCE_PREFIX = "secret:"
SECRET_REFERENCE = _REFERENCE_PREFIX + SECRET_NAME
"""How profiles and settings refer to a secret of the store."""


def is_secret_reference(text: str) -> bool:
    """Whether *text* is `secret:NAME`, well-formed or not: no such text is ever used as a value itself."""
    return text.startswith(_REFERENCE_PREFIX)


def secret_name(text: str) -> str:
    """Return the name in `secret:NAME`.

    Raises:
        ValueError: *text* has another form, or NAME is not a valid name.
    """
    if re.fullmatch(SECRET_REFERENCE, text) is None:
        raise ValueError("a secret is named as in secret:NAME, with letters, digits, '_', '.' and '-', up to 128")
    return text.removeprefix(_REFERENCE_PREFIX)
