"""Stores for tests of plugins that keep records: one server of each kind for all of them."""

from collections.abc import Generator

import pytest
from tests.plugins.stores.store_servers import (
    REDIS,
    PostgresqlServer,
    RedisServer,
    SqliteFolder,
    run_postgresql,
    run_redis,
)


@pytest.fixture(scope="session")
def postgresql() -> Generator[PostgresqlServer]:
    """One server for all tests."""
    with run_postgresql() as places:
        yield places


@pytest.fixture(scope="session")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> SqliteFolder:
    """One folder for all tests."""
    return SqliteFolder(tmp_path_factory.mktemp("sqlite"))


@pytest.fixture(scope="session")
def redis() -> Generator[RedisServer]:
    """One server for all tests."""
    if REDIS is None:
        pytest.skip("redis-server is not installed: apt-get install redis-server")
    with run_redis() as places:
        yield places


@pytest.fixture
def store_url(request: pytest.FixtureRequest, sqlite: SqliteFolder) -> str:
    """An empty store: of SQLite, or of the kind that the test is parametrized with."""
    kind = getattr(request, "param", "sqlite")
    url: str = sqlite.new() if kind == "sqlite" else request.getfixturevalue(kind).new()
    return url
