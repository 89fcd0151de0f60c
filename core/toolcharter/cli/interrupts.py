"""What ends a command from outside, as an exception that a call under way lives to answer."""

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
    """SIGTERM, or SIGHUP of a terminal that was closed: ends a call as Ctrl-C does, with `cancelled` in its `after`."""

    def __init__(self, signal: int) -> None:
        self.signal = signal
        super().__init__(signal)

    @property
    def status(self) -> int:
        """The exit status, as shells count signals."""
        return 128 + self.signal


@contextmanager
def ended_by_signals() -> Generator[None]:
    """Raise `Terminated` at the first SIGTERM or SIGHUP in the body; more do not disturb what it has begun.

    A signal that is ignored, as under `nohup`, stays so, and in another thread than the main one nothing changes:
    there Python takes no handler.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    taken = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) == signal.SIG_DFL]

    def end(number: int, _: Any) -> None:
        for each in taken:
            # `timeout` and others send it to the process and to its group. Not SIG_IGN: programs would inherit that.
            signal.signal(each, _pass)
        raise Terminated(number)

    for number in taken:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _pass(_number: int, _: Any) -> None:
    """Do nothing."""
