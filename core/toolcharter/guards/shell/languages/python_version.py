"""Values of uv's `--python` and of its kind: a version, which is looked up, or a program, which is started.

Source: uv 0.9, "Requesting a version".
"""

import re
from typing import Final

_VERSION: Final = re.compile(r"=?(?:cpython|pypy|python|cp|pp|py)?@?-?[<>=~!]*\d[\d.]*[a-z0-9.,<>=+*-]*")


def objection(text: str) -> str | None:
    """Why *text* has to be named; None for a version."""
    return None if _VERSION.fullmatch(text) else "may be a program that is started"
