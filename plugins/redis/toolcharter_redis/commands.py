"""The Redis commands that write records and lists, and a record's metadata."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import orjson

from toolcharter_redis.names import ScopeKeys, Value, change_of, index_entry
from toolcharter_stores.sql.sort_keys import key_bytes


class Meta(NamedTuple):
    """A record's metadata, stored apart from its document."""

    version: int
    seq: int
    indexed: dict[str, Value]
    secret: tuple[str, ...]
    full_text: str

    def to_bytes(self) -> bytes:
        """Serialise the metadata."""
        return orjson.dumps([self.version, self.seq, self.indexed, self.secret, self.full_text])


def parse_meta(raw: bytes) -> Meta:
    """Parse the bytes from `Meta.to_bytes`."""
    version, seq, indexed, secret, full_text = orjson.loads(raw)
    return Meta(version, seq, indexed, tuple(secret), full_text)


def put_commands(
    names: ScopeKeys, kind: str, key: tuple[str, ...], meta: Meta, document: str, before: Meta | None
) -> Iterator[tuple[Any, ...]]:
    """Yield the commands that write one record."""
    raw = encode_text(document)
    yield ("SET", names.document(kind, key), raw)
    yield from index_commands(names, kind, key, meta, before)
    if (registry := names.registry(kind)) is not None:
        digest = digest_of(raw)
        yield ("HSET", names.digests(kind), encode_text(key[0]), digest)
        yield ("SADD", registry, encode_text(key[0]))
        yield ("SADD", names.parts, registry, names.digests(kind))


def index_commands(
    names: ScopeKeys, kind: str, key: tuple[str, ...], meta: Meta, before: Meta | None
) -> Iterator[tuple[Any, ...]]:
    """Yield the commands that write a record's metadata and indexes, without its document."""
    named, change = key_bytes(key), change_of(kind, key)
    old = {} if before is None else before.indexed
    yield ("HSET", names.kind(kind), named, meta.to_bytes())
    yield ("ZADD", names.changes, meta.seq, change)
    if before is None:
        yield ("ZADD", names.keys(kind), 0, named)
        yield ("ZREM", names.deletions, change)
        yield ("SADD", names.parts, names.kind(kind), names.keys(kind), names.changes, names.deletions)
    for field, value in meta.indexed.items():
        index = names.index(kind, field)
        if field in old and index_entry(old[field]) == index_entry(value):
            continue
        if field in old:
            yield ("ZREM", index, index_entry(old[field], key))
        yield ("ZADD", index, 0, index_entry(value, key))
        yield ("SADD", names.parts, index)
    for field in old.keys() - meta.indexed.keys():
        yield ("ZREM", names.index(kind, field), index_entry(old[field], key))


def push_commands(names: ScopeKeys, name: str, items: Sequence[str], cap: int | None) -> Iterator[tuple[Any, ...]]:
    """Yield the commands that push items to the head of a list, one after the other."""
    place = names.list(name)
    yield ("LPUSH", place, *map(encode_text, items))
    if cap is not None:
        yield ("LTRIM", place, 0, cap - 1)
    yield ("SADD", names.lists(), name.encode(errors="surrogatepass"))
    yield ("SADD", names.parts, place, names.lists())


def encode_text(text: str) -> bytes:
    """Encode a text for Redis."""
    return text.encode(errors="surrogatepass")


def digest_of(document: bytes) -> str:
    """Return the SHA-1 by which `LOOK` detects that another program has changed the document."""
    return hashlib.sha1(document, usedforsecurity=False).hexdigest()
