"""`BrowserPool`: the browsers of one toolbox, at most one for each session."""

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

from toolcharter import Denied, Reason, ToolError, ToolRuntime
from toolcharter_browser.policy import BrowserReason, PooledPolicy
from toolcharter_browser.session import Session

REPORT_S = 0.5
"""The time that a waiting call reserves for its error message, in seconds."""


class BrowserPool:
    """The browsers of one toolbox. Thread-safe."""

    def __init__(self, policy: PooledPolicy, rt: ToolRuntime) -> None:
        self._policy = policy
        self._rt = rt
        self._lock = threading.Lock()
        self._sessions: dict[tuple[str | None, ...], Session] = {}
        rt.on_close(self.close)

    def close(self) -> None:
        """End all browsers."""
        with self._lock:
            left = [self._sessions.pop(key) for key in list(self._sessions)]
        for session in left:
            session.close()

    def require_room(self) -> None:
        """Refuse a caller without a browser if the limit is reached.

        Raises:
            Denied: `too_many_browsers`.
        """
        with self._lock:
            self._require_room()

    @contextmanager
    def browser(self) -> Generator[Session]:
        """Lock the caller's browser for this call; start it if there is none. Raises what `Session` raises."""
        with self._lock:
            self._require_room()
            session = self._own_session()
            if session is None:
                self._make_room()
                session = self._sessions[self._key] = Session(self._rt, self._policy)
        with self._locked(session):
            yield session

    @contextmanager
    def open_browser(self) -> Generator[Session]:
        """Lock the caller's browser for this call.

        Raises:
            ToolError: `no_page`.
        """
        with self._lock:
            session = self._own_session()
        if session is None:
            raise ToolError("No page is open.", reason=BrowserReason.NO_PAGE, hint="Use the action `open` first.")
        with self._locked(session):
            yield session

    def end(self) -> None:
        """Close the caller's browser.

        Raises:
            ToolError: `no_page`.
        """
        with self.open_browser() as session:
            session.close()

    @property
    def _key(self) -> tuple[str | None, ...]:
        caller = self._rt.caller
        if caller.session:
            return caller.tenant, caller.session
        return caller.tenant, None, caller.agent, caller.user, caller.channel, caller.chat

    def _own_session(self) -> Session | None:
        self._sessions = {key: one for key, one in self._sessions.items() if not one.has_ended}
        return self._sessions.get(self._key)

    def _require_room(self) -> None:
        if self._own_session() is None and len(self._busy()) >= self._policy.max_browsers:
            message = f"Other sessions use all the browsers that the profile allows: {self._policy.max_browsers}."
            idle = f"{self._policy.idle_timeout_s:g} seconds"
            hint = f"Only they can close theirs. Try again later: a browser that is idle for {idle} makes room."
            raise Denied(BrowserReason.TOO_MANY_BROWSERS, message, hint=hint)

    def _busy(self) -> list[Session]:
        since = time.monotonic() - self._policy.idle_timeout_s
        return [one for one in self._sessions.values() if one.used_at > since]

    def _make_room(self) -> None:
        """Close the idle browsers if the limit is reached."""
        if len(self._sessions) >= self._policy.max_browsers:
            busy = self._busy()
            for key in [key for key, one in self._sessions.items() if one not in busy]:
                self._sessions.pop(key).close()

    @contextmanager
    def _locked(self, session: Session) -> Generator[None]:
        left = self._rt.deadline - time.monotonic() - REPORT_S
        if not session.turn.acquire(timeout=max(0.0, min(left, self._policy.timeout_s))):
            raise ToolError("Another call uses the browser.", reason=Reason.TIMED_OUT, retryable=True)
        try:
            yield
        finally:
            session.turn.release()
