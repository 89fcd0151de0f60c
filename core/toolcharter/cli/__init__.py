"""The `toolcharter` command: the gate from a shell, or from an agent in any language."""

import sys

from toolcharter.cli.streams import OutputLost, drop_output, finish, hold_standard_streams, tell


def main() -> None:
    """Run the command with the process's arguments; never returns."""
    try:
        hold_standard_streams()
        _run()
    except KeyboardInterrupt:
        sys.exit(130)
    except OutputLost as error:
        tell(error)
        drop_output()
        sys.exit(1)


def _run() -> None:
    try:
        from toolcharter.cli.group import toolcharter  # noqa: PLC0415 - an interrupt may come while click is imported

        toolcharter(prog_name="toolcharter")
    except SystemExit:
        try:
            finish()
        except BrokenPipeError:
            drop_output()
            sys.exit(1)
        raise
