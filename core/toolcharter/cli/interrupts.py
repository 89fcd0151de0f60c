"""What ends a command from outside, as an exception that a call under way lives to answer."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


class Terminated(KeyboardInterrupt):
    """SIGTERM: ends a call as Ctrl-C does, with an `after` that says `cancelled`."""


@contextmanager
def ended_by_sigterm() -> Generator[None]:
    """Raise `Terminated` at a SIGTERM in the body; a second one does not disturb what the first has begun.

    Where SIGTERM is ignored it stays so, and in another thread than the main one nothing changes: there
    Python takes no handler.
    """
    import signal  # noqa: PLC0415 - `--help` does without it
    import threading  # noqa: PLC0415 - as above

    before = signal.getsignal(signal.SIGTERM)
    if before != signal.SIG_DFL or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(number: int, _: Any) -> None:
    import signal  # noqa: PLC0415 - loaded by then

    # `timeout` and others send it to the process and to its group. Not SIG_IGN: programs would inherit that.
    signal.signal(number, _pass)
    raise Terminated


def _pass(_number: int, _: Any) -> None:
    """Do nothing."""
