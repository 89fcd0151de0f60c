"""The `toolcharter` command: makes gated calls from a shell, or from an agent in any language."""

import sys
from typing import TYPE_CHECKING

from toolcharter._lazy import lazy
from toolcharter.cli.streams import OutputLost, drop_output, flush_output, hold_standard_streams, report_lost_output

if TYPE_CHECKING:
    from toolcharter.cli import group as cli_group
else:
    cli_group = lazy("toolcharter.cli.group")


def main() -> None:
    """Run the command with the process's arguments; never returns."""
    try:
        hold_standard_streams()
        _run()
    except KeyboardInterrupt:
        sys.exit(130)
    except OutputLost as error:
        report_lost_output(error)
        drop_output()
        sys.exit(1)


def _run() -> None:
    try:
        # `main` must be running when click is imported: an interrupt can arrive during the import.
        cli_group.toolcharter(prog_name="toolcharter")
    except SystemExit:
        try:
            flush_output()
        except BrokenPipeError:
            drop_output()
            sys.exit(1)
        raise
