"""Run programs without a shell: pinned, in a clean environment, in their own process group, with limits and a deadline.

Tools call `GovernedRunner`, which uses the runner that the profile names. The runner `host` is built in.
"""

from collections.abc import Callable
from pathlib import Path

from toolcharter.guards.process.governed import GovernedRunner, NoRunner
from toolcharter.guards.process.host import HostProgramRunner

__all__ = ["GovernedRunner", "HostProgramRunner", "HostRunner", "NoRunner"]


class HostRunner(GovernedRunner):
    """Runs programs on this host, with this user's rights: a `GovernedRunner` with its own runner `host`."""

    def __init__(self, workspace: Path, *, deadline: Callable[[], float], check: Callable[[], None]) -> None:
        host = HostProgramRunner(workspace)
        super().__init__(lambda: host, workspace, deadline=deadline, check=check)
        self.close = host.close
