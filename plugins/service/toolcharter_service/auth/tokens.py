"""Tokens: 256 random bits behind a prefix that scanners know, shown once, of which a SHA-256 is kept.

A plain hash is enough: nobody guesses 256 bits, so there is nothing that a slow one would slow down.
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
_LETTERS = digits + ascii_uppercase + ascii_lowercase
_BODY, _CHECK = 43, 6
"""Letters of the 256 bits, and of their checksum, by which a token that was mistyped is told without a look-up."""
LENGTH = len(PREFIX) + _BODY + _CHECK
ID_LENGTH = 16
DAY_S = 86_400
DEFAULT_DAYS = 90
MAX_DAYS = 3_650


class NewToken(BaseModel):
    """What a token is to be for."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: PrincipalName
    """For events and lists."""
    user: PrincipalName | None = None
    """The person whom it is for: grants to that user are this token's, too."""
    roles: Annotated[tuple[Role, ...], Field(min_length=1)]
    agents: tuple[Word, ...] | None = None
    """For whom it may speak; by default any agent of the tenant."""
    projects: tuple[Annotated[str, Field(min_length=1, max_length=200)], ...] | None = None
    """Which projects `X-Project-ID` may name; by default any."""
    scopes: tuple[CallerScope, ...] | None = None
    """By default all that the roles permit."""
    days: Annotated[float, Field(gt=0, le=MAX_DAYS)] = DEFAULT_DAYS
    """How long it holds."""


class Created(NamedTuple):
    """A new token, which is not shown again."""

    text: str
    record: TokenRecord


def new_text() -> str:
    """A token."""
    body = PREFIX + _in_letters(secrets.randbits(256), _BODY)
    return body + _in_letters(crc32(body.encode()), _CHECK)


def is_token(text: str) -> bool:
    """Whether *text* has the form of a token and its checksum."""
    if len(text) != LENGTH or not text.startswith(PREFIX) or not text.isascii():
        return False
    body = text[:-_CHECK]
    return text[-_CHECK:] == _in_letters(crc32(body.encode()), _CHECK)


def digest_of(text: str) -> str:
    """What is kept of a token or of a session's cookie."""
    return sha256(text.encode()).hexdigest()


def made(tenant: str, wanted: NewToken, created_by: str, made_by: Iterable[str] = (), maker: str = "") -> Created:
    """Make a token; its record is to be put into the records of the service as a whole.

    Args:
        tenant: Whose it is.
        wanted: What its bearer may do.
        created_by: Who asked for it.
        made_by: The `lineage` of that one.
        maker: Its `person`.
    """
    text, now = new_text(), int(time.time())
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
    return Created(text, record)


class Revoked(NamedTuple):
    """A token that is no more."""

    digest: str
    name: str
    """Empty if its record could not be read; then nobody knows how far it went, either."""
    agents: tuple[str, ...] | None = None
    projects: tuple[str, ...] | None = None


def revoke(transaction: StoreTransaction, tenant: str, token_id: str) -> Revoked | None:
    """Forget a token, so that no process takes it any more; None if the tenant has no such token."""
    where = {"tenant": tenant, "id": token_id}
    page = transaction.page(TokenRecord, where=where, limit=1, skip_unreadable=True)
    found = [Revoked(one.digest, one.name, one.agents, one.projects) for one in (row.record for row in page.records)]
    found += [Revoked(digest, "") for (digest,) in page.unreadable_keys]
    for one in found:
        transaction.delete(TokenRecord, one.digest)
        return one
    return None


def principal_of(record: TokenRecord) -> Principal:
    """Whom a token stands for."""
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
    """Whether it only calls, and only for agents: whoever gave it to them is there to answer what they ask."""
    return record.agents is not None and {*record.roles} <= {Role.VIEWER, Role.CALLER}


def as_set(names: Iterable[str] | None) -> frozenset[str] | None:
    """*names* in the form that principals have them."""
    return None if names is None else frozenset(names)


def _sorted(names: Iterable[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(sorted(set(names)))


def _in_letters(number: int, length: int) -> str:
    letters = ""
    for _ in range(length):
        number, letter = divmod(number, len(_LETTERS))
        letters = _LETTERS[letter] + letters
    return letters
