"""Bodies that may block for ever: each runs in a daemon thread, and the caller is freed on time."""

import contextvars
import threading
from collections.abc import Callable
from time import monotonic

from toolcharter.gate.context import CallContext
from toolcharter.spec.reasons import Reason

MAX_ABANDONED = 8
"""After how many abandoned threads that still run a tool denies `tool_stuck`.

Only abandoned ones count: as many calls as are under way at once may still hang together, whatever their number.
"""

Body = Callable[[CallContext], object]
"""Runs a body, or rehearses it; never raises an `Exception`."""


class IsolatedBody:
    """The threads of one tool whose spec says `isolate`."""

    def __init__(self) -> None:
        self._abandoned: set[threading.Thread] = set()
        self._abandoned_rehearsals: set[threading.Thread] = set()
        self._lock = threading.Lock()

    def run(self, ctx: CallContext, body: Body, time_out: Body, interrupt: Body) -> CallContext:
        """Run *body* apart and wait until it ends, its time is up, or Ctrl-C strikes.

        Args:
            ctx: The call.
            body: What the thread does.
            time_out: Replaces the outcome of a call by `timed_out`.
            interrupt: Closes a call because an interrupt passes through.

        Returns:
            *ctx*, or its stand-in if the thread was abandoned: what the thread still does to
            *ctx* from then on reaches nobody.
        """
        done = threading.Event()
        thread = self.prepare(ctx, body, done.set)
        if thread is None:
            return ctx
        remaining = ctx.deadline - monotonic()
        try:
            thread.start()
            # Event.wait refuses a timeout of infinity.
            ended = done.wait(None if remaining > threading.TIMEOUT_MAX else max(0.0, remaining))
        except BaseException:
            interrupt(self.abandon(ctx, thread, time_out))
            raise
        return ctx if ended else self.abandon(ctx, thread, time_out)

    def prepare(self, ctx: CallContext, body: Body, done: Callable[[], object]) -> threading.Thread | None:
        """The thread, for the caller to start; None, and a denial, if too many hang."""
        with self._lock:
            hanging = self._hanging(ctx)
            hanging -= {thread for thread in hanging if not thread.is_alive()}
            if len(hanging) >= MAX_ABANDONED:
                what = "rehearsals" if ctx.dry else "calls"
                message = f"{MAX_ABANDONED} earlier {what} of {ctx.tool!r} never returned."
                ctx.refuse("limit", Reason.TOOL_STUCK, message)
                return None
        context = contextvars.copy_context()

        def work() -> None:
            try:
                context.run(body, ctx)
            except BaseException as error:  # noqa: BLE001 - Ctrl-C strikes the main thread: this one is the tool's own
                ctx.drop_result()
                ctx.fail("tool", Reason.UNEXPECTED_FAILURE, f"The tool raised {type(error).__name__}.")
            finally:
                done()

        return threading.Thread(target=work, name=f"toolcharter-{ctx.tool}", daemon=True)

    def abandon(self, ctx: CallContext, thread: threading.Thread, time_out: Body) -> CallContext:
        """Give up on *thread* and answer for it."""
        with self._lock:
            self._hanging(ctx).add(thread)
        stand_in = ctx.abandon()
        time_out(stand_in)
        return stand_in

    def _hanging(self, ctx: CallContext) -> set[threading.Thread]:
        """The threads that count where *ctx* does: a rehearsal must not make a call `tool_stuck`."""
        return self._abandoned_rehearsals if ctx.dry else self._abandoned
