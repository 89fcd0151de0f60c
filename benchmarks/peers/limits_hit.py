"""The `limits` library: one hit under one moving window, in memory.

What it remembers slows it down, so each sample begins with an empty storage: the comparison is with its best.
"""

from functools import partial
from typing import Any

from limits import parse
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

RATE = parse("1000000 per hour")
OPERATIONS: dict[str, Any] = {}


def after_batch() -> None:
    """Begin anew."""
    OPERATIONS["hit"] = partial(MovingWindowRateLimiter(MemoryStorage()).hit, RATE, "session")


after_batch()
