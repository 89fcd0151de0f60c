"""Announces a stop of the process at once. Uvicorn would only do so after the last connection is closed."""

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
    """Within the context, SIGINT and SIGTERM begin the service's stop and then call the former handlers."""
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
