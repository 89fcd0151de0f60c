"""Stores for tests of plugins that keep records: one server of each kind for all of them."""

from collections.abc import Generator

import pytest
from tests.plugins.stores.places import (
    REDIS,
    PostgresqlPlaces,
    RedisPlaces,
    SqlitePlaces,
    postgresql_places,
    redis_places,
)


@pytest.fixture(scope="session")
def postgresql() -> Generator[PostgresqlPlaces]:
    """One server for all tests."""
    with postgresql_places() as places:
        yield places


@pytest.fixture(scope="session")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> SqlitePlaces:
    """One folder for all tests."""
    return SqlitePlaces(tmp_path_factory.mktemp("sqlite"))


@pytest.fixture(scope="session")
def redis() -> Generator[RedisPlaces]:
    """One server for all tests."""
    if REDIS is None:
        pytest.skip("redis-server is not installed: apt-get install redis-server")
    with redis_places() as places:
        yield places


@pytest.fixture
def store_url(request: pytest.FixtureRequest, sqlite: SqlitePlaces) -> str:
    """An empty store: of SQLite, or of the kind that the test is parametrized with."""
    kind = getattr(request, "param", "sqlite")
    url: str = sqlite.new() if kind == "sqlite" else request.getfixturevalue(kind).new()
    return url
