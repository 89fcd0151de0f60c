"""Times the operations of one subject in the subject's own environment, on request of the harness.

    PYTHON -P benchmarks/serve.py peers/langchain_tool.py

A subject is a script with `OPERATIONS`, functions (plain or `async`) that are called repeatedly. It may have `REPORTS`,
functions of a number that measure by themselves, and `after_batch`, which cleans up. This script reads lines
`["name", number]` and answers each with one line of JSON: the seconds per call, or the value that the report returns.
It runs with only the subject's packages installed, so it imports nothing but the standard library.
"""

import asyncio
import inspect
import json
import os
import runpy
import sys
from collections.abc import Awaitable, Callable
from itertools import repeat
from time import perf_counter
from typing import Any, TextIO

Operation = Callable[[], Any]


def seconds_per_call(operation: Operation, number: int) -> float:
    """Call *operation* *number* times in a row; return the seconds of one call."""
    calls = repeat(None, number)
    started = perf_counter()
    for _ in calls:
        operation()
    return (perf_counter() - started) / number


async def seconds_per_await(operation: Callable[[], Awaitable[Any]], number: int) -> float:
    """Do the same from inside a running event loop."""
    calls = repeat(None, number)
    started = perf_counter()
    for _ in calls:
        await operation()
    return (perf_counter() - started) / number


def answer(subject: dict[str, Any], loop: asyncio.AbstractEventLoop, name: str, number: int) -> Any:
    """Run one operation or report of *subject*."""
    report = subject.get("REPORTS", {}).get(name)
    if report is not None:
        return report(number)
    operation = subject["OPERATIONS"][name]
    if inspect.iscoroutinefunction(operation):
        return loop.run_until_complete(seconds_per_await(operation, number))
    return seconds_per_call(operation, number)


def main(script: str, questions: TextIO, answers: TextIO) -> None:
    """Answer requests until the harness closes *questions*."""
    subject = runpy.run_path(script, run_name="subject")
    tidy_up = subject.get("after_batch", lambda: None)
    with asyncio.Runner() as runner:
        for line in questions:
            value = answer(subject, runner.get_loop(), *json.loads(line))
            tidy_up()
            print(json.dumps(value), file=answers, flush=True)


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # A subject may print.
    main(sys.argv[1], sys.stdin, answers)
