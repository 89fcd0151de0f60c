"""Stage 7: the body, inline, in a thread of its own or awaited, and what its end means for the call."""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from copy import deepcopy
from inspect import isawaitable
from time import monotonic
from typing import TYPE_CHECKING, Any

import orjson

from toolcharter._lazy import lazy
from toolcharter.api.call import ToolResult
from toolcharter.api.reasons import Reason
from toolcharter.api.runtime import Completed
from toolcharter.errors import Denied, ToolError
from toolcharter.gate.call import CURRENT, CallContext, Passed
from toolcharter.gate.threads import Body, BodyThread
from toolcharter.gate.tool import BuiltTool
from toolcharter.gate.waiting import LoopThread, awaited, is_caller_cancellation, remaining_s, signal, wait_for

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = lazy("asyncio")


class BodyStage:
    """Runs the bodies of one tool."""

    def __init__(self, tool: BuiltTool, loop: LoopThread, interrupt: Callable[[CallContext], None]) -> None:
        """Run nothing yet.

        Args:
            tool: Whose bodies.
            loop: Where asynchronous code runs for synchronous callers.
            interrupt: Ends a call because an interrupt or a cancellation passes through.
        """
        self._tool = tool
        self._function = tool.function
        self._loop = loop
        self._interrupt = interrupt

    def run(self, ctx: CallContext) -> None:
        """Run the body in this thread, and record what it did."""
        token = CURRENT.set(ctx)
        try:
            self._returned(ctx, self._function.call(**ctx.values))
        except BaseException as error:
            if is_caller_cancellation(error):
                raise
            self._failed(ctx, error)
        finally:
            CURRENT.reset(token)

    async def arun(self, ctx: CallContext) -> None:
        """Run an asynchronous body, which is cancelled at the deadline."""
        token = CURRENT.set(ctx)
        limit = asyncio.timeout(remaining_s(ctx.deadline))
        try:
            async with limit:
                value = self._function.call(**ctx.values)
                if isawaitable(value):  # a decorator may have awaited it already
                    value = await value
                self._returned(ctx, value)
        except BaseException as error:
            if is_caller_cancellation(error):
                raise
            if limit.expired():
                self._time_out(ctx)
            else:
                self._failed(ctx, error)
        finally:
            CURRENT.reset(token)

    async def run_isolated(self, ctx: CallContext) -> CallContext:
        """Run the body in a thread of its own, and wait until it ends, its time is up, or Ctrl-C strikes.

        Returns:
            *ctx*, or the context that answers instead if the thread was given up: what the thread still does to
            *ctx* from then on reaches nothing.
        """
        return await self._isolated(ctx, self.run)

    async def _isolated(self, ctx: CallContext, body: Body) -> CallContext:
        threads = self._tool.threads
        threads.refuse_if_stuck(ctx)
        if ctx.outcome is not None:
            return ctx
        thread = BodyThread(ctx, body)
        try:
            has_ended = await wait_for(signal(thread.begin, ctx.deadline))
        except BaseException:
            self._interrupt(self._give_up(ctx, thread))
            raise
        return ctx if has_ended else self._give_up(ctx, thread)

    def _give_up(self, ctx: CallContext, thread: BodyThread) -> CallContext:
        substitute = self._tool.threads.abandon(ctx, thread)
        self._time_out(substitute)
        return substitute

    async def dry_run(self, ctx: CallContext) -> CallContext:
        """Run a staged body up to its mark, with arguments of its own: it may change its lists above the mark."""
        if self._tool.spec.isolate:
            return await self._isolated(ctx, self._dry_run)
        if not self._function.is_async:
            self._dry_run(ctx)
            return ctx
        token = CURRENT.set(ctx)
        try:
            await wait_for(awaited(self._function.call(**deepcopy(ctx.values)), ctx.deadline, self._loop))
        except BaseException as error:  # noqa: BLE001 - judged by `_dry_run_ended`
            self._dry_run_ended(ctx, error)
        finally:
            CURRENT.reset(token)
        return ctx

    def _dry_run(self, ctx: CallContext) -> None:
        token = CURRENT.set(ctx)
        try:
            self._function.call(**deepcopy(ctx.values))
        except BaseException as error:  # noqa: BLE001 - judged by `_dry_run_ended`
            self._dry_run_ended(ctx, error)
        finally:
            CURRENT.reset(token)

    def _dry_run_ended(self, ctx: CallContext, error: BaseException) -> None:
        """Record what has ended a dry run: the mark, perhaps reached in a TaskGroup, or what would end a call.

        Raises:
            BaseException: *error* is the caller's.
        """
        if is_caller_cancellation(error):
            raise error
        if isinstance(error, BaseExceptionGroup):
            others = error.split(Passed)[1]
            if others is None:
                return
            ctx.passed, error = False, others  # what fails beside the mark may have stood above it
        if not isinstance(error, Passed):
            self._failed(ctx, error)

    def _returned(self, ctx: CallContext, value: Any) -> None:
        """Record a body's end: a plain return is ok; past the deadline only what has changed a file is."""
        if ctx.outcome is None:
            if type(value) is str:  # as of nearly every body
                ctx.text, ctx.data, ctx.outcome = value, None, "ok"
            elif isinstance(value, ToolResult):
                ctx.adopt(value)
            elif isinstance(value, Completed):
                _record_program(ctx, value)
            else:
                ctx.text, ctx.data = _as_text(value)
                ctx.outcome = "ok"
        # What has changed a file and ended well stays `ok`: a caller who reads `timed_out` would repeat it.
        if monotonic() > ctx.deadline and not (ctx.outcome == "denied" or (ctx.outcome == "ok" and ctx.changed)):
            self._time_out(ctx)

    def _failed(self, ctx: CallContext, error: BaseException) -> None:
        """Record an exception that left the body; one after the outcome is only a fault."""
        if ctx.outcome is not None:
            ctx.fault("raised_after_end")
        elif isinstance(error, Denied):
            ctx.deny(error.reason, error.message, hint=error.hint)
        elif isinstance(error, ToolError):
            ctx.error(error.message, reason=error.reason, hint=error.hint, retryable=error.retryable)
        else:
            what = _described(error)
            ctx.error(f"ERROR: {Reason.UNEXPECTED_FAILURE}: {what}", reason=Reason.UNEXPECTED_FAILURE)
            ctx.message = what
        if monotonic() > ctx.deadline and ctx.outcome != "denied":
            self._time_out(ctx)

    def _time_out(self, ctx: CallContext) -> None:
        """Replace whatever the body recorded by `timed_out`."""
        ctx.discard_result()
        is_parents = ctx.deadline < ctx.started + self._tool.timeout_s
        limit = "the call that made it may" if is_parents else f"its limit of {self._tool.timeout_s:g} s"
        ctx.fail("limit", Reason.TIMED_OUT, f"The call took longer than {limit}; its result is dropped.")


def _record_program(ctx: CallContext, program: Completed) -> None:
    """A program's end as the end of its call; a status other than zero is an error unless the tool says otherwise."""
    stdout, stderr = program.stdout.decode(errors="replace"), program.stderr.decode(errors="replace")
    text = f"{stdout}\n--- stderr ---\n{stderr}" if stderr else stdout
    data = {"stdout": stdout, "stderr": stderr, "exit_code": program.exit_code}
    if program.timed_out:
        ctx.error(f"ERROR: {Reason.TIMED_OUT}\n{text}", reason=Reason.TIMED_OUT, data=data)
        ctx.message = "The program took too long and was ended."
    elif program.exit_code:
        ctx.error(f"ERROR: {Reason.NONZERO_EXIT}\n{text}", reason=Reason.NONZERO_EXIT, data=data)
        ctx.message = f"The program ended with status {program.exit_code}."
    else:
        ctx.ok(text, data=data)
    ctx.exit_code, ctx.truncated = program.exit_code, program.truncated


def _as_text(value: Any) -> tuple[str, Any]:
    """A plain return as text and data."""
    if isinstance(value, str):
        return value, None
    if value is None:
        return "", None
    try:
        return orjson.dumps(value).decode(), value
    except TypeError:
        if isinstance(value, Awaitable | Iterator | AsyncIterator):
            if isinstance(value, Coroutine):
                value.close()
            raise TypeError(
                f"the body returned a {type(value).__name__}, which nothing runs; return a result"
            ) from None
        return str(value), None


def _described(error: BaseException) -> str:
    """The exception's type and text; its text is its author's code, which may fail too."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - as said
        return type(error).__name__
