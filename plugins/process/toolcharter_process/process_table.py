"""`ProcessTable`: gives a call the processes of its own session, running or recorded."""

import os
import secrets
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from toolcharter import Denied, TerminalSize, ToolError, ToolRuntime
from toolcharter_process.inbox import InboxNotices, TaskThread
from toolcharter_process.managed import ManagedProcess, utc_now
from toolcharter_process.output_loop import OutputLoop
from toolcharter_process.policy import ProcessPolicy, ProcessReason
from toolcharter_process.state import (
    HANDLE,
    KeptRecord,
    Log,
    ProcessState,
    Record,
    process_started,
    session_digest,
    unavailable,
)
from toolcharter_process.supervised import SupervisedProcess, SupervisorSpec, start_supervisor, take_notices
from toolcharter_process.watches import Notice, Notices

SHELL = ("bash", "--noprofile", "--norc", "-p", "-c", "--")
"""The words before the command line. `-p` ignores functions and options in the environment; `--` keeps a line that
begins with a dash from being an option. Source: bash(1), OPTIONS and INVOCATION."""


class SessionProcess(NamedTuple):
    """One process as a session sees it."""

    record: Record
    live: ManagedProcess | SupervisedProcess | None
    """The process, if it runs and this toolbox has started it or can reach its supervisor."""

    @property
    def state(self) -> str:
        """`running`, `ended`, `elsewhere` (another harness or supervisor has it), or `lost` (its owner is gone)."""
        if self.live is not None:
            return "running"
        if self.record.ended is not None:
            return "ended"
        return "elsewhere" if self.record.has_owner() else "lost"

    def describe(self) -> dict[str, Any]:
        """Return the process's data for a result."""
        record, code = self.record, self.record.exit_code
        return {
            "handle": record.handle,
            "command": record.command,
            "state": self.state,
            "ended": record.ended,
            "exit_code": code,
            "signal": next((one.name for one in signal.Signals if code is not None and one == -code), None),
            "started_at": record.started_at,
            "ended_at": record.ended_at,
            "log_lost": record.log_lost,
        }


class ProcessTable:
    """All processes of one tool. Thread-safe."""

    def __init__(self, workspace: Path, policy: ProcessPolicy, rt: ToolRuntime) -> None:
        self.policy = policy
        self.state = ProcessState(policy.state_dir, workspace)
        self._rt = rt
        self._output_loop = OutputLoop()
        self._notices: dict[str, Notices] = {}
        self._inbox_thread = TaskThread()
        self._lock = threading.Lock()
        self._spawned: set[str] = set()
        """The handles of kept processes that this toolbox has started."""
        self._heard: dict[str, set[str]] = {}
        """The handles of kept processes that may have notices, by session."""
        rt.on_close(self.close)

    def close(self) -> None:
        """End all processes that the policy does not keep, and wait until they have ended."""
        for handle in self._spawned:
            with suppress(ToolError):
                if live := self._connect(self.state.load(handle)):
                    live.mark_free()
        self._output_loop.close()
        self._inbox_thread.close()

    def session(self) -> str:
        """Return the digest of the current call's session, and restart the session's timeout."""
        caller = self._rt.caller
        people = (caller.agent, caller.user, caller.channel, caller.chat)
        name = caller.session or (repr(people) if any(people) else "")
        session = session_digest(caller.apart(name) if name or caller.tenant else None)
        for process in self._running_processes(session):
            process.abandoned_at = _time_after(self.policy.session_timeout_s)
        return session

    def notices(self, session: str) -> Notices:
        """Return the session's queue of notices."""
        with self._lock:
            if session not in self._notices:
                new = InboxNotices(self._rt.inbox, self._inbox_thread) if self.policy.tell_in_inbox else Notices()
                self._notices[session] = new
            return self._notices[session]

    def take_notices(self, session: str) -> tuple[list[Notice], int]:
        """Remove and return the session's notices, and how many were dropped."""
        notices = self.notices(session)
        for handle in list(self._heard.get(session, ())):
            record = self.state.load(handle)
            told, is_last = take_notices(self.state, record) if record else (([], 0), True)
            notices.extend(*told)
            if is_last:
                self._heard[session].discard(handle)
        return notices.take()

    def require_room(self, session: str) -> None:
        """Refuse a session that already has its maximum of processes.

        Raises:
            Denied: `too_many_processes`.
        """
        if len(self._running_processes(session)) + self._count_kept(session) >= self.policy.max_processes:
            raise Denied(
                ProcessReason.TOO_MANY_PROCESSES,
                f"{self.policy.max_processes} processes run already.",
                hint="End one with `kill`, or wait for its end.",
            )

    def spawn(self, session: str, command: str, size: TerminalSize, pattern: str) -> ManagedProcess | SupervisedProcess:
        """Start *command* on a terminal of *size*, and watch for *pattern* if it is not empty.

        Raises:
            Denied: `too_many_processes`; or as `rt.spawn`.
            ToolError: `state_unavailable`; or as `rt.spawn`.
        """
        notices = self.notices(session)
        with self._lock:
            self.require_room(session)
            self.state.prepare()
            self._forget_old()
            record = new_record(session, command, size)
            if self.policy.on_close == "keep":
                return self._keep(record, size, pattern)
            try:
                self.state.save(record)
                log = Log(self.state.path(f"{record.handle}.log"), self.policy.max_log_bytes)
            except OSError as error:
                self.state.forget(record.handle)
                raise unavailable(f"{error.strerror}") from error
            process = ManagedProcess(self._start(record, log, size), record, self.state, log, notices)
            process.expires = _time_after(self.policy.max_runtime_s)
            process.abandoned_at = _time_after(self.policy.session_timeout_s)
            if pattern:
                process.watch(pattern)
            self._output_loop.add(process)
        return process

    def find(self, session: str, handle: str) -> SessionProcess:
        """Return one of the session's processes.

        Raises:
            ToolError: `unknown_handle`, also for a process of another session.
        """
        live = self._output_loop.find(handle)
        record = live.record if live else self.state.load(handle) if HANDLE.fullmatch(handle) else None
        if record is None or not self._belongs_to(record, session):
            raise ToolError(
                f"There is no process {handle[:40]!r}.",
                reason=ProcessReason.UNKNOWN_HANDLE,
                hint="The action `list` names the processes there are.",
            )
        return self._resolve_process(record, live, session)

    def find_running(self, session: str, handle: str) -> ManagedProcess | SupervisedProcess:
        """Return one of the session's processes, which has to be running.

        Raises:
            ToolError: `unknown_handle`, `not_running`.
        """
        seen = self.find(session, handle)
        if seen.live is None:
            raise ToolError(f"The process {handle!r} is {seen.state}.", reason=ProcessReason.NOT_RUNNING)
        return seen.live

    def list_for(self, session: str) -> list[SessionProcess]:
        """Return all of the session's processes, latest first."""
        mine = (record for record in self.state.records() if self._belongs_to(record, session))
        found = [self._resolve_process(record, self._output_loop.find(record.handle), session) for record in mine]
        return sorted(found, key=lambda seen: seen.record.started_at, reverse=True)

    def _start(self, record: Record, log: Log, size: TerminalSize) -> Any:
        try:
            return self._rt.spawn((*SHELL, record.command), **self._options(size))
        except BaseException:
            log.close()
            self.state.forget(record.handle)
            raise

    def _options(self, size: TerminalSize) -> Any:
        policy = self.policy
        return {
            "env": policy.variables(self._rt),
            "terminal": size,
            "limits": policy.limits(),
            "network": policy.network,
        }

    def _keep(self, record: Record, size: TerminalSize, pattern: str) -> SupervisedProcess:
        """Start a supervisor, which starts the process."""
        record.kept = KeptRecord(
            owners=self._owners(), origin_pid=record.harness_pid, origin_started=record.harness_started
        )
        spec = SupervisorSpec(
            record,
            self.state.with_fixed_path(),
            self._rt.detach((*SHELL, record.command), **self._options(size)),
            pattern,
            self.policy.max_log_bytes,
            self.policy.max_runtime_s or 0.0,
        )
        start_supervisor(spec, self._rt.deadline)
        self._spawned.add(record.handle)
        self._heard.setdefault(record.session, set()).add(record.handle)
        return SupervisedProcess(self.state.load(record.handle) or record, self.state)

    def _owners(self) -> str:
        """Return the digest of the owners who inherit kept processes: the same profile, agent, people and tenant."""
        caller = self._rt.caller
        tenant = (caller.tenant,) if caller.tenant else ()
        people = (self._rt.profile, caller.agent, caller.group, caller.user, caller.project, *tenant)
        return session_digest(repr(people))

    def _belongs_to(self, record: Record, session: str) -> bool:
        if record.session == session:
            return True
        kept = record.kept
        return kept is not None and kept.owners == self._owners() and kept.is_inherited()

    def _resolve_process(self, record: Record, live: ManagedProcess | None, session: str) -> SessionProcess:
        if live is not None or record.kept is None:
            return _session_process(record, live)
        self._heard.setdefault(session, set()).add(record.handle)
        return SessionProcess(record, self._connect(record))

    def _connect(self, record: Record | None) -> SupervisedProcess | None:
        """Return a kept process; None if it has ended, or its supervisor cannot be reached."""
        if record is None or record.ended is not None or not record.has_owner():
            return None
        process = SupervisedProcess(record, self.state)
        try:
            process.refresh()
        except ToolError:
            return None
        return process

    def _count_kept(self, session: str) -> int:
        mine = (record for record in self.state.records() if record.kept and self._belongs_to(record, session))
        return sum(record.ended is None and record.has_owner() for record in mine)

    def _running_processes(self, session: str) -> list[ManagedProcess]:
        return [one for one in self._output_loop.running() if one.record.session == session]

    def _forget_old(self) -> None:
        """Remove the oldest records of ended processes, of any session, to make room for one more."""
        ended = [
            record
            for record in self.state.records()
            if _session_process(record, self._output_loop.find(record.handle)).state in {"ended", "lost"}
        ]
        ended.sort(key=lambda record: record.started_at, reverse=True)
        for record in ended[self.policy.max_records - 1 :]:
            self.state.forget(record.handle)


def _session_process(record: Record, live: ManagedProcess | None) -> SessionProcess:
    if live is None:
        return SessionProcess(record, None)
    return SessionProcess(live.record, None if live.has_ended.is_set() else live)


def new_record(session: str, command: str, size: TerminalSize) -> Record:
    """Make the record of a process that is about to start in this harness."""
    return Record(
        handle=f"p-{secrets.token_hex(4)}",
        command=command,
        session=session,
        started_at=utc_now(),
        rows=size.rows,
        columns=size.columns,
        harness_pid=os.getpid(),
        harness_started=process_started(os.getpid()),
    )


def _time_after(seconds: float | None) -> float:
    return float("inf") if seconds is None else time.monotonic() + seconds
