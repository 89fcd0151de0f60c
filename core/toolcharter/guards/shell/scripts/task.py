"""Names of the tasks that a project's own files define: scripts of npm, targets of make, tasks of gradle.

By convention some of them hand something to others, or take it away; these have to be named.
"""

import re
from typing import Final

_PLAIN: Final = re.compile(r"[A-Za-z0-9_.:@%/#+-]*")
_REACHES_OTHERS: Final = re.compile(
    r"(?:^|[^a-z])(?:deploy|undeploy|publish|unpublish|release|upload|destroy|push|rollback|teardown)(?![a-z])"
)
_SWITCH: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=(?:\d+|true|false)")


def objection(text: str) -> str | None:
    """Why the task *text* has to be named; None for one that stays with the project."""
    if _SWITCH.fullmatch(text):
        return None  # A variable of make that can name no program.
    if text == "env":
        return "prints the environment"
    if not _PLAIN.fullmatch(text) or ".." in text.split("/") or text.startswith(("/", "-")):
        return "is no plain name of a task"
    if _REACHES_OTHERS.search(text):
        return "reaches others than the project, by its name"
    return None
