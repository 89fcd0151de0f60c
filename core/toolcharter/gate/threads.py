"""Threads that can be abandoned: each runs a body that may block forever, while its caller returns at the deadline."""

import contextvars
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

from toolcharter._fork import renew_in_child
from toolcharter.api.reasons import Reason
from toolcharter.gate.call import CallContext

MAX_ABANDONED = 8
"""With this many abandoned threads that still run, further calls of a tool are denied with `tool_stuck`.

Calls under way do not count: any number of them may still hang at the same time.
"""

IDLE_S = 10.0
"""How long an idle thread waits for another body, in seconds."""

Body = Callable[[CallContext], object]
"""Runs a body, or its dry run; never raises an `Exception`."""


class BodyThread:
    """One body in a thread, with the context variables of its maker."""

    def __init__(self, ctx: CallContext, body: Body) -> None:
        self._context = contextvars.copy_context()
        self._ctx = ctx
        self._body = body
        self._done: Callable[[], object] = bool
        self._has_ended = False

    def begin(self, done: Callable[[], object]) -> None:
        """Start the body; the thread calls *done* at its end."""
        self._done = done
        _THREADS.run(self)

    def is_alive(self) -> bool:
        """Whether the body still runs."""
        return not self._has_ended

    def work(self) -> None:
        """Run the body; in the thread."""
        try:
            self._context.run(self._body, self._ctx)
        except BaseException as error:  # noqa: BLE001 - Ctrl-C reaches only the main thread, so this is the tool's own
            self._ctx.discard_result()
            self._ctx.fail("tool", Reason.UNEXPECTED_FAILURE, f"The tool raised {type(error).__name__}.")

    def end(self) -> None:
        """Signal that the body has ended; in the thread."""
        self._has_ended = True
        self._done()


class _Threads:
    """A pool of idle threads that wait for another body. Reusing a thread takes a tenth of the time of starting one."""

    def __init__(self) -> None:
        self.idle: list[_Thread] = []
        renew_in_child(self)

    def renew(self) -> None:
        """Empty the pool: a forked child does not have the parent's threads."""
        self.idle = []

    def run(self, one: BodyThread) -> None:
        """Run *one* in an idle thread, or in a new one."""
        try:
            thread = self.idle.pop()
        except IndexError:
            thread = _Thread()
            thread.start()
        thread.next.put(one)

    def keeps(self, thread: "_Thread") -> bool:
        """Whether *thread*, whose wait has timed out, has got another body in the meantime."""
        try:
            self.idle.remove(thread)
        except ValueError:
            return True
        return False


class _Thread(threading.Thread):
    """Runs bodies one by one, and ends when no further body comes in time."""

    def __init__(self) -> None:
        super().__init__(name="toolcharter-body", daemon=True)
        self.next: SimpleQueue[BodyThread] = SimpleQueue()

    def run(self) -> None:
        while True:
            try:
                one = self.next.get(timeout=IDLE_S)
            except Empty:
                if _THREADS.keeps(self):
                    continue
                return
            one.work()
            # Before `end`, so that the caller who is notified finds this thread idle.
            _THREADS.idle.append(self)
            one.end()
            del one


_THREADS = _Threads()


class BodyThreads:
    """The threads of one tool whose spec says `isolate`."""

    def __init__(self) -> None:
        self._abandoned: set[BodyThread] = set()
        self._abandoned_dry_runs: set[BodyThread] = set()
        self._lock = threading.Lock()

    def refuse_if_stuck(self, ctx: CallContext) -> None:
        """Deny *ctx* if too many threads of earlier calls still hang."""
        with self._lock:
            hanging = self._abandoned_for(ctx)
            hanging -= {thread for thread in hanging if not thread.is_alive()}
            is_stuck = len(hanging) >= MAX_ABANDONED
        if is_stuck:
            what = "dry runs" if ctx.dry else "calls"
            ctx.refuse("limit", Reason.TOOL_STUCK, f"{MAX_ABANDONED} earlier {what} of {ctx.tool!r} never returned.")

    def abandon(self, ctx: CallContext, thread: BodyThread) -> CallContext:
        """Abandon *thread*. Returns the substitute for *ctx*, to end the call with."""
        with self._lock:
            self._abandoned_for(ctx).add(thread)
        return ctx.abandon()

    def _abandoned_for(self, ctx: CallContext) -> set[BodyThread]:
        """Return the abandoned threads of calls, or of dry runs: a dry run must not make a call `tool_stuck`."""
        return self._abandoned_dry_runs if ctx.dry else self._abandoned
