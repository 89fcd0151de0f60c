"""A service of one tenant, and its address."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from toolcharter_service.http.app import create_app
from toolcharter_service.service import Service

from .serving import NoStores, configured, serving


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the module."""
    return tmp_path_factory.mktemp("service")


@pytest.fixture(scope="module")
def service(place: Path) -> Service:
    """A service in development: the tenant `acme` with the agent `reviewer`; `url` starts it."""
    return Service(configured(place), stores=NoStores(), dev=True)


@pytest.fixture(scope="module")
def url(service: Service) -> Iterator[str]:
    """Where *service* listens."""
    with serving(create_app(service)) as address:
        yield address
