"""The store in a file: whose it is, where it may lie, and what a full disk does to it."""

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from tests.plugins.stores.store_servers import PREPARE, Rows, row
from tests.rows import each_row

import toolcharter_sqlite
from toolcharter import Scope, StoreUnavailable, open_store
from toolcharter_sqlite import file_of
from toolcharter_sqlite import open_store as open_engine
from toolcharter_sqlite.database import SqliteDatabase
from toolcharter_stores.sql.schema import VERSION_TABLE
from toolcharter_stores.sql.tables import METADATA

SCOPE = Scope("acme", "acme-tests")


def test_a_url_names_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """None is the one in the user's state."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    assert file_of("sqlite:") == tmp_path / "toolcharter/store/store.sqlite3"
    assert file_of("sqlite:///var/lib/my%20tools/a.db") == Path("/var/lib/my tools/a.db")
    assert file_of("sqlite:///a/../b.db") == Path("/b.db")


@each_row(
    "url",
    [
        "sqlite:x.db",
        "sqlite:/x.db",
        "sqlite://x.db",
        "sqlite://host/x.db",
        "sqlite:///a/",
        "sqlite:///x?mode=ro",
        "sqlite:///x#y",
        "sqlite::memory:",
        "sqlite:///a%00b",
    ],
)
def test_another_url_is_refused(url: str) -> None:
    """With the forms that there are."""
    with pytest.raises(ValueError, match=r"write sqlite: for the default file, or sqlite:///absolute/path"):
        open_engine(url)


def test_a_user_without_a_home_names_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no place of his own."""
    monkeypatch.setattr(toolcharter_sqlite, "state_path", lambda *_: None)

    with pytest.raises(ValueError, match="this user has no home"):
        file_of("sqlite:")


def test_the_file_is_its_users_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It and what SQLite puts beside it, whatever the umask is; nothing is made before the first use."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    before = os.umask(0)
    try:
        with open_store() as store:
            assert not (tmp_path / "state").exists()
            engine = store.engine
            Rows(engine, SCOPE).put("tool", row("a"))
            folder = tmp_path / "state/toolcharter/store"
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
            kept = engine.keeps_state_in()
    finally:
        os.umask(before)

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert modes == dict.fromkeys(("store.sqlite3", "store.sqlite3-wal", "store.sqlite3-shm"), 0o600)
    assert {folder / name for name in modes} <= set(kept)


def _open(file: Path) -> None:
    with open_store(f"sqlite://{file}") as store:
        assert store.engine.has_full_text


def test_a_place_of_others_is_refused(tmp_path: Path) -> None:
    """A file that others can read, a folder that they can write, links, and what is no file."""
    place = tmp_path / "place"
    place.mkdir()
    file = place / "store.sqlite3"
    _open(file)
    refused: list[str] = []

    def refuse(path: Path = file) -> None:
        with pytest.raises(StoreUnavailable) as error:
            _open(path)
        refused.append(str(error.value.message).replace(str(tmp_path), ""))

    file.chmod(0o640)
    refuse()
    file.chmod(0o600)
    place.chmod(0o770)
    refuse()
    place.chmod(0o700)
    os.link(file, place / "second")
    refuse()
    (place / "second").unlink()
    (place / "link").symlink_to(file)
    refuse(place / "link")
    os.mkfifo(place / "fifo", 0o600)
    refuse(place / "fifo")
    refuse(file / "inner.sqlite3")
    (tmp_path / "other").symlink_to(place)
    refuse(tmp_path / "other/store.sqlite3")
    _open(file)

    assert refused == [
        "The store '/place/store.sqlite3' is open to others. Check what is in it, then: chmod go=.",
        "The store '/place/store.sqlite3' lies in '/place', which others can write to. Check what is in it, then: chmod go-w.",
        "The store '/place/store.sqlite3' is no regular file, or has a second name elsewhere.",
        "The store '/place/link' cannot be opened: Too many levels of symbolic links.",
        "The store '/place/fifo' is no regular file, or has a second name elsewhere.",
        "The store '/place/store.sqlite3/inner.sqlite3' cannot be opened: Not a directory.",
        "The store '/other/store.sqlite3' cannot be opened: Not a directory.",
    ]


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    """A file of something else, and one that has vanished since it was opened."""
    file = tmp_path / "store.sqlite3"
    file.write_bytes(b"no database" * 100)
    file.chmod(0o600)
    with pytest.raises(StoreUnavailable, match="SQLITE_NOTADB"):
        _open(file)
    file.unlink()

    engine = open_engine(f"sqlite://{file}")
    engine.migrate()
    engine.close()
    with sqlite3.connect(file) as connection:
        connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    connection.close()
    for use in (engine.migrate, engine.require_current):
        with pytest.raises(StoreUnavailable, match="was written by a newer version of toolcharter: its schema is 9999"):
            use()
    engine.close()


def test_the_migrations_make_the_tables_that_are_used(tmp_path: Path) -> None:
    """Neither knows a table, a column or an index that the other does not."""
    engine = open_engine(f"sqlite://{tmp_path / 'store.sqlite3'}")
    engine.migrate()
    engine.close()

    pool = SqliteDatabase(tmp_path / "store.sqlite3").engine()
    with pool.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "version_table": VERSION_TABLE,
                "include_name": lambda name, kind, _: kind != "table" or "_text" not in name,
            },
        )
        assert compare_metadata(context, METADATA) == []
    pool.dispose()


def test_a_long_query_ends_with_its_time(tmp_path: Path) -> None:
    """A statement is interrupted; the next one works."""
    engine = open_engine(f"sqlite://{tmp_path / 'store.sqlite3'}")
    engine.migrate()
    rows = Rows(engine, SCOPE)

    def fill(each) -> None:
        for number in range(3_000):
            each.put("note", row(str(number), full_text="word " * 20), expected=0)

    rows.transact(fill)
    with pytest.raises(StoreUnavailable, match="SQLite took longer than the time that was left"):
        Rows(engine, SCOPE, timeout_s=0.0005).search("word", limit=1_000)

    assert len(rows.search("word", limit=10)) == 10
    engine.close()


FULL = """
import resource
document = '"' + "x" * 20_000 + '"'
transact(put("a", "first", document))
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, hard))
written = 0
try:
    for number in range(1_000):
        transact(put("a", str(number), document))
        written += 1
except StoreUnavailable as error:
    print(error.message)
found = transact(lambda each: each.count("a", where={}))
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
transact(put("a", "last", document))
print(0 < written, found == written + 1, transact(lambda each: each.count("a", where={})) == written + 2)
"""


@pytest.mark.slow
def test_a_full_disk_loses_nothing_that_was_answered(tmp_path: Path) -> None:
    """What does not fit is refused, what is there can be read, and all goes on when there is room."""
    file = tmp_path / "store.sqlite3"
    ran = subprocess.run(
        [sys.executable, "-c", PREPARE + FULL, f"sqlite://{file}", "acme"], capture_output=True, text=True, check=True
    )

    first, second = ran.stdout.splitlines()
    assert first in {f"SQLite has failed: {name}." for name in ("SQLITE_FULL", "SQLITE_IOERR_WRITE")}
    assert second == "True True True"
