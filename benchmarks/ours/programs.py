"""Starts a program from a process of the requested size."""

import os
import tempfile
from math import inf
from pathlib import Path

from toolcharter.guards.process import HostRunner

ballast = bytearray(b"\1") * int(os.environ.get("BENCH_BALLAST", "1"))
folder = tempfile.TemporaryDirectory()
run = HostRunner(Path(folder.name), deadline=lambda: inf, check=lambda: None)


def start() -> None:
    """Run a program that does nothing."""
    assert run(["true"]).exit_code == 0


OPERATIONS = {"start": start}
