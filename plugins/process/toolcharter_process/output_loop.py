"""`OutputLoop`: the one thread that reads the output of all processes of a toolbox and notices when they end."""

import os
import selectors
import threading
import time
from contextlib import suppress

from toolcharter_process.managed import GRACE_S, ManagedProcess

TICK_S = 0.1
"""How often silent processes are polled for their end, in seconds."""
PAUSE_S = 0.02
"""The pause after a process that prints more than is read at a time, in seconds."""
PATIENCE_S = 2 * GRACE_S + 5
"""How long closing waits for the thread to end all processes, in seconds."""


class OutputLoop:
    """Reads the output of processes until it is closed. Thread-safe; its thread starts with the first process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: dict[str, ManagedProcess] = {}
        self._new: list[ManagedProcess] = []
        self._thread: threading.Thread | None = None
        self._wake: int = -1
        self._is_closing = False

    def add(self, process: ManagedProcess) -> None:
        """Read the output of *process* from now on."""
        with self._lock:
            self._processes[process.record.handle] = process
            self._new.append(process)
            if self._thread is None:
                wakes, self._wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
                self._thread = threading.Thread(
                    target=self._run, args=(wakes, self._wake), name="toolcharter-process", daemon=True
                )
                self._thread.start()
            self._wake_up()

    def find(self, handle: str) -> ManagedProcess | None:
        """Return a process of this toolbox by its handle. It is dropped once it has ended and its record is written."""
        with self._lock:
            return self._processes.get(handle)

    def running(self) -> list[ManagedProcess]:
        """Return the processes that have not ended."""
        with self._lock:
            return [one for one in self._processes.values() if not one.has_ended.is_set()]

    def close(self) -> None:
        """End all processes and the thread, and wait until they have ended."""
        for process in self.running():
            process.terminate("closed")
        with self._lock:
            self._is_closing = True
            thread, self._thread = self._thread, None
            if thread is not None:
                self._wake_up()
        if thread is not None:
            thread.join(timeout=PATIENCE_S)

    def _wake_up(self) -> None:
        with suppress(BlockingIOError):
            os.write(self._wake, b".")

    def _run(self, wakes: int, wake: int) -> None:
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(wakes, selectors.EVENT_READ)
                while self.running() or not self._is_closing:
                    self._run_once(selector, wakes)
        finally:
            os.close(wakes)
            os.close(wake)

    def _run_once(self, selector: selectors.BaseSelector, wakes: int) -> None:
        with self._lock:
            new, self._new = self._new, []
        for process in new:
            # A process that has ended already has closed its descriptor, whose number may be reused by now.
            if not process.has_ended.is_set():
                # A process that cannot be registered is polled with every tick.
                with suppress(OSError, ValueError, KeyError):
                    selector.register(process.fileno(), selectors.EVENT_READ)
        readable = {key.fd for key, _ in selector.select(TICK_S if self.running() else None)}
        if wakes in readable:
            os.read(wakes, 4096)
        for process in self.running():
            descriptor = process.fileno()
            ended = _take_output(process, is_readable=descriptor in readable)
            if (ended or process.is_silent) and descriptor in selector.get_map():
                selector.unregister(descriptor)
            if ended and process.is_saved:
                with self._lock:
                    del self._processes[process.record.handle]
            if process.is_greedy:
                # The process blocks, as on a slow terminal, and leaves the processor to the harness.
                time.sleep(PAUSE_S)


def _take_output(process: ManagedProcess, *, is_readable: bool) -> bool:
    """Read output, and return whether the process has ended. A failing process must not stop the thread."""
    try:
        return process.take_output(is_readable=is_readable)
    except Exception:  # noqa: BLE001 - whatever a runner raises
        process.give_up()
        return True
