"""Users: people who sign in with a password."""

import secrets
import time
from collections.abc import Iterable
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from toolcharter_service.auth.passwords import MAX_LENGTH, MIN_LENGTH
from toolcharter_service.auth.principal import PrincipalName, Role, Word
from toolcharter_service.auth.records import UserRecord

NewPassword = Annotated[str, Field(min_length=MIN_LENGTH, max_length=MAX_LENGTH)]


class NewUser(BaseModel):
    """The description of a user to create."""

    model_config = ConfigDict(extra="forbid")

    name: PrincipalName
    password: NewPassword
    roles: Annotated[tuple[Role, ...], Field(min_length=1)]
    agents: tuple[Word, ...] | None = None
    projects: tuple[Annotated[str, Field(min_length=1, max_length=200)], ...] | None = None


def new_user_record(
    tenant: str, wanted: NewUser, hashed: str, created_by: str, made_by: Iterable[str] = ()
) -> UserRecord:
    """Build the record of a new user.

    Args:
        tenant: The tenant of the user.
        wanted: The description of the user.
        hashed: The hash of the password.
        created_by: The `key` of the principal that creates the user, or `shell:USER`.
        made_by: The `lineage` of that principal.
    """
    return UserRecord(
        tenant=tenant,
        name=wanted.name,
        password=hashed,
        roles=tuple(sorted(set(wanted.roles))),
        agents=wanted.agents,
        projects=wanted.projects,
        epoch=secrets.randbits(48),  # Sessions of a deleted user of this name have another epoch.
        created=int(time.time()),
        created_by=created_by,
        made_by=tuple(sorted(made_by)),
    )
