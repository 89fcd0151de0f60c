"""Values of pnpm's `--filter`: names and folders of the project's packages, or a commit, which git gets as a word.

Source: pnpm 12.21, "Filtering".
"""


def objection(text: str) -> str | None:
    """Why *text* has to be named; None if it names packages, or a commit that is no option."""
    return "may be an option of git, or lead outside" if "[-" in text or "../" in text else None
