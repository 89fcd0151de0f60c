"""Formats of git's `--format` and `--pretty`: harmless unless they look at a signature, which starts gpg.

Source: git-log(1) of git 2.39, "PRETTY FORMATS", `%G?` and its like; git-for-each-ref(1) of git 2.43, `signature`.
"""


def objection(text: str) -> str | None:
    """Why *text* has to be named; None if it only shows what the repository holds."""
    is_asking = "%G" in text or "%(signature" in text or "%(*signature" in text
    return "looks at a signature, which starts gpg" if is_asking else None
