"""From a record to the row that an engine keeps, and back. What is written is read again first; secrets are sealed."""

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
"""Seals or unseals a text, given the field and the text."""
_INT64 = 1 << 63
_MOST_SHOWN = 3
_ENCODER = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":"))


class _Checked:
    """An `EngineTransaction` whose tables may hold what no engine has written there: a number as a key, a text as a version."""

    def __init__(self, rows: EngineTransaction) -> None:
        self._rows = rows

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._rows, name)

        def use(*args: Any, **named: Any) -> Any:
            try:
                return method(*args, **named)
            except (TypeError, ValueError, AttributeError, LookupError) as error:
                raise StoreUnavailable(
                    f"The store holds what no engine has written: {type(error).__name__}."
                ) from error

        return use


def checked_rows(rows: EngineTransaction) -> EngineTransaction:
    """*rows*, whose uses raise `StoreUnavailable` where the tables hold what no engine has written."""
    return cast("EngineTransaction", _Checked(rows))


class Seals(NamedTuple):
    """Seals the secrets of one scope, each bound to where it stands."""

    engine: StoreEngine
    scope: Scope

    def sealed(self, kind: RecordKind, key: tuple[str, ...], data: dict[str, Any]) -> dict[str, Any]:
        """*data*, the fields of a record, with the secret ones encrypted."""
        return _changed(kind, data, lambda field, text: self.engine.seal(self.scope, kind.name, key, field, text))

    def unsealed(self, kind: RecordKind, key: tuple[str, ...], data: dict[str, Any]) -> dict[str, Any]:
        """*data* as it was before it was sealed."""
        return _changed(kind, data, lambda field, text: self.engine.unseal(self.scope, kind.name, key, field, text))


def kind_of(model: type[StoreRecord]) -> RecordKind:
    """What a store has to know of *model*.

    Raises:
        SpecError: It is none that can be kept.
    """
    kind = getattr(model, "store_kind", None)
    if not (isinstance(model, type) and issubclass(model, StoreRecord) and isinstance(kind, RecordKind)):
        raise SpecError(f"{model!r} is no StoreRecord with a store_kind")
    return kind


def new_row(record: StoreRecord, seals: Seals) -> NewRow:
    """The row of *record*.

    Raises:
        ToolError: Its key, an indexed field or all of it cannot be kept.
        SpecError: Its model does not read what it writes.
        StoreUnavailable: There is no key to encrypt its secrets with.
    """
    model = type(record)
    kind = kind_of(model)
    document = _document(record, kind)
    data: dict[str, Any] = from_json(document)
    key = require_key(kind, tuple(data[name] for name in kind.key))
    return NewRow(
        key=key,
        document=to_json(seals.sealed(kind, key, data)).decode() if kind.secret else document,
        indexed={name: require_indexed(kind, name, data[name]) for name in kind.indexed},
        full_text="\n".join(_searched(kind, name, data[name]) for name in kind.full_text),
        secret=kind.secret,
    )


def _document(record: StoreRecord, kind: RecordKind) -> str:
    try:
        document = record.model_dump_json(warnings="error")
        read = type(record).model_validate_json(document, strict=True)
    except ValidationError as error:
        refuse(f"A record of the kind {kind.name!r} cannot be kept: {_told(error)}")
    except PydanticSerializationError as error:
        raise ToolError(
            f"A record of the kind {kind.name!r} cannot be kept: it is not JSON.", reason=Reason.INVALID_ARGUMENTS
        ) from error
    if len(document.encode()) > MAX_DOCUMENT_BYTES:
        refuse(f"A record of the kind {kind.name!r} is larger than {MAX_DOCUMENT_BYTES} bytes.")
    if read != record:
        raise SpecError(f"{type(record).__name__}: a record that was read again is not what was written")
    return document


def stored(
    model: type[R], row: Row, seals: Seals, secrets: list[str], where: Where = MappingProxyType({})
) -> Stored[R]:
    """The record in *row*, which was found by *where*; what was unsealed is added to *secrets*.

    Raises:
        UnreadableRecord: It is no record of this model, or not what it was found as.
        StoreUnavailable: It cannot be decrypted.
    """
    kind = kind_of(model)
    document: str | bytes = row.document
    try:
        data = from_json(document)
        if not isinstance(data, dict) or tuple(data.get(name) for name in kind.key) != row.key:
            unreadable(kind, row.key, "it does not hold its own key")
        if kind.secret:
            if not all(map(is_secret, map(data.get, kind.secret))):
                unreadable(kind, row.key, "what is secret in it is neither text nor a mapping of it")
            data = seals.unsealed(kind, row.key, data)
            secrets.extend(texts_of(kind, data))
            document = to_json(data)
        record = model.model_validate_json(document, strict=True)
    except ValidationError as error:
        unreadable(kind, row.key, _told(error))
    except ValueError:
        unreadable(kind, row.key, "it is not JSON")
    if any(getattr(record, name) != value for name, value in where.items()):
        unreadable(kind, row.key, "its index says what it does not")
    return Stored(record, row.version, row.seq)


def is_secret(value: object) -> bool:
    """Whether a secret field may hold *value*."""
    if isinstance(value, dict):
        return all(isinstance(text, str) for text in value.values())
    return isinstance(value, str | None)


def texts_of(kind: RecordKind, data: Mapping[str, Any]) -> list[str]:
    """The secrets in *data*, in clear text."""
    found: list[str] = []

    def note(_: str, text: str) -> str:
        found.append(text)
        return text

    _changed(kind, dict(data), note)
    return found


def _changed(kind: RecordKind, data: dict[str, Any], change: Change) -> dict[str, Any]:
    for field in kind.secret:
        value = data.get(field)
        if not is_secret(value):
            raise SpecError(f"the secret field {field!r} of the kind {kind.name!r} is neither text nor a mapping of it")
        if isinstance(value, str):
            data[field] = change(field, value)
        elif isinstance(value, dict):
            data[field] = {name: change(f"{field}/{name}", text) for name, text in value.items()}
    return data


def require_key(kind: RecordKind, key: tuple[Any, ...]) -> tuple[str, ...]:
    """*key*, if it can be one of *kind*.

    Raises:
        SpecError: It has too many parts, or too few.
        ToolError: A part is empty or no text, or all are too long together.
    """
    if len(key) != len(kind.key):
        raise SpecError(f"the key of the kind {kind.name!r} is {', '.join(kind.key)}: {len(kind.key)} texts")
    if not all(isinstance(part, str) and part and is_plain(part) for part in key):
        refuse(f"The key of a record of the kind {kind.name!r} is text that is not empty, without NUL.")
    if sum(map(len, key)) > MAX_KEY_CHARS:
        refuse(f"The key of a record of the kind {kind.name!r} is longer than {MAX_KEY_CHARS} characters.")
    return tuple(str.__str__(part) for part in key)


def require_where(kind: RecordKind, where: Where | None) -> Where:
    """*where*, if these fields are indexed and may have these values."""
    return {name: require_indexed(kind, name, value) for name, value in (where or {}).items()}


def require_indexed(kind: RecordKind, name: str, value: Any) -> str | int | bool | None:
    """*value*, if the indexed field *name* may have it.

    Raises:
        SpecError: The field is not indexed, or holds something else.
        ToolError: The value is too large.
    """
    if name not in kind.indexed:
        raise SpecError(f"{name!r} is no indexed field of the kind {kind.name!r}: {', '.join(kind.indexed) or 'none'}")
    if not isinstance(value, str | int | None):
        raise SpecError(f"the indexed field {name!r} holds text, whole numbers, yes or no, or nothing")
    if isinstance(value, str) and (len(value) > MAX_INDEXED_CHARS or not is_plain(value)):
        refuse(f"The field {name!r} of the kind {kind.name!r} holds up to {MAX_INDEXED_CHARS} characters without NUL.")
    if isinstance(value, int) and not -_INT64 <= value < _INT64:
        refuse(f"The field {name!r} of the kind {kind.name!r} holds whole numbers of 64 bits.")
    return str.__str__(value) if isinstance(value, str) else value


def is_plain(text: str) -> bool:
    """Whether every store can hold *text* as it is: it has a form in UTF-8, and no NUL."""
    return "\0" not in text and text == text.encode(errors="replace").decode()


def _searched(kind: RecordKind, name: str, value: Any) -> str:
    if not isinstance(value, str | None):
        raise SpecError(f"the full-text field {name!r} of the kind {kind.name!r} holds text")
    return (value or "").replace("\0", " ")


def refuse(message: str) -> NoReturn:
    """Refuse what a caller gave.

    Raises:
        ToolError: Always.
    """
    raise ToolError(message, reason=Reason.INVALID_ARGUMENTS)


def json_text(item: Any) -> str:
    """An item of a list, as it is stored.

    Raises:
        SpecError: It is no JSON.
        ToolError: It is too large.
    """
    try:
        text = _ENCODER.encode(item)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise SpecError(f"an item of a list is JSON: {type(error).__name__}") from error
    if size > MAX_DOCUMENT_BYTES:
        refuse(f"An item of a list is larger than {MAX_DOCUMENT_BYTES} bytes.")
    return text


def unreadable(kind: RecordKind, key: Iterable[str], why: str) -> NoReturn:
    """Refuse what a store holds.

    Raises:
        UnreadableRecord: Always.
    """
    message = f"The record {'/'.join(key)!r} of the kind {kind.name!r} cannot be read: {why}."
    raise UnreadableRecord(message) from None


def _told(error: ValidationError) -> str:
    """Which fields are wrong, and how; never what they hold."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    told = [f"{'.'.join(map(str, one['loc'])) or 'it'}: {one['msg']}" for one in found[:_MOST_SHOWN]]
    return "; ".join(told)
