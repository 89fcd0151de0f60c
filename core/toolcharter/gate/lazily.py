"""The parts of the gate that not every toolbox needs, imported when they are first needed: asyncio takes 40 ms.

Each is kept, because an import statement in a function costs 1 us each time.
"""

from collections.abc import Callable, Coroutine
from functools import cache
from typing import TYPE_CHECKING, Any

from toolcharter.spec.call import Caller, ToolResult

if TYPE_CHECKING:
    from toolcharter.guards.rates.answers import Keys


@cache
def acall() -> Callable[..., Coroutine[Any, Any, ToolResult]]:
    """`toolcharter.gate.awaiting.acall`."""
    from toolcharter.gate import awaiting  # noqa: PLC0415 - as the module says

    return awaiting.acall


@cache
def overcome() -> Callable[..., None]:
    """`toolcharter.gate.obstacles.overcome`."""
    from toolcharter.gate import obstacles  # noqa: PLC0415 - as the module says

    return obstacles.overcome


@cache
def keys_of() -> "Callable[[Caller], Keys]":
    """`toolcharter.gate.remembering.keys_of`."""
    from toolcharter.gate import remembering  # noqa: PLC0415 - as the module says

    return remembering.keys_of


@cache
def heed_room() -> Callable[..., None]:
    """`toolcharter.gate.obstacles.heed_room`."""
    from toolcharter.gate import obstacles  # noqa: PLC0415 - as the module says

    return obstacles.heed_room


@cache
def remember() -> Callable[..., None]:
    """`toolcharter.gate.remembering.remember`."""
    from toolcharter.gate import remembering  # noqa: PLC0415 - as the module says

    return remembering.remember


@cache
def notifying() -> Callable[..., Callable[..., None]]:
    """`toolcharter.gate.remembering.notifying`."""
    from toolcharter.gate import remembering  # noqa: PLC0415 - as the module says

    return remembering.notifying
