"""All rows of a Redis at one moment, and all of them replaced."""

import json
import secrets
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Self

import redis

from toolcharter import ExportedFence, ExportedItem, ExportedRow, NewRow, Scope, StoreExport, StoreUnavailable
from toolcharter_redis.commands import Meta, meta_of, push_commands, put_commands
from toolcharter_redis.names import FORM_KEY, LOCK_KEY, PLAIN_KEY, SCOPES_KEY, WRITES_KEY, Names, scope_of
from toolcharter_redis.scripts import UNLOCK
from toolcharter_redis.transaction import decoded
from toolcharter_stores.lines import read, written
from toolcharter_stores.sql.ordered import key_of

Exported = ExportedRow | ExportedItem | ExportedFence
_AT_ONCE = 200
_TRIES = 5
_LOCK_S = 10
"""How long the lock of a process that was killed holds, in seconds."""
_IN_MEMORY = 8_000_000
_TYPES = {"SET": "string", "HSET": "hash", "SADD": "set", "ZADD": "zset", "ZREM": "zset", "LPUSH": "list"}
"""By command, what its key holds."""


class RedisExport:
    """Satisfies `StoreExport`. What there is, is first read to a file, again if others wrote meanwhile; at last they have to wait."""

    def __init__(self, client: redis.Redis, plain: str, told: Callable[[], AbstractContextManager[None]]) -> None:
        self._client = client
        self._plain = plain
        self._told = told
        self._open = ExitStack()
        self._file: Any = None

    def __enter__(self) -> Self:
        with ExitStack() as stack, self._told():
            self._file = stack.enter_context(tempfile.SpooledTemporaryFile(_IN_MEMORY))
            self._fill()
            self._open = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._file = None
        self._open.close()

    def __iter__(self) -> Iterator[Exported]:
        if self._file is None:
            raise StoreUnavailable("An export is read while it is open.")
        self._file.seek(0)
        for line in self._file:
            yield read(json.loads(line))

    def _fill(self) -> None:
        for _ in range(_TRIES):
            before = self._client.get(WRITES_KEY)
            self._write()
            if self._client.get(WRITES_KEY) == before:
                return
        with _locked(self._client) as keep:
            self._write(keep)

    def _write(self, keep: Callable[[], None] = lambda: None) -> None:
        self._file.seek(0)
        self._file.truncate()
        for number, each in enumerate(everything(self._client, self._plain)):
            self._file.write(json.dumps(written(each)).encode() + b"\n")
            if number % _AT_ONCE == 0:
                keep()


@contextmanager
def _locked(client: redis.Redis) -> Generator[Callable[[], None]]:
    """Keep others from writing; gives what has to be called now and then to go on doing so.

    Raises:
        StoreUnavailable: Somebody else does, or it took so long that others have begun to write again.
    """
    token, until = secrets.token_hex(16), time.monotonic() + 6 * _LOCK_S
    while not client.set(LOCK_KEY, token, nx=True, ex=_LOCK_S):
        if time.monotonic() > until:
            raise StoreUnavailable("Another archive is made, or everything is replaced, at this moment.")
        time.sleep(0.05)

    def keep() -> None:
        if client.get(LOCK_KEY) != token.encode():
            raise StoreUnavailable("It took so long that others have begun to write again.")
        client.expire(LOCK_KEY, _LOCK_S)

    try:
        yield keep
    finally:
        client.eval(UNLOCK, 1, LOCK_KEY, token)


def everything(client: redis.Redis, plain: str) -> Iterator[Exported]:
    """All there is, scope by scope; of one moment only if nobody writes meanwhile."""
    for member in sorted(_set(client, SCOPES_KEY)):
        names = Names(scope_of(member), plain)
        for kind in sorted(_kinds(client, names)):
            yield from _rows(client, names, kind)
        for name in sorted(_set(client, names.lists())):
            text = name.decode(errors="surrogatepass")
            items: list[Any] = client.lrange(names.list(text), 0, -1)
            yield from (ExportedItem(names.scope, text, decoded(item)) for item in reversed(items))
        for name in sorted(_set(client, names.leases())):
            text = name.decode(errors="surrogatepass")
            fence = client.hget(names.lease(text), "fence")
            if fence is not None:
                yield ExportedFence(names.scope, text, int(fence))


def _rows(client: redis.Redis, names: Names, kind: str) -> Iterator[ExportedRow]:
    piece: list[tuple[tuple[str, ...], Meta]] = []
    for named, raw in client.hscan_iter(names.kind(kind)):
        piece.append((key_of(named), meta_of(raw)))
        if len(piece) == _AT_ONCE:
            yield from _of(client, names, kind, piece)
            piece = []
    yield from _of(client, names, kind, piece)


def _of(
    client: redis.Redis, names: Names, kind: str, piece: list[tuple[tuple[str, ...], Meta]]
) -> Iterator[ExportedRow]:
    if not piece:
        return
    documents: list[Any] = client.mget([names.document(kind, key) for key, _ in piece])
    for (key, meta), document in zip(piece, documents, strict=True):
        if document is not None:
            row = NewRow(key, decoded(document), meta.indexed, meta.full_text, meta.secret)
            yield ExportedRow(names.scope, kind, row, meta.version, meta.seq)


def replace_all(client: redis.Redis, content: StoreExport, plain: str) -> None:
    """Make *content* all there is, at once. Who reads `changes` learns that all is new; no fencing number comes again.

    The new content is read to a file first, so that others wait, and this may be killed, as short as possible. The server holds
    it in memory beside the old until it is there.
    """
    with content, tempfile.SpooledTemporaryFile(_IN_MEMORY) as file:
        file.writelines(json.dumps(written(each)).encode() + b"\n" for each in content)
        file.seek(0)
        _replace(client, (read(json.loads(line)) for line in file), plain)


def _replace(client: redis.Redis, content: Iterable[Exported], plain: str) -> None:
    with _locked(client) as keep:
        pipe = client.pipeline(transaction=True)
        latest: dict[Scope, int] = {}
        fences: dict[tuple[Scope, str], int] = {}
        for member in _set(client, SCOPES_KEY):
            names = Names(scope_of(member), plain)
            latest[names.scope] = int(client.hget(names.facts, "seq") or 0)
            for lease in _set(client, names.leases()):
                text = lease.decode(errors="surrogatepass")
                fences[names.scope, text] = int(client.hget(names.lease(text), "fence") or 0)
            _delete(client, pipe, names)
        written_anew = _Content(pipe)
        for number, each in enumerate(content):
            if number % _AT_ONCE == 0:
                keep()
            _add(written_anew, each, latest, fences, plain)
        for (scope, name), fence in fences.items():
            names = Names(scope, plain)
            pipe.hset(names.lease(name), mapping={"holder": "", "fence": fence, "expires": "0"})
            pipe.sadd(names.leases(), name.encode(errors="surrogatepass"))
            latest.setdefault(scope, 0)
        for scope, seq in latest.items():
            names = Names(scope, plain)
            pipe.hset(names.facts, mapping={"seq": seq + 1, "forgotten": seq + 1})
            pipe.hincrby(names.facts, "writes", 1)
            pipe.sadd(SCOPES_KEY, names.member)
        pipe.incr(WRITES_KEY)
        keep()
        pipe.execute()


class _Content:
    """What a pipe writes, each key as one thing: a command that the server refuses would not stop those behind it."""

    def __init__(self, pipe: Any) -> None:
        self._pipe = pipe
        self._types = dict.fromkeys((FORM_KEY, WRITES_KEY, LOCK_KEY, SCOPES_KEY, PLAIN_KEY), "")
        self._numbers: set[tuple[Scope, int]] = set()

    def write(self, *command: Any) -> None:
        """Write, in the place of whatever has the key now.

        Raises:
            StoreUnavailable: Something else has been written to the key, or a document a second time.
        """
        name, key = command[0], command[1]
        if key not in self._types:
            self._types[key] = _TYPES[name]
            self._pipe.delete(key)
        elif name == "SET" or self._types[key] != _TYPES[name]:
            raise StoreUnavailable(f"Nothing is replaced: two things would have the key {key!r}.")
        self._pipe.execute_command(*command)

    def number(self, scope: Scope, seq: int) -> None:
        """Take a change's number.

        Raises:
            StoreUnavailable: It is taken.
        """
        if (scope, seq) in self._numbers:
            raise StoreUnavailable(f"Nothing is replaced: two records have the change number {seq}.")
        self._numbers.add((scope, seq))


def _delete(client: redis.Redis, pipe: Any, names: Names) -> None:
    for kind in _kinds(client, names):
        for named, _ in client.hscan_iter(names.kind(kind)):
            pipe.delete(names.document(kind, key_of(named)))
    gone = _set(client, names.parts) - {names.facts}
    if gone:
        pipe.delete(*gone)


def _add(
    anew: _Content, each: Exported, latest: dict[Scope, int], fences: dict[tuple[Scope, str], int], plain: str
) -> None:
    names = Names(each.scope, plain)
    commands: Iterable[tuple[Any, ...]] = ()
    if isinstance(each, ExportedRow):
        anew.number(each.scope, each.seq)
        latest[each.scope] = max(latest.get(each.scope, 0), each.seq)
        meta = Meta(each.version, each.seq, dict(each.row.indexed), each.row.secret, each.row.full_text)
        commands = put_commands(names, each.kind, each.row.key, meta, each.row.document, None)
    elif isinstance(each, ExportedItem):
        latest.setdefault(each.scope, 0)
        commands = push_commands(names, each.name, [each.item], None)
    else:
        place = (each.scope, each.name)
        fences[place] = max(fences.get(place, 0), each.fence)
    for command in commands:
        anew.write(*command)


def _kinds(client: redis.Redis, names: Names) -> list[str]:
    prefix = names.kind("")
    return [part.removeprefix(prefix).decode() for part in _set(client, names.parts) if part.startswith(prefix)]


def _set(client: redis.Redis, key: bytes) -> set[bytes]:
    found: Any = client.smembers(key)
    return set(found)
