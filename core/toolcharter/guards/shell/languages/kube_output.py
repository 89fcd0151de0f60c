"""Values of kubectl's and helm's `-o`: formats that print, and those that take a template from a file.

Source: kubectl 1.33, `kubectl get --help`.
"""

import re
from typing import Final

_PRINTS: Final = re.compile(
    r"=?(?:json|yaml|kyaml|name|wide|table|short|(?:jsonpath|jsonpath-as-json|go-template|template|custom-columns)=.*)",
    re.DOTALL,
)


def objection(text: str) -> str | None:
    """Why *text* has to be named; None if it says how to print, and nothing else."""
    return None if _PRINTS.fullmatch(text) else "may take a template from a file"
