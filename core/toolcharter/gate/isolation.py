"""Bodies that may block for ever: each runs in a daemon thread, and the caller is freed on time."""

import contextvars
import threading
from collections.abc import Callable
from time import monotonic

from toolcharter.gate.context import CallContext
from toolcharter.spec.reasons import Reason

MAX_ABANDONED = 8
"""How many threads of one tool may hang before it denies `tool_stuck`."""


Body = Callable[[CallContext], object]
"""Runs a body, or rehearses it; never raises an `Exception`."""


class IsolatedBody:
    """The threads of one tool whose spec says `isolate`."""

    def __init__(self) -> None:
        self._abandoned: set[threading.Thread] = set()
        self._lock = threading.Lock()

    def run(self, ctx: CallContext, body: Body, time_out: Body) -> CallContext:
        """Run *body* apart and wait until it ends or its time is up.

        Args:
            ctx: The call.
            body: What the thread does.
            time_out: Replaces the outcome of a call by `timed_out`.

        Returns:
            *ctx*, or its stand-in if the thread was abandoned: what the thread still does to
            *ctx* from then on reaches nobody.
        """
        done = threading.Event()
        thread = self.start(ctx, body, done.set)
        if thread is None:
            return ctx
        remaining = ctx.deadline - monotonic()
        # Event.wait refuses a timeout of infinity.
        if done.wait(None if remaining > threading.TIMEOUT_MAX else max(0.0, remaining)):
            return ctx
        return self.abandon(ctx, thread, time_out)

    def start(self, ctx: CallContext, body: Body, done: Callable[[], object]) -> threading.Thread | None:
        """Start the thread, or deny if too many hang."""
        with self._lock:
            self._abandoned = {thread for thread in self._abandoned if thread.is_alive()}
            if len(self._abandoned) >= MAX_ABANDONED:
                ctx.refuse("limit", Reason.TOOL_STUCK, f"{MAX_ABANDONED} earlier calls of {ctx.tool!r} never returned.")
                return None
        context = contextvars.copy_context()

        def work() -> None:
            try:
                context.run(body, ctx)
            except BaseException as error:  # noqa: BLE001 - SystemExit in a thread must not pass for success
                ctx.drop_result()
                ctx.fail("tool", Reason.UNEXPECTED_FAILURE, f"The tool raised {type(error).__name__}.")
            finally:
                done()

        thread = threading.Thread(target=work, name=f"toolcharter-{ctx.tool}", daemon=True)
        thread.start()
        return thread

    def abandon(self, ctx: CallContext, thread: threading.Thread, time_out: Body) -> CallContext:
        """Give up on *thread* and answer for it."""
        with self._lock:
            self._abandoned.add(thread)
        stand_in = ctx.abandon()
        time_out(stand_in)
        return stand_in
