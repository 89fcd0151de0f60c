"""One connection to a NATS server, with its own event loop and thread. It connects and reconnects by itself."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js import JetStreamContext

from toolcharter import BusUnavailable

REQUEST_S = 3.0
"""The time limit of a request, in seconds."""
PING_S = 2
"""The time between two pings, in seconds. After two pings without an answer the client reconnects."""
RECONNECT_S = 0.25
"""The pause between two attempts to connect, in seconds."""
T = TypeVar("T")


class Server(NamedTuple):
    """The parsed URL of a server."""

    url: str
    """The URL without its options."""
    display_url: str
    """The URL without options, user and password, for messages."""
    credentials: str | None = None
    """The path of a credentials file, as `nsc` creates it."""
    replicas: int = 1
    """The number of servers of a cluster that store each stream."""
    max_age_s: float = 7 * 86_400
    """How long events are kept, in seconds."""


def parse_url(url: str) -> Server:
    """Parse `nats://[USER:PASSWORD@]HOST[:PORT][?tls=true&creds=FILE&replicas=3&max_age_s=604800]`.

    Raises:
        ValueError: The URL or an option is invalid.
    """
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    tls = options.pop("tls", "false")
    credentials = options.pop("creds", None)
    replicas, max_age_s = int(options.pop("replicas", "1")), float(options.pop("max_age_s", "604800"))
    if parts.scheme != "nats" or not parts.hostname or parts.path not in {"", "/"} or parts.fragment:
        raise ValueError("write nats://HOST:PORT")
    if options or tls not in {"true", "false"} or replicas not in {1, 3, 5} or max_age_s < 1:
        raise ValueError("the options are tls=true, creds=FILE, replicas=1, 3 or 5, and max_age_s of at least 1")
    if credentials is not None and not Path(credentials).is_file():
        raise ValueError("`creds` names no file")
    place = f"{parts.hostname if ':' not in parts.hostname else f'[{parts.hostname}]'}:{parts.port or 4222}"
    scheme = "tls" if tls == "true" else "nats"
    user, at, _ = parts.netloc.rpartition("@")
    return Server(
        urlunsplit((scheme, f"{user}{at}{place}", "", "", "")), f"nats://{place}", credentials, replicas, max_age_s
    )


class Connection:
    """A client of *server*. It begins to connect when it is created."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.client = Client()
        self.jetstream: JetStreamContext = self.client.jetstream(timeout=REQUEST_S)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="toolcharter-nats", daemon=True)
        self._thread.start()
        self._why: str | None = "it has not answered yet"
        self._on_connect: list[Callable[[], Awaitable[object]]] = []
        self._closed = False
        self._connecting = asyncio.run_coroutine_threadsafe(self._connect(), self._loop)

    def run(self, work: Callable[[], Coroutine[Any, Any, T]], timeout_s: float = REQUEST_S) -> T:
        """Run *work* on the connection's event loop and return its result.

        Raises:
            BusUnavailable: The server is unreachable or does not answer.
        """
        if self._closed:
            raise BusUnavailable("The connection is closed.")
        begun = threading.Event()
        future = asyncio.run_coroutine_threadsafe(self._run_within(work, timeout_s, begun), self._loop)
        try:
            answer = future.result(timeout_s + 5)
        except (NatsError, OSError, TimeoutError, asyncio.CancelledError) as error:
            future.cancel()
            self._why = f"it did not answer: {type(error).__name__}"
            away = BusUnavailable(f"{self.server.display_url} does not answer: {type(error).__name__}.")
            away.may_have_heard = begun.is_set()
            raise away from error
        self._why = None
        return answer

    async def _run_within(
        self, work: Callable[[], Coroutine[Any, Any, T]], timeout_s: float, begun: threading.Event
    ) -> T:
        async with asyncio.timeout(timeout_s):
            while not self.client.is_connected:  # noqa: ASYNC110 - the client has no event for it
                await asyncio.sleep(0.02)
            begun.set()
            return await work()

    def submit(self, work: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Schedule *work* without waiting for it. It is dropped if the server is not connected."""

        async def quietly() -> None:
            if self.client.is_connected:
                with suppress(Exception):
                    await work()

        if not self._closed:
            asyncio.run_coroutine_threadsafe(quietly(), self._loop)

    def on_connect(self, work: Callable[[], Awaitable[object]]) -> None:
        """Run *work* once the first connection is made. Its subscriptions survive later reconnects."""

        def register() -> None:
            self._on_connect.append(work)
            if self._connecting.done():
                begun = asyncio.ensure_future(work())
                begun.add_done_callback(lambda done: done.cancelled() or done.exception())

        self._loop.call_soon_threadsafe(register)

    def health(self) -> str | None:
        """Return why the server is unreachable; None if it is connected."""
        if self._closed:
            return "the connection is closed"
        if not self.client.is_connected:
            return f"{self.server.display_url} cannot be reached"
        return f"{self.server.display_url}: {self._why}" if self._why else None

    def close(self) -> None:
        """Close the connection and end its thread."""
        if self._closed:
            return
        self._closed = True
        self._connecting.cancel()
        with suppress(Exception):
            asyncio.run_coroutine_threadsafe(self.client.close(), self._loop).result(REQUEST_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(REQUEST_S)
        if not self._thread.is_alive():
            self._loop.close()

    async def _connect(self) -> None:
        await self.client.connect(
            self.server.url,
            name="toolcharter",
            allow_reconnect=True,
            max_reconnect_attempts=-1,
            reconnect_time_wait=RECONNECT_S,  # type: ignore[arg-type] # fractions of a second work
            connect_timeout=int(REQUEST_S),
            ping_interval=PING_S,
            max_outstanding_pings=2,
            user_credentials=self.server.credentials,
            error_cb=self._on_error,
            reconnected_cb=self._on_reconnect,
        )
        self._why = None
        for work in tuple(self._on_connect):
            with suppress(Exception):
                await work()

    async def _on_error(self, error: Exception) -> None:
        self._why = f"it did not answer: {type(error).__name__}"

    async def _on_reconnect(self) -> None:
        self._why = None
