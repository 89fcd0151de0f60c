"""The keys by which a limit counts, and the answers by which it refuses."""

from math import ceil, inf
from typing import NamedTuple

from toolcharter.guards.rates.limits import Limit


class RateKeys(NamedTuple):
    """The session and the agent that call; neither text is empty. A subagent has the keys of its parent."""

    session: str
    agent: str


class Refused(NamedTuple):
    """A limit that has no room for the call."""

    limit: str
    """The limit in short: `calls_per_minute 10 for bash`."""
    wait_s: float | None
    """When to try again, in seconds from now; None if waiting does not help."""
    message: str


class Unavailable(NamedTuple):
    """The counts cannot be read, so the limit cannot be checked."""

    message: str


Answer = Refused | Unavailable
"""Why a call must not run."""


def limit_reached(limit: Limit, wait_s: float) -> Refused:
    """Return the refusal of a limit that is used up. *wait_s* is `inf` if waiting does not help."""
    if wait_s == inf:
        return Refused(limit.text, None, f"{limit.sentence}; no more calls in this session.")
    return Refused(limit.text, wait_s, f"{limit.sentence}; try again in {ceil(wait_s)} s.")


def too_many_keys(limit: Limit, keys: int, wait_s: float) -> Refused:
    """Return the refusal of a limit that counts *keys* other sessions or agents, and has no room for the caller's."""
    whose = f"{limit.name} counts the calls of {keys} {limit.whose}s and has no room for another"
    return Refused(limit.text, wait_s, f"{whose}; try again in {ceil(wait_s)} s.")
