"""Repositories as gh and glab take them: OWNER/REPO, or with a host before them.

Source: gh 2.102, `gh help reference`, "-R, --repo [HOST/]OWNER/REPO".
"""

import re
from typing import Final

_OWNER_AND_NAME: Final = re.compile(r"=?[\w.-]+/[\w.-]+")


def objection(text: str) -> str | None:
    """Why *text* has to be named; None for a repository of the host that one is logged in to."""
    return None if _OWNER_AND_NAME.fullmatch(text) else "may lie on another host"
