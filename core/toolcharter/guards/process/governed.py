"""`GovernedRunner`: implements `rt.run`, `rt.inspect` and `rt.spawn` with the runner that the profile names."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from toolcharter._lazy import lazy
from toolcharter.api.call import trace_variables
from toolcharter.api.paths import OpenFolder
from toolcharter.api.reasons import Reason
from toolcharter.api.runner import Detached, Ended, ProgramRunner, Running, TerminalSize
from toolcharter.api.runtime import Completed
from toolcharter.errors import Denied, ToolError
from toolcharter.guards.process.programs import PROGRAM_NOT_FOUND, SEARCH_FOLDERS

if TYPE_CHECKING:
    from toolcharter.api import job as jobs
    from toolcharter.api.job import Job, ProcessLimits
else:
    jobs = lazy("toolcharter.api.job")

CLEAN_ENVIRONMENT: Mapping[str, str] = {
    "PATH": ":".join(SEARCH_FOLDERS),
    "HOME": "/nonexistent",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
}
TERMINAL: Mapping[str, str] = {"TERM": "xterm-256color"}
DESCRIPTORS = "/proc/self/fd"


class GovernedRunner:
    """Turns argument vectors into jobs and passes them to a runner. Satisfies `Runner`; safe from many threads.

    At each start of a program, *check* is called first and raises to refuse. *runner* returns the runner, so that a
    sandbox opens only when it is needed. *deadline* returns the end of the current call, on `time.monotonic`'s clock.
    *protected* returns the value for `Job.protected`. *wanted* returns a function that says whether the current call is
    still running. *read_only* is as in `Job`; *environment* is added to the environment of every program.
    """

    def __init__(
        self,
        runner: Callable[[], ProgramRunner],
        workspace: Path,
        *,
        deadline: Callable[[], float],
        check: Callable[[], None],
        read_only: bool = False,
        protected: Callable[[], tuple[str, ...]] = tuple,
        environment: Mapping[str, str] = MappingProxyType({}),
        wanted: Callable[[], Callable[[], bool]] | None = None,
    ) -> None:
        self._runner = runner
        self._workspace = workspace
        self._deadline = deadline
        self._check = check
        self._read_only = read_only
        self._protected = protected
        self._wanted = wanted
        self._environment = {**CLEAN_ENVIRONMENT, **environment}

    def __call__(
        self,
        argv: Sequence[str],
        /,
        *,
        cwd: OpenFolder | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout_s: float | None = None,
        max_output_bytes: int = 1_000_000,
        limits: "ProcessLimits | None" = None,
        network: bool = False,
        image: str = "",
    ) -> Completed:
        """Run *argv* as `Runner` specifies.

        Raises:
            Denied: `protected_path`, for a program below the workspace; `sandbox_unavailable`; any denial from *check*.
            ToolError: `program_not_found`; `invalid_arguments`, for arguments that cannot be passed to a
                program; `timed_out`, if the call had no time left.
        """
        self._check()
        started = time.monotonic()
        job = jobs.Job(
            argv=_require_argv(argv),
            cwd="." if cwd is None else self._folder(cwd),
            env={**self._environment, **trace_variables(), **(env or {})},
            stdin=stdin,
            expires=_expiry_of(started, timeout_s, self._deadline()),
            max_output_bytes=max_output_bytes,
            limits=limits or jobs.ProcessLimits(),
            read_only=self._read_only,
            protected=self._protected(),
            network=network,
            image=image,
            is_wanted=None if self._wanted is None else self._wanted(),
        )
        runner = self._runner()
        if image and not getattr(runner, "takes_images", False):
            what = f"The runner {runner.name!r} does not run containers, so it cannot use an image."
            raise Denied(Reason.SANDBOX_UNAVAILABLE, what, hint="Write `runner: docker` into the profile.")
        return _to_completed(job, runner.run(job), time.monotonic() - started)

    def spawn(
        self,
        argv: Sequence[str],
        /,
        *,
        cwd: OpenFolder | None = None,
        env: Mapping[str, str] | None = None,
        terminal: TerminalSize | None = None,
        limits: "ProcessLimits | None" = None,
        network: bool = False,
        drops_errors: bool = False,
    ) -> Running:
        """Start *argv* as `ToolRuntime.spawn` specifies. Raises as `__call__` does. *drops_errors* is as in `Job`."""
        job = self._lasting_job(argv, cwd, self._with_terminal(env, terminal), limits, network=network)
        return self._runner().start(replace(job, drops_errors=drops_errors), terminal)

    def detach(
        self,
        argv: Sequence[str],
        /,
        *,
        cwd: OpenFolder | None = None,
        env: Mapping[str, str] | None = None,
        terminal: TerminalSize | None = None,
        limits: "ProcessLimits | None" = None,
        network: bool = False,
    ) -> Detached:
        """Let another process start *argv*, as `ToolRuntime.detach` specifies. Raises as `__call__` does."""
        job = self._lasting_job(argv, cwd, self._with_terminal(env, terminal), limits, network=network)
        opener = _opener(self._runner())
        if opener is None:
            what = f"The runner {self._runner().name!r} starts no programs that outlive the toolbox."
            raise Denied(Reason.SANDBOX_UNAVAILABLE, what)
        return Detached(opener, job, terminal)

    def outlives(self) -> bool:
        """Whether the runner can start programs that outlive the toolbox, from another process."""
        return _opener(self._runner()) is not None

    def _lasting_job(
        self,
        argv: Sequence[str],
        cwd: OpenFolder | None,
        env: Mapping[str, str],
        limits: "ProcessLimits | None",
        *,
        network: bool,
    ) -> "Job":
        """Build the job of a program that keeps running after the call has ended."""
        self._check()
        _expiry_of(time.monotonic(), None, self._deadline())
        return jobs.Job(
            argv=_require_argv(argv),
            cwd="." if cwd is None else self._folder(cwd),
            env=env,
            limits=limits or jobs.ProcessLimits(),
            read_only=self._read_only,
            protected=self._protected(),
            network=network,
        )

    def _with_terminal(self, env: Mapping[str, str] | None, terminal: TerminalSize | None) -> Mapping[str, str]:
        added = {} if terminal is None else TERMINAL
        return {**self._environment, **trace_variables(), **added, **(env or {})}

    def _folder(self, folder: OpenFolder) -> str:
        """Return the current path of the open folder, which may have been renamed, relative to the workspace."""
        name = self._current_path(folder)
        try:
            if os.path.samestat(os.stat(self._workspace / name), os.fstat(folder.fileno())):
                return name
        except OSError:
            pass
        raise ToolError(f"The folder {folder.path!r} has changed.", retryable=True)

    def _current_path(self, folder: OpenFolder) -> str:
        held = f"{DESCRIPTORS}/{folder.fileno()}"
        if not os.path.lexists(held):
            return folder.path
        name = os.path.relpath(os.readlink(held), self._workspace)
        if name == ".." or name.startswith("../"):
            raise ToolError(f"The folder {folder.path!r} has left the workspace.", retryable=True)
        return name


class NoRunner:
    """The runner of a profile that names none: it refuses every job. Satisfies `ProgramRunner`."""

    name = ""
    is_sandbox = False

    def run(self, _job: "Job", /) -> Ended:
        """Refuse.

        Raises:
            Denied: `sandbox_unavailable`.
        """
        raise _no_runner()

    def start(self, _job: "Job", _terminal: TerminalSize | None = None, /) -> Running:
        """Refuse, as `run` does."""
        raise _no_runner()

    def close(self) -> None:
        """Do nothing: no program was ever started."""


def _no_runner() -> Denied:
    return Denied(
        Reason.SANDBOX_UNAVAILABLE,
        "The profile names no runner, and nothing runs on the host unless the profile says so.",
        hint="Write `runner: bwrap` or `runner: docker` into the profile, or `runner: host`, which is no sandbox.",
    )


def _opener(runner: ProgramRunner) -> Callable[[], ProgramRunner] | None:
    elsewhere: Callable[[], Callable[[], ProgramRunner] | None] = getattr(runner, "elsewhere", lambda: None)
    return elsewhere()


def _require_argv(argv: Sequence[str]) -> tuple[str, ...]:
    if not argv:
        raise ToolError("The argument vector is empty, so it names no program.", reason=PROGRAM_NOT_FOUND)
    return tuple(argv)


def _expiry_of(now: float, timeout_s: float | None, deadline: float) -> float:
    if deadline <= now:
        raise ToolError("The call has no time left to start a program.", reason=Reason.TIMED_OUT, retryable=True)
    return deadline if timeout_s is None else min(deadline, now + timeout_s)


def _to_completed(job: "Job", ended: Ended, elapsed_s: float) -> Completed:
    return Completed(
        argv=job.argv,
        exit_code=ended.exit_code,
        stdout=ended.stdout,
        stderr=ended.stderr,
        truncated=ended.truncated,
        timed_out=ended.timed_out,
        elapsed_s=elapsed_s,
    )
