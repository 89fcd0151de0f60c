"""Asks the person at the terminal, on the terminal itself, because standard input may be a pipe of calls.

The terminal keeps its mode, and is read only when a whole line waits there. So a question that ends without an answer,
because its time is up or its caller no longer waits, takes no input that was typed for another program.
"""

import os
import pwd
import select
import termios
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING

from toolcharter._lazy import lazy
from toolcharter.api.approval import Answer, ApprovalAnswer, ApprovalRequest
from toolcharter.gate.approvals.escape import as_text, visible, wrap_text
from toolcharter.gate.approvals.prompt import ABANDONED

if TYPE_CHECKING:
    from rich import console as rich_console
    from rich import text as rich_text
else:
    rich_console = lazy("rich.console")
    rich_text = lazy("rich.text")

POLL_S = 0.05
"""The interval at which a question polls whether its caller still waits, in seconds."""
_MARGIN = "  | "
_KEYS: dict[str, Answer] = {
    "o": "allow_once",
    "a": "allow_always",
    "d": "deny",
    "n": "deny",
    "no": "deny",
    "": "deny",
}
_TERMINAL_LOCK = threading.Lock()
"""Held while a question is on the terminal: a process has one terminal, but may have many toolboxes."""


class TerminalApprover:
    """Shows the whole call and waits for a key and Enter. Enter alone denies.

    Args:
        name: The name of the person at the terminal; by default the user's login name.
        terminal: The terminal's device.
    """

    def __init__(self, name: str | None = None, *, terminal: str = "/dev/tty") -> None:
        self._name = _login_name() if name is None else name
        self._path = terminal

    def __call__(self, request: ApprovalRequest) -> ApprovalAnswer | None:
        """Ask. Returns None if there is no terminal, or if another process is in its foreground.

        Raises:
            TimeoutError: No answer came in time, or the caller no longer waits.
        """
        deadline = monotonic() + request.timeout_s
        with _terminal_lock(deadline):
            try:
                terminal = os.open(self._path, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
            except OSError:
                return None
            try:
                return self._ask(terminal, request, deadline)
            except TimeoutError:
                with suppress(OSError):
                    _write_text(terminal, "\nThe question was withdrawn.\n")
                raise
            except (OSError, termios.error):  # The terminal was closed, or the file is no terminal.
                return None
            finally:
                os.close(terminal)

    def _ask(self, terminal: int, request: ApprovalRequest, deadline: float) -> ApprovalAnswer | None:
        if not _is_foreground(terminal):
            return None
        show(request, terminal)
        # Input that was typed before the question was shown is no answer to it.
        termios.tcflush(terminal, termios.TCIFLUSH)
        choices = "[o] allow once, " + ("[a] allow always, " if request.always else "") + "[d] deny"
        while True:
            _write_text(terminal, f"{choices} ({max(0.0, deadline - monotonic()):.0f} s left; Enter denies): ")
            line = _read_line(terminal, deadline)
            if line is None:
                return None
            answer = _KEYS.get(line.strip().lower())
            if answer is not None and (answer != "allow_always" or request.always):
                return ApprovalAnswer(answer, self._name)
            _write_text(terminal, _help(request, is_always=answer is not None))


def _help(request: ApprovalRequest, *, is_always: bool) -> str:
    """Return the line after an answer that is not accepted, such as `yes`: it lists the possible answers."""
    if is_always:
        return f"This call cannot be allowed always. {visible(request.why_not_always or '')}\n"
    always = ", or a and Enter to allow it from now on" if request.always else ""
    return f"Type o and Enter to allow this one call{always}. Type d and Enter to deny it.\n"


def show(request: ApprovalRequest, terminal: int) -> None:
    """Write all of *request* to a terminal, in as many lines as it takes."""
    width = os.get_terminal_size(terminal).columns or 80
    lines = [*_argument_lines(request, width), *_fact_lines(request, width)]
    with open(terminal, "w", closefd=False, errors="backslashreplace") as stream:
        console = rich_console.Console(file=stream, force_terminal=True, width=width, emoji=False)
        for style, line in [("bold", "\nA tool call waits for you"), *lines]:
            # `Text` is not read as markup. Soft wrapping cuts nothing off, and `wrap_text` leaves nothing to wrap.
            console.print(rich_text.Text(line, style), soft_wrap=True, highlight=False)


def _argument_lines(request: ApprovalRequest, width: int) -> Iterator[tuple[str, str]]:
    """Yield the lines of arguments and commands. The last line gives their number, because the first may scroll away.

    The names of arguments may also be the model's, if a tool accepts any.
    """
    count = 0
    parts = [("argument ", name, as_text(value)) for name, value in request.args.items()]
    total = len(request.commands)
    parts += [("runs ", f"command {number} of {total}", text) for number, text in enumerate(request.commands, 1)]
    for kind, name, value in parts:
        # A name is one line, because a second line would look like another argument.
        for style, text, margin in (("bold", visible(name), kind), ("", value, _MARGIN)):
            for line in wrap_text(text, width, margin):
                count += 1
                yield style, line
    yield "dim", f"{count} lines of arguments and commands are above."


def _fact_lines(request: ApprovalRequest, width: int) -> Iterator[tuple[str, str]]:
    caller = request.caller
    facts = {
        "tool": request.tool if request.action is None else f"{request.tool}, action {request.action}",
        "folder": str(request.workspace),
        "asked by": ", ".join(
            f"{what} {value}"
            for what, value in (("agent", caller.agent), ("user", caller.user), ("profile", request.profile))
            if value is not None
        ),
        "why": request.reason if request.message is None else f"{request.reason}: {request.message}",
        "always": f"holds until {request.always_until} for exactly this call"
        if request.always
        else f"not offered. {request.why_not_always or ''}".rstrip(),
    }
    for name, fact in facts.items():
        for line in wrap_text(fact, width, f"{name:>8} | "):
            yield "", line


@contextmanager
def _terminal_lock(deadline: float) -> Generator[None]:
    while not _TERMINAL_LOCK.acquire(timeout=POLL_S):
        _require_waiting_caller(deadline)
    try:
        yield
    finally:
        _TERMINAL_LOCK.release()


def _require_waiting_caller(deadline: float) -> None:
    """Raise `TimeoutError` if the caller no longer waits for the answer."""
    abandoned = ABANDONED.get()
    if monotonic() > deadline or (abandoned is not None and abandoned.is_set()):
        raise TimeoutError


def _read_line(terminal: int, deadline: float) -> str | None:
    """Read the next typed line; empty at the end of input, None if another process is now in the foreground."""
    typed = b""
    while not typed.endswith((b"\n", b"\r")):
        _require_waiting_caller(deadline)
        if not select.select([terminal], [], [], POLL_S)[0]:
            continue
        # Check again: the caller may have left, or this process may have been stopped, in the meantime.
        _require_waiting_caller(deadline)
        if not _is_foreground(terminal):
            return None
        piece = os.read(terminal, 1024)
        if not piece:
            return ""
        typed = (typed + piece)[-1024:]
    return typed.decode(errors="replace")


def _is_foreground(terminal: int) -> bool:
    """Whether this process is in the foreground of the terminal: the system stops a background process that reads."""
    return os.tcgetpgrp(terminal) == os.getpgrp()


def _write_text(terminal: int, text: str) -> None:
    os.write(terminal, text.encode())


def _login_name() -> str | None:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return None
