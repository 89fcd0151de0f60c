"""Converts an ended program to the result of a call."""

import signal
from contextlib import suppress
from typing import TypedDict

from toolcharter import Completed, Reason, ToolResult


class ProgramData(TypedDict):
    """The structured result of a program."""

    stdout: str
    stderr: str
    exit_code: int
    """The exit status; negative if the signal of that number ended the program."""
    signal: str | None
    """The name of the signal that ended the program."""
    timed_out: bool
    truncated: bool
    """Whether the program printed more than the policy keeps; then `stdout` or `stderr` is only the beginning."""


def program_result(done: Completed, limit: int, timeout_s: float) -> ToolResult:
    """Make the result of a call whose program has ended.

    Args:
        done: The ended program.
        limit: How many bytes of each stream were kept.
        timeout_s: How long the program was allowed to take, in seconds.
    """
    data = _data(done, limit)
    text = _text(data, limit)
    if done.timed_out:
        message = f"The program took longer than {timeout_s:.3g} s and was ended."
        return _failed(Reason.TIMED_OUT, message, text, data)
    if done.exit_code:
        ended = f"by {data['signal']}" if data["signal"] else f"with status {done.exit_code}"
        return _failed(Reason.NONZERO_EXIT, f"The program ended {ended}.", text, data)
    text = text or "The program ended with status 0 and printed nothing."
    return ToolResult("ok", text, data=data, exit_code=0, truncated=done.truncated)


def _failed(reason: Reason, message: str, text: str, data: ProgramData) -> ToolResult:
    said = f"ERROR: {reason}\n{message}" + (f"\n{text}" if text else "")
    return ToolResult(
        "error",
        said,
        data=data,
        reason=str(reason),
        message=message,
        exit_code=data["exit_code"],
        truncated=data["truncated"],
    )


def _data(done: Completed, limit: int) -> ProgramData:
    return {
        "stdout": _decode_stream(done.stdout, limit),
        "stderr": _decode_stream(done.stderr, limit),
        "exit_code": done.exit_code,
        "signal": signal_name(done.exit_code),
        "timed_out": done.timed_out,
        "truncated": done.truncated,
    }


def signal_name(exit_code: int) -> str | None:
    """Return the name of the signal that ended a program; None if none did."""
    with suppress(ValueError):
        return signal.Signals(-exit_code).name if exit_code < 0 else None
    return f"SIG{-exit_code}"  # real-time signals have no name


def _decode_stream(stream: bytes, limit: int) -> str:
    """Decode a stream. If it was cut, its last incomplete line is dropped: half a secret would not be recognized."""
    text = stream.decode(errors="replace")
    return text[: text.rfind("\n") + 1] or text if len(stream) >= limit else text


def _text(data: ProgramData, limit: int) -> str:
    """Join both streams for the model."""
    out, err = data["stdout"], data["stderr"]
    text = f"{out}\n--- stderr ---\n{err}" if err else out
    return f"{text}\n\n[output truncated: the first {limit} bytes of each stream]" if data["truncated"] else text
