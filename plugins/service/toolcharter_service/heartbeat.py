"""`OwnHeartbeat`: decides whether this process may declare another process dead."""

import time

LATE_S = 5.0
"""If this process could not renew its own heartbeat for so long, in seconds, others may have had the same problem. It
is half of the time for which a heartbeat is valid, so that slightly older heartbeats of others are still valid."""
GRACE_S = 10.0
"""How long other processes then have to renew their heartbeats, in seconds."""


class OwnHeartbeat:
    """Tracks when this process last renewed its heartbeat in the store.

    A database that is unreachable keeps every process from renewing its heartbeat. Afterwards, all others look dead to
    the process that reconnects first.
    """

    def __init__(self) -> None:
        self._renewed_at: float | None = None
        self._may_declare_from = 0.0

    def record_renewal(self) -> None:
        """Note that this process has just renewed its heartbeat."""
        now = time.monotonic()
        if self._renewed_at is not None and now - self._renewed_at > LATE_S:
            self._may_declare_from = now + GRACE_S
        self._renewed_at = now

    @property
    def may_declare_dead(self) -> bool:
        """Whether a process without a valid heartbeat can be considered dead."""
        now = time.monotonic()
        return now >= self._may_declare_from and (self._renewed_at is None or now - self._renewed_at <= LATE_S)
