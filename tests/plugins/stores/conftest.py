"""Each test of a store meets every engine. Another engine joins `ENGINES` and `places`."""

from collections.abc import Generator
from itertools import count

import pytest
from tests.plugins.stores.store_servers import (
    PostgresqlServer,
    RedisServer,
    Rows,
    SqliteFolder,
)

from toolcharter import Scope, StoreEngine, open_store

ENGINES = ("sqlite", "postgresql", "redis")
_TENANTS = count()


@pytest.fixture(scope="session", params=ENGINES)
def places(request: pytest.FixtureRequest) -> "PostgresqlServer | RedisServer | SqliteFolder":
    """Where stores of one kind are made."""
    made: PostgresqlServer | RedisServer | SqliteFolder = request.getfixturevalue(request.param)
    return made


@pytest.fixture(scope="session")
def shared_url(places: "PostgresqlServer | RedisServer | SqliteFolder") -> str:
    """One store for all tests, which have a tenant of their own each."""
    return places.new()


@pytest.fixture
def scope() -> Scope:
    """Nobody else's."""
    return Scope(f"t{next(_TENANTS)}", "acme-tests")


@pytest.fixture
def engine(shared_url: str) -> Generator[StoreEngine]:
    """An engine with connections of its own."""
    with open_store(shared_url) as store:
        yield store.engine


@pytest.fixture
def rows(engine: StoreEngine, scope: Scope) -> Rows:
    """An empty scope."""
    return Rows(engine, scope)
