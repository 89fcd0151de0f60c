"""`World`: a service with two tenants and a store in a folder; requests go in process through the application."""

import asyncio
import os
import socket
from base64 import b64encode
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from argon2 import PasswordHasher
from tests.plugins.service.serving import configured

from toolcharter import open_store
from toolcharter_service.auth import Role
from toolcharter_service.auth import tokens as token_module
from toolcharter_service.auth.passwords import Passwords
from toolcharter_service.auth.tokens import NewToken
from toolcharter_service.config import ConfigFile
from toolcharter_service.http.app import create_app
from toolcharter_service.service import Service

PROFILE = """
profile: fuzzed
description: Files, lines that a person allows, and what is registered; programs run in a sandbox.
runner: bwrap
extensions: {registry: {extend: true}}
tools: {read_file: {}, write_file: {}, list_files: {}, text_search: {}, json_parse: {}, bash: {}}
allow: ["bash:echo *", "custom:*"]
ask: ["write_file(path=*.toml)"]
approvals: {timeout_s: 1}
limits: {timeout_s: 5}
"""
PEOPLE = {"acme": ("viewer", "caller", "approver", "operator", "admin"), "globex": ("admin", "caller")}
PATIENCE_S = 60.0


class Who(NamedTuple):
    """A sender of requests."""

    name: str
    """The name in a reproduction: `acme/admin`."""
    tenant: str
    role: str
    headers: tuple[tuple[bytes, bytes], ...]


class Request(NamedTuple):
    """A request."""

    method: str
    target: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes | None
    chunks: int = 1


@dataclass
class Answer:
    """An answer."""

    status: int = 0
    headers: dict[bytes, bytes] = field(default_factory=dict)
    body: bytes = b""
    error: BaseException | None = None
    """The exception that the application raised."""


class World:
    """The service; `ask` sends it a request."""

    def __init__(self, app: Any, people: list[Who], own: frozenset[str], folder: Path) -> None:
        self.app, self.people, self.own, self.folder = app, people, own, folder

    async def ask(self, request: Request) -> Answer:
        """Return the answer; for a stream, its beginning."""
        answer, over = Answer(), asyncio.Event()
        parts = _parts(request)

        async def receive() -> dict[str, Any]:
            if parts:
                return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}
            await over.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                answer.status = message["status"]
                answer.headers = {name.lower(): value for name, value in message.get("headers", ())}
            elif message["type"] == "http.response.body":
                answer.body += message.get("body", b"")
                if not message.get("more_body") or b"event-stream" in answer.headers.get(b"content-type", b""):
                    over.set()

        try:
            async with asyncio.timeout(PATIENCE_S):
                await self.app(scope_of(request), receive, send)
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError | KeyboardInterrupt):
                raise
            answer.error = error
        finally:
            over.set()
        return answer


def _parts(request: Request) -> list[bytes]:
    body = request.body or b""
    if request.chunks < 2:
        return [body]
    size = max(1, len(body) // request.chunks)
    return [body[at : at + size] for at in range(0, len(body), size)] or [b""]


def scope_of(request: Request) -> dict[str, Any]:
    """Return the ASGI scope of a request, as uvicorn makes it."""
    raw, _, query = request.target.partition(b"?")
    headers = list(request.headers)
    if request.body is not None:
        length = (
            (b"transfer-encoding", b"chunked") if request.chunks > 1 else (b"content-length", b"%d" % len(request.body))
        )
        headers.append(length)
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": unquote(raw.decode("ascii")),
        "raw_path": raw,
        "query_string": query,
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 8081),
        "state": {},
    }


def fake_resolver(name: Any, port: Any, *_: Any, **__: Any) -> list[Any]:
    """Replace the resolver: names below `example.org` get an address that is never dialled, others get none."""
    if str(name).endswith("example.org"):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.215.14", port or 0))]
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


@asynccontextmanager
async def world(folder: Path) -> AsyncGenerator[World]:
    """Start a service with an empty store, and stop it afterwards."""
    os.environ["XDG_STATE_HOME"] = str(folder / "state")
    os.environ["TOOLCHARTER_STORE_KEY"] = b64encode(bytes(range(32))).decode()
    kept: Callable[..., Any] = socket.getaddrinfo
    socket.getaddrinfo = fake_resolver  # type: ignore[assignment]
    (folder / "store").mkdir(mode=0o700)
    one = configured(folder, {"reviewer": PROFILE, "coder": PROFILE}, auth={"passwords": True}).config
    both = {"acme": one.tenants["acme"], "globex": one.tenants["acme"]}
    config = one.model_copy(update={"tenants": both, "events": ()})
    service = Service(ConfigFile(config), stores=open_store(f"sqlite:///{folder}/store/service.db"))
    app = create_app(service)
    app.state.auth.passwords = Passwords(PasswordHasher(time_cost=1, memory_cost=1_024, parallelism=1))
    await service.start()
    try:
        people, own = await asyncio.to_thread(_people, service)
        yield World(app, people, own, folder)
    finally:
        await service.stop()
        socket.getaddrinfo = kept


def _people(service: Service) -> tuple[list[Who], frozenset[str]]:
    people, own = [], set()
    for tenant, roles in PEOPLE.items():
        for role in roles:
            wanted = NewToken(name=f"{tenant}-{role}", roles=(Role(role),), days=1)
            created = token_module.create_token(tenant, wanted, "fuzz")
            service.store("").put(created.record, expected=0)
            people.append(
                Who(f"{tenant}/{role}", tenant, role, ((b"authorization", f"Bearer {created.text}".encode()),))
            )
            own.add(created.record.id)
    revoked = token_module.create_token("acme", NewToken(name="gone", roles=(Role.ADMIN,), days=1), "fuzz").text
    for text in ("", revoked, revoked[:-1], "x" * 100, "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9."):
        headers = ((b"authorization", f"Bearer {text}".encode()),) if text else ()
        people.append(Who("nobody", "", "", headers))
    return people, frozenset(own)
