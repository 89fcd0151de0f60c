"""`RedisEngine`: a `StoreEngine` in Redis. A transaction reads a snapshot, and its writes are applied atomically.

If another process has written since the snapshot, the transaction is retried.
"""

import random
import re
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import redis

from toolcharter import (
    Change,
    EngineTransaction,
    Scope,
    StoreConflict,
    StoreExport,
    StoreLease,
    StoreUnavailable,
)
from toolcharter_redis.export import RedisExport
from toolcharter_redis.names import FORM_KEY, LOCK_KEY, PLAIN_KEY, SCOPES_KEY, SERVICE, TOOL, WRITES_KEY, ScopeKeys
from toolcharter_redis.replacement import replace_all
from toolcharter_redis.scripts import COMMIT, FORGET, LEASE, LOOK
from toolcharter_redis.transaction import IndexBehind, MustRetry, RedisTransaction
from toolcharter_stores.cipher import Cipher
from toolcharter_stores.sql.sort_keys import key_of
from toolcharter_stores.sql.transaction import require_text

T = TypeVar("T")
FORM = 1
MAX_ATTEMPTS = 200
KEPT_DELETIONS = 100_000
"""The least number of latest deletions of a scope that `changes` reports."""
_PAUSE_S = 0.001
_LONGEST_PAUSE_S = 0.05
_SYNC_INTERVAL_S = 0.9
"""The pause between two searches for documents that other programs wrote, in seconds; longer if a search is slow."""
_SYNC_SHARE = 0.05
"""The greatest part of the time that these searches may take."""
_SYNC_BATCH = 200
_TENANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_LIMITS_S = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""The possible time limits of one response, in seconds. A call uses the longest that ends before its deadline."""


class RedisEngine:
    """Satisfies `StoreEngine`. It connects on first use.

    Args:
        url: The server's. `?plain=TENANT` names the tenant whose keys have artificial_mind's names without a prefix.
        cipher: Encrypts secret fields; by default with the keys from the environment.
    """

    has_full_text = False

    def __init__(self, url: str, cipher: Cipher | None = None) -> None:
        self._url, self._asked = _split_plain(url)
        self._plain: str | None = None
        self._next_sync: dict[Scope, float] = {}
        self._cipher = Cipher() if cipher is None else cipher
        self._clients: dict[float, redis.Redis] = {}
        self._client(_LIMITS_S[0])  # refuses an invalid URL at once

    def keeps_state_in(self) -> Sequence[Path]:
        """Return nothing: a server holds the data."""
        return ()

    def migrate(self) -> None:
        """Write the format version and the plain tenant into an empty database."""
        with _translate_errors():
            client = self._client(_LIMITS_S[-1])
            client.setnx(FORM_KEY, FORM)
            if self._asked is not None and not client.exists(SCOPES_KEY):
                client.setnx(PLAIN_KEY, self._asked)
        self.require_current()

    def require_current(self) -> None:
        """Refuse a database without a format, with a newer format, or with another plain tenant than the URL names."""
        with _translate_errors():
            held: Any = self._client(_LIMITS_S[-1]).mget(FORM_KEY, PLAIN_KEY)
        found, plain = held
        if found is None:
            raise StoreUnavailable("This Redis has no store yet: run `toolcharter store migrate`.")
        if int(found) > FORM:
            raise StoreUnavailable(f"This Redis has format {int(found)} of a newer version; this version reads {FORM}.")
        self._plain = (plain or b"").decode()
        if self._asked not in {None, self._plain}:
            raise StoreUnavailable(
                f"The URL says plain={self._asked}, but this Redis has the plain keys of {self._plain or 'no tenant'}, "
                "which cannot be changed later. `toolcharter store copy` copies everything into an empty database."
            )

    def _names(self, scope: Scope) -> ScopeKeys:
        if self._plain is None:
            self.require_current()
        return ScopeKeys(scope, self._plain or "")

    def transact(self, scope: Scope, work: Callable[[EngineTransaction], T], /, *, timeout_s: float) -> T:
        """Run *work* and apply its writes. Retry it if another process has written since it began to read."""
        deadline = time.monotonic() + timeout_s
        self._catch_up(scope, deadline)
        return self._transact(scope, work, deadline)

    def _transact(self, scope: Scope, work: Callable[[RedisTransaction], T], deadline: float) -> T:
        names = self._names(scope)
        for attempt in count():
            with _translate_errors():
                client = self._client(deadline - time.monotonic())
                transaction = RedisTransaction(names, lambda commands: _run_atomically(client, commands))  # noqa: B023 - used up within the pass
                try:
                    result = work(transaction)
                    if self._commit(client, names, transaction):
                        return result
                except IndexBehind:
                    self._next_sync.pop(scope, None)
                    self._catch_up(scope, deadline)
                except MustRetry:
                    pass
            if time.monotonic() >= deadline:
                raise StoreUnavailable(
                    "Redis took longer than the time that was left, or other processes kept writing."
                )
            if attempt >= MAX_ATTEMPTS and not self._is_locked(client):
                break
            time.sleep(random.uniform(0, min(_LONGEST_PAUSE_S, _PAUSE_S * 2 ** min(attempt, 8))))  # noqa: S311 - a pause
        raise StoreConflict("Other transactions conflicted with this one again and again.")

    def _catch_up(self, scope: Scope, deadline: float) -> None:
        """Index the tools that another program wrote under shared names, if the last search is long enough ago."""
        names, began = self._names(scope), time.monotonic()
        registry = names.registry(TOOL)
        if registry is None or began < self._next_sync.get(scope, 0):
            return
        self._next_sync[scope] = began + _SYNC_INTERVAL_S
        with _translate_errors():
            found: Any = self._client(deadline - began).eval(LOOK, 2, registry, names.digests(TOOL), names.tools())
        members = [*found[0], *found[1]]
        for first in range(0, len(members), _SYNC_BATCH):
            piece = members[first : first + _SYNC_BATCH]
            self._transact(scope, lambda each: each.sync_index(TOOL, piece), deadline)  # noqa: B023 - run at once
        self._next_sync[scope] = began + max(_SYNC_INTERVAL_S, (time.monotonic() - began) / _SYNC_SHARE)

    @staticmethod
    def _is_locked(client: redis.Redis) -> bool:
        """Whether a backup or a restore makes all writers wait."""
        with _translate_errors():
            return bool(client.exists(LOCK_KEY))

    def _commit(self, client: redis.Redis, names: ScopeKeys, transaction: RedisTransaction) -> bool:
        """Apply the writes of a transaction. Return False if it has to be retried.

        Raises:
            StoreConflict: A required lease was lost.
        """
        commands = transaction.end
        if not commands and not transaction.leases:
            return True
        seen = "" if transaction.writes is None else str(transaction.writes)
        arguments: list[Any] = [seen, "", names.member, len(transaction.leases)]
        for lease in transaction.leases:
            arguments += [names.lease(lease.name), lease.holder, lease.fence]
        for command in commands:
            arguments += [len(command), *command]
        keys = [names.facts, names.parts, WRITES_KEY, LOCK_KEY, SCOPES_KEY]
        answer = int(client.eval(COMMIT, len(keys), *keys, *arguments))
        if answer == _LEASE_LOST:
            raise StoreConflict("A lease was lost meanwhile.")
        if answer > 0 and transaction.deletes:
            of_deletions = (names.deletions, names.changes, names.facts)
            client.eval(FORGET, len(of_deletions), *of_deletions, KEPT_DELETIONS + 1)
        return answer > 0

    def changes(
        self, scope: Scope, after: int, kinds: Sequence[str], limit: int, /, *, timeout_s: float
    ) -> tuple[Change, ...]:
        """Return the puts and deletions after the change number *after*.

        Raises:
            StoreConflict: The store no longer knows all deletions since then.
        """
        names, wanted = self._names(scope), {kind.encode() for kind in kinds}
        self._catch_up(scope, time.monotonic() + timeout_s)
        found: list[Change] = []
        first = 0
        with _translate_errors():
            client = self._client(timeout_s)
            while True:
                forgotten, members, gone = _run_atomically(
                    client,
                    [
                        ("HGET", names.facts, "forgotten"),
                        ("ZRANGEBYSCORE", names.changes, f"({after}", "+inf", "WITHSCORES", "LIMIT", first, 1_000),
                        ("ZRANGEBYSCORE", names.deletions, f"({after}", "+inf"),
                    ],
                )
                if 0 < after < int(forgotten or 0):
                    raise StoreConflict(
                        f"The store no longer knows all deletions since change {after}: read everything again, from 0."
                    )
                deleted = set(gone)
                pairs = (
                    members
                    if members and isinstance(members[0], tuple | list)
                    else list(zip(members[::2], members[1::2], strict=True))
                )
                for member, seq in pairs:
                    kind, _, key = member.partition(b"\0")
                    if not wanted or kind in wanted:
                        found.append(Change(int(float(seq)), kind.decode(), key_of(key), member in deleted))
                first += len(pairs)
                if len(pairs) < 1_000 or len(found) >= limit:  # noqa: PLR2004 - as above
                    return tuple(found[:limit])

    def last_change(self, scope: Scope, /, *, timeout_s: float) -> int:
        """Return the number of the latest change; 0 if there was none."""
        self._catch_up(scope, time.monotonic() + timeout_s)
        with _translate_errors():
            return int(self._client(timeout_s).hget(self._names(scope).facts, "seq") or 0)

    def lease(self, scope: Scope, name: str, holder: str, ttl_s: float, /, *, timeout_s: float) -> StoreLease | None:
        """Take a lease; None if another holder has it."""
        found = self._run_lease_script(scope, "take", StoreLease(name, holder, 0, 0), ttl_s, timeout_s)
        return None if found is None else StoreLease(name, holder, *found)

    def renew(self, scope: Scope, lease: StoreLease, ttl_s: float, /, *, timeout_s: float) -> StoreLease:
        """Prolong a lease.

        Raises:
            StoreConflict: Another holder has taken the lease, or it was released.
        """
        found = self._run_lease_script(scope, "renew", lease, ttl_s, timeout_s)
        if found is None:
            raise StoreConflict(f"The lease {lease.name!r} no longer belongs to {lease.holder!r}.")
        return lease._replace(expires=found[1])

    def release(self, scope: Scope, lease: StoreLease, /, *, timeout_s: float) -> None:
        """Let go of a lease."""
        self._run_lease_script(scope, "release", lease, 0, timeout_s)

    def _run_lease_script(
        self, scope: Scope, act: str, lease: StoreLease, ttl_s: float, timeout_s: float
    ) -> tuple[int, float] | None:
        require_text(lease.name, lease.holder)
        names = self._names(scope)
        keys = [names.lease(lease.name), names.leases(), SCOPES_KEY]
        arguments: list[Any] = [
            act,
            lease.holder,
            lease.fence,
            ttl_s,
            lease.name.encode(errors="surrogatepass"),
            names.member,
        ]
        with _translate_errors():
            found: Any = self._client(timeout_s).eval(LEASE, len(keys), *keys, *arguments)
        return None if found is None else (int(found[0]), float(found[1]))

    def seal(self, scope: Scope, kind: str, key: tuple[str, ...], field: str, text: str, /) -> str:
        """Encrypt a secret and bind it to this place."""
        return self._cipher.seal(scope, kind, key, field, text)

    def unseal(self, scope: Scope, kind: str, key: tuple[str, ...], field: str, sealed: str, /) -> str:
        """Decrypt a secret that was encrypted for this place."""
        return self._cipher.unseal(scope, kind, key, field, sealed)

    def export(self) -> StoreExport:
        """Return an export of everything that is stored when its context is entered."""
        plain = self._names(Scope("", SERVICE)).plain
        self._catch_up(Scope(plain, SERVICE), time.monotonic() + _LIMITS_S[-1])
        return RedisExport(self._client(_LIMITS_S[-1]), plain, _translate_errors)

    def replace_all(self, content: StoreExport, /) -> None:
        """Replace everything by *content*, completely or not at all."""
        with _translate_errors():
            replace_all(self._client(_LIMITS_S[-1]), content, self._names(Scope("", SERVICE)).plain)

    def close(self) -> None:
        """Release the connections."""
        clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            client.close()

    def _client(self, time_s: float) -> redis.Redis:
        limit = max((limit for limit in _LIMITS_S if limit <= time_s), default=_LIMITS_S[0])
        client = self._clients.get(limit)
        if client is None:
            try:
                client = redis.Redis.from_url(self._url, socket_timeout=limit, socket_connect_timeout=limit)
            except ValueError as error:
                raise ValueError("write redis://HOST:PORT/DB, rediss://... or unix:///socket") from error
            self._clients[limit] = client
        return client


_LEASE_LOST = -3


def _split_plain(url: str) -> tuple[str, str | None]:
    """Return *url* without its `plain=TENANT`, and the tenant; None as the tenant if the URL has no `plain`.

    Raises:
        ValueError: `plain` occurs twice, or its value is no tenant's name.
    """
    server, _, query = url.partition("?")
    pairs = query.split("&")
    found = [pair.removeprefix("plain=") for pair in pairs if pair.startswith("plain=")]
    if not found:
        return url, None
    if len(found) > 1 or _TENANT.fullmatch(found[0]) is None:
        raise ValueError("write plain=TENANT, once")
    left = "&".join(pair for pair in pairs if not pair.startswith("plain="))
    return f"{server}?{left}" if left else server, found[0]


def _run_atomically(client: redis.Redis, commands: Sequence[Sequence[Any]]) -> list[Any]:
    """Run commands in one transaction, with no other command in between, and return their answers."""
    with client.pipeline(transaction=True) as pipe:
        for command in commands:
            pipe.execute_command(*command)  # type: ignore[no-untyped-call]
        answers: list[Any] = pipe.execute()
    return answers


@contextmanager
def _translate_errors() -> Generator[None]:
    """Turn an error of the client library into `StoreUnavailable`. Its message has no address and no password."""
    try:
        yield
    except redis.AuthenticationError as error:
        raise StoreUnavailable("Redis refuses the user or the password of the URL.") from error
    except redis.RedisError as error:
        raise StoreUnavailable(f"Redis cannot be reached or has failed: {type(error).__name__}.") from error
