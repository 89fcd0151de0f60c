"""Converts a completed program to the result of a call."""

import json
from contextlib import suppress

from toolcharter import Completed, Reason, ToolResult


def to_result(done: Completed, timeout_s: float) -> ToolResult:
    """Convert a completed program to a call's result. If it has no standard error output, the gate parses the data."""
    stdout, stderr = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    text = f"{stdout}\n--- stderr ---\n{stderr}" if stderr else stdout
    text += "\n[output truncated]" if done.truncated else ""
    if done.timed_out:
        return _failed(done, Reason.TIMED_OUT, f"The tool took longer than {timeout_s:.3g} s and was ended.", text)
    if done.exit_code:
        result = _failed(done, Reason.NONZERO_EXIT, f"The tool ended with status {done.exit_code}.", text)
        result.data = {"stdout": stdout, "stderr": stderr, "exit_code": done.exit_code}
        return result
    data = None
    if stderr:
        with suppress(ValueError, RecursionError):
            data = json.loads(stdout)
    return ToolResult("ok", text, data=data, exit_code=0, truncated=done.truncated)


def _failed(done: Completed, reason: Reason, message: str, text: str) -> ToolResult:
    said = f"ERROR: {reason}\n{text or message}"
    return ToolResult(
        "error", said, reason=str(reason), message=message, exit_code=done.exit_code, truncated=done.truncated
    )
