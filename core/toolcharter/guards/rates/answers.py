"""What a limit is asked and what it answers."""

from math import ceil, inf
from typing import NamedTuple

from toolcharter.guards.rates.limits import Limit


class Keys(NamedTuple):
    """Whose call it is; neither text is empty. A subagent has the keys of its parent."""

    session: str
    agent: str


class Refused(NamedTuple):
    """A limit that has no room for the call."""

    limit: str
    """The limit in short: `calls_per_minute 10 for bash`."""
    wait_s: float | None
    """When to try again, in seconds from now; None where waiting does not help."""
    message: str


class Unavailable(NamedTuple):
    """The counts cannot be read, so it is not known whether there is room."""

    message: str


Answer = Refused | Unavailable
"""Why a call must not run."""


def refused(limit: Limit, wait_s: float) -> Refused:
    """*limit* is used up; *wait_s* is `inf` where waiting does not help."""
    if wait_s == inf:
        return Refused(limit.text, None, f"{limit.sentence}; no more in this session.")
    return Refused(limit.text, wait_s, f"{limit.sentence}; try again in {ceil(wait_s)} s.")


def overcrowded(limit: Limit, keys: int, wait_s: float) -> Refused:
    """*limit* counts the calls of as many *keys* as it can hold, and this call comes from another."""
    whose = f"{limit.name} counts the calls of {keys} {limit.whose}s already and forgets none that may still call"
    return Refused(limit.text, wait_s, f"{whose}; try again in {ceil(wait_s)} s.")
