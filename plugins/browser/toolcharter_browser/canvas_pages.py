"""The canvases of one toolbox, at most one for each session. Thread-safe."""

import hmac
import threading
from dataclasses import dataclass, field, replace
from secrets import token_urlsafe

from toolcharter import Caller, Denied, ToolError, ToolRuntime
from toolcharter_browser.a2ui import Message, size_of, surfaces_of
from toolcharter_browser.canvas_document import document
from toolcharter_browser.canvas_policy import MAX_DOCUMENT_BYTES, CanvasPolicy, CanvasReason
from toolcharter_browser.canvas_server import CanvasServer

Key = tuple[str, str | None, str | None, str | None]


@dataclass(frozen=True)
class Canvas:
    """The canvas of one session."""

    token: str = field(default_factory=lambda: token_urlsafe(32))
    content: str = ""
    messages: tuple[Message, ...] = ()
    pushed_bytes: int = 0
    version: int = 0
    """A number that grows with each change."""
    url: str = ""
    """The page that `navigate` has opened; empty while the canvas shows its own content."""

    def document(self) -> str:
        """Return the whole page: the presented HTML, or the surfaces of A2UI without scripts."""
        if not self.messages:
            return document(self.content, is_static=False)
        surfaces = surfaces_of(list(self.messages))
        shown = "".join(f"<section>{surface.html()}</section>" for surface in surfaces.values())
        return document(shown, is_static=True)


class Canvases:
    """The canvases of all sessions, and the server that shows them."""

    def __init__(self, policy: CanvasPolicy, rt: ToolRuntime) -> None:
        self._policy = policy
        self._rt = rt
        self._lock = threading.Lock()
        self._canvases: dict[Key, Canvas] = {}
        self._server: CanvasServer | None = None
        rt.on_close(self._close)

    def present(self, content: str) -> str:
        """Show *content*; return the canvas's URL."""
        canvas = self._own_canvas() or Canvas()
        return self._store(replace(canvas, content=content, messages=(), pushed_bytes=0, url=""))

    def push(self, messages: list[Message], size: int) -> str:
        """Add *messages* to the canvas; return its URL."""
        canvas = self._own_canvas() or Canvas()
        both = (*canvas.messages, *messages)
        if canvas.pushed_bytes + size > self._policy.max_content_bytes or size_of(list(both)) > self._policy.max_lines:
            what = "The session's A2UI would become larger than the profile allows."
            raise ToolError(what, reason=CanvasReason.TOO_LARGE, hint="Use a2ui_reset, and push only what to show.")
        return self._store(replace(canvas, messages=both, pushed_bytes=canvas.pushed_bytes + size, url=""))

    def reset(self) -> None:
        """Remove all A2UI of the session."""
        self._store(replace(self.get_canvas(), messages=(), pushed_bytes=0))

    def note_navigation(self, url: str) -> tuple[str, int]:
        """Record that the session's browser shows *url*; return the canvas's token and version."""
        self._store(replace(self._own_canvas() or Canvas(), url=url))
        canvas = self.get_canvas()
        return canvas.token, canvas.version

    def hide(self) -> None:
        """Remove the session's canvas: its URL is no longer valid."""
        self.get_canvas()
        with self._lock:
            self._canvases.pop(key_of(self._rt.caller), None)

    def get_canvas(self) -> Canvas:
        """Return the canvas of the session.

        Raises:
            ToolError: `no_canvas`.
        """
        canvas = self._own_canvas()
        if canvas is None:
            raise ToolError("Nothing is presented.", reason=CanvasReason.NO_CANVAS, hint="Use the action `present`.")
        return canvas

    def require_room(self) -> None:
        """Refuse a new canvas if the limit is reached.

        Raises:
            Denied: `too_many_canvases`.
        """
        with self._lock:
            self._require_room()

    def _require_room(self) -> None:
        if key_of(self._rt.caller) not in self._canvases and len(self._canvases) >= self._policy.max_canvases:
            what = f"Other sessions have the {self._policy.max_canvases} canvases that the profile allows."
            raise Denied(CanvasReason.TOO_MANY_CANVASES, what)

    def _own_canvas(self) -> Canvas | None:
        with self._lock:
            return self._canvases.get(key_of(self._rt.caller))

    def _store(self, canvas: Canvas) -> str:
        canvas = replace(canvas, version=canvas.version + 1)
        if len(canvas.document().encode(errors="replace")) > MAX_DOCUMENT_BYTES:
            raise ToolError("The page is too large after its HTML is escaped.", reason=CanvasReason.TOO_LARGE)
        with self._lock:
            self._require_room()
            self._canvases[key_of(self._rt.caller)] = canvas
            if self._server is None:
                self._server = CanvasServer(self._find_document)
            return self._server.url(canvas.token)

    def _find_document(self, token: str) -> str | None:
        with self._lock:
            canvases = list(self._canvases.values())
        given = token.encode(errors="replace")
        found = next((one for one in canvases if hmac.compare_digest(one.token.encode(), given)), None)
        return None if found is None else found.document()

    def _close(self) -> None:
        with self._lock:
            server, self._server = self._server, None
            self._canvases.clear()
        if server is not None:
            server.close()


def key_of(caller: Caller) -> Key:
    """Return the key of a caller's canvas."""
    return caller.tenant, caller.agent, caller.user, caller.session
