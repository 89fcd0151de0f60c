"""Stage 7: runs the body, inline, in a thread of its own or awaited, and records its end as the call's outcome."""

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
from toolcharter.gate.call import CURRENT, CallContext, MarkReached
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
        """Prepare the stage; runs nothing yet.

        Args:
            tool: The tool whose bodies it runs.
            loop: Runs asynchronous code for synchronous callers.
            interrupt: Ends a call because of an interrupt or a cancellation.
        """
        self._tool = tool
        self._function = tool.function
        self._loop = loop
        self._interrupt = interrupt

    def run(self, ctx: CallContext) -> None:
        """Run the body in this thread, and record what it did."""
        token = CURRENT.set(ctx)
        try:
            self._record_return(ctx, self._function.call(**ctx.values))
        except BaseException as error:
            if is_caller_cancellation(error):
                raise
            self._record_exception(ctx, error)
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
                self._record_return(ctx, value)
        except BaseException as error:
            if is_caller_cancellation(error):
                raise
            if limit.expired():
                self._time_out(ctx)
            else:
                self._record_exception(ctx, error)
        finally:
            CURRENT.reset(token)

    async def run_isolated(self, ctx: CallContext) -> CallContext:
        """Run the body in a thread of its own, and wait until it ends, its time is up, or the user presses Ctrl-C.

        Returns:
            *ctx*; or, if the thread was abandoned, a substitute for it. Whatever the thread still does to *ctx* then
            has no effect on the result.
        """
        return await self._run_in_thread(ctx, self.run)

    async def _run_in_thread(self, ctx: CallContext, body: Body) -> CallContext:
        threads = self._tool.threads
        threads.refuse_if_stuck(ctx)
        if ctx.outcome is not None:
            return ctx
        thread = BodyThread(ctx, body)
        try:
            has_ended = await wait_for(signal(thread.begin, ctx.deadline))
        except BaseException:
            self._interrupt(self._abandon_thread(ctx, thread))
            raise
        return ctx if has_ended else self._abandon_thread(ctx, thread)

    def _abandon_thread(self, ctx: CallContext, thread: BodyThread) -> CallContext:
        substitute = self._tool.threads.abandon(ctx, thread)
        self._time_out(substitute)
        return substitute

    async def dry_run(self, ctx: CallContext) -> CallContext:
        """Run a staged body up to its mark. It gets a copy of the arguments, because it may change lists among them."""
        if self._tool.spec.isolate:
            return await self._run_in_thread(ctx, self._dry_run)
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
        """Record the end of a dry run: the mark, perhaps reached in a TaskGroup, or an exception that would end a call.

        Raises:
            BaseException: *error*, if it is the caller's cancellation.
        """
        if is_caller_cancellation(error):
            raise error
        if isinstance(error, BaseExceptionGroup):
            others = error.split(MarkReached)[1]
            if others is None:
                return
            ctx.passed, error = False, others  # the failed code may come before the mark
        if not isinstance(error, MarkReached):
            self._record_exception(ctx, error)

    def _record_return(self, ctx: CallContext, value: Any) -> None:
        """Record a body's return. A plain value is ok; past the deadline, only if the call has changed a file."""
        if ctx.outcome is None:
            if type(value) is str:  # nearly every body returns text
                ctx.text, ctx.data, ctx.outcome = value, None, "ok"
            elif isinstance(value, ToolResult):
                ctx.adopt(value)
            elif isinstance(value, Completed):
                _record_program(ctx, value)
            else:
                ctx.text, ctx.data = _as_text(value)
                ctx.outcome = "ok"
        # A call that has changed a file and succeeded stays `ok`: a model that reads `timed_out` would repeat it.
        if monotonic() > ctx.deadline and not (ctx.outcome == "denied" or (ctx.outcome == "ok" and ctx.changed)):
            self._time_out(ctx)

    def _record_exception(self, ctx: CallContext, error: BaseException) -> None:
        """Record an exception of the body. If the call already has an outcome, the exception is only a fault."""
        if ctx.outcome is not None:
            ctx.add_fault("raised_after_end")
        elif isinstance(error, Denied):
            ctx.deny(error.reason, error.message, hint=error.hint)
        elif isinstance(error, ToolError):
            ctx.error(error.message, reason=error.reason, hint=error.hint, retryable=error.retryable)
        else:
            what = _describe_exception(error)
            ctx.error(f"ERROR: {Reason.UNEXPECTED_FAILURE}: {what}", reason=Reason.UNEXPECTED_FAILURE)
            ctx.message = what
        if monotonic() > ctx.deadline and ctx.outcome != "denied":
            self._time_out(ctx)

    def _time_out(self, ctx: CallContext) -> None:
        """Replace whatever the body recorded by `timed_out`."""
        ctx.discard_result()
        is_parents = ctx.deadline < ctx.started + self._tool.timeout_s
        limit = "the limit of the call that made it" if is_parents else f"its limit of {self._tool.timeout_s:g} s"
        ctx.fail("limit", Reason.TIMED_OUT, f"The call took longer than {limit}; its result is dropped.")


def _record_program(ctx: CallContext, program: Completed) -> None:
    """Record a program's end as the call's end. Exit status 0 is ok; any other status, or a timeout, is an error."""
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
    """Return the text and the data of a body's plain return value."""
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
                f"the body returned a {type(value).__name__}, which is never run; return a result"
            ) from None
        return str(value), None


def _describe_exception(error: BaseException) -> str:
    """Return the exception's type and text, or only its type if its `__str__` fails."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - a plugin's `__str__` may raise anything
        return type(error).__name__
