"""A service that uvicorn serves on a free port of loopback, in a thread: for the tests of all its parts."""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from tests.core.guards.store.memory_engine import MemoryEngine

from toolcharter import Store, StoreUnavailable
from toolcharter.guards.store.handle import StoreHandle
from toolcharter_service.config import ConfigFile, ServiceConfig

PROFILE = """
profile: served
description: Reads and writes, runs echo and sleep.
runner: host
tools: {read_file: {}, write_file: {}, list_files: {}, text_search: {}, bash: {}}
allow: ["bash:echo *", "bash:sleep *", "bash:false"]
limits: {timeout_s: 30}
"""


class NoStores:
    """A store that never answers."""

    def __init__(self) -> None:
        self._engine = MemoryEngine()
        self._engine.failure = StoreUnavailable("There is no store.")

    def bound(self, tenant: str, distribution: str, **_: object) -> Store:
        return StoreHandle(lambda: self._engine).bound(tenant, distribution)

    def close(self) -> None:
        """Nothing is held."""


def configured(place: Path, agents: Mapping[str, str] | None = None, **more: Any) -> ConfigFile:
    """A configuration with the tenant `acme`, its agents with their profiles, and a workspace for each profile.

    Args:
        place: A folder of the test.
        agents: By name, the text of the profile; by default `reviewer` with `PROFILE`.
        more: Other keys of the configuration.
    """
    named: dict[str, dict[str, str]] = {}
    files: dict[str, Path] = {}
    for agent, text in (agents or {"reviewer": PROFILE}).items():
        if text not in files:
            files[text] = place / f"profile{len(files)}.yaml"
            files[text].write_text(text)
            files[text].with_suffix("").mkdir()
        named[agent] = {"profile": str(files[text]), "workspace": str(files[text].with_suffix(""))}
    values = {
        "listen": {"port": 0},
        "events": [f"file:{place / 'events.jsonl'}"],
        "tenants": {"acme": {"agents": named}},
        **more,
    }
    return ConfigFile(ServiceConfig.from_profile(values))


@contextmanager
def leaving(url: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Iterator[None]:
    """A client that has asked for a call, and leaves at the end of the block without its answer."""
    client = HTTPConnection(url.removeprefix("http://"))
    client.request("POST", "/v1/calls", json.dumps(body), {"Content-Type": "application/json", **(headers or {})})
    try:
        yield
    finally:
        client.close()


def until_event(place: Path, name: str, command: str) -> dict[str, Any]:
    """The event *name* of a call with *command*, as soon as it stands in the file of `configured`."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        for line in (place / "events.jsonl").read_text().splitlines():
            event: dict[str, Any] = json.loads(line)
            if event["event"] == name and event.get("args") == {"command": command}:
                return event
        time.sleep(0.02)
    raise AssertionError(f"there is no {name} of {command!r}")


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """The address of *app*, such as `http://127.0.0.1:40123`."""
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", lifespan="on")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, name="uvicorn", daemon=True)
    thread.start()
    until = time.monotonic() + 60
    while not server.started and thread.is_alive() and time.monotonic() < until:
        time.sleep(0.005)
    assert server.started, "the service did not start"
    try:
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(60)
