"""What the tests have workers do; a worker imports this module by its name."""

import ctypes
import os
import sys
from typing import Any

from toolcharter.errors import ToolError


def echo_args(*values: Any) -> list[Any]:
    """Its arguments."""
    return [*values]


def process_id() -> int:
    """Of the process that runs this."""
    return os.getpid()


def hold_the_lock(seconds: int) -> None:
    """Keep the interpreter's lock, as a parser in C does, without using the processor."""
    ctypes.PyDLL(None).sleep(seconds)


def burn() -> None:
    """Use the processor and never return."""
    while True:
        pass


def burn_in_c(digits: int) -> int:
    """The same in one operation of the interpreter, which no signal handler of Python's can interrupt."""
    sys.set_int_max_str_digits(0)
    return len(str(3**digits))


def allocate(size: int) -> int:
    """Take memory."""
    return len(b"x" * size)


def crash() -> None:
    """Die as C code does that reads where nothing is."""
    ctypes.string_at(0)


def exit_process() -> None:
    """End the process without a word."""
    os._exit(0)


def refuse() -> None:
    """Raise what a tool would."""
    raise ToolError("This is no page.", reason="no_html", hint="Try another.", retryable=True)


def fail() -> None:
    """Raise what nobody expects."""
    message = "of a stranger"
    raise KeyError(message)


def write_to_streams() -> str:
    """Write to every stream there is, and to the numbers below them."""
    sys.stdout.write("noise")
    sys.stdout.flush()
    sys.stderr.write("noise")
    for descriptor in (0, 1, 2):
        os.write(descriptor, b"noise")
    return "said"


def no_json() -> Any:
    """Return what JSON has no form for."""
    return {1, 2}


def nested_lists(depth: int) -> Any:
    """Return lists in lists."""
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


def long_text(size: int) -> str:
    """Return a long text."""
    return "x" * size


def process_environment() -> dict[str, Any]:
    """What the process was given."""
    return {"environment": dict(os.environ), "cwd": os.getcwd(), "path": sys.path}  # noqa: PTH109 - as the system says


def write(path: str) -> str:
    """Try to write a file; the error's name."""
    try:
        with open(path, "wb", buffering=0) as file:  # noqa: PTH123 - as a parser would
            file.write(b"x")
    except OSError as error:
        return type(error).__name__
    return ""
