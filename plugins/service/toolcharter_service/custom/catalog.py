"""Reads custom tools from a store: those of all agents, and those of one agent."""

from collections.abc import Iterator

from toolcharter import StoreTransaction
from toolcharter_service.custom.records import GLOBAL, CustomTool

_PAGE = 500


def read_enabled(store: StoreTransaction, agent: str | None) -> tuple[tuple[CustomTool, ...], tuple[str, ...]]:
    """Return the enabled tools of an agent, those of all agents first, and notes on tools that were left out."""
    scopes = (GLOBAL,) if agent is None else (GLOBAL, agent)
    names, kept, notes = set[str](), list[CustomTool](), list[str]()
    found = [one for scope in scopes for one in _read_tools(store, scope, notes) if one.enabled]
    for one in found:
        if one.name.lower() in names:
            notes.append(f"The custom tool {one.name!r} of the agent {agent!r} is left out (name_conflict).")
        else:
            names.add(one.name.lower())
            kept.append(one)
    return tuple(kept), tuple(notes)


def tools_of_scope(store: StoreTransaction, scope: str) -> Iterator[CustomTool]:
    """Yield the tools of one agent, or of all agents (`*`), by name."""
    yield from _read_tools(store, scope, [])


def all_tools(store: StoreTransaction) -> Iterator[CustomTool]:
    """Yield all custom tools of a tenant."""
    yield from _read_tools(store, None, [])


def _read_tools(store: StoreTransaction, scope: str | None, notes: list[str]) -> Iterator[CustomTool]:
    """Yield the tools of one scope: an agent or `*`; None for every scope. Unreadable records are added to *notes*."""
    after, where = "", None if scope is None else {"scope": scope}
    while True:
        page = store.page(CustomTool, where=where, after=after, limit=_PAGE, skip_unreadable=True)
        notes += page.unreadable
        yield from (one.record for one in page.records)
        after = page.after
        if not after:
            return


def scopes(store: StoreTransaction) -> frozenset[str]:
    """Return the agents that have their own custom tools."""
    return frozenset(one.scope for one in all_tools(store)) - {GLOBAL}
