"""A service with two tenants and its tokens, served on loopback over a store that several services can share."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from argon2 import PasswordHasher
from tests.core.guards.store.memory_engine import MemoryEngine
from tests.plugins.service.serving import PROFILE, configured, serving

from toolcharter import Store
from toolcharter.guards.store.handle import StoreHandle
from toolcharter_service.auth import tokens as token_module
from toolcharter_service.auth.authenticator import ServiceAuth
from toolcharter_service.auth.passwords import Passwords
from toolcharter_service.auth.principal import Role
from toolcharter_service.auth.tokens import NewToken
from toolcharter_service.config import ConfigFile, ServiceConfig
from toolcharter_service.http.app import create_app
from toolcharter_service.service import DISTRIBUTION, Service

HASHER = PasswordHasher(time_cost=1, memory_cost=1_024, parallelism=1)
"""Cheap: tests sign in often."""


class Deployment:
    """Services over one store, each with a client."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.engine = MemoryEngine()
        self.services: list[Service] = []
        self.auths: list[ServiceAuth] = []
        self.events: list[dict[str, Any]] = []
        self._ending = ExitStack()

    @property
    def store(self) -> Store:
        """The records of the service as a whole."""
        return self.handle().bound("", DISTRIBUTION)

    def handle(self) -> StoreHandle:
        return StoreHandle(lambda: self.engine)

    def start(self, *, dev: bool = False, **keys: Any) -> httpx.Client:
        """Another process of the service."""
        folder = self.place / f"service{len(self.services)}"
        folder.mkdir()
        acme = configured(folder, {"reviewer": PROFILE, "coder": PROFILE}, **keys)
        both = {"acme": acme.config.tenants["acme"], "globex": acme.config.tenants["acme"]}
        config: ServiceConfig = acme.config.model_copy(update={"tenants": both})
        service = Service(ConfigFile(config), stores=self.handle(), dev=dev)
        service.emit = self._noted  # type: ignore[method-assign]
        self.services.append(service)
        app = create_app(service)
        app.state.auth.passwords = Passwords(HASHER)
        self.auths.append(app.state.auth)
        url = self._ending.enter_context(serving(app))
        return self._ending.enter_context(httpx.Client(base_url=url, trust_env=False, timeout=60))

    def heard(self) -> None:
        """Wait until each process has heard of the latest change."""
        last = self.store.last_change()
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if all((auth.verified._seen or 0) >= last for auth in self.auths):
                return
            time.sleep(0.05)
        raise AssertionError("a process does not hear of changes")

    def _noted(self, event: str, /, **fields: Any) -> None:
        self.events.append({"event": event, **fields})

    def token(self, *roles: Role, tenant: str = "acme", name: str = "bot", **more: Any) -> str:
        """A new token."""
        created = token_module.create_token(tenant, NewToken(name=name, roles=roles, **more), "test")
        self.store.put(created.record, expected=0)
        return created.text

    def close(self) -> None:
        self._ending.close()


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Nothing runs yet."""
    made = Deployment(tmp_path_factory.mktemp("deployment"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def client(deployment: Deployment) -> httpx.Client:
    """A client of a service where people sign in with passwords."""
    return deployment.start(auth={"passwords": True})


Bearing = Callable[..., dict[str, str]]


@pytest.fixture
def bearing(deployment: Deployment) -> Bearing:
    """The header of a new token."""

    def made(*roles: Role, **more: Any) -> dict[str, str]:
        return {"Authorization": f"Bearer {deployment.token(*roles, **more)}"}

    return made
