"""`Launch`: everything that is needed to start a program."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from toolcharter.api.runner import Ended
from toolcharter.guards.process.marks import NO_MARK, Mark


class StartedProgram(Protocol):
    """One running program with all processes that it starts."""

    def end_descriptor(self) -> int | None:
        """A descriptor that becomes readable when the program ends; None if the caller must poll. Valid until `end`."""
        ...

    def status(self) -> int | None:
        """The program's exit code, or the negative signal that ended it; None while it runs."""
        ...

    def signal(self, number: int) -> None:
        """Send a signal to all of its processes that are alive."""
        ...

    def end(self) -> int:
        """Kill all of its processes that are left, and return the program's status. May be called again."""
        ...


class Starter(Protocol):
    """Starts programs, and inherits their orphans."""

    def start(self, launch: "Launch", streams: tuple[int, int, int], /) -> StartedProgram:
        """Start the program of *launch* on *streams*: its standard input, output and error."""
        ...


def _keep_exit_code(code: int) -> int:
    return code


def _accept_end(_ended: Ended) -> None:
    """Accept every end: the program runs in no sandbox that could fail."""


@dataclass(frozen=True, slots=True)
class Launch:
    """Everything that is needed to start a program. A runner that confines programs rewrites it."""

    argv: tuple[str, ...]
    """The program's absolute path, and its arguments."""
    name: str
    """The program's name in messages."""
    cwd: str
    env: Mapping[str, str]
    stdin: bytes = b""
    expires: float = float("inf")
    """On `time.monotonic`'s clock, in seconds; may be infinite."""
    is_wanted: Callable[[], bool] | None = None
    """As in `Job`."""
    max_output_bytes: int = 1_000_000
    """How many bytes of each stream are kept."""
    pass_fds: tuple[int, ...] = ()
    """Descriptors for the program. They are closed here once it has been started."""
    nursery: "Starter | None" = None
    """Starts the program and inherits its orphans; None if the program becomes a child of this process."""
    lingers: bool = False
    """Whether processes that the program leaves behind live on until `StartedProgram.end`."""
    mark: Mark = NO_MARK
    """The mark that *argv* sets, by which all processes that the program starts are found."""
    is_contained: bool = False
    """Whether the leader of the group holds a sandbox: if it dies, everything inside dies."""
    exit_code: Callable[[int], int] = _keep_exit_code
    """Turns the leader's status, negative for a signal, into the program's."""
    check: Callable[[Ended], None] = _accept_end
    """Raises if the sandbox failed, rather than the program."""
