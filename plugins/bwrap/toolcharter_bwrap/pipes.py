"""The descriptors by which bubblewrap gets its arguments and reports its status."""

import json
import os
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import NamedTuple

from toolcharter import Ended, Reason, ToolError
from toolcharter_bwrap.refusals import start_failure

_MAX_STATUS_BYTES = 65_536


class Pipes(NamedTuple):
    """The descriptors for one run: open until the program has been started, *status_read* until it has ended."""

    settings: int
    """The arguments, with the program's environment. All users of the host could read them on a command line."""
    seccomp: int
    status_write: int
    """The pipe to which bubblewrap writes the program's status."""
    status_read: int
    """The reading end of *status_write*."""

    @property
    def arguments(self) -> tuple[str, ...]:
        """The remaining arguments, for the command line."""
        options = ("--add-seccomp-fd", str(self.seccomp), "--json-status-fd", str(self.status_write))
        return ("--args", str(self.settings), *options)

    @property
    def inherited(self) -> tuple[int, ...]:
        """The descriptors that bubblewrap inherits."""
        return (self.settings, self.seccomp, self.status_write)

    def require_started(self, ended: Ended) -> None:
        """Check that the program was started.

        Raises:
            Denied: `sandbox_unavailable`, if bubblewrap itself has failed.
        """
        with suppress(BlockingIOError):
            # Bubblewrap writes the exit code only if the program itself has run. Source: bubblewrap(1).
            if any(
                "exit-code" in json.loads(line) for line in os.read(self.status_read, _MAX_STATUS_BYTES).splitlines()
            ):
                return
        if not ended.timed_out and ended.exit_code > 0:
            raise start_failure(ended.stderr)


def open_pipes(arguments: Sequence[str], seccomp: bytes, stack: ExitStack) -> Pipes:
    """Write the files that bubblewrap reads, and open the pipe for its status; *stack* closes `status_read`.

    Raises:
        ToolError: `invalid_arguments`, for a NUL: after it, another argument would begin.
    """
    text = "".join(f"{word}\0" for word in arguments)
    if text.count("\0") != len(arguments):
        raise ToolError("A variable of the environment contains a NUL.", reason=Reason.INVALID_ARGUMENTS)
    with ExitStack() as failed:
        settings = _write_memory_file("bwrap-arguments", os.fsencode(text), failed)
        rules = _write_memory_file("bwrap-seccomp", seccomp, failed)
        status_read, status_write = os.pipe()
        stack.callback(os.close, status_read)
        os.set_blocking(status_read, False)
        failed.pop_all()  # the launch closes them
        return Pipes(settings, rules, status_write, status_read)


def _write_memory_file(name: str, data: bytes, failed: ExitStack) -> int:
    descriptor = os.memfd_create(name)
    failed.callback(os.close, descriptor)
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
