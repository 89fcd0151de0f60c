"""Paths that `gh api` and `glab api` get: of the host's own interface, or an address of another host.

Source: gh 2.102, `gh api --help`.
"""


def objection(text: str) -> str | None:
    """Why *text* has to be named; None for what is read by a plain GET of the host that one is logged in to."""
    return "may change something, or lie on another host" if text.strip("/") == "graphql" or "://" in text else None
