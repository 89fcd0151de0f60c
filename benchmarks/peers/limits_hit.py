"""The `limits` library: one hit of one moving window, in memory.

Stored hits slow it down, so each sample begins with an empty storage: we compare with its best case.
"""

from functools import partial
from typing import Any

from limits import parse
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

RATE = parse("1000000 per hour")
OPERATIONS: dict[str, Any] = {}


def after_batch() -> None:
    """Begin with an empty storage."""
    OPERATIONS["hit"] = partial(MovingWindowRateLimiter(MemoryStorage()).hit, RATE, "session")


after_batch()
