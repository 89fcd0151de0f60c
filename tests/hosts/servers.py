"""A server on the loopback that plays a model's interface: it gives the answers of a script and keeps what it was asked."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Script = Callable[[str, dict[str, Any]], dict[str, Any] | tuple[int, dict[str, Any]]]
"""What the server answers, by the path and the body of a request, with a status unless that is 200."""


class ScriptedServer(ThreadingHTTPServer):
    """Answers each request by *script*."""

    daemon_threads = True

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.asked: list[dict[str, Any]] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: ScriptedServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(body)
        said = self.server.script(self.path, body)
        status, shown = said if isinstance(said, tuple) else (200, said)
        answer = json.dumps(shown).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def serving(script: Script) -> Iterator[ScriptedServer]:
    """A server that runs meanwhile."""
    with ScriptedServer(script) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
