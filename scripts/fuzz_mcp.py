"""Fuzz the MCP bridge with servers that send anything, one that hangs, one that floods, and one that dies repeatedly.

    python scripts/fuzz_mcp.py                              a million messages; writes tests/fuzz_mcp.md
    python scripts/fuzz_mcp.py --messages 20000 --seed 7    writes nothing
    python scripts/fuzz_mcp.py --minutes 5 --record         ends after that time; the page has the number of messages

The fuzzed servers speak over real pipes. They answer the bridge's requests with messages that are right, nearly right,
or arbitrary: values of other types, lost and doubled keys, deep and long values, ids of other requests, bytes that are
not text, lines that break off. A finding is an unexpected exception, or growth of memory, descriptors or threads. The
script prints each finding, and ends with status 1 if there is one. The same seed makes the same messages.
"""

import argparse
import asyncio
import json
import os
import random
import resource
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import yaml

from toolcharter import DiscoveryRuntime, LiveToolbox, TerminalSize, open_live
from toolcharter_mcp_bridge.policy import McpBridgePolicy
from toolcharter_mcp_bridge.server import Server, Unavailable
from toolcharter_mcp_bridge.stdio import StdioLink
from toolcharter_mcp_bridge.tools import answer_text
from toolcharter_mcp_bridge.wire import ConnectionLost, ServerError, Session

ROOT = Path(__file__).resolve().parent.parent
REPORT = ROOT / "tests" / "fuzz_mcp.md"
RAW = ROOT / "tests/plugins/mcp_bridge/servers/raw.py"
FULL = 1_000_000
ENDS = {
    "used": "used for calls",
    "ConnectionLost": "ended by the bridge",
    "ServerError": "refused by the server",
    "TimeoutError": "too slow",
}
STORM = 200
"""How often a server dies and is restarted."""
MOST_GROWTH_KB = 96_000
"""How much the process may grow after its first tenth, in KiB: the most that one server may use at once, and slack."""
_LONGEST_LINE = 250_000
"""In bytes: more than the bridge accepts."""
_BROKEN_BYTE, _BROKEN_OFF = 0.05, 0.08
"""Shares of the lines: those with a changed byte; and those together with the lines that break off."""
_LOST, _DOUBLED = 0.15, 0.25
"""Shares of the changes of an object: those that lose a key; and those together with the ones that double a key."""
WORDS = ("", "a", "id", "\u202e", "x" * 5_000, "\x00", "mcp__x__y", "../..", "<<<end", "\ud83d\ude00", "null", "bash")
NUMBERS = (0, -1, 1, 2**31, 2**63, 10**40, 1e308, -0.0)


class Messages:
    """Makes the messages of one server."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.count = 0

    def _often(self, share: float) -> bool:
        return self._rng.random() < share

    def answers(self, request: Mapping[str, Any]) -> bytes:
        """Return the server's answer to a request: several messages, possibly with the right one."""
        rng, lines = self._rng, list[bytes]()
        for _ in range(rng.randrange(1, 100)):
            lines.append(self._line(self._unasked() if self._often(0.6) else self._right(request)))
        if self._often(0.9):
            lines.append(json.dumps(self._right(request)).encode())
        lines = [line[:_LONGEST_LINE] for line in lines]  # They are part of this process's memory, too.
        self.count += len(lines)
        return b"\n".join(lines) + b"\n"

    def _right(self, request: Mapping[str, Any]) -> dict[str, Any]:
        method, result = request.get("method"), dict[str, Any]()
        if method == "initialize":
            info = {"name": "fuzz", "version": "1"}
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
        elif method == "tools/list":
            result = {"tools": [self._tool(n) for n in range(self._rng.randrange(5))]}
        elif method == "tools/call":
            parts = [
                {"type": "text", "text": "a"},
                {"type": "image", "data": "AAAA"},
                {"type": "resource", "resource": {}},
            ]
            result = {"content": self._rng.sample(parts, 2), "structuredContent": {"a": 1}, "isError": False}
        return {"jsonrpc": "2.0", "id": request.get("id", 1), "result": result}

    def _tool(self, number: int) -> dict[str, Any]:
        schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "string"}}}
        tool = {
            "name": f"t{number}",
            "description": "Does.",
            "inputSchema": schema,
            "annotations": {"readOnlyHint": True},
        }
        return self._mutated(tool) if self._often(0.5) else tool

    def _unasked(self) -> Any:
        kinds = (
            {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x"}},
            {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"},
            {"jsonrpc": "2.0", "id": self._rng.randrange(50), "method": "ping"},
            {"jsonrpc": "2.0", "id": "s", "method": "sampling/createMessage", "params": {}},
            {"jsonrpc": "2.0", "id": self._rng.randrange(50), "error": {"code": -1, "message": "m"}},
            [{"jsonrpc": "2.0", "id": 1, "result": {}}],
        )
        return self._rng.choice(kinds)

    def _line(self, message: Any) -> bytes:
        rng = self._rng
        if self._often(0.5):
            message = self._mutated(message)
        with suppress(ValueError, RecursionError):
            line = bytearray(json.dumps(message).encode())
            chance = rng.random()
            if chance < _BROKEN_BYTE and line:
                line[rng.randrange(len(line))] = rng.randrange(256)
            elif chance < _BROKEN_OFF:
                del line[rng.randrange(len(line) + 1) :]
            return bytes(line).replace(b"\n", b"")
        return b"["

    def _mutated(self, value: Any) -> Any:
        """Return *value* with one part replaced, lost or doubled."""
        rng = self._rng
        if isinstance(value, dict) and value and self._often(0.85):
            key = rng.choice([*value])
            found = dict(value)
            chance = rng.random()
            if chance < _LOST:
                del found[key]
            elif chance < _DOUBLED:
                found[rng.choice(WORDS)] = found[key]
            else:
                found[key] = self._mutated(found[key])
            return found
        if isinstance(value, list) and value and self._often(0.85):
            items = list(value)
            place = rng.randrange(len(items))
            items[place] = self._mutated(items[place])
            often = rng.choice((1, 1, 1, 30))
            return items * often if len(str(items)) < _LONGEST_LINE // 30 else items
        return self._anything()

    def _anything(self) -> Any:
        rng = self._rng
        if self._often(0.1):
            value: Any = "x"
            for _ in range(rng.choice((3, 50, 900))):
                value = [value] if self._often(0.5) else {"a": value}
            return value
        return rng.choice((None, True, False, [], {}, {"$ref": "#"}, float("inf"), *NUMBERS, *WORDS))


class Piped:
    """The pipes of a program that does not exist; it has all that `StdioLink` needs of `Running`."""

    exit_code = lost = None

    def __init__(self) -> None:
        self._read, self._theirs_out = os.pipe()
        self._theirs_in, self._write = os.pipe()
        for one in (self._read, self._theirs_out, self._theirs_in, self._write):
            os.set_blocking(one, False)

    def fileno(self) -> int:
        """Return the descriptor that the bridge reads."""
        return self._read

    def read(self, max_bytes: int) -> bytes:
        """Return what the server has sent."""
        with suppress(BlockingIOError):
            return os.read(self._read, max_bytes)
        return b""

    def write(self, data: bytes) -> int:
        """Send as much to the server as the pipe accepts."""
        with suppress(BlockingIOError):
            return os.write(self._write, data)
        return 0

    def wait(self, timeout_s: float) -> int | None:  # noqa: ARG002 - as `Running` has it
        """Return None: it never ends by itself."""
        return self.exit_code

    def resize(self, size: TerminalSize) -> None:
        """Do nothing: it has no terminal."""

    def signal(self, number: int) -> None:
        """Do nothing: it is not a process."""

    def close(self) -> None:
        """Close both pipes."""
        for one in (self._read, self._write, self._theirs_in, self._theirs_out):
            os.close(one)

    async def serve(self, messages: Messages) -> None:
        """Act as the server: answer each request."""
        rest = b""
        while True:
            await asyncio.sleep(0)
            with suppress(BlockingIOError):
                rest += os.read(self._theirs_in, 65_536)
            *lines, rest = rest.split(b"\n")
            for line in lines:
                if "id" in (request := json.loads(line)) and "method" in request:
                    await self._say(messages.answers(request))

    async def _say(self, data: bytes) -> None:
        while data:
            with suppress(BlockingIOError):
                data = data[os.write(self._theirs_out, data) :]
            await asyncio.sleep(0)


class FuzzedServer(Server):
    """A server without a program."""

    messages: Messages
    piped: Piped | None = None
    serving: "asyncio.Task[None] | None" = None

    async def _open(self, session: Session) -> Any:
        self.piped = piped = Piped()
        self.serving = asyncio.ensure_future(piped.serve(self.messages))
        link = StdioLink(piped, session, 200_000)
        session.link = link
        return link

    async def once(self) -> str:
        """Make one connection: initialize, list, a few calls. Return how it ended."""
        connection = asyncio.ensure_future(self._connect_once())
        try:
            while not connection.done() and self._session is None:  # noqa: ASYNC110 - an attempt that fails sets no event
                await asyncio.sleep(0)
            for _ in range(3):
                if connection.done():
                    break
                with suppress(ConnectionLost, ServerError, Unavailable, TimeoutError):
                    answer = await self.call("t0", {"a": "x"}, lambda: None)
                    answer_text(answer, 1_000)
            connection.cancel()
            with suppress(asyncio.CancelledError):
                await connection
        except (ConnectionLost, ServerError, TimeoutError) as error:
            return type(error).__name__
        else:
            return "used"
        finally:
            if self.serving is not None:
                self.serving.cancel()
                await asyncio.gather(self.serving, return_exceptions=True)


async def fuzz(wanted: int, seed: int, until: float, findings: list[str]) -> tuple[Messages, Counter[str], int]:
    """Connect to fuzzed servers until *wanted* messages were sent; also return the growth of the process, in KiB."""
    messages, ends, base = Messages(random.Random(seed)), Counter[str](), 0
    policy = McpBridgePolicy.from_profile(
        {"servers": {"fuzz": {"command": "none", "timeout_s": 0.03, "connect_timeout_s": 0.1}}, "health_s": 0.1}
    )
    unused = cast("DiscoveryRuntime", None)  # A fuzzed server starts no program.
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: findings.append(f"in the event loop: {context.get('exception')!r}"))
    while messages.count < wanted and time.monotonic() < until:
        server = FuzzedServer("fuzz", policy, unused, lambda _: None, lambda: None)
        server.messages = messages
        try:
            ends[await server.once()] += 1
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            findings.append(f"after {messages.count} messages: {type(error).__name__}: {error}")
        if not base and messages.count > wanted // 10:
            base = memory()
    return messages, ends, memory() - base


def memory() -> int:
    """Return the process's peak memory, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def real(findings: list[str]) -> Mapping[str, str]:
    """Check a hang, a flood and a storm of reconnections by real programs, together with a server that works."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        os.environ["XDG_STATE_HOME"] = str(place / "state")
        (place / "ws").mkdir()
        orders = {
            "good": {"tools": [{"name": "echo"}]},
            "hang": {"tools": [], "hang": True},
            "flood": {"tools": [{"name": "flood"}, {"name": "huge"}]},
            "storm": {"tools": [{"name": "die"}, {"name": "echo"}]},
        }
        servers = dict[str, Any]()
        for name, order in orders.items():
            (place / f"{name}.json").write_text(json.dumps(order))
            arguments = [str(RAW), str(place / f"{name}.json")]
            servers[name] = {"command": sys.executable, "args": arguments, "connect_timeout_s": 3}
        bridge = {"servers": servers, "trust": "first", "backoff_s": 0.01, "max_backoff_s": 0.05, "wait_s": 5}
        profile = {"profile": "fuzz", "runner": "host", "extensions": {"mcp_bridge": bridge}, "allow": ["mcp:*"]}
        (place / "fuzz.yaml").write_text(yaml.safe_dump(profile))
        with open_live(place / "fuzz.yaml", workspace=place / "ws", events=None) as live:
            live.settle()
            return {name: check(live, findings) for name, check in CHECKS.items()}


def _require(is_so: bool, what: str, findings: list[str]) -> None:  # noqa: FBT001 - what is checked
    if not is_so:
        findings.append(what)


def _works(live: LiveToolbox, findings: list[str], beside: str) -> None:
    result = live.call("mcp__good__echo", {"text": "x"})
    _require(result.outcome == "ok", f"the good server beside {beside}: {result.text}", findings)


def _hang(live: LiveToolbox, findings: list[str]) -> str:
    notes = [note for note in live.reload().notes if note.startswith("hang: ")]
    _require(bool(notes), "nothing is noted of the server that hangs", findings)
    _works(live, findings, "one that hangs")
    return "ended after `connect_timeout_s`, and noted"


def _flood(live: LiveToolbox, findings: list[str]) -> str:
    before = memory()
    for tool in ("flood", "huge"):
        result = live.call(f"mcp__flood__{tool}", {"text": ""})
        _require(result.reason == "connection_lost", f"{tool}: {result.text[:200]}", findings)
        _works(live, findings, f"one that sends a {tool}")
    grown = memory() - before
    _require(grown < MOST_GROWTH_KB, f"a flood takes {grown} KiB", findings)
    return f"both ended; the process grew by {grown // 1024} MiB at most"


def _storm(live: LiveToolbox, findings: list[str]) -> str:
    first, names = (len([*Path("/proc/self/fd").iterdir()]), threading.active_count()), sorted(live.current)
    for _ in range(STORM):
        live.call("mcp__storm__die", {"text": ""})
    result = live.call("mcp__storm__echo", {"text": "x"})
    _require(result.outcome == "ok", f"after the storm: {result.text}", findings)
    _require(sorted(live.current) == names, "tools were lost or doubled", findings)
    last = (len([*Path("/proc/self/fd").iterdir()]), threading.active_count())
    _require(
        all(now <= then + 8 for then, now in zip(first, last, strict=True)), f"left over: {first} {last}", findings
    )
    _works(live, findings, "one that dies")
    return f"{STORM} starts; no tool lost or doubled, no descriptor or thread left"


CHECKS: Mapping[str, Callable[[LiveToolbox, list[str]], str]] = {
    "hang": _hang,
    "flood, and a message of 50 MB": _flood,
    "storm of reconnections": _storm,
}


def main() -> int:
    """Run the fuzzer; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=FULL)
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--record", action="store_true", help="write the page after a shorter run, too")
    parser.add_argument("--seed", type=int, default=1914)
    given = parser.parse_args()
    findings = list[str]()
    until = time.monotonic() + 60 * given.minutes
    messages, ends, grown = asyncio.run(fuzz(given.messages, given.seed, until, findings))
    _require(grown < MOST_GROWTH_KB, f"the process grew by {grown} KiB", findings)
    seen = real(findings)
    lines = [
        "# Fuzzing of the MCP bridge\n",
        f"Made by `make fuzz-mcp`, seed {given.seed}; see `scripts/fuzz_mcp.py` for what counts as a finding.\n",
        "| what | result |\n|---|---|",
        f"| messages of fuzzed servers | {messages.count} |",
        f"| connections | {sum(ends.values())} |",
        *(f"| of those, {ENDS[end]} | {count} |" for end, count in sorted(ends.items())),
        f"| growth of the process after the first tenth | {max(grown, 0) // 1024} MiB |",
        *(f"| {name} | {said} |" for name, said in seen.items()),
        f"| findings | {len(findings)} |",
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    print(*findings[:40], sep="\n")
    if (given.record or messages.count >= FULL) and not findings:
        REPORT.write_text(text)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
