"""Memory documents as files: one document as a caller sees it, and listings of them."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from typing_extensions import override

from toolcharter import Caller, Denied, Entry, Reason, StoreTransaction, ToolError, ToolRuntime, VirtualFile
from toolcharter_memory.caches import WRITES, Cache
from toolcharter_memory.context import require_same, text_of, unwritten
from toolcharter_memory.documents import KeepingPolicy, KeepingReason, Writer, delete, documents_in, find, write
from toolcharter_memory.places import Place, places_of
from toolcharter_memory.records import MemoryDocument
from toolcharter_memory.search import memories_of


class DocumentFile(VirtualFile):
    """One document: the user's own, or else the global one."""

    def __init__(self, path: str, caller: Caller, rt: ToolRuntime, policy: KeepingPolicy, cache: Cache) -> None:
        self._path = path
        self._caller = caller
        self._rt = rt
        self._policy = policy
        self._cache = cache
        self.asks = policy.asks_about(path)

    @override
    def exists(self) -> bool:
        return self._content() is not None

    @override
    def read(self) -> bytes:
        return (self._content() or "").encode()

    @override
    def write(self, data: bytes, before: bytes | None, /) -> None:
        text = text_of(data, self._policy)

        def change(old: str | None) -> str:
            require_same(self._path, None if old is None else old.encode(), before)
            return text

        try:
            write(self._rt, Writer(self._caller, self._policy), self._path, change)
        except ToolError as error:
            if error.reason not in set(KeepingReason):
                raise
            raise unwritten(error) from error

    @override
    def delete(self, before: bytes, /) -> None:
        def work(rows: StoreTransaction) -> None:
            found = find(rows, self._caller, self._path)
            require_same(self._path, None if found is None else found.document.content.encode(), before)
            own = places_of(self._caller, self._path)[0]
            if found is None or found.place != own:
                raise Denied(Reason.PROTECTED_PATH, f"{self._path!r} belongs to all users and is read-only.")
            delete(rows, own, self._path)

        self._rt.store.transact(work)
        WRITES.note()

    def _content(self) -> str | None:
        for place in places_of(self._caller, self._path):
            content = self._of(place)
            if content is not None:
                return content
        return None

    def _of(self, place: Place) -> str | None:
        def load() -> str | None:
            stored = self._rt.store.get(MemoryDocument, *place, self._path)
            return None if stored is None else stored.record.content

        return self._cache.get(self._rt.store, self._caller.tenant, place.agent, (*place, self._path), load)


class Listing(NamedTuple):
    """The documents that a caller sees."""

    sizes: Mapping[str, int]
    """The documents' sizes in bytes, by path."""

    def has_below(self, folder: str) -> bool:
        """Return whether a document is in *folder*, at any depth."""
        return any(path.startswith(f"{folder}/") for path in self.sizes)

    def entries(self, folder: str) -> Iterator[Entry]:
        """Yield the entries directly in *folder*; an empty *folder* is the workspace."""
        prefix = f"{folder}/" if folder else ""
        folders: set[str] = set()
        for path, size in self.sizes.items():
            if not path.startswith(prefix):
                continue
            name, _, rest = path[len(prefix) :].partition("/")
            if not rest:
                yield Entry(name, "file", size)
            elif name not in folders:
                folders.add(name)
                yield Entry(name, "folder", 0)


def listing_of(caller: Caller, rt: ToolRuntime, cache: Cache) -> Listing:
    """List the documents that *caller* sees; the user's own hide global ones of the same path."""
    sizes: dict[str, int] = {}
    for place in memories_of(caller):
        for path, size in _sizes(caller, rt, cache, place).items():
            sizes.setdefault(path, size)
    return Listing(sizes)


def _sizes(caller: Caller, rt: ToolRuntime, cache: Cache, place: Place) -> Mapping[str, int]:
    def load() -> Mapping[str, int]:
        return rt.store.transact(
            lambda rows: {one.path: len(one.content.encode()) for one in documents_in(rows, place)}
        )

    return cache.get(rt.store, caller.tenant, place.agent, ("sizes", *place), load)
