"""Exports all rows of a Redis database, and holds the lock that keeps other processes from writing."""

import json
import secrets
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Self

import redis

from toolcharter import ExportedFence, ExportedItem, ExportedRow, NewRow, StoreUnavailable
from toolcharter_redis.commands import Meta, parse_meta
from toolcharter_redis.names import LOCK_KEY, SCOPES_KEY, WRITES_KEY, ScopeKeys, scope_of
from toolcharter_redis.scripts import UNLOCK
from toolcharter_redis.transaction import decode_text
from toolcharter_stores.entries import Exported, decode_entry, encode_entry
from toolcharter_stores.sql.sort_keys import key_of

_AT_ONCE = 200
_TRIES = 5
_LOCK_S = 10
"""How long the lock lasts if its process is killed, in seconds."""
IN_MEMORY = 8_000_000


class RedisExport:
    """Satisfies `StoreExport`. Entering it copies everything to a temporary file.

    If another process writes meanwhile, the copy is repeated, up to `_TRIES` times. After that, the lock makes other
    writers wait.
    """

    def __init__(
        self, client: redis.Redis, plain: str, translate_errors: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._client = client
        self._plain = plain
        self._translate_errors = translate_errors
        self._open = ExitStack()
        self._file: Any = None

    def __enter__(self) -> Self:
        with ExitStack() as stack, self._translate_errors():
            self._file = stack.enter_context(tempfile.SpooledTemporaryFile(IN_MEMORY))
            self._fill()
            self._open = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._file = None
        self._open.close()

    def __iter__(self) -> Iterator[Exported]:
        if self._file is None:
            raise StoreUnavailable("An export can only be read while it is open.")
        self._file.seek(0)
        for line in self._file:
            yield decode_entry(json.loads(line))

    def _fill(self) -> None:
        for _ in range(_TRIES):
            before = self._client.get(WRITES_KEY)
            self._write()
            if self._client.get(WRITES_KEY) == before:
                return
        with hold_lock(self._client) as lock:
            self._write(lock.keep)

    def _write(self, keep: Callable[[], None] = lambda: None) -> None:
        self._file.seek(0)
        self._file.truncate()
        for number, each in enumerate(all_entries(self._client, self._plain)):
            self._file.write(json.dumps(encode_entry(each)).encode() + b"\n")
            if number % _AT_ONCE == 0:
                keep()


class Lock:
    """A lock that makes other writers wait. It expires after `_LOCK_S` seconds unless `keep` is called."""

    def __init__(self, client: redis.Redis, token: str) -> None:
        self._client = client
        self.token = token

    def keep(self) -> None:
        """Extend the lock.

        Raises:
            StoreUnavailable: The lock has expired, and other processes may have written.
        """
        if self._client.get(LOCK_KEY) != self.token.encode():
            raise self.expired_error()
        self._client.expire(LOCK_KEY, _LOCK_S)

    def expired_error(self) -> StoreUnavailable:
        """Return the exception for an expired lock."""
        return StoreUnavailable("The lock expired, and other processes may have written meanwhile.")


@contextmanager
def hold_lock(client: redis.Redis) -> Generator[Lock]:
    """Keep other processes from writing.

    Raises:
        StoreUnavailable: Another process has held the lock for a minute.
    """
    token, until = secrets.token_hex(16), time.monotonic() + 6 * _LOCK_S
    while not client.set(LOCK_KEY, token, nx=True, ex=_LOCK_S):
        if time.monotonic() > until:
            raise StoreUnavailable("Another backup or restore is running.")
        time.sleep(0.05)

    try:
        yield Lock(client, token)
    finally:
        client.eval(UNLOCK, 1, LOCK_KEY, token)


def all_entries(client: redis.Redis, plain: str) -> Iterator[Exported]:
    """Yield everything, scope by scope. It is a snapshot only if no process writes meanwhile."""
    for member in sorted(members(client, SCOPES_KEY)):
        names = ScopeKeys(scope_of(member), plain)
        for kind in sorted(kinds_of(client, names)):
            yield from _rows(client, names, kind)
        for name in sorted(members(client, names.lists())):
            text = name.decode(errors="surrogatepass")
            items: list[Any] = client.lrange(names.list(text), 0, -1)
            yield from (ExportedItem(names.scope, text, decode_text(item)) for item in reversed(items))
        for name in sorted(members(client, names.leases())):
            text = name.decode(errors="surrogatepass")
            fence = client.hget(names.lease(text), "fence")
            if fence is not None:
                yield ExportedFence(names.scope, text, int(fence))


def _rows(client: redis.Redis, names: ScopeKeys, kind: str) -> Iterator[ExportedRow]:
    piece: list[tuple[tuple[str, ...], Meta]] = []
    for named, raw in client.hscan_iter(names.kind(kind)):
        piece.append((key_of(named), parse_meta(raw)))
        if len(piece) == _AT_ONCE:
            yield from _rows_of_piece(client, names, kind, piece)
            piece = []
    yield from _rows_of_piece(client, names, kind, piece)


def _rows_of_piece(
    client: redis.Redis, names: ScopeKeys, kind: str, piece: list[tuple[tuple[str, ...], Meta]]
) -> Iterator[ExportedRow]:
    if not piece:
        return
    documents: list[Any] = client.mget([names.document(kind, key) for key, _ in piece])
    for (key, meta), document in zip(piece, documents, strict=True):
        if document is not None:
            row = NewRow(key, decode_text(document), meta.indexed, meta.full_text, meta.secret)
            yield ExportedRow(names.scope, kind, row, meta.version, meta.seq)


def kinds_of(client: redis.Redis, names: ScopeKeys) -> list[str]:
    """Return the kinds of a scope."""
    prefix = names.kind("")
    return [part.removeprefix(prefix).decode() for part in members(client, names.parts) if part.startswith(prefix)]


def members(client: redis.Redis, key: bytes) -> set[bytes]:
    """Return the members of a set."""
    found: Any = client.smembers(key)
    return set(found)
