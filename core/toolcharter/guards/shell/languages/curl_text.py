"""Headers and formats of curl: text, unless it says a file to read or to write.

Source: curl(1), `--header` and `--write-out`: `@FILE` is read, and `%output{FILE}` is written.
"""


def objection(text: str) -> str | None:
    """Why *text* has to be named; None for text and nothing else."""
    return "may read or write a file" if text.startswith("@") or "%output" in text else None
