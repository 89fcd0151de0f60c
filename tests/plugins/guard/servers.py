"""The resident gates that hooks of the tests start, and leave for a quarter of an hour."""

import os
import signal
from pathlib import Path


def end_servers(named: Path, number: int = signal.SIGKILL) -> None:
    """End those in whose command or environment *named* stands: a profile, or a folder of the test's own."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command, environment = (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()
        except OSError:
            continue
        if b"\0guard\0serve\0" in command and str(named).encode() in command + environment:
            os.kill(int(entry.name), number)
