"""The asynchronous half of the gate, imported when it is first needed: asyncio takes 40 ms."""

from collections.abc import Callable, Coroutine
from functools import cache
from typing import Any

from toolcharter.spec.call import ToolResult


@cache
def acall() -> Callable[..., Coroutine[Any, Any, ToolResult]]:
    """`toolcharter.gate.awaiting.acall`. Kept, because an import statement in a function costs 1 us each time."""
    from toolcharter.gate import awaiting  # noqa: PLC0415 - as the module says

    return awaiting.acall
