"""Secrets of a store: records that hold a value each; `api.words` has `secret:NAME`, by which settings refer to one."""

from typing import Annotated, ClassVar

from pydantic import StringConstraints

from toolcharter.api.store import RecordKind, StoreRecord
from toolcharter.api.words import SECRET_NAME

CORE_RECORDS = "toolcharter"
"""The distribution whose records these are: the core."""
MAX_SECRET_CHARS = 65_536
"""How long a secret may be."""


class SecretRecord(StoreRecord):
    """A secret of one tenant. Only its name is ever shown."""

    store_kind: ClassVar = RecordKind("secret", ("name",), indexed=("changed_at",), secret=("value",))

    name: Annotated[str, StringConstraints(pattern=rf"^{SECRET_NAME}$")]
    value: Annotated[str, StringConstraints(min_length=1, max_length=MAX_SECRET_CHARS)]
    changed_at: str = ""
    """When it was put, in UTC: `2026-11-21T10:15:37Z`."""
