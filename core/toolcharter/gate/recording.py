"""From what a body returned or raised to what its call records."""

from collections.abc import AsyncIterator, Awaitable, Coroutine, Iterator
from typing import Any

import orjson

from toolcharter.gate.context import CallContext
from toolcharter.spec.reasons import Reason
from toolcharter.spec.runtime import Completed


def record_program(ctx: CallContext, program: Completed) -> None:
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


def as_text(value: Any) -> tuple[str, Any]:
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


def told(error: BaseException) -> str:
    """The exception's type and text; its text is its author's code, which may fail too."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - as said
        return type(error).__name__
