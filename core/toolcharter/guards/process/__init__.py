"""Programs without a shell: pinned, in a clean environment, in a group of their own, for a limited time.

`HostRunner` is `rt.run` and `rt.inspect` where a profile names no other runner. It confines
nothing: what a program does with the user's rights is for a sandboxing runner to limit.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from toolcharter.errors import ToolError
from toolcharter.guards.process.programs import PROGRAM_NOT_FOUND, SEARCH_FOLDERS, Programs
from toolcharter.spec.reasons import Reason
from toolcharter.spec.runtime import Completed, OpenFolder

CLEAN_ENVIRONMENT: Mapping[str, str] = {
    "PATH": ":".join(SEARCH_FOLDERS),
    "HOME": "/nonexistent",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
}
DESCRIPTORS = "/proc/self/fd"


class HostRunner:
    """Runs programs on this host, with this user's rights. Satisfies `Runner`; safe from many threads.

    *deadline* is asked at each start for the end of the current call, on `time.monotonic`'s clock;
    *check* runs before anything else and raises to refuse.
    """

    def __init__(self, workspace: Path, *, deadline: Callable[[], float], check: Callable[[], None]) -> None:
        self._workspace = workspace
        self._programs = Programs(workspace)
        self._deadline = deadline
        self._check = check

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
    ) -> Completed:
        """Run *argv* as `Runner` says.

        Raises:
            Denied: `protected_path`, for a program below the workspace; whatever *check* raises.
            ToolError: `program_not_found`; `invalid_arguments`, for what cannot be passed to a
                program; `timed_out`, if the call had no time left.
        """
        from toolcharter.guards.process.supervise import Launch, supervise  # noqa: PLC0415 - subprocess is slow to import

        self._check()
        if not argv:
            raise ToolError("There is no program in an empty argument vector.", reason=PROGRAM_NOT_FOUND)
        started = time.monotonic()
        launch = Launch(
            executable=self._programs.resolve(argv[0]),
            argv=tuple(argv),
            cwd=str(self._workspace) if cwd is None else self._folder(cwd),
            env={**CLEAN_ENVIRONMENT, **(env or {})},
            stdin=stdin,
            expires=_expiry(started, timeout_s, self._deadline()),
            max_output_bytes=max_output_bytes,
        )
        try:
            ended = supervise(launch)
        except ValueError as error:
            raise ToolError(f"{argv[0]}: {error}", reason=Reason.INVALID_ARGUMENTS) from error
        except OSError as error:
            raise ToolError(f"{argv[0]} did not start: {error.strerror}", reason=Reason.TOOL_ERROR) from error
        return Completed(
            argv=launch.argv,
            exit_code=ended.exit_code,
            stdout=ended.stdout,
            stderr=ended.stderr,
            truncated=ended.truncated,
            timed_out=ended.timed_out,
            elapsed_s=time.monotonic() - started,
        )

    def _folder(self, folder: OpenFolder) -> str:
        """A path that leads to the held folder itself, whatever has become of its name."""
        held = f"{DESCRIPTORS}/{folder.fileno()}"
        if os.path.exists(held):  # noqa: PTH110 - plain text in, plain text out
            return held
        named = self._workspace / folder.path
        if not os.path.samestat(named.stat(), os.fstat(folder.fileno())):
            raise ToolError(f"The folder {folder.path!r} has changed.", retryable=True)
        return str(named)


def _expiry(now: float, timeout_s: float | None, deadline: float) -> float:
    if deadline <= now:
        raise ToolError("The call has no time left to start a program.", reason=Reason.TIMED_OUT, retryable=True)
    return deadline if timeout_s is None else min(deadline, now + timeout_s)
