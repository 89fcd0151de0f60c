"""A name that leads to a public address when its URL is registered, and inside when it is used: nothing connects."""

import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.core.guards.store.memory_engine import MemoryEngine
from tests.plugins.service.auth.token_issuer import Issuer, sign_token
from tests.plugins.service.header_identity import HeaderAuthenticator, identity_headers
from tests.plugins.service.serving import configured, serving
from tests.waiting import until

from toolcharter import StoreHandle
from toolcharter_service.http.app import create_app
from toolcharter_service.service import Service

pytestmark = pytest.mark.slow
PUBLIC = "93.184.216.34"
PROFILE = """
profile: bridged
description: Takes the servers that are registered.
runner: host
extensions: {mcp_bridge: {extend: true, registered: true, servers: {}, trust: first}}
"""
INSIDE: dict[str, tuple[str, ...]] = {
    "loopback": ("127.0.0.1",),
    "mapped": ("::ffff:127.0.0.1",),
    "translated": ("64:ff9b::7f00:1",),
    "oneofmany": (PUBLIC, "127.0.0.1"),
    "metadata": ("169.254.169.254",),
    "zone": ("fe80::1",),
    "private": ("10.0.0.1",),
    "anyaddress": ("0.0.0.0",),
    "unique": ("fd00::1",),
}
REFUSED = (
    *("http://127.0.0.1/", "http://2130706433/", "http://0x7f.1/", "http://0177.0.0.1/", "http://127.1/"),
    *("http://localhost./", "http://[::ffff:127.0.0.1]/", "http://[::]/", "http://169.254.169.254/latest/"),
    *(
        "http://user@93.184.216.34/",
        "http://\u2460\u2461\u2466.0.0.1/",
        "http://turning.example@127.0.0.1/",
        "http://[::1%25lo]/",
    ),
    *("http://93.184.216.34\\@127.0.0.1/", "http://private.example/", "http://metadata.google.internal/"),
)


class Resolver:
    """The system's names; those below `.example` lead where it says, for the first time to a public address."""

    def __init__(self) -> None:
        self.asked: dict[str, int] = {}
        self._system = socket.getaddrinfo

    def __call__(self, host: Any, port: Any, *args: Any, **named: Any) -> Any:
        name, _, end = str(host).partition(".")
        if end != "example":
            return self._system(host, port, *args, **named)
        self.asked[name] = self.asked.get(name, 0) + 1
        is_first = self.asked[name] == 1 and name in INSIDE and not name.startswith("private")
        return [_found(one, port) for one in ((PUBLIC,) if is_first else INSIDE.get(name, ("10.0.0.1",)))]


def _found(address: str, port: Any) -> tuple[Any, ...]:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    place: Sequence[Any] = (address, port, 0, 0) if ":" in address else (address, port)
    return family, socket.SOCK_STREAM, 6, "", tuple(place)


@pytest.fixture
def listener() -> Iterator[tuple[int, list[bytes]]]:
    """A server inside: its port, and who has connected."""
    connected: list[bytes] = []
    with closing(socket.create_server(("127.0.0.1", 0))) as server:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    connected.append(connection.recv(100))
                    connection.close()

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1], connected


def test_a_server_whose_name_turns_inside_is_not_connected(
    tmp_path: Path, listener: tuple[int, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each connection looks up and judges anew; what leads inside from the beginning is not registered."""
    port, connected = listener
    resolver = Resolver()
    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    service = Service(configured(tmp_path, {"bot": PROFILE}), stores=StoreHandle(MemoryEngine))
    ada, bot = identity_headers("ada", "admin"), identity_headers("bot", "caller", agents=["bot"])
    with (
        serving(create_app(service, auth=HeaderAuthenticator())) as url,
        httpx.Client(base_url=url, trust_env=False, timeout=60, headers=ada) as client,
    ):
        refused = {}
        for number, place in enumerate(REFUSED):
            body = {"transport": "sse", "url": place}
            refused[place] = client.put(f"/v1/mcp/servers/refused{number}", json=body).status_code
        for kind in ("sse", "streamable-http"):
            for name in INSIDE:
                resolver.asked.pop(name, None)
                body = {"transport": kind, "url": f"http://{name}.example:{port}/mcp"}
                if name != "private":
                    assert client.put(f"/v1/mcp/servers/{name}", json=body).status_code == 200, name
            client.get("/v1/tools", headers=bot)
            until(lambda: all(resolver.asked.get(name, 0) > 1 for name in INSIDE if name != "private"), within_s=60)

    assert set(refused.values()) == {422}, refused
    assert connected == []


def test_keys_are_fetched_from_no_name_that_leads_inside(
    tmp_path: Path, listener: tuple[int, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of an issuer, whose URL stands in the configuration."""
    port, connected = listener
    resolver = Resolver()
    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    issuer = Issuer()
    issuers = [
        {
            "issuer": f"https://{name}",
            "audience": "tools",
            "jwks": f"http://{name}.example:{port}/jwks",
            "network": {"ports": [port]},
            "claims": {"tenant": "acme", "roles": {"claim": "roles"}},
        }
        for name in INSIDE
    ]
    config = configured(tmp_path, {"bot": PROFILE}, auth={"jwt": issuers})
    service = Service(config, stores=StoreHandle(MemoryEngine))
    resolver.asked.update(dict.fromkeys(INSIDE, 1))
    with serving(create_app(service)) as url, httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
        statuses = {}
        for name in INSIDE:
            said = {
                "iss": f"https://{name}",
                "aud": "tools",
                "sub": "ann",
                "roles": ["admin"],
                "exp": int(time.time()) + 60,
            }
            token = sign_token(issuer.keys["rsa"], "RS256", said)
            statuses[name] = client.get("/v1/session", headers={"Authorization": f"Bearer {token}"}).status_code
    issuer.close()

    assert set(statuses.values()) <= {401, 503}, statuses
    assert all(count > 1 for count in resolver.asked.values()), resolver.asked
    assert connected == []
