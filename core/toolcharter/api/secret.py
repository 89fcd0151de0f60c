"""Secrets in a store: records of one value each. Settings refer to a secret by `secret:NAME`; see `api.words`."""

from typing import Annotated, ClassVar

from pydantic import StringConstraints

from toolcharter.api.store import RecordKind, StoreRecord
from toolcharter.api.words import SECRET_NAME

CORE_RECORDS = "toolcharter"
"""The distribution that owns these records: the core."""
MAX_SECRET_CHARS = 65_536
"""The longest secret, in characters."""


class SecretRecord(StoreRecord):
    """A secret of one tenant. Only its name is ever shown, never its value."""

    store_kind: ClassVar = RecordKind("secret", ("name",), indexed=("changed_at",), secret=("value",))

    name: Annotated[str, StringConstraints(pattern=rf"^{SECRET_NAME}$")]
    value: Annotated[str, StringConstraints(min_length=1, max_length=MAX_SECRET_CHARS)]
    changed_at: str = ""
    """When it was put, in UTC: `2026-11-21T10:15:37Z`."""
