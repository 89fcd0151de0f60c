"""Fetches from a server in this process through the network guard, and by httpx alone."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import inf

import httpx

from toolcharter import NetworkPolicy
from toolcharter.guards.network.client import Client

BODY = b"x" * 10_000


class Handler(BaseHTTPRequestHandler):
    """Answers every request in the same way."""

    def do_GET(self) -> None:
        """Send the body."""
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class says so
        """Log nothing."""


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
URL = f"http://127.0.0.1:{server.server_port}/a/b?c=d"
policy = NetworkPolicy(allowed_private=("127.0.0.1",), ports=(server.server_port,))
client = Client()
# Without keep-alive, like ours: one connection for each call.
bare_client = httpx.Client(trust_env=False, limits=httpx.Limits(max_keepalive_connections=0))


def guarded() -> None:
    """Fetch one URL through the guard, which checks, connects, verifies and limits."""
    client.fetch(URL, policy, deadline=inf)


def bare() -> None:
    """Fetch the same URL by httpx, over a new connection."""
    bare_client.get(URL).read()


OPERATIONS = {"guarded": guarded, "bare": bare}
