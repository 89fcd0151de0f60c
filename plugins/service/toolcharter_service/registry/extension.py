"""The extension `registry`: finds registered and custom tools, and restricts installed tools to their records."""

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema_rs

from toolcharter import (
    Call,
    CapabilityBounds,
    Deny,
    Discovery,
    DiscoveryRuntime,
    ProfileView,
    Reason,
    SpecError,
    StoreTransaction,
    StoreUnavailable,
    ToolPolicy,
    ToolSpec,
    hookimpl,
)
from toolcharter_service.custom import catalog as custom
from toolcharter_service.custom.tools import spec_of as custom_spec
from toolcharter_service.registry.catalog import is_unreadable, read_catalog
from toolcharter_service.registry.policy import RegistryPolicy
from toolcharter_service.registry.reasons import RunReason
from toolcharter_service.registry.records import ToolOwner, ToolRecord
from toolcharter_service.registry.rules import AGENT
from toolcharter_service.registry.schemas import json_schema
from toolcharter_service.registry.source_tools import SOURCE_TOOLS
from toolcharter_service.registry.tools import spec_of

_LEVELS = ("low", "medium", "high")


class _Restriction(NamedTuple):
    """A record's description of an installed tool."""

    id: str
    permissions: frozenset[str]
    safety: str
    names: frozenset[str] | None
    """The arguments that a call may have; None for any."""
    validator: Any
    agent: str | None
    """The agent that registered the record, which then only restricts its own calls; None for all agents' calls."""


class Registry:
    """The extension of one toolbox. Can be used by many threads."""

    def __init__(self, workspace: Path, policy: RegistryPolicy) -> None:
        self._workspace = workspace
        self._policy = policy
        self._lock = threading.Lock()
        self._last = Discovery()
        self._restrictions: Mapping[str, tuple[_Restriction, ...]] = {}
        self._unreadable: Mapping[str, str] = {}
        """For each installed tool, the unreadable record that describes it."""
        self._bounds: tuple[CapabilityBounds, ...] = ()

    @hookimpl
    def discover_tools(self, profile: ProfileView, rt: DiscoveryRuntime | None) -> Discovery:
        """Find the tools that the store has now. While it is unreachable, the tools found before stay."""
        if rt is None:
            return Discovery()
        with self._lock:
            self._bounds = profile.bounds
            try:
                self._last = self._discover(rt, profile.tools)
            except StoreUnavailable as error:
                note = f"The registry cannot be read ({error.reason}): {error}"
                return self._last._replace(notes=(note,))
            return self._last

    def _discover(self, rt: DiscoveryRuntime, listed: tuple[str, ...]) -> Discovery:
        notes, specs = list[str](), list[ToolSpec[ToolPolicy]]()
        restrictions: dict[str, list[_Restriction]] = {}
        unreadable: dict[str, str] = {}
        if self._policy.records:
            unreadable = {installed_name(one): one for one in _possible_ids(listed) if is_unreadable(rt.store, one)}
            found = read_catalog(rt.store)
            notes += found.notes
            for record in found.tools:
                if record.exec is None:
                    restrictions.setdefault(installed_name(record.id), []).append(
                        _build_restriction(record, _registering_agent(rt.store, record))
                    )
                else:
                    notes += _add_spec(specs, record.id, partial(spec_of, record, self._policy))
        if self._policy.custom:
            tools, told = custom.read_enabled(rt.store, rt.caller.agent)
            notes += told
            for tool in tools:
                rt.keep_secret(tool.env.values())
                notes += _add_spec(specs, tool.name, partial(custom_spec, tool, self._policy))
        if len(specs) > self._policy.max_tools:
            left = len(specs) - self._policy.max_tools
            notes.append(f"{left} tools are left out (too_many): max_tools is {self._policy.max_tools}.")
        self._restrictions = {name: tuple(those) for name, those in restrictions.items()}
        self._unreadable = unreadable
        return Discovery(found=tuple(specs[: self._policy.max_tools]), notes=tuple(notes))

    @hookimpl
    def check_call(self, call: Call) -> Deny | None:
        """Deny a call of an installed tool that its records do not allow. An unreadable record denies every call."""
        if call.tool in self._unreadable:
            message = f"The record {self._unreadable[call.tool]!r}, which describes the tool, cannot be read."
            return Deny(RunReason.NOT_AS_REGISTERED, message)
        for one in self._restrictions.get(call.tool, ()):
            if one.agent is not None and one.agent != (call.caller.agent or "*"):
                continue
            if refusal := _refusal(one, call, self._bounds):
                return refusal
        return None


def installed_name(tool: str) -> str:
    """Return the installed tool that the record *tool* describes. HDN's names are translated."""
    known = SOURCE_TOOLS.get(tool)
    return tool if known is None else known.installed


def _possible_ids(listed: tuple[str, ...]) -> Iterator[str]:
    """Yield the ids of records that may describe one of the tools *listed*."""
    yield from listed
    yield from (name for name, known in SOURCE_TOOLS.items() if known.installed in listed)


def _registering_agent(store: StoreTransaction, record: ToolRecord) -> str | None:
    """Return the agent that registered *record*; None for the system, an operator or another program."""
    owner = store.get(ToolOwner, record.id) if record.created_by == AGENT else None
    return None if owner is None else owner.record.owner.partition(":")[2] or None


def _build_restriction(record: ToolRecord, agent: str | None) -> _Restriction:
    known = SOURCE_TOOLS.get(record.id)
    if record.input_schema:
        schema = json_schema(record.input_schema)
        renamed = {} if known is None else known.arguments
        schema["properties"] = {renamed.get(name, name): one for name, one in schema["properties"].items()}
        # The tool's own schema decides on further and required arguments.
        schema = {"properties": schema["properties"]}
        names = frozenset(schema["properties"])
    else:
        schema, names = {}, None
    validator = jsonschema_rs.validator_for(schema)
    return _Restriction(record.id, frozenset(record.permissions), record.safety_level, names, validator, agent)


def _refusal(one: _Restriction, call: Call, bounds: tuple[CapabilityBounds, ...]) -> Deny | None:
    for bound in bounds:
        if refused := sorted(word for word in one.permissions if not _permits(bound, word)):
            return Deny(
                Reason.CAPABILITY_NOT_ALLOWED,
                f"The record {one.id!r} says that the tool touches {', '.join(refused)}, which the profile does not grant.",
            )
        if bound.max_safety is not None and _LEVELS.index(one.safety) > _LEVELS.index(bound.max_safety):
            return Deny(
                Reason.SAFETY_TOO_HIGH,
                f"The record {one.id!r} has the safety level {one.safety!r}; the profile permits {bound.max_safety!r}.",
            )
    given = {name: value for name, value in call.args.items() if value is not None}
    if one.names is not None and not one.validator.is_valid(given):
        return Deny(RunReason.NOT_AS_REGISTERED, f"The arguments do not fit the input_schema of the record {one.id!r}.")
    return None


def _permits(bound: CapabilityBounds, word: str) -> bool:
    allowed = bound.allow is None or any(_matches(glob, word) for glob in bound.allow)
    return allowed and not any(_matches(glob, word) for glob in bound.deny)


def _matches(glob: str, word: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, glob.split("*"))), word) is not None


def _add_spec(specs: list[ToolSpec[ToolPolicy]], name: str, make: Callable[[], ToolSpec[ToolPolicy]]) -> Iterator[str]:
    """Add a tool. If its record is invalid, yield a note instead."""
    try:
        specs.append(make())
    except (SpecError, ValueError) as error:
        yield f"The tool {name!r} is left out (bad_record): {error}."
