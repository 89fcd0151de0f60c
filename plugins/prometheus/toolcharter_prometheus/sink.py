"""Sinks that count events: in the application's registry, or in their own, which a small HTTP server exposes."""

from collections.abc import Callable, Iterable
from ipaddress import ip_address
from socketserver import ThreadingMixIn
from threading import Thread
from typing import Any
from urllib.parse import urlsplit
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app

from toolcharter_prometheus.counts import EventMetrics

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
TIMEOUT_S = 10.0
"""How long a client may take to send its request, in seconds."""


class PrometheusSink:
    """Counts event lines in *registry*, which the application exposes in its own way."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._metrics = EventMetrics(registry)

    def write(self, lines: bytes) -> None:
        """Count each line."""
        for line in lines.splitlines():
            self._metrics.add(line)

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


class ScrapedSink(PrometheusSink):
    """Counts event lines, and exposes the counts at `http://HOST:PORT/metrics` until it is closed.

    Raises:
        ValueError: *host* is not a loopback address, and *expose* is false.
        OSError: The address is in use.
    """

    def __init__(self, host: str, port: int, *, expose: bool = False) -> None:
        if not (expose or _is_loopback(host)):
            raise ValueError(f"other machines can reach {host} and would see what the tools do: add ?expose=yes")
        registry = CollectorRegistry()
        super().__init__(registry)
        shown = make_wsgi_app(registry)
        kind = _Server6 if ":" in host else _Server
        self._server = make_server(host, port, shown if expose else _require_loopback_host(shown), kind, _Handler)
        self._thread = Thread(target=self._server.serve_forever, name="toolcharter-prometheus", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port on which it listens."""
        return self._server.server_port

    def close(self) -> None:
        """Stop the HTTP server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingMixIn, WSGIServer):
    """Handles each request in its own thread, so that a slow client does not delay others."""

    daemon_threads = True
    allow_reuse_address = True


class _Server6(_Server):
    address_family = 10  # AF_INET6


class _Handler(WSGIRequestHandler):
    timeout = TIMEOUT_S

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the overridden method's name
        """Log nothing: events may go to standard error."""


def _require_loopback_host(shown: Application) -> Application:
    """Refuse requests whose `Host` is not loopback: a web page may point its name to our address (DNS rebinding)."""

    def checked(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        host = urlsplit(f"//{environ.get('HTTP_HOST', '')}").hostname
        if host is None or not _is_loopback(host):
            start("403 Forbidden", [("Content-Type", "text/plain")])
            return [b"Ask for a loopback address.\n"]
        return shown(environ, start)

    return checked


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
