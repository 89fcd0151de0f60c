"""`Launch`: all that a program is started with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolcharter.guards.process.marks import NO_MARK, Mark
from toolcharter.spec.runner import Ended

if TYPE_CHECKING:
    from toolcharter.guards.process.started import Nursery


def _unchanged(code: int) -> int:
    return code


def _unchecked(_ended: Ended) -> None:
    """Nothing is around it."""


@dataclass(frozen=True, slots=True)
class Launch:
    """All that a program is started with. A runner that confines programs rewrites one of these."""

    argv: tuple[str, ...]
    """The program by its absolute path, and its arguments."""
    name: str
    """Of the program, in messages."""
    cwd: str
    env: Mapping[str, str]
    stdin: bytes = b""
    expires: float = float("inf")
    """On `time.monotonic`'s clock, in seconds; may be infinite."""
    is_wanted: Callable[[], bool] | None = None
    """As in `Job`."""
    max_output_bytes: int = 1_000_000
    """Kept of each stream."""
    pass_fds: tuple[int, ...] = ()
    """Given away: closed when the program has been started."""
    nursery: "Nursery | None" = None
    """What starts it and inherits what it leaves; None if it becomes a child of ours."""
    lingers: bool = False
    """What it leaves lives on when it has ended, until it is closed."""
    mark: Mark = NO_MARK
    """What *argv* sets, to find all that the program started."""
    is_contained: bool = False
    """The leader of the group holds a sandbox, whose death is that of all within."""
    exit_code: Callable[[int], int] = _unchanged
    """From the leader's status, negative by a signal, to the program's."""
    check: Callable[[Ended], None] = _unchecked
    """Raises if it was not the program that ended so, but what is around it."""
