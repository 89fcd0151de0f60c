"""Clients of the storm: each makes calls in turn, some with idempotency keys, some stored, some to be approved."""

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from chaos.world import GRANTED

KINDS = {
    "plain": 44,
    "keyed": 24,
    "granted": 18,
    "stored": 4,
    "keyed stored": 3,
    "asked": 1,
    "stored asked": 2,
    "far": 2,
    "denied": 2,
}
"""The share of each kind, in percent."""
ANSWER_S = 60.0
"""How long a client waits for an answer, in seconds."""
PATIENCE_S = 150.0
"""How long a client polls for the result of a call, in seconds."""
LATE = 20
"""How many tasks poll in parallel for stored calls that their clients gave up."""
APPROVERS = 8
"""How many answers are sent in parallel: on a busy machine, one takes a second."""
AGAIN_S = 0.5
IDLE_S = 3.0
"""The idle time after which a connection is not reused, in seconds: the service closes it after five seconds."""
_SERVED = frozenset({"done", "cancelled", "lost"})


class Reply(NamedTuple):
    """An answer over HTTP."""

    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def json(self) -> dict[str, Any]:
        """The body as an object; empty if it is not one."""
        with suppress(ValueError):
            found = json.loads(self.body)
            return found if isinstance(found, dict) else {}
        return {}


class ConnectionLost(Exception):
    """The connection was refused, or ended before the answer was complete."""


class Line:
    """Connections to the services, each reopened if it was lost."""

    def __init__(self, ports: Sequence[int], token: str, pick: random.Random) -> None:
        self._ports, self._token, self._pick = ports, token, pick
        self._open: dict[int, tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}
        self._used: dict[int, float] = {}

    async def ask(self, method: str, path: str, body: object = None, **headers: str) -> Reply:
        """Send a request to a random service.

        Raises:
            Lost: There is no answer.
        """
        port = self._pick.choice(self._ports)
        data = b"" if body is None else json.dumps(body).encode()
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Authorization: Bearer {self._token}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        lines += ["Content-Type: application/json"] if data else []
        sent = "\r\n".join((*lines, f"Content-Length: {len(data)}", "", "")).encode() + data
        if time.monotonic() - self._used.get(port, 0) > IDLE_S:
            self._leave(port)
        try:
            async with asyncio.timeout(ANSWER_S):
                if port not in self._open:
                    self._open[port] = await asyncio.open_connection("127.0.0.1", port)
                reader, writer = self._open[port]
                writer.write(sent)
                reply = await _read(reader)
        except (OSError, EOFError, ValueError, TimeoutError) as error:
            self._leave(port)
            raise ConnectionLost(type(error).__name__) from error
        self._used[port] = time.monotonic()
        if reply.headers.get("connection") == "close":
            self._leave(port)
        return reply

    def _leave(self, port: int) -> None:
        known = self._open.pop(port, None)
        if known is not None:
            known[1].close()

    def close(self) -> None:
        """Close all connections."""
        for port in list(self._open):
            self._leave(port)


async def _read(reader: asyncio.StreamReader) -> Reply:
    first, *rest = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest if line)}
    length = headers.get("content-length")
    body = await reader.read() if length is None else await reader.readexactly(int(length))
    return Reply(int(first.split()[1]), body, headers)


@dataclass
class Call:
    """One call, and the answers that its client got."""

    name: str
    kind: str
    agent: str
    sent: float
    ended: float = 0.0
    status: int = 0
    """The status of the last answer; 0 without one."""
    outcome: str = ""
    reason: str = ""
    call_id: str = ""
    state: str = ""
    """The state of a stored call."""
    faults: list[str] = field(default_factory=list)

    @property
    def is_answered(self) -> bool:
        """Whether its client got the result."""
        return self.status == 200 and bool(self.outcome)  # noqa: PLR2004 - OK


def _body(call: Call) -> dict[str, Any]:
    """Return the body of a call's request."""
    if call.kind == "far":
        return {"tool": "bash", "args": {"command": f"echo {call.name} >>marks.txt"}}
    tools = {
        "granted": "shared__leave",
        "denied": "marks__other",
        "asked": "marks__asked",
        "stored asked": "marks__asked",
    }
    return {"tool": f"mcp__{tools.get(call.kind, 'marks__leave')}", "args": {"name": call.name}}


class Storm:
    """All clients, and the answers that they got."""

    def __init__(self, ports: Sequence[int], tokens: dict[str, str], most: int, seed: int, minutes: float) -> None:
        self.ports, self.tokens, self.most, self.seed = ports, tokens, most, seed
        self._minutes, self._until = minutes, time.monotonic() + 60 * minutes
        self.calls: list[Call] = []
        self.problems: Counter[str] = Counter()
        """The number of answers other than 200 and 202, by kind."""
        self.ended = 0
        self.took: list[float] = []
        """The duration of each call with all its repetitions, in seconds."""
        self.late = 0
        """The number of stored calls that had not ended when their clients gave up."""
        self.is_over = asyncio.Event()
        """Set when all clients are finished, so that approvers and administrators may stop."""
        self.answered: dict[str, str] = {}
        """Approvals whose answer was acknowledged, with the answer."""
        self.seen: set[str] = set()
        """Approvals that an approver has seen."""
        self.closed: dict[str, list[tuple[float, float]]] = {agent: [] for agent in GRANTED}
        """The intervals in which each agent's grant was known to be revoked."""

    @property
    def progress(self) -> float:
        """The share that is done, of the calls or of the time, whichever is greater."""
        return max(self.ended / self.most, 1 - (self._until - time.monotonic()) / (60 * self._minutes))

    def line(self, who: str, seed: object) -> Line:
        """Return a connection with the token of *who*."""
        return Line(self.ports, self.tokens[who], random.Random(f"{self.seed} {seed}"))

    async def run(self, clients: int) -> None:
        """Make all calls, and wait for those that take longer than their clients wait."""
        await asyncio.gather(*(self._client(number) for number in range(clients)))
        late = [call for call in self.calls if call.state == "not ended"]
        self.late = len(late)
        lines = enumerate(self._lines("client", LATE))
        await asyncio.gather(*(self._poll_results(line, late[number::LATE]) for number, line in lines))
        self.is_over.set()

    async def _poll_results(self, line: Line, calls: Sequence[Call]) -> None:
        for call in calls:
            await self._poll_result(line, call)
        line.close()

    async def _client(self, number: int) -> None:
        pick, line = random.Random(f"{self.seed} client {number}"), self.line("client", number)
        while len(self.calls) < self.most and time.monotonic() < self._until:
            kind = pick.choices(list(KINDS), list(KINDS.values()))[0]
            agent = {"granted": pick.choice(GRANTED), "far": "far"}.get(kind, "near")
            call = Call(f"n{number}-{len(self.calls)}", kind, agent, time.time())
            self.calls.append(call)
            asked = time.monotonic()
            try:
                await self._make(line, call, pick)
            except ConnectionLost as lost:
                self.problems[f"connection lost ({lost})"] += 1
                await asyncio.sleep(AGAIN_S)
            self.took.append(time.monotonic() - asked)
            self.ended, call.ended = self.ended + 1, time.time()
        line.close()

    async def _make(self, line: Line, call: Call, pick: random.Random) -> None:
        body = _body(call)
        headers = {"X_Agent_ID": call.agent}
        if "keyed" in call.kind:
            headers["Idempotency_Key"] = call.name
        if "stored" in call.kind:
            headers["Prefer"] = "respond-async"
        is_keyed = "keyed" in call.kind
        asking = (
            self._retry_until_answered(line, body, headers)
            if is_keyed
            else line.ask("POST", "/v1/calls", body, **headers)
        )
        reply = await asking
        self._record_reply(call, reply)
        if reply.status == 202:  # noqa: PLR2004 - Accepted
            await self._poll_result(line, call)
        elif is_keyed and call.is_answered and pick.random() < 0.1:  # noqa: PLR2004 - a tenth
            again = await self._retry_until_answered(line, body, headers)
            if again.body != reply.body:
                call.faults.append(f"another answer to its key: {again.status} {again.body[:200]!r}")
        elif reply.status not in (200, 202) or call.reason == "audit_unavailable":
            await asyncio.sleep(AGAIN_S)

    async def _retry_until_answered(self, line: Line, body: dict[str, Any], headers: dict[str, str]) -> Reply:
        """Repeat a call with a key until there is an answer, and return it."""
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                reply = await line.ask("POST", "/v1/calls", body, **headers)
            except ConnectionLost as lost:
                if time.monotonic() > end:
                    raise
                self.problems[f"keyed, connection lost ({lost})"] += 1
            else:
                is_final = reply.status in (200, 202) or reply.json.get("reason") == "outcome_unknown"
                if is_final or time.monotonic() > end:
                    return reply
                self.problems[f"keyed, {reply.status} {reply.json.get('reason')}"] += 1
            await asyncio.sleep(AGAIN_S)

    async def _poll_result(self, line: Line, call: Call) -> None:
        """Poll for the result of a stored call."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            with suppress(ConnectionLost):
                reply = await line.ask("GET", f"/v1/calls/{call.call_id}")
                if reply.status == 200 and reply.json["state"] in _SERVED:  # noqa: PLR2004 - OK
                    result = reply.json["result"] or {}
                    call.state, call.status = reply.json["state"], 200
                    call.outcome, call.reason = result.get("outcome", ""), result.get("reason") or ""
                    return
                if reply.status != 200:  # noqa: PLR2004 - OK
                    self.problems[f"stored, {reply.status} {reply.json.get('reason')}"] += 1
            await asyncio.sleep(AGAIN_S)
        call.state = "not ended"

    def _record_reply(self, call: Call, reply: Reply) -> None:
        found = reply.json
        call.status = reply.status
        call.call_id = found.get("call_id") or found.get("id") or ""
        call.outcome, call.reason = found.get("outcome", ""), found.get("reason") or ""
        if reply.status not in (200, 202):
            self.problems[f"{reply.status} {call.reason}"] += 1

    async def approve(self) -> None:
        """Answer waiting approvals, the oldest first, until all clients are finished; deny one in five."""
        lines, pick = self._lines("approver", APPROVERS), random.Random(f"{self.seed} approver")
        while not self.is_over.is_set():
            waiting: list[dict[str, Any]] = []
            with suppress(ConnectionLost):
                listed = await lines[0].ask("GET", "/v1/approvals?status=pending&limit=500")
                waiting = listed.json.get("approvals", [])
            self.seen |= {each["id"] for each in waiting}
            answers = [
                (each, "deny" if pick.random() < 0.2 else "allow_once")  # noqa: PLR2004 - one in five
                for each in reversed(waiting)
            ]
            shares = (self._answer(line, answers[number::APPROVERS]) for number, line in enumerate(lines))
            await asyncio.gather(*shares)
            await asyncio.sleep(AGAIN_S)
        for line in lines:
            line.close()

    def _lines(self, who: str, many: int) -> list[Line]:
        return [self.line(who, f"{who} {number}") for number in range(many)]

    async def _answer(self, line: Line, answers: Sequence[tuple[dict[str, Any], str]]) -> None:
        for each, answer in answers:
            with suppress(ConnectionLost):
                given = {"answer": answer, "digest": each["digest"]}
                reply = await line.ask("POST", f"/v1/approvals/{each['id']}", given)
                if reply.status == 200:  # noqa: PLR2004 - OK
                    self.answered[each["id"]] = answer
                elif reply.json.get("reason") not in {"answered", "expired"}:
                    self.problems[f"approver, {reply.status} {reply.json.get('reason')}"] += 1

    async def grant(self, agent: str) -> None:
        """Widen and narrow the grant of *agent* until all clients are finished."""
        line, pick = self.line("admin", agent), random.Random(f"{self.seed} {agent}")
        path = f"/v1/mcp/servers/shared/grants/agent/{agent}"
        while not self.is_over.is_set():
            if not await self._has_succeeded(line, "PUT", path, {}):
                continue
            await asyncio.sleep(pick.uniform(1, 3))
            narrow = pick.choice(({"tool_allow": ["other"]}, {"tool_deny": ["leave"]}, {"enabled": False}, None))
            while not await self._has_succeeded(line, "DELETE" if narrow is None else "PUT", path, narrow):
                if self.is_over.is_set():
                    return
            closed = time.time()
            await asyncio.sleep(pick.uniform(2, 4))
            self.closed[agent].append((closed, time.time()))
        line.close()

    async def _has_succeeded(self, line: Line, method: str, path: str, body: object) -> bool:
        """Make a request; return whether the administrator knows that it has succeeded."""
        try:
            reply = await line.ask(method, path, body)
        except ConnectionLost as lost:
            self.problems[f"admin, connection lost ({lost})"] += 1
        else:
            # Not Found: an earlier attempt, whose answer was lost, has deleted it.
            if reply.status == 200 or (method == "DELETE" and reply.status == 404):  # noqa: PLR2004 - OK, Not Found
                return True
            self.problems[f"admin, {reply.status} {reply.json.get('reason')}"] += 1
        await asyncio.sleep(AGAIN_S)
        return False
