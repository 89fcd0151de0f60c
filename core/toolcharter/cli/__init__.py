"""The `toolcharter` command: the gate from a shell, or from an agent in any language."""

import os
import sys


def main() -> None:
    """Run the command with the process's arguments; never returns."""
    try:
        _hold_standard_streams()
        from toolcharter.cli.group import toolcharter  # noqa: PLC0415 - an interrupt may come while click is imported

        toolcharter(prog_name="toolcharter")
    except KeyboardInterrupt:
        sys.exit(130)


def _hold_standard_streams() -> None:
    """Keep closed standard streams from becoming some file that is opened later.

    Event lines on descriptor 2 would go into it. Writing to what is opened here instead fails, so
    that the loss is counted.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: PTH123, SIM115 - pathlib is a twelfth of the start; open as long as the process lives
    if sys.stdout is None:  # Nobody can be answered.
        sys.exit(1)
