"""Secrets of a store: records that hold a value each, and `secret:NAME`, by which profiles and settings refer to one."""

import re
from typing import Annotated, ClassVar

from pydantic import StringConstraints

from toolcharter.api.store import RecordKind, StoreRecord

CORE_RECORDS = "toolcharter"
"""The distribution whose records these are: the core."""
MAX_SECRET_CHARS = 65_536
"""How long a secret may be."""
_PREFIX = "secret:"
_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}"


class SecretRecord(StoreRecord):
    """A secret of one tenant. Only its name is ever shown."""

    store_kind: ClassVar = RecordKind("secret", ("name",), indexed=("changed_at",), secret=("value",))

    name: Annotated[str, StringConstraints(pattern=rf"^{_NAME}$")]
    value: Annotated[str, StringConstraints(min_length=1, max_length=MAX_SECRET_CHARS)]
    changed_at: str = ""
    """When it was put, in UTC: `2026-11-21T10:15:37Z`."""


def is_secret_reference(text: str) -> bool:
    """Whether *text* is `secret:NAME`, well-formed or not: no such text is ever used as a value itself."""
    return text.startswith(_PREFIX)


def secret_name(text: str) -> str:
    """The name in `secret:NAME`.

    Raises:
        ValueError: It is no name.
    """
    name = text.removeprefix(_PREFIX)
    if not is_secret_reference(text) or re.fullmatch(_NAME, name) is None:
        raise ValueError("a secret is named as in secret:NAME, with letters, digits, '_', '.' and '-', up to 128")
    return name
