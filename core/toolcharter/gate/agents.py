"""Agents that tools start: their threads, their tools and their end; and the inbox of sessions."""

import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from inspect import isawaitable
from time import monotonic
from typing import TYPE_CHECKING, Any

from toolcharter._lazy import lazy
from toolcharter.api.agents import AgentRequest, AgentResult, AgentTask, RunningAgent, ToolboxView
from toolcharter.api.call import TRACE, Caller, Delegation
from toolcharter.api.reasons import Reason
from toolcharter.api.sessions import SESSION_RECORDS, Sessions, session_key
from toolcharter.errors import Denied, ToolcharterError, ToolError
from toolcharter.gate.redact import mask_secrets
from toolcharter.gate.state import ToolboxState

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = lazy("asyncio")

_POLL_S = 0.05
"""The interval at which a cancellation of an asynchronous agent is polled, in seconds."""

_CAPABILITY_PREFIX = "cap:"
"""The prefix of an item of `AgentRequest.deny` that is a glob over capabilities."""


class AgentLauncher:
    """`rt.agents` for one caller."""

    def __init__(self, state: ToolboxState, parent: Caller, parent_id: str | None) -> None:
        self._state = state
        self._parent = parent
        self._parent_id = parent_id

    def start(
        self, request: AgentRequest, /, *, on_end: Callable[[RunningAgent], object] | None = None
    ) -> "AgentThread":
        """Start an agent at the next depth. It sees its parent's tools, except those that *request* withholds.

        Raises:
            Denied: `not_available`, if no extension of the profile runs agents.
            ToolboxClosed: The toolbox is closed.
        """
        state = self._state
        state.calls.require_open()
        host, view = state.agent_host, state.view
        if host is None or view is None:
            message = "The profile lists no extension that runs agents: it needs one that implements `run_agent`."
            raise Denied(Reason.NOT_AVAILABLE, message)
        parent_toolbox = view(self._parent)
        toolbox = parent_toolbox.for_agent(self._child_caller(request, view))
        deadline = monotonic() + request.timeout_s
        agent = AgentThread(host, parent_toolbox, toolbox, deadline, on_end)
        agent.begin(
            AgentTask(
                agent=request.agent or self._parent.agent or "",
                prompt=request.prompt,
                message=request.message,
                model=request.model,
                toolbox=toolbox,
                max_iterations=request.max_iterations,
                deadline=deadline,
                is_cancelled=agent.has_to_stop,
                parent_id=self._parent_id,
            )
        )
        return agent

    def _child_caller(self, request: AgentRequest, view: Callable[[Caller], ToolboxView]) -> Caller:
        parent = self._parent
        child = replace(
            parent,
            agent=request.agent or parent.agent,
            session=request.session or parent.session,
            depth=parent.depth + 1,
        )
        named, seen = self._state.availability.named, view(parent)
        allowed = {*seen} & {*view(child)}
        allowed = allowed if request.tools is None else allowed & named(request.tools)
        globs = tuple(
            item.removeprefix(_CAPABILITY_PREFIX) for item in request.deny if item.startswith(_CAPABILITY_PREFIX)
        )
        denied = named(item for item in request.deny if not item.startswith(_CAPABILITY_PREFIX)) | seen.touching(globs)
        above = parent.delegation or Delegation(parent, ())
        return replace(child, delegation=above._replace(tools=tuple(sorted(allowed - denied))))


def _start_thread(target: Callable[[], None]) -> None:
    threading.Thread(target=target, name="toolcharter-agent", daemon=True).start()


class AgentThread:
    """One agent, in a thread of its own. Satisfies `RunningAgent`."""

    def __init__(
        self,
        host: Callable[[AgentTask], Any],
        parent_toolbox: ToolboxView,
        toolbox: ToolboxView,
        deadline: float,
        on_end: Callable[[RunningAgent], object] | None,
    ) -> None:
        """Prepare the agent; starts nothing yet.

        Args:
            host: Runs the agent.
            parent_toolbox: The toolbox that the agent is started from, which cancels it when it closes.
            toolbox: The agent's own view of the tools. It is closed at the agent's end, so that no call begins later.
            deadline: When the agent must have ended, on `monotonic`'s clock.
            on_end: Called when the agent has ended.
        """
        self._host = host
        self._parent_toolbox = parent_toolbox
        self._toolbox = toolbox
        self._deadline = deadline
        self._on_end = on_end
        self._has_ended = threading.Event()
        self._outcome: AgentResult | ToolcharterError | None = None
        self._outcome_lock = threading.Lock()

    def begin(self, task: AgentTask) -> None:
        """Start the agent's thread, which starts the deadline's thread, so that the caller waits for one start only.

        Raises:
            ToolboxClosed: The toolbox is closed.
        """
        self._parent_toolbox.admit(self)
        trace = TRACE.get()

        def run() -> None:
            TRACE.set(trace)
            try:
                _start_thread(end_in_time)
                self._finish(self._run_host(task))
            except ToolcharterError as error:
                self._finish(error)
            except BaseException as error:  # noqa: BLE001 - a host's code; its thread must end with an outcome
                self._finish(ToolError(f"The agent failed: {type(error).__name__}."))

        def end_in_time() -> None:
            if not self._has_ended.wait(max(0.0, self._deadline - monotonic())):
                self._finish(ToolError("The agent took longer than its time limit.", reason=Reason.TIMED_OUT))

        _start_thread(run)

    @property
    def is_done(self) -> bool:
        """Whether it has ended."""
        return self._has_ended.is_set()

    def has_to_stop(self) -> bool:
        """Whether it has to stop: it was cancelled, or its time is up."""
        return self._has_ended.is_set()

    def cancel(self) -> None:
        """Stop the agent: end its calls under way, and refuse new ones."""
        self._finish(ToolError("The agent was cancelled.", reason=Reason.CANCELLED))

    def wait(self, timeout_s: float) -> bool:
        """Wait for its end; returns whether it has ended."""
        return self._has_ended.wait(min(timeout_s, threading.TIMEOUT_MAX))

    def result(self) -> AgentResult:
        """Return its result.

        Raises:
            ToolError: The agent has failed (`cancelled`, `timed_out` or another reason), or still works.
        """
        outcome = self._outcome
        if outcome is None:
            raise ToolError("The agent is still running.", retryable=True)
        if isinstance(outcome, ToolcharterError):
            raise outcome
        return outcome

    def _run_host(self, task: AgentTask) -> AgentResult:
        answer = self._host(task)
        if isawaitable(answer):
            answer = asyncio.run(self._run_until_stopped(answer))
        if not isinstance(answer, AgentResult):
            raise ToolError(f"The extension that runs agents returned {type(answer).__name__}, not an AgentResult.")
        return answer

    async def _run_until_stopped(self, run: Awaitable[Any]) -> Any:
        task = asyncio.ensure_future(run)
        while not task.done() and not self.has_to_stop():
            await asyncio.wait({task}, timeout=_POLL_S)
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
            raise ToolError("The agent was cancelled.", reason=Reason.CANCELLED)
        return task.result()

    def _finish(self, outcome: AgentResult | ToolcharterError) -> None:
        """Record the first outcome, end the agent's calls, and notify its waiters. Later outcomes are ignored."""
        with self._outcome_lock:
            if self._outcome is not None:
                return
            self._outcome = outcome
        try:
            self._toolbox.close_shared(0.0)
        finally:
            self._parent_toolbox.dismiss(self)
            self._has_ended.set()
            if self._on_end is not None:
                threading.Thread(target=self._on_end, args=(self,), name="toolcharter-agent", daemon=True).start()


class SessionInbox:
    """`rt.inbox` for one caller. Satisfies `Inbox`."""

    def __init__(self, state: ToolboxState, caller: Caller) -> None:
        self._state = state
        self._caller = caller

    def put(self, text: str, /, *, source: str, session: str = "", key: str = "") -> bool:
        """Leave *text* for a session, which gets it once; returns whether it was put."""
        sessions = sessions_of(self._state, self._caller)
        return sessions.put(session or session_key(self._caller), mask_secrets(source)[0], mask_secrets(text)[0], key)


def sessions_of(state: ToolboxState, caller: Caller) -> Sessions:
    """Return the session records of the caller's tenant."""
    return Sessions(state.store.handle.bound(caller.tenant, SESSION_RECORDS))
