"""Store engines: what the hook `open_store` gives, rows of text of all tenants and distributions. No tool sees them."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, Self, TypeVar

from toolcharter.api.store import Change, StoreLease, Where

T = TypeVar("T")


TENANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
"""The form of a tenant's name: a word that keys, subjects, paths and URLs hold as it is."""
DISTRIBUTION = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
"""The form of a distribution's name, normalised. Source: PyPA specification "Names and normalization"."""


class Scope(NamedTuple):
    """Whose rows an engine reads and writes; no row is seen from another scope."""

    tenant: str
    """As `TENANT` says, or empty where there is one tenant only."""
    distribution: str
    """The distribution that keeps them, such as `toolcharter-service`; as `DISTRIBUTION` says."""


class Row(NamedTuple):
    """A record as an engine keeps it: secrets are encrypted in `document` before the engine sees it."""

    key: tuple[str, ...]
    document: str
    """The record as JSON."""
    version: int
    seq: int


class NewRow(NamedTuple):
    """What is to be written."""

    key: tuple[str, ...]
    document: str
    indexed: Mapping[str, str | int | bool | None]
    """By field; what `page` filters and orders by."""
    full_text: str
    """What `search` looks through; empty if the kind has no such field."""
    secret: tuple[str, ...]
    """The fields of `document` whose texts are encrypted."""


class EngineTransaction(Protocol):
    """`StoreTransaction` on rows. All of it concerns one scope."""

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
    """What the hook `open_store` gives: rows of all scopes. Safe from many threads, and in a fork's child anew."""

    has_full_text: bool
    """Whether `search` works; what needs it does not start without."""

    def keeps_state_in(self) -> Sequence[Path]:
        """The files and folders of this machine that hold the store, absolute; none for a server.

        They must lie outside the workspace, and no tool changes them.
        """
        ...

    def migrate(self) -> None:
        """Bring what is stored to the form that this version reads, under a lease; nothing if it has it.

        Raises:
            StoreUnavailable: A newer version has written it, or the store cannot be reached.
        """
        ...

    def require_current(self) -> None:
        """Refuse what is stored in another form than this version reads.

        Raises:
            StoreUnavailable: With what to do.
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
        """Encrypt *text*, bound to where it stands: `aes-gcm:` and the base64 of nonce, ciphertext and tag.

        Args:
            scope: Whose record it is.
            kind: Of the record.
            key: Of the record.
            field: The field, and behind a `/` the name within a mapping.
            text: What is secret.

        Raises:
            StoreUnavailable: There is no key to encrypt with.
        """
        ...

    def unseal(self, scope: Scope, kind: str, key: tuple[str, ...], field: str, sealed: str, /) -> str:
        """Decrypt what `seal` gave for the same place.

        Raises:
            StoreUnavailable: The key is missing, or not a bit of it is what was written.
        """
        ...

    def export(self) -> "StoreExport":
        """All there is at one moment, while others write."""
        ...

    def replace_all(self, content: "StoreExport", /) -> None:
        """Make *content* all there is, whole or not at all."""
        ...

    def close(self) -> None:
        """Release the connections."""
        ...


class ExportedRow(NamedTuple):
    """A row with whose it is."""

    scope: Scope
    kind: str
    row: NewRow
    version: int
    seq: int


class ExportedItem(NamedTuple):
    """An item of a list, in the order in which they were pushed."""

    scope: Scope
    name: str
    item: str


class ExportedFence(NamedTuple):
    """The highest fencing number that the lease of a name had; nobody holds it after a restore."""

    scope: Scope
    name: str
    fence: int


class StoreExport(Protocol):
    """The content of a store, to be read once and then closed."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...

    def __iter__(self) -> "Iterator[ExportedRow | ExportedItem | ExportedFence]":
        """One after the other: never all of them are in memory."""
        ...
