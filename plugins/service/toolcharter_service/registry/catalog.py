"""The registry in a store: reads its records, and changes them according to the rules."""

from collections.abc import Iterator
from typing import NamedTuple

from pydantic import ValidationError

from toolcharter import Store, StoreTransaction, UnreadableRecord
from toolcharter_service.registry.records import StoredTool, ToolOwner, ToolRecord, ToolVersion
from toolcharter_service.registry.rules import (
    AGENT,
    SYSTEM,
    Actor,
    ExistingTool,
    RegistryReason,
    RegistryRefusal,
    owner_of,
    require_may_delete,
    require_may_register,
)

_PAGE = 500


class Catalog(NamedTuple):
    """The content of the registry."""

    tools: tuple[ToolRecord, ...]
    """The records, sorted by id."""
    notes: tuple[str, ...]
    """The skipped records and the reasons, as sentences."""


class Change(NamedTuple):
    """The result of a registration."""

    record: ToolRecord
    is_new: bool
    version: int


def read_catalog(store: StoreTransaction) -> Catalog:
    """Read all records, sorted by id. Unreadable records are skipped, with a note."""
    tools, notes = list[ToolRecord](), list[str]()
    for written in _stored_tools(store, notes):
        try:
            tools.append(written.read())
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"])) or "record"
            notes.append(f"The record {written.id[:64]!r} is skipped: {place}: {first['msg']}.")
    return Catalog(tuple(sorted(tools, key=lambda one: one.id)), tuple(notes))


def _stored_tools(store: StoreTransaction, notes: list[str]) -> Iterator[StoredTool]:
    """Yield every record that any program has written as a tool. Those that are no JSON with an id go to *notes*."""
    after = ""
    while True:
        page = store.page(StoredTool, after=after, limit=_PAGE, skip_unreadable=True)
        notes += page.unreadable
        yield from (one.record for one in page.records)
        after = page.after
        if not after:
            return


def _has_record(store: StoreTransaction, tool: str) -> bool:
    try:
        return store.get(StoredTool, tool) is not None
    except UnreadableRecord:
        return True


def is_unreadable(store: StoreTransaction, tool: str) -> bool:
    """Whether *tool* has a record that cannot be read."""
    try:
        found = store.get(StoredTool, tool)
        if found is not None:
            found.record.read()
    except (UnreadableRecord, ValidationError):
        return True
    return False


def find(store: StoreTransaction, tool: str) -> ExistingTool | None:
    """Read the record of *tool*; None if there is none.

    Raises:
        RegistryRefusal: `exists`: the record cannot be read.
    """
    try:
        found = store.get(StoredTool, tool)
        if found is None:
            return None
        record = found.record.read()
    except (UnreadableRecord, ValidationError):
        raise RegistryRefusal(RegistryReason.EXISTS, f"There is a record {tool!r} that cannot be read.") from None
    owner = store.get(ToolOwner, tool)
    # A record that another program has written has no owner record.
    said = owner.record.owner if owner is not None else record.created_by
    return ExistingTool(record, said, found.version)


def register(store: Store, record: ToolRecord, actor: Actor, now: str) -> Change:
    """Write *record*, and keep the record that it replaces as a version.

    Raises:
        RegistryRefusal: `exists`.
    """
    return store.transact(lambda each: register_within(each, record, actor, now))


def register_within(each: StoreTransaction, record: ToolRecord, actor: Actor, now: str) -> Change:
    """Write *record* like `register`, as part of a transaction.

    Raises:
        RegistryRefusal: `exists`.
    """
    known = find(each, record.id)
    require_may_register(record, known, actor)
    written = record
    if known is not None:
        written = record.model_copy(update={"created_at": known.record.created_at or record.created_at})
        if written == known.record:
            return Change(written, is_new=False, version=known.version)
        each.put(
            ToolVersion(
                id=record.id,
                number=f"{known.version:010}",
                record=known.record,
                replaced_at=now,
                replaced_by=actor.name,
            )
        )
    version = each.put(StoredTool.of(written), expected=0 if known is None else known.version)
    each.put(ToolOwner(id=record.id, owner=owner_of(written, actor)))
    return Change(written, known is None, version)


def delete(store: Store, tool: str, actor: Actor, now: str) -> ToolRecord:
    """Delete the record of *tool*, keep it as its last version, and return it.

    Raises:
        RegistryRefusal: `unknown_tool`, `not_owner`.
    """

    def work(each: StoreTransaction) -> ToolRecord:
        known = find(each, tool)
        require_may_delete(tool, known, actor)
        assert known is not None  # noqa: S101 - `require_may_delete` has refused it
        each.put(
            ToolVersion(
                id=tool, number=f"{known.version:010}", record=known.record, replaced_at=now, replaced_by=actor.name
            )
        )
        each.delete(StoredTool, tool, expected=known.version)
        each.delete(ToolOwner, tool)
        return known.record

    return store.transact(work)


def delete_unreadable(store: Store, tool: str) -> bool:
    """Delete the record of *tool* and its owner if it cannot be read. Return whether it was deleted."""

    def work(each: StoreTransaction) -> bool:
        if not is_unreadable(each, tool):
            return False
        each.delete(ToolOwner, tool)
        return each.delete(StoredTool, tool)

    return store.transact(work)


def seed(store: Store, records: tuple[ToolRecord, ...]) -> tuple[ToolRecord, ...]:
    """Register the *records* that are missing, without changing existing records. Return those that were missing."""

    def work(each: StoreTransaction) -> tuple[ToolRecord, ...]:
        missing = tuple(one for one in records if not _has_record(each, one.id))
        for one in missing:
            each.put(StoredTool.of(one), expected=0)
            each.put(ToolOwner(id=one.id, owner=SYSTEM if one.created_by == SYSTEM else AGENT))
        return missing

    return store.transact(work)
