"""The measured service: a token, events in a file, usage in SQLite, and empty routes in the same application.

PYTHON -P benchmarks/ours/service_process.py FOLDER

It prints its port and a token, and serves until it is terminated. `BENCH_MCP` is the address of an MCP server.
"""

import os
import resource
import socket
import sys
from pathlib import Path
from typing import Annotated, Any

import uvicorn
import yaml
from fastapi import APIRouter, Request
from starlette.responses import Response

from toolcharter import open_store
from toolcharter_service.auth import CallerScope, Principal, Role, tokens
from toolcharter_service.auth.dependency import require
from toolcharter_service.auth.tokens import NewToken
from toolcharter_service.config import read_config
from toolcharter_service.http import app as service_app
from toolcharter_service.http.encoding import json_response
from toolcharter_service.http.lean import LeanRoute
from toolcharter_service.http.models import CallRequest
from toolcharter_service.http.protocol import PatientProtocol
from toolcharter_service.service import DISTRIBUTION, Service

MayCall = Annotated[Principal, require(Role.CALLER, scope=CallerScope.INVOKE_TOOL)]


def written(place: Path, agents: int = 1) -> Path:
    """Write a configuration with *agents* agents of one profile, and return its path. `a0` is the first agent."""
    (place / "ws").mkdir()
    (place / "db").mkdir(mode=0o700)
    (place / "ws/a.txt").write_text("x" * 200)
    profile: dict[str, Any] = {
        "profile": "p",
        "runner": "host",
        "tools": {"nothing": {}, "nothing_async": {}, "read_file": {}},
    }
    if url := os.environ.get("BENCH_MCP"):
        servers = {"calc": {"url": url, "allowed_private": ["127.0.0.1"]}}
        profile |= {"extensions": {"mcp_bridge": {"servers": servers, "trust": "first"}}, "allow": ["mcp:calc:shout"]}
    (place / "p.yaml").write_text(yaml.safe_dump(profile))
    one = {"profile": str(place / "p.yaml"), "workspace": str(place / "ws")}
    config = {
        "store": f"sqlite://{place}/db/store.sqlite3",
        "events": [f"file:{place}/events.jsonl"],
        "tenants": {"acme": {"agents": {f"a{number}": one for number in range(agents)}}},
    }
    (place / "service.yaml").write_text(yaml.safe_dump(config))
    return place / "service.yaml"


def made(file: Path) -> tuple[Service, str]:
    """Return a service, and a token that may make calls."""
    found = read_config(file)
    stores = open_store(str(found.config.store))
    token = tokens.create_token("acme", NewToken(name="bench", roles=(Role.CALLER,)), "bench")
    stores.bound("", DISTRIBUTION).put(token.record, expected=0)
    return Service(found, stores=stores), token.text


def empty_routes(_: Service) -> APIRouter:
    """Return routes that do nothing: a usual one of FastAPI, and a lean one that reads token and body like calls."""
    router = APIRouter(prefix="/bench")

    @router.get("/empty")
    async def empty() -> dict[str, str]:
        return {}

    lean = APIRouter(route_class=LeanRoute)

    @lean.post("/lean")
    async def as_lean(request: Request, body: CallRequest, principal: MayCall) -> Response:  # noqa: ARG001 - read for it
        return json_response({})

    @lean.get("/cpu")
    async def cpu(request: Request, principal: MayCall) -> Response:  # noqa: ARG001 - as above
        used = resource.getrusage(resource.RUSAGE_SELF)
        return json_response(used.ru_utime + used.ru_stime)

    router.include_router(lean)
    return router


class _Server(uvicorn.Server):
    """Prints its port."""

    def __init__(self, config: uvicorn.Config, token: str) -> None:
        super().__init__(config)
        self._token = token

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        print(self.servers[0].sockets[0].getsockname()[1], self._token, flush=True)


def serve(place: Path) -> None:
    """Serve until a signal ends the process."""
    service, token = made(written(place))
    service_app.ROUTERS = (*service_app.ROUTERS, empty_routes)
    app = service_app.create_app(service)
    # The same settings as those of `toolcharter serve`.
    config = uvicorn.Config(
        app, port=0, http=PatientProtocol, log_level="warning", server_header=False, proxy_headers=False, lifespan="on"
    )
    _Server(config, token).run()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
