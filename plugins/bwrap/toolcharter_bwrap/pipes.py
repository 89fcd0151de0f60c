"""What goes to bubblewrap, and comes from it, by descriptors."""

import json
import os
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import NamedTuple

from toolcharter import Ended, Reason, ToolError
from toolcharter_bwrap.refusals import refused

_MOST_STATUS_BYTES = 65_536


class Pipes(NamedTuple):
    """Open until the program has been started, *heard* until it has ended."""

    settings: int
    """The arguments. Those of a command line can be read by all users of the host, and the environment is among these."""
    seccomp: int
    told: int
    """Where bubblewrap says what became of the program."""
    heard: int
    """The other end of it."""

    @property
    def arguments(self) -> tuple[str, ...]:
        """What is left to say on the command line."""
        options = ("--add-seccomp-fd", str(self.seccomp), "--json-status-fd", str(self.told))
        return ("--args", str(self.settings), *options)

    @property
    def given(self) -> tuple[int, ...]:
        """What bubblewrap gets."""
        return (self.settings, self.seccomp, self.told)

    def check(self, ended: Ended) -> None:
        """See that the program was started.

        Raises:
            Denied: `sandbox_unavailable`, since bubblewrap itself has failed.
        """
        with suppress(BlockingIOError):
            # Written only behind the point where nothing but the program can fail. Source: bubblewrap(1).
            if any("exit-code" in json.loads(line) for line in os.read(self.heard, _MOST_STATUS_BYTES).splitlines()):
                return
        if not ended.timed_out and ended.exit_code > 0:
            raise refused(ended.stderr)


def open_pipes(arguments: Sequence[str], seccomp: bytes, stack: ExitStack) -> Pipes:
    """Write what bubblewrap reads; *stack* closes the rest.

    Raises:
        ToolError: `invalid_arguments`, for a NUL, behind which another argument would begin.
    """
    text = "".join(f"{word}\0" for word in arguments)
    if text.count("\0") != len(arguments):
        raise ToolError("A variable of the environment holds NUL.", reason=Reason.INVALID_ARGUMENTS)
    with ExitStack() as failed:
        settings = _file("bwrap-arguments", os.fsencode(text), failed)
        rules = _file("bwrap-seccomp", seccomp, failed)
        heard, told = os.pipe()
        stack.callback(os.close, heard)
        os.set_blocking(heard, False)
        failed.pop_all()  # the launch closes them
        return Pipes(settings, rules, told, heard)


def _file(name: str, data: bytes, failed: ExitStack) -> int:
    descriptor = os.memfd_create(name)
    failed.callback(os.close, descriptor)
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
