"""The policy of `background_process`, and the reasons for a refusal."""

import os
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from toolcharter import ProcessLimits, ProgramPlace, ToolPolicy, ToolRuntime, check_variables

Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]

TERMINAL = "linux"
"""The kind of terminal that `capture` draws. Source: pyte's documentation."""


class ProcessPolicy(ToolPolicy):
    """How far one profile lets `background_process` go, in addition to its `bash:` rules."""

    allow_input: bool = False
    """Whether `write` and `send_keys` may be used. No rule sees what they send, and a shell or an interpreter runs it."""
    max_processes: Count = 8
    """How many processes one session may have at a time."""
    max_runtime_s: Seconds | None = 3600.0
    """How long a process may run, in seconds; absent: until its session is over."""
    session_timeout_s: Seconds | None = 3600.0
    """How long a session may not use the tool before it counts as over and its processes end, in seconds; absent: they
    run until the toolbox closes."""
    on_close: Literal["end", "keep"] = "end"
    """Whether processes end when their session, its toolbox or the harness ends (`end`), or run on until they end
    themselves, are killed or have run for `max_runtime_s`, which then has to be set (`keep`)."""
    max_log_bytes: Annotated[int, Field(ge=4096)] = 1_000_000
    """How much of a process's latest output is kept on disk, in bytes."""
    max_records: Count = 50
    """How many ended processes of a workspace are recorded."""
    max_watches: Count = 10
    """How many watches there may be on one process."""
    tell_in_inbox: bool = False
    """Whether the notices of watches and of each process's end go to the session's inbox, instead of coming with its
    next call."""
    state_dir: Path | None = None
    """Absolute folder for logs and records, outside the workspace; absent: `toolcharter/processes` in the user's
    state folder."""
    env_names: tuple[str, ...] = ()
    """Variables of the harness that processes see."""
    environment: Mapping[str, str] = {}
    """Variables that processes see: fixed values, or `secret:NAME` for a secret of the store."""
    network: bool = False
    """Whether processes may use the network, if the runner's policy grants it, too."""
    max_memory_bytes: Count | None = 4 * 1024**3
    """How much memory one process and all that it starts may use, in bytes; absent: no limit."""
    max_children: Count | None = 256
    """How many programs may run at a time in one process and all that it starts; absent: no limit."""

    def never_works(self, place: ProgramPlace) -> Iterator[str]:
        """Report `network: true` if the runner does not grant the network."""
        if self.network and place.network == "closed":
            yield f"`network: true` opens nothing: {place.runner!r} needs `network: true` under `extensions`, too."

    def keeps_state_in(self) -> tuple[Path, ...]:
        """Return the folder of logs and records, if the profile names one."""
        return () if self.state_dir is None else (self.state_dir,)

    @field_validator("env_names", "environment")
    @classmethod
    def _harmless(cls, value: tuple[str, ...] | Mapping[str, str]) -> tuple[str, ...] | Mapping[str, str]:
        check_variables(value)
        return value

    @field_validator("state_dir")
    @classmethod
    def _absolute(cls, folder: Path | None) -> Path | None:
        if folder is not None and not folder.is_absolute():
            raise ValueError(f"{str(folder)!r} is not an absolute path")
        return folder

    @model_validator(mode="after")
    def _is_bounded(self) -> Self:
        if self.on_close == "keep" and self.max_runtime_s is None:
            message = "on_close: keep needs max_runtime_s, or processes would never end"
            raise ValueError(message)
        return self

    def variables(self, rt: ToolRuntime) -> dict[str, str]:
        """Return the variables that a process gets in addition to the clean environment."""
        passed = {name: os.environ[name] for name in self.env_names if name in os.environ}
        fixed = {name: rt.secret(value) for name, value in self.environment.items()}
        return {"TERM": TERMINAL, **passed, **fixed}

    def limits(self) -> ProcessLimits:
        """Return the limits of a process's memory and children."""
        return ProcessLimits(memory_bytes=self.max_memory_bytes, processes=self.max_children)


class ProcessReason(StrEnum):
    """Why `background_process` denies a call (the first two) or fails."""

    INPUT_NOT_ALLOWED = "input_not_allowed"
    TOO_MANY_PROCESSES = "too_many_processes"

    MISSING_ARGUMENT = "missing_argument"
    UNKNOWN_HANDLE = "unknown_handle"
    UNKNOWN_WATCH = "unknown_watch"
    TOO_MANY_WATCHES = "too_many_watches"
    NOT_RUNNING = "not_running"
    INVALID_KEYS = "invalid_keys"
    INVALID_PATTERN = "invalid_pattern"
    INPUT_NOT_TAKEN = "input_not_taken"
    STATE_UNAVAILABLE = "state_unavailable"
