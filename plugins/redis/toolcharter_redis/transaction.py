"""`RedisTransaction`: reads one snapshot, and collects writes. The server applies them atomically at the commit.

If another process has written since the snapshot, the transaction is retried.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from toolcharter import NewRow, Row, StoreConflict, StoreLease, StoreUnavailable
from toolcharter_redis.commands import (
    Meta,
    digest_of,
    encode_text,
    index_commands,
    parse_meta,
    push_commands,
    put_commands,
)
from toolcharter_redis.names import TOOL_INDEXED, ScopeKeys, Value, change_of, index_entry
from toolcharter_stores.sql.sort_keys import cursor_parts, cursor_text, key_bytes, key_of, value_bytes
from toolcharter_stores.sql.transaction import require_text

Where = Mapping[str, Value]
_AT_ONCE = 500
_MAX_ID_CHARS = 512
NO_TEXT = "A store in Redis has no full-text search: use sqlite: or postgresql: for that."


class MustRetry(Exception):
    """Another process wrote while the transaction was reading: it has to be retried."""


class IndexBehind(MustRetry):
    """Another program has added or deleted a record, and the index does not show it yet."""


Read = Callable[[Sequence[Sequence[Any]]], list[Any]]
"""Runs commands on the server atomically, and returns their answers."""


class RedisTransaction:
    """Satisfies `EngineTransaction`. Its writes are sent at the commit; its own reads see them before.

    Args:
        names: The keys of the scope.
        read: Runs commands atomically.
    """

    def __init__(self, names: ScopeKeys, read: Read) -> None:
        self._names = names
        self._read = read
        self.writes: int | None = None
        """The scope's count of writing transactions at the first read; None if nothing was read."""
        self._seq = 0
        self.deletes = False
        """Whether the transaction deletes anything."""
        self.leases: list[StoreLease] = []
        self.commands: list[tuple[Any, ...]] = []
        self._mine: dict[tuple[str, tuple[str, ...]], tuple[Meta, str] | None] = {}
        """The records that this transaction has written; None for those that it has deleted."""
        self._pushed: dict[str, list[str]] = {}
        """The pushed items of each list, the latest first."""

    def _read_snapshot(self, *commands: Sequence[Any]) -> list[Any]:
        """Run reading commands on the snapshot that all other reads of this transaction have seen.

        Raises:
            Again: Another process wrote meanwhile.
        """
        (facts, *answers) = self._read([("HMGET", self._names.facts, "writes", "seq"), *commands])
        writes = int(facts[0] or 0)
        if self.writes is None:
            self.writes, self._seq = writes, int(facts[1] or 0)
        elif self.writes != writes:
            raise MustRetry
        return answers

    def _find(self, kind: str, key: tuple[str, ...]) -> tuple[Meta, str] | None:
        place = (kind, key)
        if place in self._mine:
            return self._mine[place]
        registry = self._names.registry(kind)
        raw, (document,), *is_registered = self._read_snapshot(
            ("HGET", self._names.kind(kind), key_bytes(key)),
            ("MGET", self._names.document(kind, key)),
            *([] if registry is None else [("SISMEMBER", registry, encode_text(key[0]))]),
        )
        if is_registered and bool(is_registered[0]) != (raw is not None):
            raise IndexBehind
        text = self._text(kind, document)
        return None if raw is None or text is None else (parse_meta(raw), text)

    def _text(self, kind: str, document: bytes | None) -> str | None:
        """Decode a document. One that another program lists but has not written is empty, which is no valid record."""
        if document is None:
            return None if self._names.registry(kind) is None else ""
        return decode_text(document)

    def get(self, kind: str, key: tuple[str, ...], /) -> Row | None:
        """Return the row with this key; None if there is none."""
        found = self._find(kind, key)
        return None if found is None else Row(key, found[1], found[0].version, found[0].seq)

    def put(self, kind: str, row: NewRow, /, *, expected: int | None) -> int:
        """Write *row*, and return its version."""
        require_text(row.document, row.full_text)
        found = self._find(kind, row.key)
        before = None if found is None else found[0]
        version = 0 if before is None else before.version
        if expected is not None and expected != version:
            raise StoreConflict(f"The record has the version {version}, not {expected}.")
        self._read_snapshot() if self.writes is None else None
        self._seq += 1
        meta = Meta(version + 1, self._seq, dict(row.indexed), row.secret, row.full_text)
        self.commands += put_commands(self._names, kind, row.key, meta, row.document, before)
        self._mine[kind, row.key] = (meta, row.document)
        return meta.version

    def delete(self, kind: str, key: tuple[str, ...], /, *, expected: int | None) -> bool:
        """Delete the row with this key. Return whether it existed."""
        found = self._find(kind, key)
        version = 0 if found is None else found[0].version
        if expected is not None and expected != version:
            raise StoreConflict(f"The record has the version {version}, not {expected}.")
        if found is None:
            return False
        names = self._names
        self._unindex(kind, key, found[0])
        self.commands.append(("DEL", names.document(kind, key)))
        if (registry := names.registry(kind)) is not None:
            self.commands += [
                ("SREM", registry, encode_text(key[0])),
                ("HDEL", names.digests(kind), encode_text(key[0])),
            ]
        return True

    def _unindex(self, kind: str, key: tuple[str, ...], meta: Meta) -> None:
        """Remove a record from the index."""
        self._seq += 1
        names, named, change = self._names, key_bytes(key), change_of(kind, key)
        self.commands += [
            ("HDEL", names.kind(kind), named),
            ("ZREM", names.keys(kind), named),
            *(("ZREM", names.index(kind, field), index_entry(value, key)) for field, value in meta.indexed.items()),
            ("ZADD", names.changes, self._seq, change),
            ("ZADD", names.deletions, self._seq, change),
        ]
        self._mine[kind, key] = None
        self.deletes = True

    def sync_index(self, kind: str, members: Sequence[bytes]) -> None:
        """Index the records of *members* that another program has written, and remove those that it has deleted.

        Invalid records are indexed, too: reading one then raises an error.
        """
        names, registry = self._names, self._names.registry(kind)
        assert registry is not None  # noqa: S101 - members of it
        keys = [(_id_of(member),) for member in members]
        metas, documents, *are_there = self._read_snapshot(
            ("HMGET", names.kind(kind), *map(key_bytes, keys)),
            ("MGET", *(names.tools() + member for member in members)),
            *(("SISMEMBER", registry, member) for member in members),
        )
        for member, key, raw, document, is_there in zip(members, keys, metas, documents, are_there, strict=True):
            before = None if raw is None else parse_meta(raw)
            if not is_there:
                self.commands.append(("HDEL", names.digests(kind), member))
                if before is not None:
                    self._unindex(kind, key, before)
                continue
            self._seq += 1
            text = "" if document is None else decode_text(document)
            indexed = {TOOL_INDEXED: _parse_creator(text)}
            meta = Meta(1 if before is None else before.version + 1, self._seq, indexed, (), "")
            self.commands += index_commands(names, kind, key, meta, before)
            digest = "" if document is None else digest_of(document)
            self.commands += [("HSET", names.digests(kind), member, digest), ("SADD", names.parts, registry)]
            self.commands.append(("SADD", names.parts, names.digests(kind)))
            self._mine[kind, key] = (meta, text)

    def page(
        self, kind: str, /, *, where: Where, order: str, descending: bool, after: str, limit: int
    ) -> tuple[tuple[Row, ...], str]:
        """Return rows in order, and the cursor of the next page; empty if this is the last page."""
        found = self._ordered(kind, where, order, descending=descending, after=after, limit=limit)
        rows: list[Row] = []
        last: Meta | None = None
        for key, meta, document in found:
            if not _matches(meta, where):
                continue
            if len(rows) == limit and last is not None:
                ends = (key_bytes(rows[-1].key),)
                return tuple(rows), cursor_text(*(() if not order else (value_bytes(last.indexed[order]),)), *ends)
            rows.append(Row(key, document, meta.version, meta.seq))
            last = meta
        return tuple(rows), ""

    def _ordered(
        self, kind: str, where: Where, order: str, *, descending: bool, after: str, limit: int
    ) -> Iterator[tuple[tuple[str, ...], Meta, str]]:
        """Yield the records of a kind in order, after the cursor *after*. Some may not meet all of *where*."""
        begin = b""
        if after:
            parts = cursor_parts(after, 2 if order else 1)
            begin = parts[0] if not order else parts[0].replace(b"\0", b"\0\xff") + b"\0\x01" + parts[1]
        if self._has_writes(kind):
            return self._with_own_writes(kind, order, descending=descending, begin=begin)
        at_once = _AT_ONCE if where else min(_AT_ONCE, limit + 1)
        if order:
            source = _Source(self._names.index(kind, order), b"", is_index=True)
        elif where:
            field = next(iter(where))
            prefix = index_entry(where[field])
            source, begin = (
                _Source(self._names.index(kind, field), prefix, is_index=True),
                prefix + begin if begin else b"",
            )
        else:
            source = _Source(self._names.keys(kind), b"", is_index=False)
        return self._walk(kind, source, begin, at_once, descending=descending)

    def _with_own_writes(
        self, kind: str, order: str, *, descending: bool, begin: bytes
    ) -> Iterator[tuple[tuple[str, ...], Meta, str]]:
        """Yield all records of a kind with this transaction's own writes applied."""
        source = _Source(self._names.keys(kind), b"", is_index=False)
        records = {key: (meta, text) for key, meta, text in self._walk(kind, source, b"", _AT_ONCE, descending=False)}
        for (of, key), mine in self._mine.items():
            if of == kind:
                records.pop(key, None)
                if mine is not None:
                    records[key] = mine

        def place(key: tuple[str, ...]) -> bytes:
            return index_entry(records[key][0].indexed[order], key) if order else key_bytes(key)

        there = [key for key in records if not order or order in records[key][0].indexed]
        for key in sorted(there, key=place, reverse=descending):
            if not begin or (place(key) < begin if descending else place(key) > begin):
                yield key, *records[key]

    def _has_writes(self, kind: str) -> bool:
        return any(written == kind for written, _ in self._mine)

    def _walk(
        self, kind: str, source: "_Source", begin: bytes, at_once: int, *, descending: bool
    ) -> Iterator[tuple[tuple[str, ...], Meta, str]]:
        """Yield the records of a sorted set in its order, after the member *begin*."""
        low, high = source.bounds
        while True:
            if begin:
                low, high = (low, b"(" + begin) if descending else (b"(" + begin, high)
            bounds = ("ZREVRANGEBYLEX", source.key, high, low) if descending else ("ZRANGEBYLEX", source.key, low, high)
            (members,) = self._read_snapshot((*bounds, "LIMIT", 0, at_once))
            keys = [key_of(member[member.index(b"\0\x01") + 2 :] if source.is_index else member) for member in members]
            if keys:
                metas, documents = self._read_snapshot(
                    ("HMGET", self._names.kind(kind), *map(key_bytes, keys)),
                    ("MGET", *(self._names.document(kind, key) for key in keys)),
                )
                for key, raw, document in zip(keys, metas, documents, strict=True):
                    text = self._text(kind, document)
                    if raw is not None and text is not None:
                        yield key, parse_meta(raw), text
            if len(members) < at_once:
                return
            begin = members[-1]

    def count(self, kind: str, /, *, where: Where) -> int:
        """Count the rows that all pages together would have."""
        if not self._has_writes(kind) and not where:
            return int(self._read_snapshot(("ZCARD", self._names.keys(kind)))[0])
        if not self._has_writes(kind) and len(where) == 1:
            ((field, value),) = where.items()
            source = _Source(self._names.index(kind, field), index_entry(value), is_index=True)
            return int(self._read_snapshot(("ZLEXCOUNT", source.key, *source.bounds))[0])
        found = self._ordered(kind, where, "", descending=False, after="", limit=_AT_ONCE)
        return sum(_matches(meta, where) for _, meta, _ in found)

    def search(self, kind: str, words: Sequence[str], /, *, where: Where, limit: int) -> tuple[Row, ...]:  # noqa: ARG002 - of the protocol
        """Refuse: this engine has no full-text search.

        Raises:
            StoreUnavailable: Always.
        """
        raise StoreUnavailable(NO_TEXT)

    def push(self, name: str, /, *items: str, cap: int) -> None:
        """Put *items* at the head of a list, one after the other, and keep its first *cap* items."""
        require_text(name, *items)
        if not items:
            return
        self.commands += push_commands(self._names, name, items[-cap:], cap)
        self._pushed[name] = [*reversed(items), *self._pushed.get(name, [])][:cap]

    def items(self, name: str, /, *, limit: int) -> tuple[str, ...]:
        """Return up to *limit* items from the head of a list."""
        require_text(name)
        (found,) = self._read_snapshot(("LRANGE", self._names.list(name), 0, limit - 1))
        mine = self._pushed.get(name, [])
        return tuple([*mine, *map(decode_text, found)][:limit])

    def require_lease(self, lease: StoreLease, /) -> None:
        """Fail the transaction unless its holder has *lease* at the commit."""
        self.leases.append(lease)

    @property
    def end(self) -> list[tuple[Any, ...]]:
        """The commands of the commit; empty if the transaction writes nothing."""
        if not self.commands:
            return []
        return [*self.commands, ("HSET", self._names.facts, "seq", self._seq)] if self._mine else self.commands


class _Source(NamedTuple):
    """A sorted set whose members all have one score, and are therefore ordered by their bytes."""

    key: bytes
    prefix: bytes
    """The beginning of the members to read; empty for all."""
    is_index: bool
    """Whether each member has a value before the key."""

    @property
    def bounds(self) -> tuple[bytes, bytes]:
        """The first and last member, as arguments of ZRANGEBYLEX."""
        return (b"[" + self.prefix, b"(" + self.prefix + b"\xff\xff") if self.prefix else (b"-", b"+")


def _matches(meta: Meta, where: Where) -> bool:
    return all(
        field in meta.indexed and value_bytes(meta.indexed[field]) == value_bytes(value)
        for field, value in where.items()
    )


def decode_text(raw: bytes) -> str:
    """Decode bytes from Redis. Bytes that this program cannot have written become an empty, invalid text."""
    try:
        return raw.decode(errors="surrogatepass")
    except UnicodeDecodeError:
        return ""


def _id_of(member: bytes) -> str:
    """Decode a tool's id. An id that no record can have is returned as a readable `repr`."""
    text = member.decode(errors="backslashreplace")
    return text if text and "\0" not in text and len(text) <= _MAX_ID_CHARS else repr(text[:64])


def _parse_creator(document: str) -> Value:
    """Return the indexed field of a tool's document, its creator; None if the index cannot hold it."""
    try:
        found = orjson.loads(document)
    except orjson.JSONDecodeError:
        return None
    value = found.get(TOOL_INDEXED) if isinstance(found, dict) else None
    is_plain = isinstance(value, str) and len(value) <= _MAX_ID_CHARS and "\0" not in value
    return value if is_plain else None
