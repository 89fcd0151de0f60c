"""`Turns`: limits how many programs of one runner run at a time, so that none fails for lack of descriptors."""

import resource
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from toolcharter.api.reasons import Reason
from toolcharter.errors import ToolError

if TYPE_CHECKING:
    from toolcharter.api.job import Job

MAX_PROGRAMS = 128
# How many descriptors the start of one program in a sandbox takes, and how many are left for the rest of our process.
_DESCRIPTORS_EACH, _DESCRIPTORS_OURS = 16, 128
_BEAT_S = 0.5


class Turns:
    """Lets a limited number of jobs run at a time. Safe from many threads."""

    def __init__(self, most: int | None = None) -> None:
        self._free = threading.BoundedSemaphore(max_programs() if most is None else most)

    @contextmanager
    def wait_for_turn(self, job: "Job") -> Generator[None]:
        """Wait for the turn of *job*, which ends with the context.

        Raises:
            ToolError: `timed_out`, if its time was up first or the job was no longer wanted.
        """
        while not self._free.acquire(timeout=max(0.0, min(_BEAT_S, job.expires - time.monotonic()))):
            if time.monotonic() >= job.expires or not (job.is_wanted is None or job.is_wanted()):
                message = "Too many programs were running, and none ended in time to start another."
                raise ToolError(message, reason=Reason.TIMED_OUT, retryable=True)
        try:
            yield
        finally:
            self._free.release()


def max_programs() -> int:
    """How many programs this process has descriptors for, at most `MAX_PROGRAMS`."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return (
        MAX_PROGRAMS
        if soft == resource.RLIM_INFINITY
        else max(1, min(MAX_PROGRAMS, (soft - _DESCRIPTORS_OURS) // _DESCRIPTORS_EACH))
    )
