"""A server that speaks OpenAI's protocol for embeddings: what a text means is which of a few words it holds."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from typing_extensions import override

MEANINGS = (("tea", "drink", "beverage"), ("car", "vehicle", "engine"), ("vault", "key", "secret"))


class Endpoint(ThreadingHTTPServer):
    """Counts what it is asked for, and answers as `answers` says."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.inputs: list[str] = []
        self.keys: list[str] = []
        self.status = 200
        self.body: bytes | None = None
        """In place of the answer."""

    @property
    def url(self) -> str:
        """As a profile names it."""
        return f"http://127.0.0.1:{self.server_port}/v1"

    @property
    def settings(self) -> dict[str, Any]:
        """What a profile says of it."""
        ports = {"allowed_private": ["127.0.0.1"]}
        return {"url": self.url, "model": "test", **ports}


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server = self.server
        assert isinstance(server, Endpoint)
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server.inputs += asked["input"]
        server.keys.append(self.headers.get("Authorization", ""))
        data = [{"index": number, "embedding": meaning(text)} for number, text in enumerate(asked["input"])]
        body = server.body if server.body is not None else json.dumps({"data": data[::-1]}).encode()
        self.send_response(server.status if self.path == "/v1/embeddings" else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @override
    def log_message(self, *_: object) -> None:
        """Nothing is to be said on standard error."""


def meaning(text: str) -> list[float]:
    """A vector with one number for each meaning, and a little of none."""
    words = text.lower().replace("?", " ").replace(".", " ").split()
    return [*(float(sum(word in group for word in words)) for group in MEANINGS), 0.1]


@contextmanager
def endpoint() -> Generator[Endpoint]:
    """One that listens."""
    server = Endpoint()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
