"""`Emitter`: writes each half of a call's events to every sink, and counts losses."""

import threading
from collections.abc import Sequence

from toolcharter.api.extension import Sink


class Emitter:
    """The sinks of one toolbox.

    Losses are counted per sink and never raised. The gate decides whether a call may continue
    without its events, by the profile's `events: {required: ...}`.
    """

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._sinks = tuple(sinks)
        self._preface = b""
        self._write_to_single_sink = self._sinks[0].write if len(self._sinks) == 1 else None
        self._lock = threading.Lock()
        self._preface_lock = threading.Lock()
        self._lost = 0
        self._last_error: Exception | None = None

    @property
    def lost(self) -> int:
        """How many event lines a sink could not write."""
        return self._lost

    @property
    def last_error(self) -> Exception | None:
        """Why the last lost event line was lost."""
        return self._last_error

    def set_preface(self, preface: bytes) -> None:
        """Write *preface* together with the first lines that a sink accepts; never, if there are none."""
        self._preface = preface
        # Shadows the method until the preface is written, so that later calls cost nothing.
        self.__dict__["emit"] = self._emit_first

    @property
    def has_written_preface(self) -> bool:
        """Whether a preface has been written."""
        return self._preface != b"" and "emit" not in self.__dict__

    def _emit_first(self, lines: bytes) -> bool:
        with self._preface_lock:
            if self.has_written_preface:
                return self.emit(lines)
            is_written = False
            try:
                is_written = Emitter.emit(self, self._preface + lines)
            except BaseException:  # an interrupt: a sink may have written the preface
                is_written = True
                raise
            finally:
                # A sink that has written the preface must not get it again because another sink failed.
                if is_written or self._write_to_single_sink is None:
                    del self.__dict__["emit"]
        return is_written

    def emit(self, lines: bytes) -> bool:
        """Write *lines* to every sink. Returns False if a sink failed."""
        if self._write_to_single_sink is not None:
            try:
                self._write_to_single_sink(lines)
            except Exception as error:  # noqa: BLE001 - a sink is the user's code
                return self._record_loss(lines, error)
            return True
        is_written = True
        for sink in self._sinks:
            try:
                sink.write(lines)
            except Exception as error:  # noqa: BLE001 - a sink is the user's code
                is_written = self._record_loss(lines, error)
        return is_written

    def _record_loss(self, lines: bytes, error: Exception) -> bool:
        with self._lock:
            self._lost += lines.count(b"\n")
            self._last_error = error
        return False

    def close(self) -> None:
        """Close every sink. An error while closing counts as one lost line."""
        for sink in self._sinks:
            try:
                sink.close()
            except Exception as error:  # noqa: BLE001 - the other sinks must be closed, too
                self._record_loss(b"\n", error)
