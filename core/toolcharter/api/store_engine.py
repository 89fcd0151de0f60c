"""Store engines, as the hook `open_store` returns them: rows of all tenants and distributions, hidden from tools."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, Self, TypeVar

from toolcharter.api.store import Change, StoreLease, Where

T = TypeVar("T")


TENANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
"""The form of a tenant's name: a word that keys, subjects, paths and URLs can contain without escaping."""
DISTRIBUTION = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
"""The form of a distribution's name, normalised. Source: PyPA specification "Names and normalization"."""


class Scope(NamedTuple):
    """The owner of the rows that an engine reads and writes. No row is visible from another scope."""

    tenant: str
    """In the form of `TENANT`, or empty if there is only one tenant."""
    distribution: str
    """The distribution that keeps the rows, such as `toolcharter-service`, in the form of `DISTRIBUTION`."""


class Row(NamedTuple):
    """A record as an engine stores it. The secrets in `document` are already encrypted."""

    key: tuple[str, ...]
    document: str
    """The record as JSON."""
    version: int
    seq: int


class NewRow(NamedTuple):
    """A row to write."""

    key: tuple[str, ...]
    document: str
    indexed: Mapping[str, str | int | bool | None]
    """The values that `page` filters and orders by, by the name of their field."""
    full_text: str
    """The text that `search` searches; empty if the kind has no full-text field."""
    secret: tuple[str, ...]
    """The fields of `document` whose texts are encrypted."""


class EngineTransaction(Protocol):
    """`StoreTransaction` on rows, for one scope."""

    def get(self, kind: str, key: tuple[str, ...], /) -> Row | None: ...

    def put(self, kind: str, row: NewRow, /, *, expected: int | None) -> int: ...

    def delete(self, kind: str, key: tuple[str, ...], /, *, expected: int | None) -> bool: ...

    def page(
        self, kind: str, /, *, where: Where, order: str, descending: bool, after: str, limit: int
    ) -> tuple[tuple[Row, ...], str]: ...

    def count(self, kind: str, /, *, where: Where) -> int: ...

    def search(self, kind: str, words: Sequence[str], /, *, where: Where, limit: int) -> tuple[Row, ...]: ...

    def push(self, name: str, /, *items: str, cap: int) -> None: ...

    def items(self, name: str, /, *, limit: int) -> tuple[str, ...]: ...

    def require_lease(self, lease: StoreLease, /) -> None: ...


class StoreEngine(Protocol):
    """The rows of all scopes; the hook `open_store` returns it. Thread-safe; a forked child reconnects."""

    has_full_text: bool
    """Whether `search` works. If not, tools that need it stop the start-up."""

    def keeps_state_in(self) -> Sequence[Path]:
        """Return the absolute paths of the store's files and folders on this machine; none for a server.

        They must lie outside the workspace, and no tool can change them.
        """
        ...

    def migrate(self) -> None:
        """Migrate the stored data to the format of this version, under a lease. Does nothing if it has that format.

        Raises:
            StoreUnavailable: A newer version has written the data, or the store cannot be reached.
        """
        ...

    def require_current(self) -> None:
        """Raise unless the stored data has the format of this version.

        Raises:
            StoreUnavailable: It has another format. The text says what to do.
        """
        ...

    def transact(self, scope: Scope, work: Callable[[EngineTransaction], T], /, *, timeout_s: float) -> T:
        """`Store.transact` on rows.

        Raises:
            StoreConflict: As there.
            StoreUnavailable: The store cannot be reached, or takes longer than *timeout_s*.
        """
        ...

    def changes(
        self, scope: Scope, after: int, kinds: Sequence[str], limit: int, /, *, timeout_s: float
    ) -> tuple[Change, ...]: ...

    def last_change(self, scope: Scope, /, *, timeout_s: float) -> int: ...

    def lease(
        self, scope: Scope, name: str, holder: str, ttl_s: float, /, *, timeout_s: float
    ) -> StoreLease | None: ...

    def renew(self, scope: Scope, lease: StoreLease, ttl_s: float, /, *, timeout_s: float) -> StoreLease: ...

    def release(self, scope: Scope, lease: StoreLease, /, *, timeout_s: float) -> None: ...

    def seal(self, scope: Scope, kind: str, key: tuple[str, ...], field: str, text: str, /) -> str:
        """Encrypt *text*, bound to its record and field.

        Args:
            scope: The record's scope.
            kind: The record's kind.
            key: The record's key.
            field: The field; for a value of a mapping, followed by `/` and its name in the mapping.
            text: The secret.

        Returns:
            `aes-gcm:` and the base64 of nonce, ciphertext and tag.

        Raises:
            StoreUnavailable: There is no key to encrypt with.
        """
        ...

    def unseal(self, scope: Scope, kind: str, key: tuple[str, ...], field: str, sealed: str, /) -> str:
        """Decrypt a text that `seal` encrypted for the same record and field.

        Raises:
            StoreUnavailable: The encryption key is missing, or the text is not what `seal` returned for this field.
        """
        ...

    def export(self) -> "StoreExport":
        """Return a snapshot of the whole content, while other processes may write."""
        ...

    def replace_all(self, content: "StoreExport", /) -> None:
        """Replace the whole content by *content*, atomically."""
        ...

    def close(self) -> None:
        """Release the connections."""
        ...


class ExportedRow(NamedTuple):
    """A row with its scope, kind and version."""

    scope: Scope
    kind: str
    row: NewRow
    version: int
    seq: int


class ExportedItem(NamedTuple):
    """An item of a list; an export gives the items in the order in which they were pushed."""

    scope: Scope
    name: str
    item: str


class ExportedFence(NamedTuple):
    """The highest fencing number that a lease of this name had. No lease is held after a restore."""

    scope: Scope
    name: str
    fence: int


class StoreExport(Protocol):
    """The content of a store, to be read once and then closed."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...

    def __iter__(self) -> "Iterator[ExportedRow | ExportedItem | ExportedFence]":
        """Yield the entries one by one, so that they are never all in memory."""
        ...
