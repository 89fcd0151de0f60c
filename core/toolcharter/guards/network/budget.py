"""The remaining time of one request, and the number of bytes that may still arrive."""

from time import monotonic

from toolcharter.api.network import HttpLimits
from toolcharter.api.reasons import GuardReason, Reason
from toolcharter.errors import ToolError

MAX_OVERHEAD_BYTES = 262_144
"""How many bytes of heads, interim answers, framing and trailers may arrive beside bodies, over all redirects."""


class Budget:
    """The budget of one request, shared by all its redirects."""

    def __init__(self, limits: HttpLimits, deadline: float) -> None:
        self.limits = limits
        self._end = min(monotonic() + limits.timeout_s, deadline)
        self._overhead = MAX_OVERHEAD_BYTES
        # With a margin: compression makes incompressible data slightly longer.
        self._body_bytes = 2 * limits.max_bytes + MAX_OVERHEAD_BYTES

    def remaining_s(self) -> float:
        """The time left, in seconds, above 0.

        Raises:
            ToolError: `timed_out`.
        """
        left = self._end - monotonic()
        if left <= 0:
            raise timeout_error()
        return left

    def spend(self, count: int) -> None:
        """Note that *count* bytes have arrived.

        Raises:
            ToolError: `response_too_large`.
        """
        self._overhead -= count
        _require(self._overhead)

    def count_body(self, count: int) -> None:
        """Note that *count* of the bytes that have arrived belong to a body, still compressed.

        Raises:
            ToolError: `response_too_large`.
        """
        self._overhead += count
        self._body_bytes -= count
        _require(self._body_bytes)


def _require(left: int) -> None:
    if left < 0:
        raise ToolError("The host sent more than the limit allows.", reason=GuardReason.RESPONSE_TOO_LARGE)


def timeout_error() -> ToolError:
    """The error of a request that has taken too long."""
    return ToolError("The host did not answer in time.", reason=Reason.TIMED_OUT, retryable=True)
