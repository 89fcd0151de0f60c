"""Turns SIGTERM and SIGHUP into an exception, so that a running call can still end and record its result."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from toolcharter._lazy import lazy

if TYPE_CHECKING:
    import signal
    import threading
else:
    signal = lazy("signal")
    threading = lazy("threading")


class Terminated(KeyboardInterrupt):
    """SIGTERM, or SIGHUP of a closed terminal. It ends a call as Ctrl-C does: its `after` event has `cancelled`."""

    def __init__(self, signal: int) -> None:
        self.signal = signal
        super().__init__(signal)

    @property
    def status(self) -> int:
        """The exit status as shells report it: 128 plus the signal's number."""
        return 128 + self.signal


@contextmanager
def raise_on_signals() -> Generator[None]:
    """Raise `Terminated` at the first SIGTERM or SIGHUP in the body. Later ones do not interrupt the clean-up.

    A signal that is ignored, as under `nohup`, stays ignored. Outside the main thread nothing changes: Python installs
    signal handlers only there.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    taken = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) == signal.SIG_DFL]

    def end(number: int, _: Any) -> None:
        for each in taken:
            # `timeout` signals both the process and its group. Not SIG_IGN: programs would inherit it.
            signal.signal(each, _ignore_signal)
        raise Terminated(number)

    for number in taken:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _ignore_signal(_number: int, _: Any) -> None:
    """Do nothing."""
