"""Checks a whole store, and rotates its keys by encrypting every secret again."""

from collections import Counter
from typing import NamedTuple

import orjson

from toolcharter import (
    EngineTransaction,
    ExportedItem,
    ExportedRow,
    Scope,
    StoreConflict,
    StoreEngine,
    StoreUnavailable,
    UnreadableRecord,
)
from toolcharter_stores.archive import document_of, sealed_texts

TIMEOUT_S = 30.0
_MAX_FAULTS = 100
_MAX_PASSES = 20
_MAX_REPORTED = 5


class CheckResult(NamedTuple):
    """The result of `check`: how much a store holds, and its faults."""

    records: dict[tuple[str, str, str], int]
    """The number of records by tenant, distribution and kind."""
    items: int
    """The number of items in lists."""
    secrets: int
    """The number of encrypted texts."""
    faults: tuple[str, ...]
    """One sentence per fault, up to a hundred."""


def check(engine: StoreEngine) -> CheckResult:
    """Read everything, and decrypt every secret.

    Raises:
        StoreUnavailable: The store cannot be read, or has another schema version than this version reads.
    """
    engine.require_current()
    records, items, sealed, faults = Counter[tuple[str, str, str]](), 0, 0, list[str]()
    with engine.export() as content:
        for each in content:
            if isinstance(each, ExportedItem):
                items += 1
                if not _is_json(each.item):
                    faults.append(f"An item of the list {each.name!r} of {_describe_scope(each.scope)} is no JSON.")
            elif isinstance(each, ExportedRow):
                records[each.scope.tenant, each.scope.distribution, each.kind] += 1
                try:
                    for field, text in sealed_texts(each):
                        sealed += 1
                        engine.unseal(each.scope, each.kind, each.row.key, field, text)
                except StoreUnavailable as error:
                    faults.append(f"{_describe_scope(each.scope)}: {'/'.join(each.row.key)}: {error.message}")
    return CheckResult(dict(sorted(records.items())), items, sealed, tuple(faults[:_MAX_FAULTS]))


def rotate_keys(engine: StoreEngine) -> int:
    """Encrypt every secret again with the first key, while other processes keep writing.

    Records that cannot be decrypted stay unchanged.

    Returns:
        How many records were written.

    Raises:
        StoreUnavailable: Some records cannot be decrypted (the message names the first), the store is unreachable, or
            other processes keep changing the same records. Secrets encrypted so far stay so; run it again to continue.
    """
    written = 0
    for _ in range(_MAX_PASSES):
        missed, faults = 0, list[str]()
        for each in _with_secrets(engine):
            try:
                new = _reseal(engine, each)
            except UnreadableRecord as error:
                faults.append(f"{_describe_scope(each.scope)}: {'/'.join(each.row.key)}: {error.message}")
                continue
            if new is None:
                continue
            try:
                _put(engine, each, new)
                written += 1
            except StoreConflict:  # another process has just written it, with the new key or an old key
                missed += 1
        if faults and not missed:
            raise StoreUnavailable(f"{len(faults)} records are unchanged. {' '.join(faults[:_MAX_REPORTED])}")
        if not missed:
            return written
    raise StoreUnavailable("Other processes keep changing the same records. Run it again when the store is less busy.")


def _with_secrets(engine: StoreEngine) -> list[ExportedRow]:
    """Return the rows that hold secrets, as a list: no transaction stays open while they are written."""
    with engine.export() as content:
        return [each for each in content if isinstance(each, ExportedRow) and each.row.secret]


def _reseal(engine: StoreEngine, each: ExportedRow) -> str | None:
    """Return the document with its secrets encrypted again; None if it has none."""
    document, texts = document_of(each), dict(sealed_texts(each))
    if not texts:
        return None
    scope, kind, key = each.scope, each.kind, each.row.key
    anew = {
        field: engine.seal(scope, kind, key, field, engine.unseal(scope, kind, key, field, text))
        for field, text in texts.items()
    }
    for field in each.row.secret:
        value = document.get(field)
        if isinstance(value, str):
            document[field] = anew[field]
        elif isinstance(value, dict):
            document[field] = {name: anew[f"{field}/{name}"] for name in value}
    return orjson.dumps(document).decode()


def _put(engine: StoreEngine, each: ExportedRow, document: str) -> None:
    row = each.row._replace(document=document)

    def work(transaction: EngineTransaction) -> int:
        return transaction.put(each.kind, row, expected=each.version)

    engine.transact(each.scope, work, timeout_s=TIMEOUT_S)


def _describe_scope(scope: Scope) -> str:
    return f"{scope.distribution} of {scope.tenant or 'the only tenant'}"


def _is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True
