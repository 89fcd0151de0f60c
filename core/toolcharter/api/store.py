"""Stores: typed records that outlive a process, as tools and hosts see them: those of one tenant and one distribution."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict
from typing_extensions import override

from toolcharter.errors import SpecError

MAX_KEY_CHARS = 512
"""How long the text of a record's key may be."""
MAX_DOCUMENT_BYTES = 1_048_576
"""How large a record may be as JSON."""
MAX_PAGE = 1_000
"""How many records one page, search or list may hold."""

MAX_INDEXED_CHARS = 512
"""How long the text of an indexed field may be."""
_KIND = re.compile(r"[a-z][a-z0-9_]{0,63}")

Where = Mapping[str, "str | int | bool | None"]
"""Values that indexed fields have to have."""


class RecordKind(NamedTuple):
    """What a store has to know of a model."""

    name: str
    """`[a-z][a-z0-9_]{0,63}`; one kind for one model of a distribution, for ever."""
    key: tuple[str, ...]
    """The fields that identify a record; their values are text that is not empty."""
    indexed: tuple[str, ...] = ()
    """Fields that pages are filtered and ordered by: text, whole numbers, yes or no, or nothing."""
    secret: tuple[str, ...] = ()
    """Fields of text, or mappings of names to text, that are written encrypted only: `aes-gcm:...`."""
    full_text: tuple[str, ...] = ()
    """Fields of text that `search` looks through."""


class StoreRecord(BaseModel):
    """Base of what is kept: frozen, unknown fields refused, read as strict JSON.

    A subclass says in `store_kind` what a store has to know of it. Fields that are added later need a default.

    Raises:
        SpecError: With every contradiction at once, when the class is made.
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
        f"{name!r} is secret, and so no key, not indexed and not searched" for name in kind.secret if name in shown
    )
    for name, field in model.model_fields.items():
        if field.alias is not None or field.serialization_alias is not None or field.exclude:
            yield f"{name!r} has an alias or is left out, and would not come back as it was"


R = TypeVar("R", bound=StoreRecord)
T = TypeVar("T")


class Stored(NamedTuple, Generic[R]):
    """A record as it was found."""

    record: R
    version: int
    """1 when it was first put, and 1 more with each change."""
    seq: int
    """The number of the change that wrote it; higher than that of each change before, of any kind."""


class Page(NamedTuple, Generic[R]):
    """Records in order."""

    records: tuple[Stored[R], ...]
    after: str
    """What the next page begins after; empty at the end. Opaque: it is given back as it is."""
    unreadable: tuple[str, ...] = ()
    """What was left out and why, as sentences: where `skip_unreadable` was asked for."""
    unreadable_keys: tuple[tuple[str, ...], ...] = ()
    """The keys of these records, in the same order: they can be deleted."""


class Change(NamedTuple):
    """That a record was put or deleted."""

    seq: int
    kind: str
    key: tuple[str, ...]
    deleted: bool


class StoreLease(NamedTuple):
    """For a while nobody else has the same name."""

    name: str
    holder: str
    fence: int
    """Higher than that of each lease of this name before. Work that is done under a lease is written with it, so that
    nothing is written by one whose lease was lost meanwhile."""
    expires: float
    """On `time.time`'s clock of the store, in seconds."""


class StoreTransaction(Protocol):
    """Reads and writes that happen at once or not at all, as if nobody else were there."""

    def get(self, model: type[R], /, *key: str) -> Stored[R] | None:
        """The record with this key."""
        ...

    def put(self, record: StoreRecord, /, *, expected: int | None = None) -> int:
        """Write *record*, and return its version.

        Args:
            record: What to write; a record with its key is replaced.
            expected: The version that is there; 0 for none. By default whatever is there is replaced.

        Raises:
            StoreConflict: Another version is there.
        """
        ...

    def delete(self, model: type[StoreRecord], /, *key: str, expected: int | None = None) -> bool:
        """Delete the record with this key; returns whether there was one.

        Raises:
            StoreConflict: Another version than *expected* is there.
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
        """Records of a kind, by their key, or by an indexed field and then the key.

        Args:
            model: Which kind.
            where: Values that indexed fields have to have.
            order: An indexed field; empty for the key.
            descending: The greatest first.
            after: The `after` of the page before; empty for the first.
            limit: How many, up to `MAX_PAGE`.
            skip_unreadable: Leave out what another program has written and is no such record, and tell it; by default it raises.
        """
        ...

    def count(self, model: type[StoreRecord], /, *, where: Where | None = None) -> int:
        """How many records `page` would give in all."""
        ...

    def search(
        self, model: type[R], text: str, /, *, where: Where | None = None, limit: int = 20
    ) -> tuple[Stored[R], ...]:
        """Records whose full-text fields hold each word of *text*, the best first. Words alone count: nothing is an operator.

        Raises:
            StoreUnavailable: The store has no full text.
        """
        ...

    def push(self, name: str, /, *items: Any, cap: int) -> None:
        """Put *items*, which are JSON, at the head of the list *name* one after the other, and keep its first *cap* items."""
        ...

    def items(self, name: str, /, *, limit: int = 100) -> tuple[Any, ...]:
        """The head of the list *name*: what was pushed last comes first."""
        ...

    def require_lease(self, lease: StoreLease, /) -> None:
        """Let the transaction happen only if *lease* is still held when it does.

        Raises:
            StoreConflict: It has run out or somebody else has it.
        """
        ...


class Store(StoreTransaction, Protocol):
    """The records of one tenant and one distribution. Safe from many threads. Each method alone is a transaction.

    Every method raises `StoreUnavailable`, a `Denied` with `store_unavailable`, if the store cannot be reached, and ends
    with the time of the call. Before the mark of a staged body, and in a dry run, nothing can be written.
    """

    def transact(self, work: Callable[[StoreTransaction], T], /) -> T:
        """Run *work* in a transaction, and return what it returns; what it raises undoes everything.

        *work* runs again if others were in its way, so it acts on nothing but the transaction.

        Raises:
            StoreConflict: Others were in the way again and again.
        """
        ...

    def changes(
        self, after: int = 0, /, *, models: Sequence[type[StoreRecord]] = (), limit: int = 1_000
    ) -> tuple[Change, ...]:
        """What was put and deleted since the change number *after*, the oldest first: the last change of each record.

        Args:
            after: A `seq` that was seen; 0 for all there is.
            models: Which kinds; by default all.
            limit: How many.

        Raises:
            StoreConflict: What was deleted since *after* is forgotten, as after a restore: read all anew, from 0.
        """
        ...

    def last_change(self) -> int:
        """The number of the latest change; 0 if there was none."""
        ...

    def lease(self, name: str, /, *, holder: str, ttl_s: float) -> StoreLease | None:
        """Take the lease *name* for *ttl_s* seconds; None if somebody else has it. Who has it gets it again."""
        ...

    def renew(self, lease: StoreLease, /, *, ttl_s: float) -> StoreLease:
        """The same lease for *ttl_s* seconds from now.

        Raises:
            StoreConflict: It has run out and somebody else had it, or has it.
        """
        ...

    def release(self, lease: StoreLease, /) -> None:
        """Let go of *lease*; nothing happens if it was lost."""
        ...

    def asynchronous(self) -> "AsyncStore":
        """The same for asynchronous code."""
        ...


class AsyncStore(Protocol):
    """`Store` for asynchronous code; each method does what the one of its name there does."""

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
