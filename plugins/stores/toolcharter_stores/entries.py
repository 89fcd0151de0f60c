"""The lines of archives: formats a row, list item or fencing number as JSON, and parses and validates it again."""

import re
from typing import Any

from toolcharter import ExportedFence, ExportedItem, ExportedRow, NewRow, Scope

Exported = ExportedRow | ExportedItem | ExportedFence
MAX_NUMBER = 1 << 52
"""The exclusive limit of versions, change numbers and fencing numbers. Redis counts exactly up to twice as many."""
_TENANT = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9_-]{0,63})?")
_DISTRIBUTION = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_KIND = re.compile(r"[a-z][a-z0-9_]{0,63}")
_MAX_NAME_CHARS = 512
_MAX_FIELDS = 64
_INT64 = 1 << 63


def encode_entry(each: Exported) -> dict[str, Any]:
    """Turn one entry of an export into the object that an archive stores."""
    scope = list(each.scope)
    if isinstance(each, ExportedRow):
        row = {**each.row._asdict(), "key": list(each.row.key), "secret": list(each.row.secret)}
        return {
            "row": {**row, "indexed": dict(each.row.indexed)},
            "of": scope,
            "kind": each.kind,
            "at": [each.version, each.seq],
        }
    if isinstance(each, ExportedItem):
        return {"item": each.item, "of": scope, "list": each.name}
    return {"fence": each.fence, "of": scope, "lease": each.name}


def decode_entry(value: dict[str, Any]) -> Exported:
    """Turn an object that `encode_entry` returned into the entry again, and check that a store can hold it.

    Raises:
        ValueError: It is no entry, or no store can hold it.
    """
    try:
        tenant, distribution = value["of"]
        scope = Scope(_matching(tenant, _TENANT), _matching(distribution, _DISTRIBUTION))
        if "row" in value:
            version, seq = value["at"]
            kind = _matching(value["kind"], _KIND)
            return ExportedRow(scope, kind, _row(value["row"]), _number(version, 1), _number(seq, 1))
        if "item" in value:
            return ExportedItem(scope, _name(value["list"]), _text(value["item"]))
        return ExportedFence(scope, _name(value["lease"]), _number(value["fence"], 0))
    except (KeyError, TypeError) as error:
        raise ValueError("it is no row, item or fencing number") from error


def _row(row: dict[str, Any]) -> NewRow:
    key, indexed, secret = row["key"], row["indexed"], row["secret"]
    if not isinstance(indexed, dict) or not isinstance(key, list) or not isinstance(secret, list) or not all(key):
        raise TypeError
    if not key or sum(map(len, key)) > _MAX_NAME_CHARS or len(indexed) > _MAX_FIELDS or len(secret) > _MAX_FIELDS:
        raise ValueError("it is no record: its key is empty or too long, or it has too many fields")
    return NewRow(
        tuple(map(_text, key)),
        _text(row["document"]),
        {_field(name): _indexed(each) for name, each in indexed.items()},
        _text(row["full_text"]),
        tuple(map(_field, secret)),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _matching(value: object, form: re.Pattern[str]) -> str:
    text = _text(value)
    if form.fullmatch(text) is None:
        raise ValueError("its tenant, distribution or kind is invalid")
    return text


def _name(value: object) -> str:
    text = _text(value)
    if not text or len(text) > _MAX_NAME_CHARS or "\0" in text:
        raise ValueError(f"a list or lease has a name of 1 to {_MAX_NAME_CHARS} characters without NUL")
    return text


def _field(value: object) -> str:
    text = _text(value)
    if not text.isidentifier() or len(text) > _MAX_NAME_CHARS:
        raise ValueError("it is no name of a field")
    return text


def _indexed(value: object) -> str | int | bool | None:
    if isinstance(value, str) and len(value) > _MAX_NAME_CHARS:
        raise ValueError(f"an indexed field holds up to {_MAX_NAME_CHARS} characters")
    if not isinstance(value, str | int | None):
        raise TypeError
    if isinstance(value, int) and not -_INT64 <= value < _INT64:
        raise ValueError("an indexed field holds whole numbers of at most 64 bits")
    return value


def _number(value: object, least: int) -> int:
    if type(value) is not int:
        raise TypeError
    if not least <= value < MAX_NUMBER:
        raise ValueError(f"versions, changes and fencing numbers are from {least} to below {MAX_NUMBER}")
    return value
