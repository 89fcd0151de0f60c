"""Names of the tasks that a project's own files define: scripts of npm, targets of make, tasks of gradle.

By convention some of them hand something to others, or take it away, write to the system, or print settings; these have
to be named. Source: GNU Coding Standards, "Standard Targets for Users"; CMake 4, "install" targets.
"""

import re
from typing import Final

_PLAIN: Final = re.compile(r"[A-Za-z0-9_.:@%/#+-]*")
_REACHES_OTHERS: Final = re.compile(
    r"(?:^|[^a-z])(?:deploy|undeploy|publish|unpublish|release|upload|destroy|push|rollback|teardown)(?![a-z])"
)
INSTALLS: Final = re.compile(
    r"(?:^|[_-])(?:un)?install(?:dirs)?(?:$|[/:_-](?:strip|local|sw|all|am|exec|data|bin|lib|man|info|html|dvi|pdf|ps|headers?"
    r"|programs?|system|user|global|host|service|system-?wide)(?:$|[/:_-]))"
)
"""Tasks that write to the system or to a home."""
_SWITCH: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=(?:\d+|true|false)")


_PRINTS_ENVIRONMENT: Final = frozenset({"env", "printenv", "environment"})


def objection(text: str) -> str | None:
    """Why the task *text* has to be named; None for one that stays with the project."""
    if _SWITCH.fullmatch(text):
        return None  # A variable of make that can name no program.
    if not _PLAIN.fullmatch(text) or ".." in text.split("/") or text.startswith(("/", "-")):
        return "is no plain name of a task"
    if text in _PRINTS_ENVIRONMENT or text.rpartition(":")[2] == "properties":
        return "prints the environment, or settings that may hold what is secret"
    if INSTALLS.search(text):
        return "writes beyond the project, by its name"
    return "reaches others than the project, by its name" if _REACHES_OTHERS.search(text) else None
