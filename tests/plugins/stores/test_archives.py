"""An export is one moment, and what replaces a store does so whole or not at all."""

import threading
from collections.abc import Iterator
from typing import Self

import pytest
from tests.plugins.stores.store_servers import PostgresqlServer, RedisServer, Rows, SqliteFolder, process, row

from toolcharter import (
    EngineTransaction,
    ExportedFence,
    ExportedItem,
    ExportedRow,
    NewRow,
    Scope,
    StoreConflict,
    StoreEngine,
    StoreUnavailable,
    open_store,
)

pytestmark = pytest.mark.slow
Exported = ExportedRow | ExportedItem | ExportedFence


class Content:
    """A `StoreExport` of a list, which may break off."""

    def __init__(self, *rows: Exported, breaks: bool = False) -> None:
        self._rows = rows
        self._breaks = breaks

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __iter__(self) -> Iterator[Exported]:
        yield from self._rows
        if self._breaks:
            raise OSError("the archive ends here")


def _all(engine: StoreEngine) -> list[Exported]:
    with engine.export() as export:
        return list(export)


@pytest.fixture
def own(places: PostgresqlServer | RedisServer | SqliteFolder) -> Iterator[StoreEngine]:
    """A store of this test alone."""
    with open_store(places.new()) as store:
        yield store.engine


def _fill(engine: StoreEngine, scope: Scope) -> Rows:
    rows = Rows(engine, scope)
    rows.put("tool", row("a\x00b", "é", document='{"x":"\N{GRINNING FACE}"}', n=1, s="x", none=None, yes=True))
    rows.put("note", NewRow(("b",), "{}", {}, "full text", ("password",)))
    rows.put("note", row("b", full_text="other text"))
    rows.delete("tool", "gone")
    for number in range(3):
        rows.transact(lambda each: each.push("list", str(number), cap=2))  # noqa: B023 - run at once
    engine.lease(scope, "job", "me", 60, timeout_s=30)
    return rows


def test_a_store_goes_into_another_and_back(
    places: PostgresqlServer | RedisServer | SqliteFolder, own: StoreEngine
) -> None:
    """Rows with versions and numbers, lists and fences; found there by all that finds rows."""
    scopes = (Scope("acme", "acme-tests"), Scope("", "acme-tests"))
    for scope in scopes:
        _fill(own, scope)
    written = _all(own)

    with open_store(places.new()) as store:
        store.engine.replace_all(own.export())
        assert sorted(_all(store.engine), key=repr) == sorted(written, key=repr)
        rows = Rows(store.engine, scopes[0])
        assert rows.keys("tool", order="n") == [("a\x00b", "é")]
        if own.has_full_text:
            assert (rows.search("other"), rows.search("full")) == ([("b",)], [])
        assert rows.transact(lambda each: each.items("list", limit=5)) == ("2", "1")
        lease = store.engine.lease(scopes[0], "job", "you", 60, timeout_s=30)
        assert lease is not None
        assert lease.fence == 2
        assert rows.put("note", row("b"), expected=2) == 3


def test_what_breaks_off_changes_nothing(own: StoreEngine) -> None:
    """Neither what was there, nor a lease."""
    scope = Scope("acme", "acme-tests")
    _fill(own, scope)
    before, last = _all(own), own.last_change(scope, timeout_s=30)
    lease = own.lease(scope, "job", "me", 60, timeout_s=30)
    new = [ExportedRow(scope, "tool", row(str(number)), 1, number) for number in range(500)]

    with pytest.raises(OSError, match="ends here"):
        own.replace_all(Content(*new, breaks=True))

    assert _all(own) == before
    assert own.last_change(scope, timeout_s=30) == last
    assert own.lease(scope, "job", "me", 60, timeout_s=30) is not None
    assert lease is not None


def test_who_follows_the_changes_learns_of_a_restore(own: StoreEngine) -> None:
    """The count has risen, and what was seen before is no beginning."""
    scope, other = Scope("acme", "acme-tests"), Scope("other", "acme-tests")
    rows = _fill(own, scope)
    Rows(own, other).put("tool", row("x"))
    lease = own.lease(scope, "job", "me", 60, timeout_s=30)
    assert lease is not None
    seen = {each: own.last_change(each, timeout_s=30) for each in (scope, other)}

    own.replace_all(Content(ExportedRow(scope, "tool", row("old"), 4, 2), ExportedFence(scope, "job", 40)))

    for each, number in seen.items():
        assert own.last_change(each, timeout_s=30) > number
        with pytest.raises(StoreConflict, match="read everything again"):
            own.changes(each, number, (), 10, timeout_s=30)
    assert rows.changes() == [(2, "tool", ("old",), False)]
    assert Rows(own, other).changes() == []
    with pytest.raises(StoreConflict):
        rows.transact(lambda tx: tx.require_lease(lease))
    taken = own.lease(scope, "job", "you", 60, timeout_s=30)
    assert taken is not None
    assert taken.fence == 41


def test_an_export_is_one_moment_while_others_write(own: StoreEngine) -> None:
    """Two rows that are always written together are equal in it."""
    rows = Rows(own, Scope("acme", "acme-tests"))

    def write(number: int) -> None:
        def work(each: EngineTransaction) -> None:
            for key in range(300):
                each.put("pair", row(str(key), document=str(number)), expected=None)

        rows.transact(work)

    write(0)
    ended = threading.Event()

    def write_on() -> None:
        number = 0
        while not ended.is_set():
            number += 1
            write(number)

    writer = threading.Thread(target=write_on)
    writer.start()
    try:
        with own.export() as export:
            seen = []
            for number, each in enumerate(export):
                assert isinstance(each, ExportedRow)
                seen.append(each.row.document)
                if number == 20:
                    last = own.last_change(rows.scope, timeout_s=30)
                    while own.last_change(rows.scope, timeout_s=30) == last:
                        pass
    finally:
        ended.set()
        writer.join()

    assert (len(seen), len(set(seen))) == (300, 1)


def test_a_killed_restore_changes_nothing(places: PostgresqlServer | RedisServer | SqliteFolder) -> None:
    """The process ends in the middle."""
    url, scope = places.new(), Scope("acme", "acme-tests")
    restoring = """
from toolcharter import ExportedRow
class Content:
    def __enter__(self): return self
    def __exit__(self, *_): pass
    def __iter__(self):
        for n in range(450):
            yield ExportedRow(scope, "tool", NewRow((str(n),), "{}", {}, "", ()), 1, n + 1)
        print("begun", flush=True)
        time.sleep(600)
engine.replace_all(Content())
"""
    with open_store(url) as store:
        _fill(store.engine, scope)
        before = _all(store.engine)
        with process(restoring, url, scope) as killed:
            assert killed.stdout is not None
            assert killed.stdout.readline() == "begun\n"
            assert _all(store.engine) == before
            killed.kill()
            killed.wait()
        Rows(store.engine, scope).put("tool", row("later"))

        assert len(_all(store.engine)) == len(before) + 1


def test_an_export_that_is_not_open_is_refused(own: StoreEngine) -> None:
    """Rather than to be empty."""
    export = own.export()
    with pytest.raises(StoreUnavailable):
        list(export)
    with export:
        pass
    with pytest.raises(StoreUnavailable):
        list(export)
