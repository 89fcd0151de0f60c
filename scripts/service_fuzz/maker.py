"""`Maker`: makes requests from the pools, from identifiers in answers, and from random changes."""

import json
import re
from collections import deque
from random import Random
from typing import Any
from urllib.parse import quote

from service_fuzz.pools import JSON, Parts
from service_fuzz.world import Answer, Request, Who

KEPT = 40
"""How many identifiers of one kind are remembered; the oldest are deleted through their routes."""
KINDS = {
    "/v1/calls": "call", "/v1/tokens": "token", "/v1/users": "user", "/v1/sessions": "session", "/v1/secrets": "secret",
    "/v1/approvals": "approval", "/v1/mcp/servers": "server", "/v1/mcp/requests": "request", "/v1/tools/custom": "custom",
    "/api/v1/tools": "tool",
}  # fmt: skip
_NAMES = {"call": "id", "token": "id", "user": "name", "session": "id", "secret": "name", "approval": "id", "server": "name",
          "request": "id", "custom": "id", "tool": "id"}  # fmt: skip
SEEDS: dict[str, list[Any]] = {
    "POST /v1/calls": [
        {"tool": "list_files", "args": {"path": "."}},
        {"tool": "write_file", "args": {"path": "a.toml", "content": "x"}},
        {"tool": "write_file", "args": {"path": "b.md", "content": "text"}, "session": "s1"},
        {"tool": "read_file", "args": {"path": "b.md"}},
        {"tool": "json_parse", "args": {"json": "{}", "text": "[1]"}},
        {"tool": "bash", "args": {"command": "cat /etc/passwd"}},
    ],
    "POST /v1/tools/invoke": [{"tool": "list_files", "agentId": "coder", "channel": "c", "chatId": "1", "peerKind": "group"}],
    "POST /v1/tokens": [{"name": "made", "roles": ["viewer"]}, {"name": "two", "roles": ["caller"], "agents": ["coder"], "days": 1}],
    "POST /v1/users": [{"name": "ann@NEW", "password": "correct horse battery NEW", "roles": ["viewer"]}],
    "PATCH /v1/users/{name}": [{"enabled": False}, {"roles": ["caller"]}, {"password": "another long phrase NEW"}],
    "POST /v1/login": [{"tenant": "acme", "user": "ann@1", "password": "correct horse battery 1"}],
    "PUT /v1/secrets/{name}": [{"value": "kept NEW"}],
    "PUT /v1/mcp/servers/{server}": [
        {"transport": "stdio", "command": "npx", "args": ["-y", "pkg"]},
        {"transport": "sse", "url": "https://mcp.example.org/sse", "headers": {"X-Key": "kept NEW"}},
        {"transport": "streamable-http", "url": "http://mcp.example.org:99999/"},
    ],
    "PUT /v1/mcp/servers/{server}/grants/{scope}/{subject}": [{}, {"enabled": False}, {"tool_allow": []},
                                                              {"config_overrides": {"timeout_s": 5.0}}],
    "POST /v1/mcp/requests": [{"server": "SERVER", "scope": "agent", "subject": "coder"}],
    "POST /v1/mcp/requests/{request}/review": [{"approved": True}, {"approved": False, "note": "no"}],
    "POST /v1/tools/custom": [
        {"name": "cNEW", "command": "echo {{.x}}", "parameters": {"x": "string"}, "env": {"A": "kept NEW"}},
        {"name": "dNEW", "command": "echo hi", "agent_id": "coder"},
    ],
    "PUT /v1/tools/custom/{tool_id}": [{"name": "cNEW", "command": "echo changed"}],
    "POST /api/v1/tools": [
        {"id": "tNEW", "name": "tNEW", "description": "d", "input_schema": {"x": "string"}, "exec": {"type": "cmd", "cmd": "echo", "args": ["{x}"]}},
        {"id": "tool_file_read", "name": "r", "description": "d", "safety_level": "high", "permissions": ["fs:read"]},
    ],
    "POST /api/v1/tools/{tool_id}/invoke": [{}, {"path": "b.md"}, {"path": "."}, {"path": "n", "content": "c"}, {"x": "y"}],
}  # fmt: skip
ODD: list[Any] = [None, True, -1, 2**63, -(2**63) - 1, 1e308, 1.5, 0, "", " ", "\0", "\x7f", "\u202e", "\ud800", "a" * 5_000, "..", "../x",
                  "/", "%00", "{{.x}}", "{x}", "env:PATH", "secret:x", "__proto__", [], {}, [[]], {"": ""}, "http://[", "http://a:99999/",
                  "\uff41", "e\u0301", "1e999", "NaN"]  # fmt: skip
ODD_HEADERS = [
    (b"origin", b"http://["), (b"origin", b"null"), (b"origin", b"http://127.0.0.1:8081"), (b"host", b"evil.example.org"),
    (b"content-encoding", b"gzip"), (b"traceparent", b"00-" + b"a" * 32 + b"-" + b"b" * 16 + b"-01"), (b"traceparent", b"\xff"),
    (b"prefer", b"respond-async"), (b"prefer", b'respond-async, wait=1;a="'), (b"last-event-id", b"9" * 30),
    (b"x-caller-scopes", b"read_registry"), (b"x-caller-scopes", b"invoke_tool, nothing"), (b"x-agent-id", b"nobody"),
    (b"x-agent-id", b"\xc3\xa9"), (b"sec-fetch-site", b"cross-site"), (b"cookie", b"__Host-toolcharter=x; a=\xff"),
    (b"x-csrf-token", b"\xff\xfe"), (b"authorization", b"Basic eDp5"), (b"accept-encoding", b"gzip;q=\xff"), (b"x-project-id", b"p 1"),
    (b"idempotency-key", b'"'), (b"content-type", b"text/plain"), (b"content-type", b"application/json; charset=utf-16"),
    (b"content-type", b"multipart/form-data; boundary=x"), (b"range", b"bytes=0-1"), (b"expect", b"100-continue"),
]  # fmt: skip
ODD_SEGMENTS = [
    "%2f",
    "%2e%2e",
    "..%2f..",
    "%00",
    "%0a",
    "%ff",
    "a%2Fb",
    "..;",
    "%25%32%66",
    "x" * 600,
    "%F0%9F%98%80",
    "-",
    "~",
]
_SENDABLE = re.compile(rb"[^\x00\s]+(?:[ \t]+[^\x00\s]+)*")
"""Header values that the HTTP server accepts."""


class Maker:
    """Makes the requests of one process in one run."""

    def __init__(self, pools: dict[str, Parts], people: list[Who], own: frozenset[str], random: Random) -> None:
        self._pools, self._people, self._own, self._random = pools, people, own, random
        self._labels = [label for label in pools if label != "GET /v1/events"]
        self._known: dict[tuple[str, str], deque[str]] = {}
        self._digests: dict[str, str] = {}
        self._doomed: deque[tuple[str, str, str]] = deque()
        self._good: dict[str, deque[bytes]] = {}
        self._number = 0

    def next(self) -> tuple[str, Who, Request]:
        """Return the operation, the sender and the request."""
        pick = self._random
        if self._doomed and pick.random() < 0.5:
            return self._sweeping(*self._doomed.popleft())
        parts = self._pools["GET /v1/events" if pick.random() < 0.002 else pick.choice(self._labels)]
        admins = [one for one in self._people if one.role == "admin"]
        who = pick.choice(admins) if pick.random() < 0.55 else pick.choice(self._people)
        path = re.sub(r"\{(\w+)\}", lambda found: self._segment(parts, found[1], who), parts.path)
        query = pick.choice(parts.queries) if pick.random() < 0.8 else self._odd_query()
        target = path.encode() + (b"?" + query if query else b"")
        headers, kind, body = self._headers(parts, who), None, None
        if parts.bodies or pick.random() < 0.03:
            kind, body = self._body(parts, who)
            if not any(name == b"content-type" for name, _ in headers):
                headers.append((b"content-type", kind))
        return (
            parts.label,
            who,
            Request(parts.method, target, headers, body, pick.randint(2, 5) if pick.random() < 0.03 else 1),
        )

    def learn(self, label: str, who: Who, request: Request, answer: Answer) -> None:
        """Remember the identifiers in an answer, and the bodies of successful requests."""
        if not 200 <= answer.status < 300:
            return
        if request.body is not None and len(request.body) < 4_000:
            self._good.setdefault(label, deque(maxlen=60)).append(request.body)
        kind = next((kind for prefix, kind in sorted(KINDS.items(), key=lambda one: -len(one[0]))
                     if label.split(" ")[1].startswith(prefix)), None)  # fmt: skip
        if (
            kind is None
            or "grants" in label
            or "/invoke" in label
            or "/discover" in label
            or not answer.body.startswith(b"{")
        ):
            if label == "PUT /v1/secrets/{name}":
                self._remember("secret", who, request.target.decode().partition("?")[0].rpartition("/")[2])
            return
        value = json.loads(answer.body)
        if label.startswith("DELETE"):
            return
        found = value.get("tool") if kind == "tool" and isinstance(value.get("tool"), dict) else value
        rows = (
            next((one for one in value.values() if isinstance(one, list)), []) if label.startswith("GET") else [found]
        )
        for row in rows:
            if isinstance(row, dict) and isinstance(row.get(_NAMES[kind]), str):
                if kind == "approval":
                    self._digests[row["id"]] = row["digest"]
                self._remember(kind, who, row[_NAMES[kind]])

    def _remember(self, kind: str, who: Who, name: str) -> None:
        known = self._known.setdefault((kind, who.tenant), deque())
        if name in known or name in self._own:
            return
        known.append(name)
        if len(known) > KEPT:
            self._doomed.append((kind, who.tenant, known.popleft()))

    def _sweeping(self, kind: str, tenant: str, name: str) -> tuple[str, Who, Request]:
        path = next(prefix for prefix, one in KINDS.items() if one == kind)
        who = next(one for one in self._people if one.tenant == tenant and one.role == "admin")
        method, last = ("POST", "/cancel") if kind == "call" else ("DELETE", "")
        target = f"{path}/{quote(name, safe='')}{last}".encode()
        return f"{method} {path}", who, Request(method, target, [(b"host", b"127.0.0.1:8081"), *who.headers], None)

    def _segment(self, parts: Parts, name: str, who: Who) -> str:
        pick = self._random
        prefix = parts.path.partition("{")[0].rstrip("/")
        known = (
            self._known.get((KINDS.get(prefix, ""), who.tenant if pick.random() < 0.9 else "acme"))
            if name not in {"scope", "subject"}
            else None
        )
        chance = pick.random()
        if name in {"scope", "subject"} and chance < 0.6:
            return pick.choice({"scope": ["agent", "user"], "subject": ["coder", "reviewer", "ann@1"]}[name])
        if known and chance < 0.65:
            return quote(pick.choice(known), safe="")
        if chance < 0.72:
            return pick.choice(ODD_SEGMENTS)
        if chance < 0.8 and name in {"server", "name", "tool_id"}:
            return f"n{pick.randrange(60)}"
        return pick.choice(parts.segments.get(name) or ["x"]) or "x"

    def _odd_query(self) -> bytes:
        pick = self._random
        name = pick.choice(["after", "limit", "status", "agent_id", "next", "failed", "x"])
        return f"{name}={quote(str(pick.choice(ODD)).encode('utf-8', 'surrogatepass'))}".encode() + (
            b"&" + name.encode() + b"=%ff" if pick.random() < 0.2 else b""
        )

    def _headers(self, parts: Parts, who: Who) -> list[tuple[bytes, bytes]]:
        pick = self._random
        found = {b"host": b"127.0.0.1:8081", **dict(pick.choice(parts.headers))}
        if pick.random() < 0.7:
            found[b"x-agent-id"] = pick.choice([b"coder", b"reviewer"])
        if pick.random() < 0.12:
            name, value = pick.choice(ODD_HEADERS)
            found[name] = value
        if parts.path == "/v1/calls" and pick.random() < 0.3:
            found[b"prefer"] = b"respond-async"
        if parts.path == "/v1/calls" and pick.random() < 0.3:
            found[b"idempotency-key"] = b"k%d" % pick.randrange(500)
        if found.get(b"authorization") is None or who.role:
            found.pop(b"authorization", None)
            found.update(who.headers)
        return [(name, value) for name, value in found.items() if not value or _SENDABLE.fullmatch(value)]

    def _body(self, parts: Parts, who: Who) -> tuple[bytes, bytes]:
        pick = self._random
        kind, body = pick.choice(parts.bodies) if parts.bodies else (JSON, b"{}")
        good, seeds, chance = self._good.get(parts.label), SEEDS.get(parts.label), pick.random()
        if parts.label == "POST /v1/approvals/{approval}" and self._digests and chance < 0.5:
            digest = pick.choice(list(self._digests.values()))
            return JSON, json.dumps(
                {"answer": pick.choice(["allow_once", "deny", "allow_always"]), "digest": digest}
            ).encode()
        if seeds and chance < 0.35:
            self._number += 1
            text = json.dumps(pick.choice(seeds)).replace("NEW", str(self._number % 300))
            servers = self._known.get(("server", who.tenant)) or ["none"]
            return JSON, text.replace("SERVER", pick.choice(servers)).encode()
        if good and chance < 0.6:
            body = pick.choice(good)
        return (kind, self._changed(body)) if pick.random() < 0.6 else (kind, body)

    def _changed(self, body: bytes) -> bytes:
        pick = self._random
        if pick.random() < 0.6:
            try:
                return json.dumps(self._other(json.loads(body))).encode()
            except ValueError:
                pass
        changed = bytearray(body)
        for _ in range(pick.randint(1, 3)):
            at = pick.randrange(len(changed) + 1)
            match pick.randrange(4):
                case 0:
                    changed[at : at + 1] = bytes([pick.randrange(256)])
                case 1:
                    del changed[at : at + pick.randint(1, 8)]
                case 2:
                    changed[at:at] = pick.choice(
                        [
                            b"\xef\xbb\xbf",
                            b"\\ud800",
                            b"\0",
                            b"NaN",
                            b"1e9999",
                            b"[" * 40,
                            b',"a":1',
                            b'"',
                            b"{",
                            b"9" * 400,
                        ]
                    )
                case _:
                    changed[at:at] = changed[pick.randrange(len(changed) + 1) :][: pick.randint(1, 30)]
        return bytes(changed)

    def _other(self, value: Any) -> Any:
        pick = self._random
        if not value or not isinstance(value, dict | list) or pick.random() < 0.15:
            return pick.choice(ODD)
        if isinstance(value, list):
            at = pick.randrange(len(value))
            return [self._other(one) if index == at else one for index, one in enumerate(value)]
        name = pick.choice(list(value))
        if pick.random() < 0.1:
            return {key: one for key, one in value.items() if key != name}
        if pick.random() < 0.1:
            return {**value, str(pick.choice(ODD))[:300]: pick.choice(ODD)}
        return {**value, name: self._other(value[name])}
