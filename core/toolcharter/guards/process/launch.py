"""`Launch`: all that a program is started with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from toolcharter.api.runner import Ended
from toolcharter.guards.process.marks import NO_MARK, Mark


class Started(Protocol):
    """One running program with all that it starts."""

    def end_descriptor(self) -> int | None:
        """What becomes readable when the program has ended; None if that has to be asked for. Valid until `end`."""
        ...

    def status(self) -> int | None:
        """How the program ended, negative by a signal; None if it has not."""
        ...

    def signal(self, number: int) -> None:
        """Send a signal to all of it that lives."""
        ...

    def end(self) -> int:
        """Kill whatever is left of it; the program's status. May be called again."""
        ...


class Starter(Protocol):
    """Starts programs, and inherits what they leave."""

    def start(self, launch: "Launch", streams: tuple[int, int, int], /) -> Started:
        """Start the program of *launch* on *streams*: its standard input, output and error."""
        ...


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
    nursery: "Starter | None" = None
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
