"""Names of tasks that are only shown, as with `make -n`: one that would install may stand there."""

from toolcharter.guards.shell.languages import task


def objection(text: str) -> str | None:
    """Why the task *text* has to be named; None for one that may be shown."""
    return None if task.INSTALLS.search(text) and "=" not in text else task.objection(text)
