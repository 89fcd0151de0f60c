"""`until`: wait for what happens elsewhere, in another thread or process."""

import time
from collections.abc import Callable
from typing import Any

LOOKS_S = 0.02


def until(is_so: Callable[[], Any], *, within_s: float = 600.0) -> None:
    """Return when *is_so* gives something true; a busy machine may take long for it."""
    end = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(LOOKS_S)
