"""Packages as the go command takes them: a pattern of the module, a path, or one that is fetched and run.

Source: Go 1.27, `go help packages` and `go help run`.
"""


def objection(text: str) -> str | None:
    """Why `go run` of *text* has to be named; None for a package in the folder's own module."""
    is_own = text in {".", "./..."} or text.startswith("./") or (text.endswith(".go") and not text.startswith("/"))
    return None if is_own and ".." not in text.split("/") and "@" not in text else "may be fetched from elsewhere"
