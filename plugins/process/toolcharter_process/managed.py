"""`ManagedProcess`: one process that a toolbox has started, with its log, its watches and its record."""

import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

from toolcharter import Running
from toolcharter_process.state import Log, ProcessState, Record
from toolcharter_process.watches import Notices, Watches

CHUNK_BYTES = 65_536
MAX_CHUNKS = 16
"""How many chunks are read at a time, so that a process that never stops printing does not block the others."""
MAX_LAST_CHUNKS = 1024
"""How many chunks are read after a process has ended: programs that it started may still print."""
GRACE_S = 2.0
"""The time between TERM and KILL, in seconds."""
WRITE_PAUSE_S = 0.01


class ManagedProcess:
    """One process. Methods may be called from any thread, but `take_output` always from the same one.

    No method waits for the process while it holds the lock.
    """

    def __init__(self, running: Running, record: Record, state: ProcessState, log: Log, notices: Notices) -> None:
        self.record = record
        self.watches = Watches(record.handle, notices)
        self.expires = float("inf")
        """When its runtime is used up, on `time.monotonic`'s clock."""
        self.abandoned_at = float("inf")
        """When its session counts as over, on the same clock."""
        self.has_ended = threading.Event()
        self.is_silent = False
        """Whether it runs but its output has ended: then its descriptor stays readable for ever."""
        self.is_greedy = False
        """Whether there was more output than is read at a time."""
        self.is_saved = False
        """Whether its end has been written to its record."""
        self._running = running
        self._state = state
        self._log = log
        self._lock = threading.Lock()
        self._kill_at = float("inf")
        self._why = "exited"

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when there is output."""
        return self._running.fileno()

    def take_output(self, *, is_readable: bool) -> bool:
        """Read its output, end it if its time is up, and return whether it has ended."""
        with self._lock:
            exit_code = self._running.exit_code
            took = self._drain(MAX_CHUNKS if exit_code is None else MAX_LAST_CHUNKS)
            self.is_silent = self.is_silent or (is_readable and not took)
            now = time.monotonic()
            if now > min(self.expires, self.abandoned_at):
                self._terminate("expired" if now > self.expires else "abandoned")
            if exit_code is None and now < self._kill_at:
                return False
            self._running.close()
            if (lost := self._running.lost) is not None:
                self._why = lost.reason
            self._record_end(self._running.exit_code if lost is None else None)
            return True

    def give_up(self) -> None:
        """Record the process as lost, because its runner has failed."""
        with self._lock:
            with suppress(Exception):
                self._running.close()
            self._why = "lost"
            self._record_end(None)

    def signal(self, number: int) -> None:
        """Send a signal to the process and all that it started."""
        with self._lock:
            if not self.has_ended.is_set():
                self._running.signal(number)

    def terminate(self, why: str) -> None:
        """Send TERM; `take_output` kills the process after `GRACE_S`. The record keeps *why*."""
        with self._lock:
            if not self.has_ended.is_set():
                self._terminate(why)

    def write(self, data: bytes, until: float) -> int:
        """Write *data* to its input, waiting no longer than *until*; return how many bytes it took."""
        left = data
        while left:
            with self._lock:
                written = 0 if self.has_ended.is_set() else self._running.write(left)
            left = left[written:]
            if not written:
                if self.has_ended.is_set() or time.monotonic() > until:
                    break
                time.sleep(WRITE_PAUSE_S)
        return len(data) - len(left)

    def watch(self, pattern: str) -> str:
        """Add a watch; raises as `Watches.add`."""
        with self._lock:
            return self.watches.add(pattern)

    def unwatch(self, name: str) -> bool:
        """Remove a watch, or all watches if *name* is empty; return whether there was such a watch."""
        with self._lock:
            if name:
                return self.watches.remove(name)
            self.watches.clear()
            return True

    def wait_for_end(self, timeout_s: float) -> None:
        """Wait until the process has ended, or *timeout_s* is over."""
        self.has_ended.wait(timeout_s)

    def update_record(self, change: Callable[[Record], None]) -> None:
        """Change its record, and save it.

        Raises:
            OSError: The record cannot be written.
        """
        with self._lock:
            change(self.record)
            self._state.save(self.record)

    def list_watches(self) -> list[dict[str, str]]:
        """Return its watches."""
        with self._lock:
            return self.watches.describe()

    def _terminate(self, why: str) -> None:
        if self._kill_at == float("inf"):
            self._why = why
            self._kill_at = time.monotonic() + GRACE_S
            self._running.signal(signal.SIGTERM)
            self._running.signal(signal.SIGCONT)

    def _drain(self, max_chunks: int) -> bool:
        """Read output into the log and the watches; return whether there was any."""
        self.is_greedy = False
        for chunk in range(max_chunks):
            output = self._running.read(CHUNK_BYTES)
            if not output:
                return chunk > 0
            self.watches.feed(output)
            try:
                self._log.append(output)
            except OSError:
                self.record.log_lost = True
        self.is_greedy = True
        return True

    def _record_end(self, exit_code: int | None) -> None:
        self._log.close()
        self.record.exit_code = exit_code
        self.record.ended = self._why
        self.record.ended_at = utc_now()
        self.watches.end(describe_end(self.record))
        with suppress(OSError):
            self._state.save(self.record)
            self.is_saved = True
        self.has_ended.set()


def utc_now() -> str:
    """Return the current time, formatted for records."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def describe_end(record: Record) -> str:
    """Describe how a process ended, for people."""
    code = record.exit_code
    if code is None:
        return f"{record.ended}"
    if code < 0:
        name = next((one.name for one in signal.Signals if one == -code), f"signal {-code}")
        return f"{record.ended}, by {name}"
    return f"{record.ended}, status {code}"
