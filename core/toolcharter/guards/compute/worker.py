"""The child process of `rt.compute`: it answers one request after another until its parent closes the pipe.

A frame is a length of four bytes, then JSON of that length. A request names a module-level function and its arguments.
An answer holds the function's result, or the error that it raised. Both sides send only JSON: a parser that hostile
input has taken over can send text to the parent, but nothing that the parent would execute.
"""

import importlib
import json
import os
import resource
import signal
import struct
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO

from toolcharter._lazy import lazy

if TYPE_CHECKING:
    import fcntl

    from toolcharter import errors
else:
    fcntl = lazy("fcntl")
    errors = lazy("toolcharter.errors")

HEADER = struct.Struct(">I")
_WORN_AFTER = 200
"""Requests after which a worker asks to be replaced: parsers leak memory and fragment it."""


def encode_frame(value: object) -> bytes:
    """Encode *value* as one frame.

    Raises:
        TypeError, ValueError, RecursionError: *value* cannot be written as JSON.
    """
    body = json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    return HEADER.pack(len(body)) + body


def serve(lifeline: int) -> None:
    """Answer requests on standard input until it ends. *lifeline* is a pipe whose other end only the parent holds."""
    die_with_the_parent(lifeline)
    requests, answers = _private_streams()
    for name in ("RLIMIT_CORE", "RLIMIT_FSIZE"):  # The worker writes no file.
        with suppress(OSError, ValueError):
            resource.setrlimit(getattr(resource, name), (0, 0))
    count = 0
    while len(header := requests.read(HEADER.size)) == HEADER.size:
        request = json.loads(requests.read(HEADER.unpack(header)[0]))
        count += 1
        answer = answer_request(request)
        is_worn = count >= _WORN_AFTER or "memory" in answer or _uses_much_memory(request["memory_bytes"])
        answers.write(_encode_answer({**answer, "worn": is_worn}))
        answers.flush()


def die_with_the_parent(lifeline: int) -> None:
    """Have the kernel end this process when the other end of *lifeline* is closed, whatever this process is doing.

    A thread that waited for the end of the pipe would need the interpreter's lock, which a parser may never release.
    PR_SET_PDEATHSIG would send its signal already when the thread that started the child ends, not only the parent.

    Source: fcntl(2), O_ASYNC; signal(7): SIGIO ends a process that does not handle it.
    """
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    with suppress(AttributeError):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGIO})
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC | os.O_NONBLOCK)
    with suppress(BlockingIOError):
        if not os.read(lifeline, 1):  # The parent died before the line above.
            os._exit(1)


def answer_request(request: dict[str, Any]) -> dict[str, Any]:
    """Call the function that *request* names, within its limits, and return its result or its error as an answer."""
    try:
        _set_limits(int(request["cpu_s"]), int(request["memory_bytes"]))
        module, _, name = request["function"].partition(":")
        return {"value": getattr(importlib.import_module(module), name)(*request["args"])}
    except MemoryError:
        return {"memory": True}
    except RecursionError:
        return {"raised": "RecursionError: the input nests too deeply"}
    except Exception as error:  # noqa: BLE001 - the parent decides what an error means
        return _error_answer(error)


def _error_answer(error: Exception) -> dict[str, Any]:
    if isinstance(error, errors.ToolError):
        return {
            "error": {
                "message": error.message,
                "reason": str(error.reason),
                "hint": error.hint,
                "retryable": error.retryable,
            }
        }
    return {"raised": f"{type(error).__name__}: {error}"[:500]}


def _encode_answer(answer: dict[str, Any]) -> bytes:
    try:
        return encode_frame(answer)
    except MemoryError:
        return encode_frame({"memory": True, "worn": True})
    except (TypeError, ValueError, RecursionError) as error:
        return encode_frame({"raised": f"the function returned a value that is not JSON: {error}"[:500], "worn": True})


def _set_limits(cpu_s: int, memory_bytes: int) -> None:
    """Set the soft limits for the next request. The kernel ends a process that exceeds its processor time."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    used_s = int(usage.ru_utime + usage.ru_stime) + 1
    for number, value in ((resource.RLIMIT_CPU, used_s + cpu_s), (resource.RLIMIT_AS, memory_bytes)):
        hard = resource.getrlimit(number)[1]
        resource.setrlimit(number, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def _uses_much_memory(memory_bytes: int) -> bool:
    # Not `ru_maxrss`: a program inherits that from the process that started it. Source: proc(5), /proc/pid/statm.
    with open("/proc/self/statm", "rb") as sizes:  # noqa: PTH123 - a Path costs as much as the read
        return int(sizes.read().split()[1]) * resource.getpagesize() > memory_bytes // 2


def _private_streams() -> tuple[BinaryIO, BinaryIO]:
    """Move both pipes to other descriptors, so that a parser's own output cannot get between the answers."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    sys.stdin, sys.stdout, sys.stderr = (open(os.devnull, mode) for mode in ("r", "w", "w"))  # noqa: PTH123, SIM115 - as long as the process lives
    return requests, answers
