"""`BwrapRunner`: runs the program of each job in a new sandbox."""

import platform
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from functools import partial
from threading import Lock

from toolcharter import (
    Job,
    Launch,
    LocalRunner,
    Mark,
    ProcessLimits,
    ProgramRunner,
    RunnerScope,
    Running,
    TerminalSize,
    ToolError,
    hookimpl,
    limited,
)
from toolcharter_bwrap.cgroups import limit_processes
from toolcharter_bwrap.masks import hide_paths, mask_paths
from toolcharter_bwrap.pipes import open_pipes
from toolcharter_bwrap.policy import BwrapPolicy
from toolcharter_bwrap.program import find_bubblewrap, is_script
from toolcharter_bwrap.refusals import no_filter
from toolcharter_bwrap.seccomp import MACHINES, seccomp_filter
from toolcharter_bwrap.sockets import hide_sockets
from toolcharter_bwrap.system import is_visible, network_arguments, require_workspace, system_arguments

# The first process of the sandbox is no group leader yet, so `setsid` does not fork. Source: setsid(1).
_TERMINAL_PREFIX = ("/usr/bin/setsid", "--ctty", "--")
_UNLIMITED = ProcessLimits(memory_bytes=None, processes=None, open_files=None, file_bytes=None)
_SIGNAL_OFFSET, _HIGHEST_SIGNAL = 128, 64


class Bwrap:
    """The extension: opens one runner for each toolbox."""

    def __init__(self, policy: BwrapPolicy) -> None:
        self._policy = policy

    @hookimpl
    def open_runner(self, scope: RunnerScope) -> ProgramRunner:
        """Open a runner. Only its first program shows whether sandboxes can be made."""
        return BwrapRunner(scope, self._policy)


class BwrapRunner(LocalRunner):
    """A `ProgramRunner` with a sandbox for each program. Sandboxes take milliseconds to make, and share nothing."""

    name = "bwrap"
    is_sandbox = True

    def __init__(self, scope: RunnerScope, policy: BwrapPolicy) -> None:
        super().__init__(scope.workspace, scope.protected)
        self._scope = scope
        self._policy = policy
        self._system = system_arguments(policy)
        # The kernel ends a sandbox together with the thread that started it. This thread lasts as long as the runner.
        self._start_thread = ThreadPoolExecutor(1, thread_name_prefix="bwrap")
        self._has_started = False
        self._start_lock = Lock()

    def start(self, job: Job, terminal: TerminalSize | None = None, /) -> Running:
        """Start *job* and return."""
        with self._start_lock:
            if not self._has_started:
                # Only a program that has ended shows whether its sandbox could be made.
                self.run(Job(("true",), read_only=True))
                self._has_started = True
        return self._start_thread.submit(super().start, job, terminal).result()

    def elsewhere(self) -> Callable[[], ProgramRunner]:
        """Return a function that opens a runner for the same scope in another process, with which its programs die."""
        return partial(BwrapRunner, self._scope, self._policy)

    def close(self) -> None:
        """End all programs that are still running."""
        super().close()
        self._start_thread.shutdown()

    @contextmanager
    def prepared(self, job: Job, mark: Mark, *, on_terminal: bool) -> Generator[Launch]:
        """Yield the launch of bubblewrap with the program and its limits."""
        require_workspace(self.workspace)
        bwrap = find_bubblewrap(self.programs.resolve)
        program, is_there = self._find_program(job)
        limits = _lower_limits(job.limits, self._policy.limits)
        command = limited((program, *job.argv[1:]), limits, mark)
        with ExitStack() as stack:
            # A program that a plugin ships, such as ripgrep, is mounted alone, without its Python environment.
            extra_mounts = () if is_there else ("--ro-bind", program, program)
            arguments = self._arguments(job, extra_mounts, stack, on_terminal=on_terminal)
            prefix = stack.enter_context(limit_processes(limits.processes, self.keeper()))
            pipes = open_pipes(arguments, self._seccomp_filter(job), stack)
            inner = (*_TERMINAL_PREFIX, *command) if on_terminal else command
            outer = limited((bwrap, *pipes.arguments, "--", *inner), _UNLIMITED, _own_processes_mark(mark))
            yield Launch(
                argv=(*prefix, *outer),
                name=job.argv[0],
                cwd="/",
                env={},
                stdin=job.stdin,
                expires=job.expires,
                is_wanted=job.is_wanted,
                max_output_bytes=job.max_output_bytes,
                pass_fds=pipes.inherited,
                mark=mark,
                is_contained=True,
                exit_code=_exit_code,
                check=pipes.require_started,
            )

    def _find_program(self, job: Job) -> tuple[str, bool]:
        """The path of the job's program, and whether the sandbox contains it without an additional mount."""
        program = self.programs.resolve(job.argv[0])
        if is_visible(program, self._policy, self.workspace):
            return program, True
        # A script's interpreter would be missing.
        if self.programs.is_shipped(program) and not is_script(program):
            return program, False
        raise ToolError(
            f"The program {job.argv[0]!r} is not in the sandbox.",
            reason="program_not_found",
            hint="The profile can list its folder in read_roots of the extension bwrap.",
        )

    def _seccomp_filter(self, job: Job) -> bytes:
        machine = MACHINES.get(platform.machine())
        if machine is None:
            raise no_filter(platform.machine())
        return seccomp_filter(machine, network=self._has_network(job))

    def _has_network(self, job: Job) -> bool:
        return job.network and self._policy.network

    def _arguments(
        self, job: Job, extra_mounts: tuple[str, ...], stack: ExitStack, *, on_terminal: bool
    ) -> tuple[str, ...]:
        workspace = str(self.workspace)
        protected = () if job.read_only else (*self._scope.protected, *job.protected)
        hidden = self._scope.hidden()
        return (
            *self._system,
            *(network_arguments() if self._has_network(job) else ()),
            *extra_mounts,
            *("--ro-bind" if job.read_only else "--bind", workspace, workspace),
            *stack.enter_context(mask_paths(self.workspace, protected, self.keeper(), () if job.read_only else hidden)),
            *hide_paths(self.workspace, hidden),
            *hide_sockets((self.workspace, *self._policy.read_roots)),
            *("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", self.folder_of(job)),
            # On a terminal, `_TERMINAL_PREFIX` makes the session.
            *(() if on_terminal else ("--new-session",)),
            *(word for name, value in job.env.items() for word in ("--setenv", name, value)),
        )


def _own_processes_mark(mark: Mark) -> Mark:
    """The mark of bubblewrap's own processes: the runner's, but not the program's, so they are not signalled with it.

    They need a mark: if this process dies while a sandbox is being made, one of them may wait for the other for ever.
    """
    return Mark(mark.run + 1, mark.runner) if mark.run else mark


def _exit_code(code: int) -> int:
    """Turn bubblewrap's exit code into the program's. Bubblewrap reports a signal as a shell does: 128 plus its number.

    So a program that itself exits with such a number cannot be distinguished from a program that a signal has ended.
    """
    return _SIGNAL_OFFSET - code if _SIGNAL_OFFSET < code <= _SIGNAL_OFFSET + _HIGHEST_SIGNAL else code


def _lower_limits(requested: ProcessLimits, upper: ProcessLimits) -> ProcessLimits:
    return ProcessLimits(
        **{field.name: _smaller(getattr(requested, field.name), getattr(upper, field.name)) for field in fields(upper)}
    )


def _smaller(first: int | None, second: int | None) -> int | None:
    return min((value for value in (first, second) if value is not None), default=None)
