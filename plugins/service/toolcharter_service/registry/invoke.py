"""Converts the result of a call to the HTTP response of an invocation."""

from collections.abc import Mapping
from typing import Any, Final

from toolcharter import GuardReason, Reason, ToolResult
from toolcharter_service.http.problems import HttpProblem, problem_of_call
from toolcharter_service.registry.source_tools import SOURCE_TOOLS

_STATUS: Final[Mapping[str, int]] = {
    Reason.INVALID_ARGUMENTS: 400,
    Reason.UNKNOWN_TOOL: 404,
    "path_not_found": 404,
    "file_not_found": 404,
    "invalid_path": 400,
    "invalid_pattern": 400,
    "is_directory": 400,
    "invalid_json": 400,
    "duplicate_key": 400,
    "number_out_of_range": 400,
    "json_too_deep": 400,
    "not_directory": 400,
    "not_regular": 400,
    "path_exists": 409,
    "not_empty": 409,
    "store_conflict": 409,
    Reason.RATE_LIMITED: 429,
    Reason.SANDBOX_UNAVAILABLE: 501,
    GuardReason.PROGRAM_NOT_FOUND: 501,
    Reason.AUDIT_UNAVAILABLE: 503,
    Reason.AUDIT_LOST: 503,
    Reason.TOOL_STUCK: 503,
    Reason.CANCELLED: 503,
    "store_unavailable": 503,
    Reason.TIMED_OUT: 504,
}
"""The status by reason, where it differs from the status of the outcome."""
STATUSES: Final = (400, 403, 404, 409, 422, 429, 500, 501, 503, 504)
"""The error statuses of an invocation."""


def to_answer(tool: str, args: Mapping[str, Any], result: ToolResult) -> Any:
    """Return the body of a response with status 200: the tool's JSON; for HDN's tools, with HDN's fields.

    A program that ended with a non-zero status has run, too. The body then has its status.

    Raises:
        HttpProblem: The call was denied, or has failed.
    """
    if result.outcome != "ok" and result.reason != Reason.NONZERO_EXIT:
        raise _problem(tool, args, result)
    known = SOURCE_TOOLS.get(tool)
    if known is not None and known.answer is not None and (result.outcome == "ok" or result.data is not None):
        return known.answer(result)
    if result.data is not None:
        return result.data
    if result.text.strip() == "null":
        return None
    if result.outcome != "ok":
        return {"output": result.text, "exit_code": result.exit_code}
    return {"output": result.text}


def _problem(tool: str, args: Mapping[str, Any], result: ToolResult) -> HttpProblem:
    status = _STATUS.get(result.reason or "", 403 if result.outcome == "denied" else 500)
    return problem_of_call(result, status, _error(tool, args, result))


def _error(tool: str, args: Mapping[str, Any], result: ToolResult) -> str:
    """Return the error as a sentence; for a missing argument or file, in HDN's words."""
    known = SOURCE_TOOLS.get(tool)
    if known is not None and result.reason == Reason.INVALID_ARGUMENTS:
        texts = [name for name, kind in known.record.input_schema.items() if kind == "string"]
        if missing := [
            name for name in texts[:1] if not str(args.get(name) or "").strip() or args[name] != str(args[name])
        ]:
            return f"{missing[0]} required"
    if tool == "tool_file_read" and _STATUS.get(result.reason or "") == 404:  # noqa: PLR2004 - not found
        return "file not found"
    return result.message or result.text
