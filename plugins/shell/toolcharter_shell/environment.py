"""Runs programs for both tools. The policy sets their time, environment, search path and limits."""

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator

from toolcharter import (
    Completed,
    Denied,
    ProcessLimits,
    ProgramPlace,
    Reason,
    ToolPolicy,
    ToolRuntime,
    check_variables,
)

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
"""The runtime's own PATH."""
SHELL = ("bash", "--noprofile", "--norc", "-p", "-c", "--")
"""The words before the command line. `-p` ignores functions and options in the environment; `--` keeps a line that
begins with a dash from being an option. Source: bash(1), OPTIONS and INVOCATION."""
MAX_RESERVE_S = 1.0
"""How much of the call's time is reserved, in seconds, to return the output of a program that took too long."""


Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]
TimeoutMs = Annotated[int, Field(ge=1)]


class ShellPolicy(ToolPolicy):
    """How far one profile lets programs go that its rules allow."""

    default_timeout_s: Seconds = 30.0
    """How long a program may take if the call sets no timeout, in seconds."""
    max_host_timeout_s: Seconds = 60.0
    """The longest timeout that a call may set if the runner is no sandbox, in seconds."""
    max_sandbox_timeout_s: Seconds = 300.0
    """The longest timeout that a call may set in a sandbox, in seconds."""
    max_output_bytes: Annotated[int, Field(ge=1, le=50_000_000)] = 1_000_000
    """How much of each of the two output streams is kept, in bytes."""
    env_names: tuple[str, ...] = ()
    """Variables of the harness that programs see."""
    environment: Mapping[str, str] = {}
    """Variables that programs see: fixed values, or `secret:NAME` for a secret of the store."""
    path: tuple[Path, ...] = ()
    """Absolute folders outside the workspace whose programs may be used, too; the system's are found first."""
    network: bool = False
    """Whether programs may use the network, if the runner's policy grants it, too."""
    max_memory_bytes: Count | None = 4 * 1024**3
    """How much memory the programs of a call may use, in bytes; absent: no limit."""
    max_processes: Count | None = 256
    """How many processes a call may have at a time; absent: no limit."""

    @field_validator("env_names", "environment")
    @classmethod
    def _harmless(cls, value: tuple[str, ...] | Mapping[str, str]) -> tuple[str, ...] | Mapping[str, str]:
        check_variables(value)
        return value

    @field_validator("path")
    @classmethod
    def _absolute(cls, folders: tuple[Path, ...]) -> tuple[Path, ...]:
        for folder in folders:
            if not folder.is_absolute() or any(sign in str(folder) for sign in ":\0"):
                raise ValueError(f"{str(folder)!r} is not an absolute path without ':'")
        return folders

    def never_works(self, place: ProgramPlace) -> Iterator[str]:
        """Report `network: true` if the runner does not grant the network."""
        if self.network and place.network == "closed":
            yield f"`network: true` opens nothing: {place.runner!r} needs `network: true` under `extensions`, too."

    def timeout_s(self, rt: ToolRuntime, asked_ms: int | None) -> float:
        """Return how long a program of the current call may take, in seconds."""
        longest = self.max_sandbox_timeout_s if rt.is_sandboxed else self.max_host_timeout_s
        wanted = self.default_timeout_s if asked_ms is None else asked_ms / 1000
        left = rt.deadline - time.monotonic()
        return max(0.0, min(wanted, longest, left - min(MAX_RESERVE_S, left / 4)))

    def run(
        self,
        rt: ToolRuntime,
        workspace: Path,
        argv: tuple[str, ...],
        stdin: bytes,
        timeout_s: float,
    ) -> Completed:
        """Run *argv* under this policy; raises as `rt.run`."""
        return rt.run(
            argv,
            env=self._variables(rt, workspace),
            stdin=stdin,
            timeout_s=timeout_s,
            max_output_bytes=self.max_output_bytes,
            limits=ProcessLimits(memory_bytes=self.max_memory_bytes, processes=self.max_processes),
            network=self.network,
        )

    def _variables(self, rt: ToolRuntime, workspace: Path) -> dict[str, str]:
        passed = {name: os.environ[name] for name in self.env_names if name in os.environ}
        folders = [_folder_outside(workspace, folder) for folder in self.path]
        search = {"PATH": ":".join((SYSTEM_PATH, *folders))} if folders else {}
        fixed = {name: rt.secret(value) for name, value in self.environment.items()}
        return {**passed, **fixed, **search}


def _folder_outside(workspace: Path, folder: Path) -> str:
    """Return the real path of a folder of programs. Inside the workspace, an agent could replace its programs.

    Raises:
        Denied: `protected_path`, if the folder is inside the workspace, or its real path contains `:`.
    """
    real = Path(os.path.realpath(folder))
    if ":" in str(real) or real.is_relative_to(os.path.realpath(workspace)):
        raise Denied(Reason.PROTECTED_PATH, f"The policy's folder of programs {str(folder)!r} lies in the workspace.")
    return str(real)
