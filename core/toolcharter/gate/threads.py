"""Threads that can be given up: each runs a body that may block for ever, and the caller is freed on time."""

import contextvars
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

from toolcharter._fork import renew_in_child
from toolcharter.api.reasons import Reason
from toolcharter.gate.call import CallContext

MAX_ABANDONED = 8
"""After how many abandoned threads that still run a tool denies `tool_stuck`.

Only abandoned ones count: as many calls as are under way at once may still hang together, whatever their number.
"""

IDLE_S = 10.0
"""How long a thread waits for another body, in seconds."""

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
        """Start; the thread calls *done* at its end."""
        self._done = done
        _THREADS.run(self)

    def is_alive(self) -> bool:
        """Whether the body still runs."""
        return not self._has_ended

    def work(self) -> None:
        """Run the body; in the thread."""
        try:
            self._context.run(self._body, self._ctx)
        except BaseException as error:  # noqa: BLE001 - Ctrl-C strikes the main thread: this one is the tool's own
            self._ctx.discard_result()
            self._ctx.fail("tool", Reason.UNEXPECTED_FAILURE, f"The tool raised {type(error).__name__}.")

    def end(self) -> None:
        """Say that the body has ended; in the thread."""
        self._has_ended = True
        self._done()


class _Threads:
    """Threads that wait a while for another body: to hand one over takes a tenth of the time that starting a thread does."""

    def __init__(self) -> None:
        self.idle: list[_Thread] = []
        renew_in_child(self)

    def renew(self) -> None:
        """In a fork's child: the threads are the parent's."""
        self.idle = []

    def run(self, one: BodyThread) -> None:
        """Run *one* in a thread that has nothing to do, or in a new one."""
        try:
            thread = self.idle.pop()
        except IndexError:
            thread = _Thread()
            thread.start()
        thread.next.put(one)

    def keeps(self, thread: "_Thread") -> bool:
        """Whether *thread*, which has waited long enough, has been given another body just now."""
        try:
            self.idle.remove(thread)
        except ValueError:
            return True
        return False


class _Thread(threading.Thread):
    """Runs one body after the other, as long as there are any."""

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
            # First, so that whoever is told of the end finds this thread. It is needed no more after IDLE_S.
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
            hanging = self._hanging(ctx)
            hanging -= {thread for thread in hanging if not thread.is_alive()}
            is_stuck = len(hanging) >= MAX_ABANDONED
        if is_stuck:
            what = "dry runs" if ctx.dry else "calls"
            ctx.refuse("limit", Reason.TOOL_STUCK, f"{MAX_ABANDONED} earlier {what} of {ctx.tool!r} never returned.")

    def abandon(self, ctx: CallContext, thread: BodyThread) -> CallContext:
        """Give up on *thread*; returns the context that answers instead of *ctx*."""
        with self._lock:
            self._hanging(ctx).add(thread)
        return ctx.abandon()

    def _hanging(self, ctx: CallContext) -> set[BodyThread]:
        """The threads that count where *ctx* does: a dry run must not make a call `tool_stuck`."""
        return self._abandoned_dry_runs if ctx.dry else self._abandoned
