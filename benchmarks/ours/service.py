"""Sends requests to the service over one open connection. `BENCH_PYTHON` has the tools that do nothing installed."""

import atexit
import http.client
import json
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

SETTLING_S = 1.2
"""The time after which the usage of the last calls is stored, in seconds; the next measurement must not pay for it."""
WARMING = 50

folder = tempfile.TemporaryDirectory(prefix="tc-")
_WORDS = [os.environ["BENCH_PYTHON"], "-P", str(Path(__file__).with_name("service_process.py")), folder.name]
process = subprocess.Popen(
    _WORDS, stdout=subprocess.PIPE, text=True, env={**os.environ, "XDG_STATE_HOME": f"{folder.name}/state"}
)
atexit.register(process.wait)
atexit.register(process.terminate)  # Handlers run in reverse order.
assert process.stdout is not None
port, token = process.stdout.readline().split()


def connected() -> socket.socket:
    """Open a connection. The service closes one that is idle for some seconds."""
    made = socket.create_connection(("127.0.0.1", int(port)))
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def request(method: str, path: str, body: Any = None) -> bytes:
    """Return a request as bytes."""
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\nX-Agent-ID: a0\r\n"
    if body is None:
        return f"{head}\r\n".encode()
    data = json.dumps(body)
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n{data}".encode()


def answer(line: socket.socket, data: bytes) -> bytes:
    """Return the body of the answer. It is parsed by hand, because a client's own time would hide the service's."""
    line.sendall(data)
    got = b""
    while b"\r\n\r\n" not in got:
        got += _received(line)
    head, _, rest = got.partition(b"\r\n\r\n")
    assert b" 200 " in head[:16], got
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    while len(rest) < length:
        rest += _received(line)
    return rest


def _received(line: socket.socket) -> bytes:
    data = line.recv(65_536)
    assert data, "the service hung up"
    return data


def _call(tool: str, **args: Any) -> bytes:
    return request("POST", "/v1/calls", {"tool": tool, "args": args})


REQUESTS = {
    "empty": request("GET", "/bench/empty"),
    "lean": request("POST", "/bench/lean", {"tool": "nothing", "args": {}}),
    "nothing_async": _call("nothing_async"),
    "nothing": _call("nothing"),
    "read_file": _call("read_file", path="a.txt"),
    "mcp": _call("mcp__calc__shout", text="x" * 200),
}
_CPU = request("GET", "/bench/cpu")


def _seconds(name: str, number: int) -> float:
    data = REQUESTS[name]
    with connected() as line:
        _settle(line, data)
        started = perf_counter()
        for _ in range(number):
            answer(line, data)
        return (perf_counter() - started) / number


def _settle(line: socket.socket, data: bytes) -> None:
    """Warm up, and wait until the work of earlier requests is finished."""
    for _ in range(WARMING):
        said = answer(line, data)
        assert b'"outcome"' not in said or b'"outcome":"ok"' in said, said
    time.sleep(SETTLING_S)


def _processor(name: str, number: int) -> float:
    """Return the processor time of one request in seconds, including the later cost of its usage record."""
    data = REQUESTS[name]
    with connected() as line:
        _settle(line, data)
        before = float(answer(line, _CPU))
        for _ in range(number):
            answer(line, data)
        time.sleep(SETTLING_S)
        return (float(answer(line, _CPU)) - before) / number


def _report(measure: Callable[[str, int], float], name: str) -> Callable[[int], float]:
    return lambda number: measure(name, number)


def _direct(number: int) -> float:
    """Return the seconds of one direct call of the MCP server's tool, by the same client as `mcp`."""
    url = os.environ["BENCH_MCP"]
    connection = http.client.HTTPConnection("127.0.0.1", int(url.rpartition(":")[2].partition("/")[0]))
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

    def ask(method: str, params: dict[str, Any], number: int | None = 1) -> bytes:
        said = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if number is None else {"id": number})
        connection.request("POST", "/mcp", json.dumps(said), headers)
        response = connection.getresponse()
        headers.setdefault("Mcp-Session-Id", response.headers.get("Mcp-Session-Id", ""))
        return response.read()

    client = {"name": "bench", "version": "1"}
    ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
    ask("notifications/initialized", {}, None)
    call = {"name": "shout", "arguments": {"text": "x" * 200}}
    assert b"X" * 200 in ask("tools/call", call)
    started = perf_counter()
    for _ in range(number):
        ask("tools/call", call)
    return (perf_counter() - started) / number


OPERATIONS: dict[str, object] = {}
REPORTS = {
    **{name: _report(_seconds, name) for name in REQUESTS},
    **{f"{name} cpu": _report(_processor, name) for name in REQUESTS},
    "direct": _direct,
}
if "BENCH_MCP" in os.environ:
    _until = time.monotonic() + 30
    with connected() as _line:
        while b'"outcome":"ok"' not in (_said := answer(_line, REQUESTS["mcp"])):
            assert time.monotonic() < _until, _said
            time.sleep(0.1)
