"""What is kept of credentials: hashes of tokens and sessions, users with hashes of their passwords, attempts to sign in.

All of it lies with the records of the service as a whole, each record with its tenant: one number says to every process
whether anything has changed, however many tenants there are. Times are whole seconds since 1970.
"""

from typing import ClassVar, Literal

from toolcharter import RecordKind, StoreRecord
from toolcharter_service.auth.principal import Role


class TokenRecord(StoreRecord):
    """A token, which nobody can make out of this."""

    store_kind: ClassVar[RecordKind] = RecordKind("token", ("digest",), indexed=("tenant", "id", "expires"))

    digest: str
    """SHA-256 of the token, in hexadecimal."""
    id: str
    """The beginning of the digest: names the token in events and routes."""
    tenant: str
    name: str
    user: str | None = None
    """Whom it was made for."""
    roles: tuple[Role, ...]
    agents: tuple[str, ...] | None = None
    projects: tuple[str, ...] | None = None
    scopes: tuple[str, ...] | None = None
    created: int
    created_by: str
    made_by: tuple[str, ...] = ()
    """The `lineage` of who made it."""
    maker: str = ""
    """The person who made it."""
    expires: int


class UserRecord(StoreRecord):
    """A person who signs in with a password."""

    store_kind: ClassVar[RecordKind] = RecordKind("user", ("tenant", "name"), indexed=("tenant",))

    tenant: str
    name: str
    password: str
    """Argon2's hash, with its parameters and its salt."""
    roles: tuple[Role, ...]
    agents: tuple[str, ...] | None = None
    projects: tuple[str, ...] | None = None
    enabled: bool = True
    epoch: int = 0
    """Begins anywhere, and one more with each new password: sessions from before end, also of a former user of the name."""
    created: int
    created_by: str
    made_by: tuple[str, ...] = ()
    """The `lineage` of all who made it, or have given it a password."""


class SessionRecord(StoreRecord):
    """A person who has signed in. Its cookie cannot be made out of this."""

    store_kind: ClassVar[RecordKind] = RecordKind("session", ("digest",), indexed=("tenant", "id", "user", "expires"))

    digest: str
    """SHA-256 of the cookie, in hexadecimal."""
    id: str
    tenant: str
    user: str
    means: Literal["password", "oidc"]
    epoch: int = 0
    """The user's, when it began."""
    roles: tuple[Role, ...] = ()
    """As the provider said them; those of a user with a password are the user's own."""
    agents: tuple[str, ...] | None = None
    created: int
    seen: int
    """About when it was last used."""
    expires: int


def makers_of(record: TokenRecord | UserRecord) -> frozenset[str]:
    """`Principal.made_by` of whom *record* stands for; records of older versions know the name of the one maker alone."""
    means, _, name = record.created_by.partition(":")
    named = {name} - {""} if means != "shell" else set[str]()  # who has the machine needs no token
    return frozenset(record.made_by) | named


def maker_of(record: TokenRecord) -> str:
    """`Principal.maker` of a token; records of older versions know the name of the one maker alone."""
    means, _, name = record.created_by.partition(":")
    return record.maker or (record.created_by if means == "shell" else name)


class AttemptRecord(StoreRecord):
    """How often somebody tried to sign in, of late: a bucket that runs empty with time, shared by few names or addresses."""

    store_kind: ClassVar[RecordKind] = RecordKind("attempt", ("bucket",))

    bucket: str
    empty: float
    """When the bucket will be empty, if nobody tries again: seconds since 1970."""
