"""`Store` over an engine: what is written is checked and sealed, what is read is checked, and scopes are apart."""

import pytest
from pydantic import Field
from tests.core.guards.store.memory_engine import MemoryEngine

from toolcharter import (
    RecordKind,
    Scope,
    SpecError,
    Store,
    StoreConflict,
    StoreHandle,
    StoreRecord,
    StoreTransaction,
    StoreUnavailable,
    ToolError,
    UnreadableRecord,
    scrub_text,
)
from toolcharter.api.store import MAX_DOCUMENT_BYTES, MAX_KEY_CHARS

VALUE = "kept-" * 2 + "quietly"


class Note(StoreRecord):
    store_kind = RecordKind("note", ("id",), indexed=("rank", "done"), full_text=("text",))

    id: str
    rank: int = 0
    done: bool | None = None
    text: str = ""
    tags: tuple[str, ...] = ()
    weight: float = Field(default=1.0)


class Account(StoreRecord):
    store_kind = RecordKind("account", ("realm", "name"), secret=("password", "headers"))

    realm: str
    name: str
    password: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)


@pytest.fixture
def engine() -> MemoryEngine:
    return MemoryEngine()


@pytest.fixture
def store(engine: MemoryEngine) -> Store:
    return StoreHandle(lambda: engine).bound("acme", "acme-notes")


def test_what_was_put_is_found(store: Store, engine: MemoryEngine) -> None:
    """With its version and the number of its change; the engine is opened once, for the scope it was bound to."""
    first, second = Note(id="a", rank=3, tags=("x",)), Note(id="a", rank=4)

    versions = [store.put(first), store.put(second, expected=1)]

    found = store.get(Note, "a")
    assert (versions, found) == ([1, 2], (second, 2, 2))
    assert store.get(Note, "b") is None
    assert store.delete(Note, "a", expected=2)
    assert not store.delete(Note, "a")
    assert engine.scopes == {Scope("acme", "acme-notes")}
    assert engine.log.count("migrate") == 1


def test_another_version_is_a_conflict(store: Store) -> None:
    """Nothing is written then."""
    store.put(Note(id="a"), expected=0)

    with pytest.raises(StoreConflict):
        store.put(Note(id="a", rank=1), expected=0)

    assert store.count(Note) == 1
    assert store.count(Note, where={"rank": 1}) == 0


def test_scopes_do_not_see_each_other(engine: MemoryEngine) -> None:
    """Neither another tenant nor another distribution finds what has the same kind and key."""
    handle = StoreHandle(lambda: engine)
    handle.bound("acme", "acme-notes").put(Note(id="a"))

    others = [handle.bound(*scope) for scope in (("", "acme-notes"), ("ACME", "acme-notes"), ("acme", "acme-note"))]

    assert [other.get(Note, "a") for other in others] == [None] * 3
    assert [other.changes() for other in others] == [()] * 3
    assert engine.log.count("migrate") == 1


@pytest.mark.parametrize(
    ("tenant", "distribution"),
    [
        *(
            pytest.param(tenant, "acme-notes", id=f"tenant-{tenant!r}")
            for tenant in ("a:b", "a.b", "a*", "a/b", "..", "-a", "a\0", "é", " ", "a" * 65, "a\n")
        ),
        *(
            pytest.param("acme", name, id=f"distribution-{name!r}")
            for name in ("", "Acme", "a_b", "a--b", "-a", "a:b", "a\n")
        ),
    ],
)
def test_names_that_keys_cannot_hold_are_refused(tenant: str, distribution: str, engine: MemoryEngine) -> None:
    """No engine has to think of what a name could mean in its keys."""
    with pytest.raises(StoreUnavailable):
        StoreHandle(lambda: engine).bound(tenant, distribution)


def test_secrets_are_sealed(store: Store, engine: MemoryEngine) -> None:
    """The engine never sees them, also not the values of a mapping; the scrubber knows them from then on."""
    account = Account(realm="r", name="n", password=VALUE, headers={"Authorization": VALUE + "-2"})

    store.put(account)

    [(row, *_)] = engine.content.rows.values()
    assert VALUE not in row.document
    assert row.document.count("aes-gcm:") == 2
    assert (row.key, row.secret) == (("r", "n"), ("password", "headers"))
    found = store.get(Account, "r", "n")
    assert found is not None
    assert found.record == account
    assert VALUE not in scrub_text(f"it is {VALUE}")[0]


def test_a_secret_that_was_moved_is_refused(store: Store, engine: MemoryEngine) -> None:
    """It is bound to its record and field: the sealed text of another place is an error, never shown."""
    store.put(Account(realm="r", name="n", password=VALUE))
    store.put(Account(realm="r", name="m", password="another-one"))
    first, second = engine.content.rows.values()
    engine.content.rows[Scope("acme", "acme-notes"), "account", ("r", "n")] = (
        first[0]._replace(document=second[0].document.replace('"m"', '"n"')),
        *first[1:],
    )

    with pytest.raises(StoreUnavailable):
        store.get(Account, "r", "n")


def test_a_transaction_is_all_or_nothing(store: Store) -> None:
    """What its function raises undoes what it wrote, and comes out as it is."""

    def half(transaction: StoreTransaction) -> None:
        transaction.put(Note(id="a"))
        transaction.push("log", "a", cap=3)
        raise LookupError("no")

    with pytest.raises(LookupError):
        store.transact(half)

    assert store.get(Note, "a") is None
    assert store.items("log") == ()


def test_a_transaction_does_not_use_the_store(store: Store) -> None:
    """Who holds a transaction and asks the store itself would wait for himself."""
    with pytest.raises(ToolError, match="within its own transaction"):
        store.transact(lambda _: store.get(Note, "a"))

    assert store.get(Note, "a") is None


def test_a_transaction_ends_with_its_function(store: Store) -> None:
    """What a function keeps of it is of no use."""
    kept = store.transact(lambda transaction: transaction)

    with pytest.raises(ToolError, match="over"):
        kept.put(Note(id="a"))


def test_pages_and_lists(store: Store) -> None:
    """By an indexed field, a page at a time; lists keep their cap."""
    for number in range(5):
        store.put(Note(id=f"n{number}", rank=number % 2, text=f"Word {number}"))
        store.push("log", {"number": number}, cap=3)

    first = store.page(Note, order="rank", limit=3)
    second = store.page(Note, order="rank", limit=3, after=first.after)

    assert [one.record.id for one in (*first.records, *second.records)] == ["n0", "n2", "n4", "n1", "n3"]
    assert second.after == ""
    assert [one.record.id for one in store.search(Note, "word 3")] == ["n3"]
    assert store.search(Note, "  * ") == ()
    assert store.items("log") == ({"number": 4}, {"number": 3}, {"number": 2})
    assert [change.key for change in store.changes(3, models=(Note,))] == [("n3",), ("n4",)]
    assert store.last_change() == 5


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(Note.model_construct(id="a", rank="no"), id="not-what-its-model-says"),
        pytest.param(Note(id="a", weight=float("nan")), id="no-number"),
        pytest.param(Note(id=""), id="an-empty-key"),
        pytest.param(Note(id="a\0"), id="NUL-in-a-key"),
        pytest.param(Note(id="a" * (MAX_KEY_CHARS + 1)), id="a-long-key"),
        pytest.param(Note(id="\ud800"), id="half-a-character"),
        pytest.param(Note(id="a", rank=1 << 63), id="more-than-64-bits"),
        pytest.param(Note(id="a", text="x" * MAX_DOCUMENT_BYTES), id="too-large"),
    ],
)
def test_what_cannot_be_kept_is_refused(record: Note, store: Store, engine: MemoryEngine) -> None:
    """Before the engine is given anything of it."""
    with pytest.raises(ToolError) as refused:
        store.put(record)

    assert refused.value.reason == "invalid_arguments"
    assert engine.content.rows == {}


def test_a_document_that_is_no_record_is_refused(store: Store, engine: MemoryEngine) -> None:
    """Its fields are named, and nothing that they hold."""
    store.put(Note(id="a"))
    store.put(Note(id="b"))
    place = Scope("acme", "acme-notes"), "note", ("a",)
    row = engine.content.rows[place]
    for document in ('{"id": "a", "rank": "' + VALUE + '"}', '{"id": "b"}', "[]", "{", '{"id": "a", "more": 1}'):
        engine.content.rows[place] = (row[0]._replace(document=document), *row[1:])

        with pytest.raises(UnreadableRecord) as refused:
            store.get(Note, "a")
        with pytest.raises(UnreadableRecord):
            store.page(Note)
        skipped = store.page(Note, skip_unreadable=True)

        assert VALUE not in str(refused.value)
        assert [one.record.id for one in skipped.records] == ["b"]
        assert skipped.unreadable == (refused.value.message,)


def test_one_kind_is_one_model(store: Store, engine: MemoryEngine) -> None:
    """Two models of one distribution that claim a kind are their author's mistake; those of two are none."""

    class Other(StoreRecord):
        store_kind = RecordKind("note", ("id",))

        id: str

    store.put(Note(id="a"))

    with pytest.raises(SpecError, match="the kind 'note' of acme-notes belongs to the model"):
        store.get(Other, "a")
    assert StoreHandle(lambda: engine).bound("acme", "acme-others").get(Other, "a") is None


def test_an_engine_that_fails_is_unavailable(store: Store, engine: MemoryEngine) -> None:
    """Whatever it raises: its own words may hold what nobody may see."""
    engine.failure = OSError(VALUE)
    with pytest.raises(StoreUnavailable) as refused:
        store.get(Note, "a")
    assert VALUE not in str(refused.value)

    engine.failure = None
    assert store.get(Note, "a") is None


def test_leases(store: Store) -> None:
    """Who loses one writes nothing under it."""
    first = store.lease("turn", holder="one", ttl_s=10)
    assert first is not None
    assert store.lease("turn", holder="two", ttl_s=10) is None
    renewed = store.renew(first, ttl_s=20)
    store.release(renewed)
    second = store.lease("turn", holder="two", ttl_s=10)

    def under_the_lease(transaction: StoreTransaction) -> None:
        transaction.put(Note(id="a"))
        transaction.require_lease(renewed)

    assert second is not None
    assert second.fence > first.fence
    with pytest.raises(StoreConflict):
        store.transact(under_the_lease)
    assert store.get(Note, "a") is None


async def test_asynchronously(store: Store) -> None:
    """The same from asynchronous code."""
    awaited = store.asynchronous()

    assert await awaited.put(Note(id="a")) == 1
    assert (await awaited.get(Note, "a")) == store.get(Note, "a")
    assert await awaited.transact(lambda transaction: transaction.count(Note)) == 1


def test_without_full_text(engine: MemoryEngine) -> None:
    """Records that are searched are neither written nor read where nothing can search them."""
    store = StoreHandle(lambda: MemoryEngine(has_full_text=False)).bound("", "acme-notes")

    with pytest.raises(StoreUnavailable, match="full text"):
        store.put(Note(id="a"))


def test_kinds_that_contradict_themselves() -> None:
    """All that is wrong is said when the class is made."""
    with pytest.raises(SpecError) as refused:

        class Wrong(StoreRecord):
            store_kind = RecordKind("Wrong Name", ("id", "gone"), secret=("id",), indexed=("id", "id"))

            id: str
            other: str = Field(alias="another")

    assert str(refused.value) == (
        "Wrong.store_kind: 'Wrong Name' is no name of a kind: write [a-z][a-z0-9_]{0,63}; "
        "key names 'gone', which is no field; indexed is no tuple of different names; "
        "'id' is secret, so it cannot be a key, indexed or searched; "
        "'other' has an alias or is excluded, so it could not be read back"
    )
