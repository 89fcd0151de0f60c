"""Convert records to an engine's rows and back. Before a write, a record is parsed again and its secrets encrypted."""

import json
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn, TypeVar, cast

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from toolcharter.api.reasons import Reason
from toolcharter.api.store import (
    MAX_DOCUMENT_BYTES,
    MAX_INDEXED_CHARS,
    MAX_KEY_CHARS,
    RecordKind,
    Stored,
    StoreRecord,
    Where,
)
from toolcharter.api.store_engine import EngineTransaction, NewRow, Row, Scope, StoreEngine
from toolcharter.errors import SpecError, StoreUnavailable, ToolError, UnreadableRecord

R = TypeVar("R", bound=StoreRecord)
Change = Callable[[str, str], str]
"""Encrypts or decrypts a text, given the field and the text."""
_INT64 = 1 << 63
_MOST_SHOWN = 3
_ENCODER = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":"))


class _CheckedTransaction:
    """An `EngineTransaction` on tables that another program may have changed: a number as a key, a text as version."""

    def __init__(self, rows: EngineTransaction) -> None:
        self._rows = rows

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._rows, name)

        def use(*args: Any, **named: Any) -> Any:
            try:
                return method(*args, **named)
            except (TypeError, ValueError, AttributeError, LookupError) as error:
                raise StoreUnavailable(
                    f"The store contains data that no engine has written: {type(error).__name__}."
                ) from error

        return use


def checked_rows(rows: EngineTransaction) -> EngineTransaction:
    """Wrap *rows*: their methods then raise `StoreUnavailable` if a table holds a value that no engine has written."""
    return cast("EngineTransaction", _CheckedTransaction(rows))


class SecretCipher(NamedTuple):
    """Encrypts the secrets of one scope, each bound to its record and field."""

    engine: StoreEngine
    scope: Scope

    def encrypt(self, kind: RecordKind, key: tuple[str, ...], data: dict[str, Any]) -> dict[str, Any]:
        """Return *data*, the fields of a record, with the secret fields encrypted."""
        return _map_secrets(kind, data, lambda field, text: self.engine.seal(self.scope, kind.name, key, field, text))

    def decrypt(self, kind: RecordKind, key: tuple[str, ...], data: dict[str, Any]) -> dict[str, Any]:
        """Return *data* with the secret fields decrypted."""
        return _map_secrets(kind, data, lambda field, text: self.engine.unseal(self.scope, kind.name, key, field, text))


def kind_of(model: type[StoreRecord]) -> RecordKind:
    """Return the kind of *model*.

    Raises:
        SpecError: *model* is not a `StoreRecord` with a `store_kind`.
    """
    kind = getattr(model, "store_kind", None)
    if not (isinstance(model, type) and issubclass(model, StoreRecord) and isinstance(kind, RecordKind)):
        raise SpecError(f"{model!r} is no StoreRecord with a store_kind")
    return kind


def new_row(record: StoreRecord, cipher: SecretCipher) -> NewRow:
    """Build the row of *record*.

    Raises:
        ToolError: Its key or an indexed field is not valid, or the record is invalid or too large.
        SpecError: The record is not equal after it was written and parsed again.
        StoreUnavailable: There is no key to encrypt its secrets with.
    """
    model = type(record)
    kind = kind_of(model)
    document = _to_document(record, kind)
    data: dict[str, Any] = from_json(document)
    key = require_key(kind, tuple(data[name] for name in kind.key))
    return NewRow(
        key=key,
        document=to_json(cipher.encrypt(kind, key, data)).decode() if kind.secret else document,
        indexed={name: require_indexed(kind, name, data[name]) for name in kind.indexed},
        full_text="\n".join(_search_text(kind, name, data[name]) for name in kind.full_text),
        secret=kind.secret,
    )


def _to_document(record: StoreRecord, kind: RecordKind) -> str:
    try:
        document = record.model_dump_json(warnings="error")
        read = type(record).model_validate_json(document, strict=True)
    except ValidationError as error:
        refuse_argument(f"A record of the kind {kind.name!r} cannot be kept: {_field_errors(error)}")
    except PydanticSerializationError as error:
        raise ToolError(
            f"A record of the kind {kind.name!r} cannot be kept: it is not JSON.", reason=Reason.INVALID_ARGUMENTS
        ) from error
    if len(document.encode()) > MAX_DOCUMENT_BYTES:
        refuse_argument(f"A record of the kind {kind.name!r} is larger than {MAX_DOCUMENT_BYTES} bytes.")
    if read != record:
        raise SpecError(f"{type(record).__name__}: a record differs after it was written and read again")
    return document


def parse_row(
    model: type[R], row: Row, cipher: SecretCipher, secrets: list[str], where: Where = MappingProxyType({})
) -> Stored[R]:
    """Parse the record in *row*, which was found by *where*. The decrypted secrets are added to *secrets*.

    Raises:
        UnreadableRecord: It is not a record of this model, or differs from its key or from *where*.
        StoreUnavailable: It cannot be decrypted.
    """
    kind = kind_of(model)
    document: str | bytes = row.document
    try:
        data = from_json(document)
        if not isinstance(data, dict) or tuple(data.get(name) for name in kind.key) != row.key:
            raise_unreadable(kind, row.key, "it does not contain its own key")
        if kind.secret:
            if not all(map(is_secret, map(data.get, kind.secret))):
                raise_unreadable(kind, row.key, "a secret field is neither text nor a mapping of texts")
            data = cipher.decrypt(kind, row.key, data)
            secrets.extend(secret_texts(kind, data))
            document = to_json(data)
        record = model.model_validate_json(document, strict=True)
    except ValidationError as error:
        raise_unreadable(kind, row.key, _field_errors(error))
    except ValueError:
        raise_unreadable(kind, row.key, "it is not JSON")
    if any(getattr(record, name) != value for name, value in where.items()):
        raise_unreadable(kind, row.key, "its index does not match its content")
    return Stored(record, row.version, row.seq)


def is_secret(value: object) -> bool:
    """Whether *value* is valid for a secret field: text, a mapping of text, or None."""
    if isinstance(value, dict):
        return all(isinstance(text, str) for text in value.values())
    return isinstance(value, str | None)


def secret_texts(kind: RecordKind, data: Mapping[str, Any]) -> list[str]:
    """The secrets in *data*, in clear text."""
    found: list[str] = []

    def note(_: str, text: str) -> str:
        found.append(text)
        return text

    _map_secrets(kind, dict(data), note)
    return found


def _map_secrets(kind: RecordKind, data: dict[str, Any], change: Change) -> dict[str, Any]:
    for field in kind.secret:
        value = data.get(field)
        if not is_secret(value):
            raise SpecError(
                f"the secret field {field!r} of the kind {kind.name!r} is neither text nor a mapping of texts"
            )
        if isinstance(value, str):
            data[field] = change(field, value)
        elif isinstance(value, dict):
            data[field] = {name: change(f"{field}/{name}", text) for name, text in value.items()}
    return data


def require_key(kind: RecordKind, key: tuple[Any, ...]) -> tuple[str, ...]:
    """Return *key*, if it is valid for *kind*.

    Raises:
        SpecError: It has the wrong number of parts.
        ToolError: A part is empty or not text, or all parts together are too long.
    """
    if len(key) != len(kind.key):
        raise SpecError(f"the key of the kind {kind.name!r} has the parts {', '.join(kind.key)}")
    if not all(isinstance(part, str) and part and is_storable(part) for part in key):
        refuse_argument(
            f"Each part of the key of a record of the kind {kind.name!r} must be text that is not empty, without NUL."
        )
    if sum(map(len, key)) > MAX_KEY_CHARS:
        refuse_argument(f"The key of a record of the kind {kind.name!r} is longer than {MAX_KEY_CHARS} characters.")
    return tuple(str.__str__(part) for part in key)


def require_where(kind: RecordKind, where: Where | None) -> Where:
    """Return *where*, if its fields are indexed and its values are valid for them."""
    return {name: require_indexed(kind, name, value) for name, value in (where or {}).items()}


def require_indexed(kind: RecordKind, name: str, value: Any) -> str | int | bool | None:
    """Return *value*, if it is valid for the indexed field *name*.

    Raises:
        SpecError: The field is not indexed, or the value has another type.
        ToolError: The value is too large, or not plain text.
    """
    if name not in kind.indexed:
        raise SpecError(f"{name!r} is no indexed field of the kind {kind.name!r}: {', '.join(kind.indexed) or 'none'}")
    if not isinstance(value, str | int | None):
        raise SpecError(f"the indexed field {name!r} must hold text, a whole number, a boolean or null")
    if isinstance(value, str) and (len(value) > MAX_INDEXED_CHARS or not is_storable(value)):
        refuse_argument(
            f"The field {name!r} of the kind {kind.name!r} may hold up to {MAX_INDEXED_CHARS} characters without NUL."
        )
    if isinstance(value, int) and not -_INT64 <= value < _INT64:
        refuse_argument(f"The field {name!r} of the kind {kind.name!r} must be a whole number of 64 bits.")
    return str.__str__(value) if isinstance(value, str) else value


def is_storable(text: str) -> bool:
    """Whether every store can keep *text* unchanged: it can be encoded in UTF-8 and has no NUL."""
    return "\0" not in text and text == text.encode(errors="replace").decode()


def _search_text(kind: RecordKind, name: str, value: Any) -> str:
    if not isinstance(value, str | None):
        raise SpecError(f"the full-text field {name!r} of the kind {kind.name!r} must hold text")
    return (value or "").replace("\0", " ")


def refuse_argument(message: str) -> NoReturn:
    """Refuse a caller's argument.

    Raises:
        ToolError: Always, `invalid_arguments`.
    """
    raise ToolError(message, reason=Reason.INVALID_ARGUMENTS)


def json_text(item: Any) -> str:
    """Encode an item of a list as it is stored.

    Raises:
        SpecError: It cannot be written as JSON.
        ToolError: It is too large.
    """
    try:
        text = _ENCODER.encode(item)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise SpecError(f"an item of a list must be JSON: {type(error).__name__}") from error
    if size > MAX_DOCUMENT_BYTES:
        refuse_argument(f"An item of a list is larger than {MAX_DOCUMENT_BYTES} bytes.")
    return text


def raise_unreadable(kind: RecordKind, key: Iterable[str], why: str) -> NoReturn:
    """Raise the error for a stored record that cannot be read.

    Raises:
        UnreadableRecord: Always.
    """
    message = f"The record {'/'.join(key)!r} of the kind {kind.name!r} cannot be read: {why}."
    raise UnreadableRecord(message) from None


def _field_errors(error: ValidationError) -> str:
    """Say which fields are wrong and why, without their values."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    told = [f"{'.'.join(map(str, one['loc'])) or 'it'}: {one['msg']}" for one in found[:_MOST_SHOWN]]
    return "; ".join(told)
