"""`BoundStore`: the `Store` of one tenant and one distribution, for a tool's calls or for a host."""

import json
import re
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from math import isfinite
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from toolcharter.api.store import (
    MAX_DOCUMENT_BYTES,
    MAX_KEY_CHARS,
    MAX_PAGE,
    Change,
    Page,
    RecordKind,
    Stored,
    StoreLease,
    StoreRecord,
    StoreTransaction,
    Where,
)
from toolcharter.api.store_engine import DISTRIBUTION, TENANT, EngineTransaction, Row, Scope, StoreEngine
from toolcharter.errors import SpecError, StoreUnavailable, ToolcharterError, ToolError, UnreadableRecord
from toolcharter.guards.secrets import engine as scrubber
from toolcharter.guards.store.asynchronous import AsyncBoundStore
from toolcharter.guards.store.rows import (
    SecretCipher,
    checked_rows,
    is_storable,
    json_text,
    kind_of,
    new_row,
    parse_row,
    refuse_argument,
    require_key,
    require_where,
    secret_texts,
)

R = TypeVar("R", bound=StoreRecord)
T = TypeVar("T")
_Skip = tuple[str, tuple[str, ...]]
"""Why a record is left out, and its key."""
TIMEOUT_S = 30.0
"""How long one use of a store may take, in seconds. A call with less time left waits less."""
MAX_WORDS = 32
"""How many words a search may have."""
MAX_TTL_S = 86_400.0
"""How long a lease may last, in seconds."""
_MAX_CURSOR_CHARS = 8_192
_OPEN_TRANSACTIONS: ContextVar[tuple[int, ...]] = ContextVar("toolcharter_transactions", default=())
"""The `id`s of the engines whose transactions enclose the current code."""


class Access(NamedTuple):
    """The scope and the rights of a store, evaluated at each use."""

    scope: Callable[[], Scope]
    timeout_s: Callable[[], float]
    """Returns how long one use may take, in seconds; raises if no time is left."""
    require_writable: Callable[[], object]
    """Raises if writing is not allowed."""
    on_unreadable: Callable[[str], object] | None = None
    """Called for each record or item that pages and lists leave out. Without it, they raise."""


class OpenEngine(NamedTuple):
    """Returns the engine, and ensures that each kind has one model."""

    engine: Callable[[float], StoreEngine]
    """Returns the engine, and opens it if necessary, within this many seconds."""
    claim: Callable[[str, type[StoreRecord]], None]
    """Notes that a distribution keeps records of a model. Refuses a second model for the same kind."""


class BoundTransaction:
    """Satisfies `StoreTransaction`, while its transaction lasts."""

    def __init__(self, within: "BoundStore", engine: StoreEngine, scope: Scope, rows: EngineTransaction) -> None:
        self._within = within
        self._engine = engine
        self._cipher = SecretCipher(engine, scope)
        self._rows = checked_rows(rows)
        self.is_over = False

    def get(self, model: type[R], /, *key: str) -> Stored[R] | None:
        """Return the record with this key; None if there is none."""
        kind = self._kind(model)
        row = self._rows.get(kind.name, require_key(kind, key))
        return None if row is None else self._records(model, (row,))[0]

    def put(self, record: StoreRecord, /, *, expected: int | None = None) -> int:
        """Write *record*, and return its version."""
        kind = self._kind(type(record), writes=True)
        row = new_row(record, self._cipher)
        scrubber.add_secrets(secret_texts(kind, record.model_dump(include=set(kind.secret))) if kind.secret else ())
        return self._rows.put(kind.name, row, expected=_require_version(expected))

    def delete(self, model: type[StoreRecord], /, *key: str, expected: int | None = None) -> bool:
        """Delete the record with this key, and return whether it existed."""
        kind = self._kind(model, writes=True)
        return self._rows.delete(kind.name, require_key(kind, key), expected=_require_version(expected))

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
        """Return records of a kind, ordered by their key, or by an indexed field and then by the key."""
        kind = self._kind(model)
        if order and order not in kind.indexed:
            raise SpecError(f"{order!r} is no indexed field of the kind {kind.name!r}")
        if not isinstance(after, str) or len(after) > _MAX_CURSOR_CHARS or not is_storable(after):
            refuse_argument("`after` must be the cursor that the page before returned.")
        wanted = require_where(kind, where)
        rows, following = self._rows.page(
            kind.name, where=wanted, order=order, descending=descending, after=after, limit=_limit(limit)
        )
        skips, report = list[_Skip](), self._within.on_unreadable
        found = self._records(model, rows, skips if skip_unreadable or report is not None else None, wanted)
        if report is not None:
            for one in skips:
                report(one[0])
        return Page(found, following, tuple(why for why, _ in skips), tuple(key for _, key in skips))

    def count(self, model: type[StoreRecord], /, *, where: Where | None = None) -> int:
        """Return how many records all pages together contain."""
        kind = self._kind(model)
        return self._rows.count(kind.name, where=require_where(kind, where))

    def search(
        self, model: type[R], text: str, /, *, where: Where | None = None, limit: int = 20
    ) -> tuple[Stored[R], ...]:
        """Return the records whose full-text fields contain each word of *text*, the best match first."""
        kind = self._kind(model)
        if not kind.full_text:
            raise SpecError(f"the kind {kind.name!r} has no full-text field")
        words = re.findall(r"\w+", text)
        if len(words) > MAX_WORDS or len(text) > MAX_DOCUMENT_BYTES:
            refuse_argument(f"A search may have up to {MAX_WORDS} words.")
        checked, most = require_where(kind, where), _limit(limit)
        if not words:
            return ()
        return self._records(model, self._rows.search(kind.name, words, where=checked, limit=most))

    def push(self, name: str, /, *items: Any, cap: int) -> None:
        """Insert *items*, which are JSON, one by one at the head of the list *name*, and keep its first *cap* items."""
        self._open(writes=True)
        self._rows.push(require_name(name), *map(json_text, items), cap=_limit(cap))

    def items(self, name: str, /, *, limit: int = 100) -> tuple[Any, ...]:
        """Return the head of the list *name*. The item that was pushed last comes first."""
        self._open()
        items, report = list[Any](), self._within.on_unreadable
        for item in self._rows.items(require_name(name), limit=_limit(limit)):
            try:
                items.append(json.loads(item))
            except ValueError as error:
                if report is None:
                    raise StoreUnavailable(f"The list {name!r} cannot be read: an item is not JSON.") from error
                report(f"An item of the list {name!r} is left out: it is not JSON.")
        return tuple(items)

    def require_lease(self, lease: StoreLease, /) -> None:
        """Let the transaction commit only if *lease* is still held then."""
        self._open()
        self._rows.require_lease(lease)

    def _open(self, *, writes: bool = False) -> None:
        if self.is_over:
            raise ToolError("the transaction is over: read and write only within its function")
        if writes:
            self._within.require_writable()

    def _kind(self, model: type[StoreRecord], *, writes: bool = False) -> RecordKind:
        self._open(writes=writes)
        kind = kind_of(model)
        self._within.claim(self._cipher.scope.distribution, model)
        if kind.full_text and not self._engine.has_full_text:
            raise StoreUnavailable(f"The store has no full text, which records of the kind {kind.name!r} need.")
        return kind

    def _records(
        self, model: type[R], rows: Sequence[Row], skips: list[_Skip] | None = None, where: Where = MappingProxyType({})
    ) -> tuple[Stored[R], ...]:
        """Parse the records in *rows*. An unreadable record is added to *skips*, or raises if *skips* is None."""
        secrets: list[str] = []
        found: list[Stored[R]] = []
        try:
            for row in rows:
                try:
                    found.append(parse_row(model, row, self._cipher, secrets, where))
                except UnreadableRecord as error:
                    if skips is None:
                        raise
                    skips.append((error.message or str(error), row.key))
        finally:
            if secrets:
                scrubber.add_secrets(secrets)
        return tuple(found)


class BoundStore:
    """Satisfies `Store`."""

    def __init__(self, opened: OpenEngine, access: Access) -> None:
        self._opened = opened
        self._access = access
        self.claim = opened.claim
        self.require_writable = access.require_writable
        self.on_unreadable = access.on_unreadable

    def get(self, model: type[R], /, *key: str) -> Stored[R] | None:
        """Return the record with this key; None if there is none."""
        return self.transact(lambda each: each.get(model, *key))

    def put(self, record: StoreRecord, /, *, expected: int | None = None) -> int:
        """Write *record*, and return its version."""
        self.require_writable()
        return self.transact(lambda each: each.put(record, expected=expected))

    def delete(self, model: type[StoreRecord], /, *key: str, expected: int | None = None) -> bool:
        """Delete the record with this key, and return whether it existed."""
        self.require_writable()
        return self.transact(lambda each: each.delete(model, *key, expected=expected))

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
        """Return records of a kind, ordered by their key, or by an indexed field and then by the key."""
        return self.transact(
            lambda each: each.page(
                model,
                where=where,
                order=order,
                descending=descending,
                after=after,
                limit=limit,
                skip_unreadable=skip_unreadable,
            )
        )

    def count(self, model: type[StoreRecord], /, *, where: Where | None = None) -> int:
        """Return how many records all pages together contain."""
        return self.transact(lambda each: each.count(model, where=where))

    def search(
        self, model: type[R], text: str, /, *, where: Where | None = None, limit: int = 20
    ) -> tuple[Stored[R], ...]:
        """Return the records whose full-text fields contain each word of *text*, the best match first."""
        return self.transact(lambda each: each.search(model, text, where=where, limit=limit))

    def push(self, name: str, /, *items: Any, cap: int) -> None:
        """Insert *items*, which are JSON, one by one at the head of the list *name*, and keep its first *cap* items."""
        self.require_writable()
        self.transact(lambda each: each.push(name, *items, cap=cap))

    def items(self, name: str, /, *, limit: int = 100) -> tuple[Any, ...]:
        """Return the head of the list *name*. The item that was pushed last comes first."""
        return self.transact(lambda each: each.items(name, limit=limit))

    def require_lease(self, lease: StoreLease, /) -> None:
        """Raise unless *lease* is still held."""
        self.transact(lambda each: each.require_lease(lease))

    def transact(self, work: Callable[[StoreTransaction], T], /) -> T:
        """Run *work* in a transaction, and return its result. If it raises, the transaction is rolled back."""
        engine, scope, timeout_s = self._begin()
        raised: list[BaseException] = []

        def attempt(rows: EngineTransaction) -> T:
            transaction = BoundTransaction(self, engine, scope, rows)
            token = _OPEN_TRANSACTIONS.set((*_OPEN_TRANSACTIONS.get(), id(engine)))
            try:
                return work(transaction)
            except BaseException as error:
                raised.append(error)
                raise
            finally:
                _OPEN_TRANSACTIONS.reset(token)
                transaction.is_over = True

        return _run_engine(lambda: engine.transact(scope, attempt, timeout_s=timeout_s), raised)

    def changes(
        self, after: int = 0, /, *, models: Sequence[type[StoreRecord]] = (), limit: int = 1_000
    ) -> tuple[Change, ...]:
        """Return the changes after the change number *after*, the oldest first."""
        engine, scope, timeout_s = self._begin()
        kinds = [kind_of(model).name for model in models]
        return _run_engine(lambda: engine.changes(scope, max(0, int(after)), kinds, _limit(limit), timeout_s=timeout_s))

    def last_change(self) -> int:
        """Return the number of the latest change; 0 if there was none."""
        engine, scope, timeout_s = self._begin()
        return _run_engine(lambda: engine.last_change(scope, timeout_s=timeout_s))

    def lease(self, name: str, /, *, holder: str, ttl_s: float) -> StoreLease | None:
        """Acquire the lease *name* for *ttl_s* seconds; None if another holder has it."""
        self.require_writable()
        engine, scope, timeout_s = self._begin()
        checked = require_name(name), require_name(holder), _require_ttl(ttl_s)
        return _run_engine(lambda: engine.lease(scope, *checked, timeout_s=timeout_s))

    def renew(self, lease: StoreLease, /, *, ttl_s: float) -> StoreLease:
        """Extend the lease to *ttl_s* seconds from now, and return it."""
        self.require_writable()
        engine, scope, timeout_s = self._begin()
        return _run_engine(lambda: engine.renew(scope, lease, _require_ttl(ttl_s), timeout_s=timeout_s))

    def release(self, lease: StoreLease, /) -> None:
        """Release *lease*. Does nothing if it was lost."""
        self.require_writable()
        engine, scope, timeout_s = self._begin()
        _run_engine(lambda: engine.release(scope, lease, timeout_s=timeout_s))

    def asynchronous(self) -> AsyncBoundStore:
        """Return the same store for asynchronous code."""
        return AsyncBoundStore(self)

    def _begin(self) -> tuple[StoreEngine, Scope, float]:
        scope, timeout_s = require_scope(self._access.scope()), self._access.timeout_s()
        engine = self._opened.engine(timeout_s)
        if id(engine) in _OPEN_TRANSACTIONS.get():
            raise ToolError("the store was used within its own transaction: use the function's argument instead")
        return engine, scope, timeout_s


def _run_engine(run: Callable[[], T], raised: Sequence[BaseException] = ()) -> T:
    """Return the result of *run*. The engine's own exceptions become `StoreUnavailable`, but not those in *raised*.

    Raises:
        StoreUnavailable: The engine has failed.
    """
    try:
        return run()
    except ToolcharterError:
        raise
    except Exception as error:
        if any(error is one for one in raised):
            raise
        raise StoreUnavailable(f"The store has failed: {type(error).__name__}.") from error


def require_scope(scope: Scope) -> Scope:
    """Return *scope*, if its names are valid in a store.

    Raises:
        StoreUnavailable: A name is not valid.
    """
    if scope.tenant and TENANT.fullmatch(scope.tenant) is None:
        message = "The tenant's name is not valid in a store: use up to 64 letters, digits, '_' and '-'."
        raise StoreUnavailable(message)
    if DISTRIBUTION.fullmatch(scope.distribution) is None:
        raise StoreUnavailable(f"{scope.distribution!r} is not the normalised name of a distribution.")
    return scope


def require_name(name: str) -> str:
    """Return *name*, if it is valid for a list, a lease or a holder."""
    if not isinstance(name, str) or not name or len(name) > MAX_KEY_CHARS or not is_storable(name):
        refuse_argument(f"A name in a store must be text of 1 to {MAX_KEY_CHARS} characters without NUL.")
    return name


def _require_version(expected: int | None) -> int | None:
    if expected is not None and (type(expected) is not int or expected < 0):
        raise SpecError(f"{expected!r} is not a version: 0 for no record, else the version that `put` returned")
    return expected


def _limit(limit: int) -> int:
    if type(limit) is not int or not 1 <= limit <= MAX_PAGE:
        refuse_argument(f"A limit must be a whole number from 1 to {MAX_PAGE}.")
    return limit


def _require_ttl(ttl_s: float) -> float:
    if not isfinite(ttl_s) or not 0 < ttl_s <= MAX_TTL_S:
        refuse_argument(f"A lease must last more than 0 and up to {MAX_TTL_S:g} seconds.")
    return float(ttl_s)
