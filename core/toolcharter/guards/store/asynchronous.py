"""`AsyncBoundStore`: a `Store` for asynchronous code. Each use runs in another thread, since it may have to wait."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from toolcharter._lazy import lazy
from toolcharter.api.store import Change, Page, Store, Stored, StoreLease, StoreRecord, StoreTransaction, Where

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = lazy("asyncio")

R = TypeVar("R", bound=StoreRecord)
T = TypeVar("T")


class AsyncBoundStore:
    """Satisfies `AsyncStore`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self, model: type[R], /, *key: str) -> Stored[R] | None:
        """As `Store.get`."""
        return await asyncio.to_thread(self._store.get, model, *key)

    async def put(self, record: StoreRecord, /, *, expected: int | None = None) -> int:
        """As `Store.put`."""
        return await asyncio.to_thread(self._store.put, record, expected=expected)

    async def delete(self, model: type[StoreRecord], /, *key: str, expected: int | None = None) -> bool:
        """As `Store.delete`."""
        return await asyncio.to_thread(self._store.delete, model, *key, expected=expected)

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
    ) -> Page[R]:
        """As `Store.page`."""
        return await asyncio.to_thread(
            self._store.page,
            model,
            where=where,
            order=order,
            descending=descending,
            after=after,
            limit=limit,
            skip_unreadable=skip_unreadable,
        )

    async def count(self, model: type[StoreRecord], /, *, where: Where | None = None) -> int:
        """As `Store.count`."""
        return await asyncio.to_thread(self._store.count, model, where=where)

    async def search(
        self, model: type[R], text: str, /, *, where: Where | None = None, limit: int = 20
    ) -> tuple[Stored[R], ...]:
        """As `Store.search`."""
        return await asyncio.to_thread(self._store.search, model, text, where=where, limit=limit)

    async def push(self, name: str, /, *items: Any, cap: int) -> None:
        """As `Store.push`."""
        await asyncio.to_thread(self._store.push, name, *items, cap=cap)

    async def items(self, name: str, /, *, limit: int = 100) -> tuple[Any, ...]:
        """As `Store.items`."""
        return await asyncio.to_thread(self._store.items, name, limit=limit)

    async def transact(self, work: Callable[[StoreTransaction], T], /) -> T:
        """As `Store.transact`; *work* is synchronous and runs in another thread."""
        return await asyncio.to_thread(self._store.transact, work)

    async def changes(
        self, after: int = 0, /, *, models: Sequence[type[StoreRecord]] = (), limit: int = 1_000
    ) -> tuple[Change, ...]:
        """As `Store.changes`."""
        return await asyncio.to_thread(self._store.changes, after, models=models, limit=limit)

    async def last_change(self) -> int:
        """As `Store.last_change`."""
        return await asyncio.to_thread(self._store.last_change)

    async def lease(self, name: str, /, *, holder: str, ttl_s: float) -> StoreLease | None:
        """As `Store.lease`."""
        return await asyncio.to_thread(self._store.lease, name, holder=holder, ttl_s=ttl_s)

    async def renew(self, lease: StoreLease, /, *, ttl_s: float) -> StoreLease:
        """As `Store.renew`."""
        return await asyncio.to_thread(self._store.renew, lease, ttl_s=ttl_s)

    async def release(self, lease: StoreLease, /) -> None:
        """As `Store.release`."""
        await asyncio.to_thread(self._store.release, lease)
