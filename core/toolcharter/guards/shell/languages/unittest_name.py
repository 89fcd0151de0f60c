"""Names that `python -m unittest` imports: modules, classes and files that are called as tests are, and `discover`.

Source: Python 3.14, `python -m unittest --help`.
"""

import re
from typing import Final

_TEST: Final = re.compile(r"(?:^|[./*_])tests?(?![a-z])|_tests?(?:\.|$)")


def objection(text: str) -> str | None:
    """Why *text* has to be named; None for a test that lies in the workspace by its letters."""
    if text.startswith(("/", "~")) or ".." in text.split("/"):
        return "may lie outside the workspace"
    return None if text == "discover" or _TEST.search(text) else "may be a module that is no test"
