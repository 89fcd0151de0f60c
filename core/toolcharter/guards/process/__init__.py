"""Programs without a shell: pinned, in a clean environment, in a group of their own, within limits and a time.

`GovernedRunner` is what tools call; behind it is the runner that the profile names. `host` is the one that is built in.
"""

from collections.abc import Callable
from pathlib import Path

from toolcharter.guards.process.governed import GovernedRunner, NoRunner
from toolcharter.guards.process.host import HostProgramRunner

__all__ = ["GovernedRunner", "HostProgramRunner", "HostRunner", "NoRunner"]


class HostRunner(GovernedRunner):
    """Runs programs on this host, with this user's rights: a `GovernedRunner` with a `host` of its own."""

    def __init__(self, workspace: Path, *, deadline: Callable[[], float], check: Callable[[], None]) -> None:
        host = HostProgramRunner(workspace)
        super().__init__(lambda: host, workspace, deadline=deadline, check=check)
        self.close = host.close
