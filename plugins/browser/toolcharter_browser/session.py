"""`Session`: one browser with its own process and its own proxy. Only one call uses it at a time."""

import json
import re
import select
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from toolcharter import (
    Denied,
    GuardReason,
    Paths,
    ProcessLimits,
    Reason,
    Running,
    ToolError,
    ToolRuntime,
    python_command,
    scrub_text,
)
from toolcharter_browser.folders import base, sweep
from toolcharter_browser.formatting import strip_invisible
from toolcharter_browser.policy import BrowserReason, PagePolicy, ScreenshotReason
from toolcharter_browser.proxy import Proxy, Refusal

START_S = 30.0
"""How long a browser may take to start, in seconds."""
GRACE_S = 2.0
"""How much longer the answer may take than the action, in seconds."""
MAIN = "from toolcharter_browser.host import main; main()"
LIMITS = ProcessLimits(memory_bytes=None, processes=1024, open_files=4096)
"""Without a memory limit: Chromium reserves terabytes of address space, and would not start with a limit."""
INSTALL_HINT = "It needs Chromium on this machine, and a profile with `runner: host`: it does not run in a sandbox."
IMAGE_OVERHEAD = 4_000_000
"""The largest answer without its picture, in bytes."""
_PIECE = 65_536
_PAUSE_S = 0.01
_CODE = re.compile(r"net::(ERR_[A-Z0-9_]+)")
_CODES = {
    "ERR_NAME_NOT_RESOLVED": GuardReason.HOST_NOT_FOUND,
    "ERR_TIMED_OUT": Reason.TIMED_OUT,
    "ERR_INVALID_HTTP_RESPONSE": GuardReason.INVALID_RESPONSE,
    "ERR_TOO_MANY_REDIRECTS": GuardReason.TOO_MANY_REDIRECTS,
    "ERR_ABORTED": ScreenshotReason.PAGE_NOT_LOADED,
}
_DENIED = {str(one): one for one in (ScreenshotReason.DOWNLOAD_REFUSED, GuardReason.INSECURE_REDIRECT)}
_LASTING_REASONS = frozenset({Reason.TIMED_OUT, ScreenshotReason.ENDLESS_NAVIGATION, BrowserReason.TOO_MANY_WINDOWS})


class BrowserGone(Exception):
    """The browser's process has ended, or sends an answer that is too long."""


class Session:
    """A running browser. `close` ends it and removes its files.

    Args:
        rt: The runtime of a call that is permitted to act.
        policy: The network policy and the limits.

    Raises:
        Denied: `sandbox_unavailable`.
        ToolError: `browser_unavailable`, `timed_out`.
    """

    def __init__(self, rt: ToolRuntime, policy: PagePolicy) -> None:
        self.turn = threading.Lock()
        """The lock that a call holds while it uses the browser."""
        self.used_at = time.monotonic()
        self._rt = rt
        self._policy = policy
        self._left = b""
        self._proxy = Proxy(rt.http.connector(policy), policy.max_transfer_bytes)
        self._running: Running | None = None
        self._place: Path | None = None
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def ask(self, do: str, **question: Any) -> dict[str, Any]:
        """Have the page do something and return its answer, with connections refused in the meantime under `refused`.

        Raises:
            Denied: The network guard has refused the page's URL; `download_refused`, `insecure_redirect`.
            ToolError: The action failed; `timed_out`; `browser_crashed`, and the session is closed.
        """
        self.used_at = time.monotonic()
        self._proxy.take_refusals()
        left = self._time_left(self._policy.timeout_s)
        answer = self._answer({"do": do, "timeout_s": left, **question}, left + GRACE_S)
        refused = self._proxy.take_refusals()
        if "error" in answer:
            if answer["error"] in _LASTING_REASONS:
                self.close()  # a page that hangs once keeps hanging
            raise _failure(answer, refused)
        shown = [{"host": one.host, "port": one.port, "reason": one.reason} for one in refused]
        given = answer["ok"]
        # Scrubbed before it is cut: half a secret would not be recognised.
        title = strip_invisible(scrub_text(given["title"])[0])[:300]
        found: dict[str, Any] = {**given, "title": title, "refused": shown}
        return found

    def close(self) -> None:
        """End the browser and remove its files. May be called twice."""
        if self._running is not None:
            self._running.close()
        self._proxy.close()
        if self._place is not None:
            sweep(self._place)

    @property
    def has_ended(self) -> bool:
        """Whether the browser's process has ended."""
        return self._running is None or self._running.exit_code is not None

    def _start(self) -> None:
        self._place = find_outside_folder(self._rt.paths)
        if self._place is None:
            message = "The temporary folder lies in the workspace, where tools could change what the browser runs."
            hint = "Set TMPDIR to a folder outside of the workspace."
            raise ToolError(message, reason=ScreenshotReason.BROWSER_UNAVAILABLE, hint=hint)
        sweep(self._place)
        self._running = self._spawn({"TMPDIR": str(self._place)})
        policy = self._policy
        settings = {"port": self._proxy.port, "width": policy.width, "height": policy.height}
        answer = self._answer(settings, self._time_left(START_S), hint=INSTALL_HINT)
        if "error" in answer:
            message = f"The browser did not start: {answer['message']}"
            raise ToolError(message, reason=ScreenshotReason.BROWSER_UNAVAILABLE, hint=INSTALL_HINT)

    def _spawn(self, env: dict[str, str]) -> Running:
        try:
            return self._rt.spawn(python_command(MAIN), env=env, limits=LIMITS, network=True)
        except ToolError as error:
            if error.reason != "program_not_found":
                raise
            message = "The browser cannot run in the profile's runner."
            raise ToolError(message, reason=ScreenshotReason.BROWSER_UNAVAILABLE, hint=INSTALL_HINT) from error

    def _time_left(self, most_s: float) -> float:
        """The seconds for an action; a part of the call's time is reserved for reporting a timeout."""
        left = self._rt.deadline - time.monotonic() - GRACE_S / 2
        if left <= 0:
            raise _timed_out()
        return min(most_s, left)

    def _answer(self, question: dict[str, Any], patience_s: float, *, hint: str | None = None) -> dict[str, Any]:
        until = min(time.monotonic() + patience_s, self._rt.deadline - 0.2)
        try:
            with suppress(BrowserGone):  # A process that has ended may have written the reason in its last line.
                self._write(json.dumps(question).encode() + b"\n", until)
            answer = json.loads(self._line(until))
        except (BrowserGone, ValueError) as error:
            self.close()
            message = "The browser has ended or does not answer."
            raise ToolError(message, reason=ScreenshotReason.BROWSER_CRASHED, retryable=True, hint=hint) from error
        except TimeoutError as error:
            self.close()
            raise _timed_out() from error
        return dict(answer)

    def _write(self, data: bytes, until: float) -> None:
        running = self._live()
        while data:
            data = data[running.write(data) :]
            if data:
                _require_time(until)
                self._require_life()
                time.sleep(_PAUSE_S)

    def _line(self, until: float) -> bytes:
        if (running := self._running) is None:
            raise BrowserGone
        most = self._policy.max_image_bytes * 4 // 3 + IMAGE_OVERHEAD
        ready = select.poll()
        ready.register(running.fileno(), select.POLLIN)
        pieces = [self._left]
        while b"\n" not in pieces[-1]:
            ready.poll(_require_time(until) * 1000)
            pieces.append(running.read(_PIECE))
            if not pieces[-1]:
                self._require_life()
            if sum(map(len, pieces)) > most:
                raise BrowserGone
        line, _, self._left = b"".join(pieces).partition(b"\n")
        return line

    def _live(self) -> Running:
        if self._running is None or self._running.exit_code is not None:
            raise BrowserGone
        return self._running

    def _require_life(self) -> None:
        self._live()


def _require_time(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _timed_out() -> ToolError:
    return ToolError("The page took too long.", reason=Reason.TIMED_OUT, retryable=True)


def _failure(answer: dict[str, Any], refused: list[Refusal]) -> Denied | ToolError:
    """The exception that a tool raises for an answer with an error."""
    why, message = str(answer["error"]), str(answer["message"])
    if why in _DENIED:
        return Denied(_DENIED[why], message)
    code = _CODE.search(message)
    if why != "page_not_loaded" or code is None:
        return ToolError(message, reason=why, retryable=why == Reason.TIMED_OUT)
    for one in refused:
        if _is_refused_url(one, str(answer.get("url"))):
            return one.to_exception()
    if code[1] == "ERR_UNSAFE_PORT":
        return Denied(GuardReason.PORT_NOT_ALLOWED, "Chromium refuses HTTP connections to this port.")
    is_tls = code[1].startswith(("ERR_CERT", "ERR_SSL"))
    reason = GuardReason.TLS_FAILURE if is_tls else _CODES.get(code[1], GuardReason.CONNECTION_FAILED)
    return ToolError(f"The page did not load: {code[1]}.", reason=reason)


def _is_refused_url(refusal: Refusal, url: str) -> bool:
    """Whether *url*, as the browser writes it, leads to the refused host."""
    host = f"[{refusal.host}]" if ":" in refusal.host else refusal.host
    ports = {80: "http", 443: "https"}
    plain = f"{ports.get(refusal.port, '')}://{host}/"
    return url.startswith(plain) or url.partition("://")[2].startswith(f"{host}:{refusal.port}/")


def find_outside_folder(paths: Paths) -> Path | None:
    """Return the parent for a browser's folder outside the workspace of *paths*; None if there is none.

    In the workspace, tools could write to the folder, and Chromium runs programs and trusts settings in it.
    """
    return next((place for place in (base(), Path("/tmp")) if _is_outside(paths, place)), None)  # noqa: S108 - a new folder is made in it


def _is_outside(paths: Paths, place: Path) -> bool:
    try:
        paths.open_folder(str(place.resolve())).__exit__(None, None, None)
    except Denied as denied:
        return denied.reason == Reason.PATH_OUTSIDE_WORKSPACE
    except ToolError:
        return False
    return False
