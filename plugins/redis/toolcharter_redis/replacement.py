"""Replaces the whole content of a Redis database: new content is staged in batches, then swapped in by one step."""

import json
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import redis

from toolcharter import ExportedItem, ExportedRow, Scope, StoreExport, StoreUnavailable
from toolcharter_redis.commands import Meta, push_commands, put_commands
from toolcharter_redis.export import IN_MEMORY, Lock, hold_lock, kinds_of, members
from toolcharter_redis.names import FORM_KEY, LOCK_KEY, PLAIN_KEY, SCOPES_KEY, WRITES_KEY, ScopeKeys, scope_of
from toolcharter_redis.scripts import SWAP
from toolcharter_stores.entries import Exported, decode_entry, encode_entry
from toolcharter_stores.sql.sort_keys import key_of

STAGED = b"toolcharter:*"
"""The key of a set: the tokens of processes that stage content. Staged keys begin with it. No tenant has this name."""
_PIECE_BYTES = 1_000_000
_PIECE_COMMANDS = 2_000
_NAMES_AT_ONCE = 1_000
_RESERVED = frozenset({FORM_KEY, WRITES_KEY, LOCK_KEY, SCOPES_KEY, PLAIN_KEY})


def replace_all(client: redis.Redis, content: StoreExport, plain: str) -> None:
    """Replace everything by *content*, at once. Readers of `changes` have to start over; fencing numbers keep growing.

    The new content is copied to a temporary file first, to make other writers wait as briefly as possible. This process
    and each command hold only a batch of it. The server holds old and new content until the swap. The next call deletes
    what a killed process has staged.
    """
    with content, tempfile.SpooledTemporaryFile(IN_MEMORY) as file:
        for each in content:  # `writelines` would hold all in memory
            file.write(json.dumps(encode_entry(each)).encode() + b"\n")
        file.seek(0)
        with hold_lock(client) as lock:
            for token in members(client, STAGED):
                _drop(client, token)
            try:
                _replace(client, lock, (decode_entry(json.loads(line)) for line in file), plain)
            finally:
                with suppress(redis.RedisError):
                    _drop(client, lock.token.encode())


def _replace(client: redis.Redis, lock: Lock, content: Iterable[Exported], plain: str) -> None:
    staging = _Staging(client, lock)
    latest: dict[Scope, int] = {}
    fences: dict[tuple[Scope, str], int] = {}
    for member in members(client, SCOPES_KEY):
        names = ScopeKeys(scope_of(member), plain)
        latest[names.scope] = int(client.hget(names.facts, "seq") or 0)
        for lease in members(client, names.leases()):
            text = lease.decode(errors="surrogatepass")
            fences[names.scope, text] = 0
        for key in _keys_of(client, names):
            staging.remove(key)
    for each in content:
        latest.setdefault(each.scope, 0)
        if isinstance(each, ExportedRow):
            staging.number(each.scope, each.seq)
            latest[each.scope] = max(latest[each.scope], each.seq)
        elif not isinstance(each, ExportedItem):
            fences[each.scope, each.name] = max(fences.get((each.scope, each.name), 0), each.fence)
        for command in _commands(each, plain):
            staging.write(*command)
    staging.swap(latest, fences, plain)


def _keys_of(client: redis.Redis, names: ScopeKeys) -> Iterator[bytes]:
    """Yield the keys of a scope, except its facts and leases, whose numbers must keep growing."""
    for kind in kinds_of(client, names):
        for named, _ in client.hscan_iter(names.kind(kind)):
            yield names.document(kind, key_of(named))
    yield from members(client, names.parts) - {names.facts}
    yield names.parts


def _commands(each: Exported, plain: str) -> Iterable[tuple[Any, ...]]:
    names = ScopeKeys(each.scope, plain)
    if isinstance(each, ExportedRow):
        meta = Meta(each.version, each.seq, dict(each.row.indexed), each.row.secret, each.row.full_text)
        return put_commands(names, each.kind, each.row.key, meta, each.row.document, None)
    return push_commands(names, each.name, [each.item], None) if isinstance(each, ExportedItem) else ()


class _Staging:
    """Writes new keys under staging names, batch by batch, and finally renames them all."""

    def __init__(self, client: redis.Redis, lock: Lock) -> None:
        self._client = client
        self._lock = lock
        self._new, self._old, self._before = _names_of(lock.token.encode())
        self._piece: list[tuple[Any, ...]] = [("SADD", STAGED, lock.token)]
        self._bytes = 0
        self._written: set[bytes] = set()
        """The keys that hold more than one entry. There are few."""
        self._numbers: dict[Scope, set[int]] = {}

    def remove(self, key: bytes) -> None:
        """Delete *key* at the swap."""
        self._add("RPUSH", self._old, key)

    def write(self, *command: Any) -> None:
        """Stage one command. At the swap, the staged key replaces the existing key.

        Raises:
            StoreUnavailable: Something else has been written to the key, or a document a second time.
        """
        name, key, *words = command
        if name == "ZREM":  # The new content has no deletions.
            return
        if key in _RESERVED or key.startswith(STAGED):
            raise _duplicate_key(key)
        if name == "SET":
            words.append("NX")
        if key not in self._written:
            self._add("RPUSH", self._new, key)
        if name != "SET":
            self._written.add(key)
        self._add(name, self._before + key, *words)

    def number(self, scope: Scope, seq: int) -> None:
        """Reserve a change number.

        Raises:
            StoreUnavailable: Another record has it.
        """
        taken = self._numbers.setdefault(scope, set())
        if seq in taken:
            raise StoreUnavailable(f"Nothing is replaced: two records have the change number {seq}.")
        taken.add(seq)

    def swap(self, latest: dict[Scope, int], fences: dict[tuple[Scope, str], int], plain: str) -> None:
        """Rename all staged keys and delete the old keys, in one step.

        Args:
            latest: For each scope, the highest change number in the old and the new content.
            fences: For each scope and lease, the fencing number in the new content; 0 if it has none.
            plain: As for `ScopeKeys`.

        Raises:
            StoreUnavailable: The lock has expired, and other processes may have written.
        """
        self._flush()
        words: list[Any] = [self._lock.token, self._before, len(fences)]
        for (scope, name), fence in fences.items():
            names = ScopeKeys(scope, plain)
            words += [names.lease(name), names.leases(), name.encode(errors="surrogatepass"), fence]
        for scope, seq in latest.items():
            names = ScopeKeys(scope, plain)
            words += [names.facts, seq + 1, names.member]
        keys = (LOCK_KEY, self._new, self._old, WRITES_KEY, SCOPES_KEY)
        if not self._client.eval(SWAP, len(keys), *keys, *words):
            raise self._lock.expired_error()

    def _add(self, *command: Any) -> None:
        self._piece.append(command)
        self._bytes += sum(len(word) for word in command if isinstance(word, bytes | str))
        if self._bytes >= _PIECE_BYTES or len(self._piece) >= _PIECE_COMMANDS:
            self._flush()

    def _flush(self) -> None:
        self._lock.keep()
        piece, self._piece, self._bytes = self._piece, [], 0
        with self._client.pipeline(transaction=False) as pipe:
            for command in piece:
                pipe.execute_command(*command)  # type: ignore[no-untyped-call]
            answers: list[Any] = pipe.execute(raise_on_error=False)
        for (_, key, *_), answer in zip(piece, answers, strict=True):
            if answer is None or (isinstance(answer, redis.ResponseError) and "WRONGTYPE" in str(answer)):
                raise _duplicate_key(key.removeprefix(self._before))
            if isinstance(answer, Exception):
                raise answer


def _names_of(token: bytes) -> tuple[bytes, bytes, bytes]:
    """Return the names of the lists of new and of old keys for *token*, and the prefix of its staged keys."""
    return tuple(STAGED + b":" + token + part for part in (b":new", b":old", b":key:"))  # type: ignore[return-value]


def _drop(client: redis.Redis, token: bytes) -> None:
    """Delete everything that *token* has staged and not swapped in."""
    new, old, before = _names_of(token)
    for first in range(0, client.llen(new), _NAMES_AT_ONCE):
        piece: list[Any] = client.lrange(new, first, first + _NAMES_AT_ONCE - 1)
        client.unlink(*(before + key for key in piece))
    client.delete(new, old)
    client.srem(STAGED, token)


def _duplicate_key(key: bytes) -> StoreUnavailable:
    return StoreUnavailable(f"Nothing is replaced: two entries would have the key {key!r}.")
