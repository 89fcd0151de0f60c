"""Commits that jest and vitest hand to git as a word: one that begins with a dash would be an option of git.

Source: Jest 30.5, `--changedSince`; Vitest 4.1, `--changed`.
"""


def objection(text: str) -> str | None:
    """Why *text* has to be named; None for what can be no option."""
    return "would be an option of git" if text.startswith("-") else None
