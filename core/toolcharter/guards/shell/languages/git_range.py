"""Values of `git log -L`: lines or a function, a colon, and a file of the commit.

Source: git 2.39, git-log(1), "-L".
"""


def objection(text: str) -> str | None:
    """Why *text* has to be named; None for a file that lies in the work tree by its letters."""
    path = text.rpartition(":")[2]
    return "leads elsewhere" if path.startswith("/") or ".." in path.split("/") else None
