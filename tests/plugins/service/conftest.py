"""A service of one tenant, and its address."""

from collections.abc import Iterator
from inspect import signature
from pathlib import Path

import httpx
import pytest
from tests.core.guards.store.memory_engine import MemoryEngine

from toolcharter.guards.store.handle import StoreHandle
from toolcharter_service.http.app import create_app
from toolcharter_service.service import Service

from .serving import configured, serving

# httpx gives up after 5 s, which says nothing of the service on a machine that has more to do.
_patience = signature(httpx.get).parameters["timeout"].default
_patience.connect = _patience.read = _patience.write = _patience.pool = 60.0


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the module."""
    return tmp_path_factory.mktemp("service")


@pytest.fixture(scope="module", autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The user's state of the module: usage is kept there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="module")
def stores() -> StoreHandle:
    """A store in memory."""
    return StoreHandle(MemoryEngine)


@pytest.fixture(scope="module")
def service(place: Path, stores: StoreHandle) -> Service:
    """A service in development: the tenant `acme` with the agent `reviewer`; `url` starts it."""
    return Service(configured(place), stores=stores, dev=True)


@pytest.fixture(scope="module")
def url(service: Service) -> Iterator[str]:
    """Where *service* listens."""
    with serving(create_app(service)) as address:
        yield address
