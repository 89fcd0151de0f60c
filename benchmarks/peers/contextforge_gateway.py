"""Calls an MCP server's tool through `mcp-contextforge-gateway` with default settings, except those for loopback."""

import atexit
import http.client
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from time import perf_counter
from typing import Any

folder = tempfile.TemporaryDirectory(prefix="cf-")
with socket.create_server(("127.0.0.1", 0)) as free:
    port = free.getsockname()[1]
_SECRET, _PASSWORD = secrets.token_urlsafe(48), f"Aa1!{secrets.token_urlsafe(24)}"
_SETTINGS = {
    "DATABASE_URL": f"sqlite:///{folder.name}/mcp.db",
    "JWT_SECRET_KEY": _SECRET,
    "AUTH_ENCRYPTION_SECRET": secrets.token_urlsafe(48),
    "PLATFORM_ADMIN_EMAIL": "admin@example.com",
    "PLATFORM_ADMIN_PASSWORD": _PASSWORD,
    "SSRF_ALLOW_LOCALHOST": "true",
    "CACHE_TYPE": "memory",
    "LOG_LEVEL": "ERROR",
}
_PROGRAM = str(Path(sys.executable).with_name("mcpgateway"))
process = subprocess.Popen(
    [_PROGRAM, "mcpgateway.main:app", "--host", "127.0.0.1", "--port", str(port), "--log-level", "critical"],
    cwd=folder.name,
    env={**os.environ, **_SETTINGS},
    stdout=subprocess.DEVNULL,
    stderr=subprocess.DEVNULL,
)
atexit.register(process.wait)
atexit.register(process.terminate)  # Handlers run in reverse order.
headers = {"Content-Type": "application/json"}


def ask(connection: http.client.HTTPConnection, path: str, said: Any) -> Any:
    """Send a request and return the answer."""
    connection.request("POST", path, json.dumps(said), headers)
    response = connection.getresponse()
    data = response.read()
    assert response.status < 300, data  # noqa: PLR2004 - success
    return json.loads(data)


def _began() -> http.client.HTTPConnection:
    until = time.monotonic() + 600
    while True:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port)
            login = {"email": _SETTINGS["PLATFORM_ADMIN_EMAIL"], "password": _PASSWORD}
            headers["Authorization"] = f"Bearer {ask(connection, '/auth/login', login)['access_token']}"
        except OSError:
            assert process.poll() is None, "the gateway has ended"
            assert time.monotonic() < until, "the gateway does not answer"
            time.sleep(0.2)
        else:
            return connection


kept = _began()
ask(kept, "/gateways", {"name": "calc", "url": os.environ["BENCH_MCP"], "transport": "STREAMABLEHTTP"})
_CALL = {"name": "calc-shout", "arguments": {"text": "x" * 200}}


def call() -> None:
    """Make one call."""
    said = ask(kept, "/rpc", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": _CALL})
    assert said["result"]["content"][0]["text"] == "X" * 200, said


def through(number: int) -> float:
    """Return the seconds of one call, measured over *number* calls."""
    started = perf_counter()
    for _ in range(number):
        call()
    return (perf_counter() - started) / number


for _ in range(20):
    call()
OPERATIONS: dict[str, object] = {}
REPORTS = {"through": through}
