"""The server that shows canvases to the user: on a loopback port of its own, never in the service's origin.

Each canvas has an unguessable path, which is valid as long as the canvas exists. Requests for other paths, with another
host name, or by other users of this machine get nothing. The server ignores cookies, sets none, and answers only `GET`.
"""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from typing_extensions import override

from toolcharter_browser.canvas_document import HEADERS
from toolcharter_browser.proxy import is_ours

PATIENCE_S = 5.0
"""How long a client may take to send its request, in seconds."""
MAX_CLIENTS = 32


class CanvasServer:
    """Listens from its construction until `close`.

    Args:
        found: Returns the document at a path; None if there is none.
    """

    def __init__(self, found: Callable[[str], str | None]) -> None:
        self._server = _Server(found)
        threading.Thread(target=self._server.serve_forever, args=(0.1,), name="toolcharter canvas", daemon=True).start()

    def url(self, token: str) -> str:
        """Return the URL of the canvas *token*."""
        return f"http://{self._server.host}/{token}"

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, found: Callable[[str], str | None]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.found = found
        self.host = f"127.0.0.1:{self.server_port}"
        self._free = threading.BoundedSemaphore(MAX_CLIENTS)

    @override
    def verify_request(self, request: Any, client_address: Any) -> bool:
        return is_ours(client_address[1], self.server_port) and self._free.acquire(blocking=False)

    @override
    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    @override
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors of connections, such as a client that hangs up."""


class _Handler(BaseHTTPRequestHandler):
    timeout = PATIENCE_S
    server_version, sys_version = "canvas", ""

    def do_GET(self) -> None:
        """Answer with the document at the path."""
        # Only with the server's own name: a page that resolves its own name to this address (DNS rebinding) has
        # another.
        server, found = self.server, None
        if isinstance(server, _Server) and self.headers.get_all("Host") == [server.host]:
            found = server.found(self.path.removeprefix("/"))
        body = b"There is nothing here." if found is None else found.encode(errors="replace")
        self.send_response(404 if found is None else 200)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @override
    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: a path is a secret."""
