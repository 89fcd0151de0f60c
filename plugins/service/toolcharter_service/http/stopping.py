"""Says at once that the process was asked to stop: uvicorn would tell the application when the last connection is closed."""

import asyncio
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from toolcharter_service.service import Service


@contextmanager
def announcing_stop(service: Service) -> Generator[None]:
    """While it lasts, SIGINT and SIGTERM reach the service, and then whoever handled them before."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    former: dict[int, Any] = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def stop(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(service.begin_stop)
        handler = former[number]
        if callable(handler):
            handler(number, frame)

    for number in former:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
