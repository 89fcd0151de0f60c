"""Lines for the model behind a result: `NOTE: ` and one sentence or two."""

from collections.abc import Sequence

PREFIX = "NOTE: "


def note(text: str) -> str:
    """*text* as one line; a message that a profile wraps over several lines is joined by spaces."""
    return PREFIX + " ".join(text.split())


def with_notes(text: str, notes: Sequence[str]) -> str:
    """*text*, already scrubbed and cut, and each of *notes* on a line of its own behind it."""
    return "\n".join((text, *notes) if text else notes)
