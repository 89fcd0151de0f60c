"""Tokens: 256 random bits after a prefix that secret scanners know. A token is shown once and stored as its SHA-256.

A fast hash is enough: 256 random bits cannot be guessed, so a slow hash would add nothing.
"""

import secrets
import time
from binascii import crc32
from collections.abc import Iterable
from hashlib import sha256
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from toolcharter import StoreTransaction
from toolcharter_service.auth.principal import CallerScope, Principal, PrincipalName, Role, Word
from toolcharter_service.auth.records import TokenRecord, maker_of, makers_of

PREFIX = "tcs_"
_BASE62 = digits + ascii_uppercase + ascii_lowercase
_BODY, _CHECK = 43, 6
"""The letters of the 256 bits and of the checksum, which reveals a mistyped token without a look-up."""
LENGTH = len(PREFIX) + _BODY + _CHECK
ID_LENGTH = 16
DAY_S = 86_400
DEFAULT_DAYS = 90
MAX_DAYS = 3_650


class NewToken(BaseModel):
    """The description of a token to create."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: PrincipalName
    """The name in events and lists."""
    user: PrincipalName | None = None
    """The person for whom it is: grants to that user are valid for this token, too."""
    roles: Annotated[tuple[Role, ...], Field(min_length=1)]
    agents: tuple[Word, ...] | None = None
    """The agents that it may speak for; by default any agent of the tenant."""
    projects: tuple[Annotated[str, Field(min_length=1, max_length=200)], ...] | None = None
    """The projects that `X-Project-ID` may name; by default any."""
    scopes: tuple[CallerScope, ...] | None = None
    """The scopes that it is narrowed to; by default everything that the roles permit."""
    days: Annotated[float, Field(gt=0, le=MAX_DAYS)] = DEFAULT_DAYS
    """How long it is valid, in days."""


class CreatedToken(NamedTuple):
    """A new token. Its text is not shown again."""

    text: str
    record: TokenRecord


def generate_token() -> str:
    """Generate the text of a token."""
    body = PREFIX + _encode_base62(secrets.randbits(256), _BODY)
    return body + _encode_base62(crc32(body.encode()), _CHECK)


def is_token(text: str) -> bool:
    """Whether *text* has a token's format and a correct checksum."""
    if len(text) != LENGTH or not text.startswith(PREFIX) or not text.isascii():
        return False
    body = text[:-_CHECK]
    return text[-_CHECK:] == _encode_base62(crc32(body.encode()), _CHECK)


def digest_of(text: str) -> str:
    """Return the digest under which a token or a session's cookie is stored."""
    return sha256(text.encode()).hexdigest()


def create_token(
    tenant: str, wanted: NewToken, created_by: str, made_by: Iterable[str] = (), maker: str = ""
) -> CreatedToken:
    """Create a token. The caller has to store its record in the service's own scope.

    Args:
        tenant: The tenant of the token.
        wanted: The permissions of its bearer.
        created_by: The `key` of the principal that creates it, or `shell:USER`.
        made_by: The `lineage` of that principal.
        maker: The `person` of that principal.
    """
    text, now = generate_token(), int(time.time())
    digest = digest_of(text)
    record = TokenRecord(
        digest=digest,
        id=digest[:ID_LENGTH],
        tenant=tenant,
        name=wanted.name,
        user=wanted.user,
        roles=tuple(sorted(set(wanted.roles))),
        agents=_sorted(wanted.agents),
        projects=_sorted(wanted.projects),
        scopes=_sorted(wanted.scopes),
        created=now,
        created_by=created_by,
        made_by=tuple(sorted(made_by)),
        maker=maker,
        expires=now + int(wanted.days * DAY_S),
    )
    return CreatedToken(text, record)


class RevokedToken(NamedTuple):
    """A revoked token."""

    digest: str
    name: str
    """Empty if its record could not be read; its agents and projects are then unknown, too."""
    agents: tuple[str, ...] | None = None
    projects: tuple[str, ...] | None = None


def revoke_token(transaction: StoreTransaction, tenant: str, token_id: str) -> RevokedToken | None:
    """Delete a token, so that every process refuses it; None if the tenant has no such token."""
    where = {"tenant": tenant, "id": token_id}
    page = transaction.page(TokenRecord, where=where, limit=1, skip_unreadable=True)
    found = [
        RevokedToken(one.digest, one.name, one.agents, one.projects) for one in (row.record for row in page.records)
    ]
    found += [RevokedToken(digest, "") for (digest,) in page.unreadable_keys]
    for one in found:
        transaction.delete(TokenRecord, one.digest)
        return one
    return None


def principal_of(record: TokenRecord) -> Principal:
    """Return the principal of a token."""
    return Principal(
        record.tenant,
        record.name,
        frozenset(record.roles),
        as_set(record.agents),
        as_set(record.scopes),
        record.id,
        as_set(record.projects),
        user=record.user,
        made_by=makers_of(record),
        maker="" if _acts_for_agents(record) else maker_of(record),
    )


def _acts_for_agents(record: TokenRecord) -> bool:
    """Whether the token only views and calls, and only for listed agents: its maker may then answer their questions."""
    return record.agents is not None and {*record.roles} <= {Role.VIEWER, Role.CALLER}


def as_set(names: Iterable[str] | None) -> frozenset[str] | None:
    """Convert *names* to the type of `Principal`'s fields."""
    return None if names is None else frozenset(names)


def _sorted(names: Iterable[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(sorted(set(names)))


def _encode_base62(number: int, length: int) -> str:
    letters = ""
    for _ in range(length):
        number, letter = divmod(number, len(_BASE62))
        letters = _BASE62[letter] + letters
    return letters
