"""Stores: typed records that outlive a process. Tools and hosts see those of one tenant and one distribution."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict
from typing_extensions import override

from toolcharter.errors import SpecError

MAX_KEY_CHARS = 512
"""The longest key of a record, in characters."""
MAX_DOCUMENT_BYTES = 1_048_576
"""The largest record, in bytes of JSON."""
MAX_PAGE = 1_000
"""How many records one page, search or list may hold."""

MAX_INDEXED_CHARS = 512
"""The longest text in an indexed field, in characters."""
_KIND = re.compile(r"[a-z][a-z0-9_]{0,63}")

Where = Mapping[str, "str | int | bool | None"]
"""A filter: the values that indexed fields must have."""


class RecordKind(NamedTuple):
    """How a store handles a model's records: their name, key, indexes, secrets and full text."""

    name: str
    """`[a-z][a-z0-9_]{0,63}`. Each kind belongs to one model of a distribution, and never to another one later."""
    key: tuple[str, ...]
    """The fields that identify a record; their values are non-empty text."""
    indexed: tuple[str, ...] = ()
    """Fields that pages are filtered and ordered by: text, whole numbers, booleans or None."""
    secret: tuple[str, ...] = ()
    """Fields of text, or mappings of names to text, that are stored only encrypted: `aes-gcm:...`."""
    full_text: tuple[str, ...] = ()
    """Text fields that `search` searches."""


class StoreRecord(BaseModel):
    """The base class of stored records: frozen, read as strict JSON, without unknown fields.

    A subclass describes itself to stores in `store_kind`. Fields that are added later need a default.

    Raises:
        SpecError: When the class is made. It lists every contradiction.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    store_kind: ClassVar[RecordKind]

    @classmethod
    @override
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        faults = list(_kind_faults(cls)) if hasattr(cls, "store_kind") else []
        if faults:
            raise SpecError(f"{cls.__name__}.store_kind: {'; '.join(faults)}")


def _kind_faults(model: type[StoreRecord]) -> Iterator[str]:
    kind = model.store_kind
    if not isinstance(kind, RecordKind):
        yield "it is no RecordKind"
        return
    if not isinstance(kind.name, str) or _KIND.fullmatch(kind.name) is None:
        yield f"{kind.name!r} is no name of a kind: write [a-z][a-z0-9_]{{0,63}}"
    if not kind.key:
        yield "its key names no field"
    for role in ("key", "indexed", "secret", "full_text"):
        names = getattr(kind, role)
        if not isinstance(names, tuple) or len(set(names)) < len(names):
            yield f"{role} is no tuple of different names"
            continue
        yield from (f"{role} names {name!r}, which is no field" for name in names if name not in model.model_fields)
    shown = {*kind.key, *kind.indexed, *kind.full_text}
    yield from (
        f"{name!r} is secret, so it cannot be a key, indexed or searched" for name in kind.secret if name in shown
    )
    for name, field in model.model_fields.items():
        if field.alias is not None or field.serialization_alias is not None or field.exclude:
            yield f"{name!r} has an alias or is excluded, so it could not be read back"


R = TypeVar("R", bound=StoreRecord)
T = TypeVar("T")


class Stored(NamedTuple, Generic[R]):
    """A record with its version, as it was read."""

    record: R
    version: int
    """1 when the record was first put; each change adds 1."""
    seq: int
    """The number of the change that wrote the record, higher than that of each earlier change of any kind."""


class Page(NamedTuple, Generic[R]):
    """A page of records, in order."""

    records: tuple[Stored[R], ...]
    after: str
    """An opaque cursor: pass it as `after` to get the next page. Empty on the last page."""
    unreadable: tuple[str, ...] = ()
    """Which records were left out and why, as sentences; only with `skip_unreadable`."""
    unreadable_keys: tuple[tuple[str, ...], ...] = ()
    """The keys of these records, in the same order, for example to delete them."""


class Change(NamedTuple):
    """A put or a deletion of a record."""

    seq: int
    kind: str
    key: tuple[str, ...]
    deleted: bool


class StoreLease(NamedTuple):
    """A lease on a name: until it ends, no other process can hold the same name."""

    name: str
    holder: str
    fence: int
    """The fencing number, higher than that of each earlier lease of this name. Pass the lease to `require_lease` in
    each transaction of the work, so that a process that has lost its lease writes nothing."""
    expires: float
    """When it ends, in seconds on `time.time`'s clock of the store."""


class StoreTransaction(Protocol):
    """Reads and writes that happen atomically, isolated from those of others."""

    def get(self, model: type[R], /, *key: str) -> Stored[R] | None:
        """Return the record with this key; None if there is none."""
        ...

    def put(self, record: StoreRecord, /, *, expected: int | None = None) -> int:
        """Write *record*, and return its new version.

        Args:
            record: The record; it replaces a record with the same key.
            expected: The version that the store must have; 0 if there must be no record. By default any version is
                replaced.

        Raises:
            StoreConflict: The store has another version.
        """
        ...

    def delete(self, model: type[StoreRecord], /, *key: str, expected: int | None = None) -> bool:
        """Delete the record with this key; returns whether it existed.

        Raises:
            StoreConflict: The store has another version than *expected*.
        """
        ...

    def page(
        self,
        model: type[R],
        /,
        *,
        where: Where | None = None,
        order: str = "",
        descending: bool = False,
        after: str = "",
        limit: int = 100,
        skip_unreadable: bool = False,
    ) -> Page[R]:
        """Return a page of records of one kind, ordered by their key, or by an indexed field and then the key.

        Args:
            model: The kind of the records.
            where: The values that indexed fields must have.
            order: An indexed field; empty for the key.
            descending: Whether the greatest comes first.
            after: The `after` of the previous page; empty for the first page.
            limit: The most records, up to `MAX_PAGE`.
            skip_unreadable: Leave out and report records of another format, which another program has written. By
                default such a record raises.
        """
        ...

    def count(self, model: type[StoreRecord], /, *, where: Where | None = None) -> int:
        """Return how many records all pages of `page` have together."""
        ...

    def search(
        self, model: type[R], text: str, /, *, where: Where | None = None, limit: int = 20
    ) -> tuple[Stored[R], ...]:
        """Return records whose full-text fields contain each word of *text*, the best first; no word is an operator.

        Raises:
            StoreUnavailable: The store has no full-text search.
        """
        ...

    def push(self, name: str, /, *items: Any, cap: int) -> None:
        """Push *items*, JSON values, to the head of the list *name* one by one, and keep its first *cap* items."""
        ...

    def items(self, name: str, /, *, limit: int = 100) -> tuple[Any, ...]:
        """Return the first items of the list *name*; the item that was pushed last comes first."""
        ...

    def require_lease(self, lease: StoreLease, /) -> None:
        """Make the transaction fail unless *lease* is still held when it is committed.

        Raises:
            StoreConflict: The lease has expired, or another holder has it.
        """
        ...


class Store(StoreTransaction, Protocol):
    """The records of one tenant and one distribution. Thread-safe. Each method call is a transaction of its own.

    Every method raises `StoreUnavailable`, a `Denied` with `store_unavailable`, if the store cannot be reached, and
    waits no longer than the call's deadline. Before the mark of a staged body, and in a dry run, nothing can be
    written.
    """

    def transact(self, work: Callable[[StoreTransaction], T], /) -> T:
        """Run *work* in a transaction, and return its result. An exception of *work* rolls everything back.

        *work* runs again after a conflict with another transaction, so it must have no effects outside the transaction.

        Raises:
            StoreConflict: There was a conflict at every attempt.
        """
        ...

    def changes(
        self, after: int = 0, /, *, models: Sequence[type[StoreRecord]] = (), limit: int = 1_000
    ) -> tuple[Change, ...]:
        """Return the last put or deletion of each record that changed after the change *after*, the oldest first.

        Args:
            after: The `seq` of the last change that the caller has seen; 0 for all changes.
            models: The kinds of records; by default all.
            limit: The most changes.

        Raises:
            StoreConflict: The store no longer knows the deletions since *after*, for example after a restore. Read
                everything again, from 0.
        """
        ...

    def last_change(self) -> int:
        """Return the number of the latest change; 0 if there was none."""
        ...

    def lease(self, name: str, /, *, holder: str, ttl_s: float) -> StoreLease | None:
        """Acquire the lease *name* for *ttl_s* seconds.

        Returns:
            None if another holder has it. The current holder gets it again.
        """
        ...

    def renew(self, lease: StoreLease, /, *, ttl_s: float) -> StoreLease:
        """Extend *lease* to *ttl_s* seconds from now.

        Raises:
            StoreConflict: The lease has expired, and another holder has had it since or has it now.
        """
        ...

    def release(self, lease: StoreLease, /) -> None:
        """Release *lease*; does nothing if it was lost."""
        ...

    def asynchronous(self) -> "AsyncStore":
        """Return the same store for asynchronous code."""
        ...


class AsyncStore(Protocol):
    """`Store` for asynchronous code; each method does what the method of that name in `Store` does."""

    async def get(self, model: type[R], /, *key: str) -> Stored[R] | None: ...

    async def put(self, record: StoreRecord, /, *, expected: int | None = None) -> int: ...

    async def delete(self, model: type[StoreRecord], /, *key: str, expected: int | None = None) -> bool: ...

    async def page(
        self,
        model: type[R],
        /,
        *,
        where: Where | None = None,
        order: str = "",
        descending: bool = False,
        after: str = "",
        limit: int = 100,
        skip_unreadable: bool = False,
    ) -> Page[R]: ...

    async def count(self, model: type[StoreRecord], /, *, where: Where | None = None) -> int: ...

    async def search(
        self, model: type[R], text: str, /, *, where: Where | None = None, limit: int = 20
    ) -> tuple[Stored[R], ...]: ...

    async def push(self, name: str, /, *items: Any, cap: int) -> None: ...

    async def items(self, name: str, /, *, limit: int = 100) -> tuple[Any, ...]: ...

    async def transact(self, work: Callable[[StoreTransaction], T], /) -> T:
        """`Store.transact`; *work* is synchronous and runs in another thread."""
        ...

    async def changes(
        self, after: int = 0, /, *, models: Sequence[type[StoreRecord]] = (), limit: int = 1_000
    ) -> tuple[Change, ...]: ...

    async def last_change(self) -> int: ...

    async def lease(self, name: str, /, *, holder: str, ttl_s: float) -> StoreLease | None: ...

    async def renew(self, lease: StoreLease, /, *, ttl_s: float) -> StoreLease: ...

    async def release(self, lease: StoreLease, /) -> None: ...
