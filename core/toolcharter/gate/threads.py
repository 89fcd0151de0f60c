"""Threads that can be given up: each runs a body that may block for ever, and the caller is freed on time."""

import contextvars
import threading
from collections.abc import Callable

from toolcharter.api.reasons import Reason
from toolcharter.gate.call import CallContext

MAX_ABANDONED = 8
"""After how many abandoned threads that still run a tool denies `tool_stuck`.

Only abandoned ones count: as many calls as are under way at once may still hang together, whatever their number.
"""

Body = Callable[[CallContext], object]
"""Runs a body, or its dry run; never raises an `Exception`."""


class BodyThread(threading.Thread):
    """Runs one body with the context variables of its maker."""

    def __init__(self, ctx: CallContext, body: Body) -> None:
        context = contextvars.copy_context()

        def work() -> None:
            try:
                context.run(body, ctx)
            except BaseException as error:  # noqa: BLE001 - Ctrl-C strikes the main thread: this one is the tool's own
                ctx.discard_result()
                ctx.fail("tool", Reason.UNEXPECTED_FAILURE, f"The tool raised {type(error).__name__}.")
            finally:
                self._done()

        super().__init__(target=work, name=f"toolcharter-{ctx.tool}", daemon=True)
        self._done: Callable[[], object] = bool

    def begin(self, done: Callable[[], object]) -> None:
        """Start; the thread calls *done* at its end."""
        self._done = done
        self.start()


class BodyThreads:
    """The threads of one tool whose spec says `isolate`."""

    def __init__(self) -> None:
        self._abandoned: set[threading.Thread] = set()
        self._abandoned_dry_runs: set[threading.Thread] = set()
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

    def abandon(self, ctx: CallContext, thread: threading.Thread) -> CallContext:
        """Give up on *thread*; returns the context that answers instead of *ctx*."""
        with self._lock:
            self._hanging(ctx).add(thread)
        return ctx.abandon()

    def _hanging(self, ctx: CallContext) -> set[threading.Thread]:
        """The threads that count where *ctx* does: a dry run must not make a call `tool_stuck`."""
        return self._abandoned_dry_runs if ctx.dry else self._abandoned
