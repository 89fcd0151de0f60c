"""The records of credentials: hashes of tokens and sessions, users with password hashes, attempts to sign in.

They belong to the service's own scope, and each has a tenant: so one change number shows every process whether
anything has changed, however many tenants there are. Times are whole seconds since 1970.
"""

from typing import ClassVar, Literal

from toolcharter import RecordKind, StoreRecord
from toolcharter_service.auth.principal import Role


class TokenRecord(StoreRecord):
    """A token. Its secret text cannot be derived from the record."""

    store_kind: ClassVar[RecordKind] = RecordKind("token", ("digest",), indexed=("tenant", "id", "expires"))

    digest: str
    """SHA-256 of the token, in hexadecimal."""
    id: str
    """The beginning of the digest. It identifies the token in events and routes."""
    tenant: str
    name: str
    user: str | None = None
    """The person for whom it was made."""
    roles: tuple[Role, ...]
    agents: tuple[str, ...] | None = None
    projects: tuple[str, ...] | None = None
    scopes: tuple[str, ...] | None = None
    created: int
    created_by: str
    made_by: tuple[str, ...] = ()
    """The `lineage` of the principal that made it."""
    maker: str = ""
    """The person who made it."""
    expires: int


class UserRecord(StoreRecord):
    """A person who signs in with a password."""

    store_kind: ClassVar[RecordKind] = RecordKind("user", ("tenant", "name"), indexed=("tenant",))

    tenant: str
    name: str
    password: str
    """The Argon2 hash, with its parameters and salt."""
    roles: tuple[Role, ...]
    agents: tuple[str, ...] | None = None
    projects: tuple[str, ...] | None = None
    enabled: bool = True
    epoch: int = 0
    """Starts at random and grows with each new password: earlier sessions end, also those of a deleted namesake."""
    created: int
    created_by: str
    made_by: tuple[str, ...] = ()
    """The `lineage` of each principal that created the user or set its password."""


class SessionRecord(StoreRecord):
    """The session of a person. Its cookie cannot be derived from the record."""

    store_kind: ClassVar[RecordKind] = RecordKind("session", ("digest",), indexed=("tenant", "id", "user", "expires"))

    digest: str
    """SHA-256 of the cookie, in hexadecimal."""
    id: str
    tenant: str
    user: str
    means: Literal["password", "oidc"]
    epoch: int = 0
    """The user's epoch when the session began."""
    roles: tuple[Role, ...] = ()
    """The roles from the provider. For a user with a password, the roles in the user's record count instead."""
    agents: tuple[str, ...] | None = None
    created: int
    seen: int
    """The approximate time of the last use."""
    expires: int


def makers_of(record: TokenRecord | UserRecord) -> frozenset[str]:
    """Return the `Principal.made_by` of *record*. Records of older versions only have the name of one maker."""
    means, _, name = record.created_by.partition(":")
    named = {name} - {""} if means != "shell" else set[str]()  # a user of the machine's shell needs no token
    return frozenset(record.made_by) | named


def maker_of(record: TokenRecord) -> str:
    """Return the `Principal.maker` of a token. Records of older versions only have the name of one maker."""
    means, _, name = record.created_by.partition(":")
    return record.maker or (record.created_by if means == "shell" else name)


class AttemptRecord(StoreRecord):
    """The recent attempts to sign in: a leaky bucket that few names or addresses share."""

    store_kind: ClassVar[RecordKind] = RecordKind("attempt", ("bucket",))

    bucket: str
    empty: float
    """When the bucket will be empty if no attempt follows, in seconds since 1970."""
