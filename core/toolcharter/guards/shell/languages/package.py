"""What package managers install: a name from their registry, perhaps with a version; or from anywhere else.

Source: npm 11, `npm help package-spec`; pip 25, "Requirement Specifiers".
"""

import re
from typing import Final

_FROM_REGISTRY: Final = re.compile(
    r"(?:[\w.-]+@npm:)?"  # an alias of npm
    r"(?:@[\w.-]+/)?\w[\w.-]*(?:\[[\w., -]*\])?"  # a scope, a name, extras of pip
    r"(?:(?:@|===?|~=|!=|[<>]=?)[\w.*^~+<>=!, -]*)?"
)


def objection(text: str) -> str | None:
    """Why *text* has to be named; None for a package of the registry."""
    if re.fullmatch(r"\.(?:\[[\w, -]*\])?", text):
        return None  # The project itself.
    return None if _FROM_REGISTRY.fullmatch(text) else "is no plain name of a package in the registry"
