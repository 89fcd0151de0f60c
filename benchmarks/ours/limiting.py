"""Takes from one rate limit, which counts in this process.

Each sample begins with empty counts, like the peer's: a full window would refuse the call.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from toolcharter.guards.rates import RateKeys, RateLimits
from toolcharter.profile.settings import Rate, Rates

RATES = Rates(total=Rate(calls_per_hour=1_000_000))
OPERATIONS: dict[str, Callable[[], Any]] = {}


def after_batch() -> None:
    """Begin with empty counts."""
    bound = RateLimits([RATES]).bind("read", None)
    assert bound is not None
    OPERATIONS["take"] = partial(bound.acquire, RateKeys("session", "agent"))


after_batch()
