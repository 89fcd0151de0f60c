"""`Steadiness`: whether this process may say of another one that it is gone."""

import time

LATE_S = 5.0
"""After how long a process that could not say that it is there must assume that nobody could, in seconds: half of the time
for which such a word holds, so that another one's, which may be a little older, still holds."""
GRACE_S = 10.0
"""How long the others then have, in seconds."""


class Steadiness:
    """When this process has last told the store that it is there.

    What keeps it from that, such as a database that is away, may keep the others from it, too: afterwards all of them look
    dead to whoever comes back first.
    """

    def __init__(self) -> None:
        self._last: float | None = None
        self._judges_from = 0.0

    def told(self) -> None:
        """Note that the store has just heard of this process."""
        now = time.monotonic()
        if self._last is not None and now - self._last > LATE_S:
            self._judges_from = now + GRACE_S
        self._last = now

    @property
    def may_judge(self) -> bool:
        """Whether a process of which the store has not heard is gone."""
        now = time.monotonic()
        return now >= self._judges_from and (self._last is None or now - self._last <= LATE_S)
