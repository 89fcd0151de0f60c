"""Fetching from a server of this process through the network guard, beside httpx by itself."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import inf

import httpx

from toolcharter import NetworkPolicy
from toolcharter.guards.network.client import Client

BODY = b"x" * 10_000


class Handler(BaseHTTPRequestHandler):
    """Answers everything alike."""

    def do_GET(self) -> None:
        """The body."""
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class says so
        """Nobody reads it."""


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
URL = f"http://127.0.0.1:{server.server_port}/a/b?c=d"
policy = NetworkPolicy(allowed_private=("127.0.0.1",), ports=(server.server_port,))
client = Client()
# Without keep-alive, as ours: one connection for one call.
bare_client = httpx.Client(trust_env=False, limits=httpx.Limits(max_keepalive_connections=0))


def guarded() -> None:
    """One URL, judged, dialled, verified, bounded."""
    client.fetch(URL, policy, deadline=inf)


def bare() -> None:
    """The same by httpx, over a connection of its own."""
    bare_client.get(URL).read()


OPERATIONS = {"guarded": guarded, "bare": bare}
