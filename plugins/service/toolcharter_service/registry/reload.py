"""Reloads the toolboxes of this process after changes in the store: its own at once, others' within a second."""

import asyncio
import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

from toolcharter import (
    BusUnavailable,
    ConfigurationError,
    Fault,
    LiveToolbox,
    StoreConflict,
    StoreUnavailable,
    ToolboxClosed,
)
from toolcharter_service.custom.catalog import scopes
from toolcharter_service.custom.records import GLOBAL, CustomTool
from toolcharter_service.registry.bootstrap import FILES, records_at_discovery, records_at_start
from toolcharter_service.registry.catalog import seed
from toolcharter_service.registry.records import StoredTool, ToolRecord
from toolcharter_service.service import Service

TOPICS: Final = ("cache_tools", "cache_custom_tools")
"""The bus topics for changed records and changed custom tools. The message is the agent's name, or empty for all."""
_POLL_S: Final = 1.0


def now() -> str:
    """Return the current time in RFC 3339."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class RegistryReloader:
    """Seeds the registry of a service, and reloads its toolboxes."""

    def __init__(self, service: Service, folder: Path | None = None) -> None:
        self._service = service
        self._folder = folder or Path.cwd()
        self._seen: dict[str, int] = {}
        self._start_records: tuple[ToolRecord, ...] = ()
        service.on_examining.append(self.read_bootstrap_file)
        service.on_starting.append(self.seed_all)
        service.run_in_background("registry", self.poll_changes)

    @classmethod
    def of(cls, service: Service) -> "RegistryReloader":
        """Return the instance of *service*, which all routes share."""
        known = _RELOADERS.get(service)
        if known is None:
            known = _RELOADERS[service] = cls(service)
        return known

    def read_bootstrap_file(self) -> None:
        """Read the bootstrap file.

        Raises:
            ConfigurationError: The file is invalid, or in a workspace, where tools could write it.
        """
        self._require_outside_workspaces()
        self._start_records = records_at_start(self._folder, os.environ, now())

    def seed_all(self) -> None:
        """Seed each tenant's registry with the records from `read_bootstrap_file`, before its toolboxes are built."""
        for tenant in self._service.config.tenants:
            # The service starts without a store, too; `poll_changes` seeds as soon as the store answers.
            with suppress(StoreUnavailable):
                self._seed(tenant, self._start_records)

    def _seed(self, tenant: str, records: tuple[ToolRecord, ...]) -> None:
        store = self._service.store(tenant)
        for one in seed(store, records):
            self.emit_record_event(tenant, one, "tool.discovered")
        self._give_own_toolboxes(tenant, scopes(store))
        self._seen[tenant] = store.last_change()

    def discover(self, tenant: str) -> tuple[ToolRecord, ...]:
        """Restore the missing records of a discovery, and return all of its records."""
        records = records_at_discovery(os.environ, now())
        for one in seed(self._service.store(tenant), records):
            self.emit_record_event(tenant, one, "tool.discovered")
        return records

    def emit_record_event(self, tenant: str, record: ToolRecord, action: str, by: str = "") -> None:
        """Emit an event about a record."""
        facts = {"tool_id": record.id, "name": record.name, "safety": record.safety_level}
        self._service.emit("service.admin", action=action, tenant=tenant, by=by or record.created_by, **facts)

    def _require_outside_workspaces(self) -> None:
        path = next((path for name in FILES if (path := self._folder / name).exists()), None)
        if path is None:
            return
        faults = [
            Fault(
                f"{path}:1:1",
                "",
                f"the file is in the workspace of the agent {agent!r} of {name!r}, whose tools can write it.",
                "Start the service in another folder.",
            )
            for name, tenant in self._service.config.tenants.items()
            for agent, one in tenant.agents.items()
            if path.resolve().is_relative_to(Path(one.workspace).resolve())
        ]
        if faults:
            raise ConfigurationError(faults)

    def _give_own_toolboxes(self, tenant: str, agents: Iterable[str]) -> None:
        for agent in agents:
            with suppress(LookupError):  # an agent that is no longer in the configuration
                self._service.give_own_toolbox(tenant, agent)

    async def reload_everywhere(self, tenant: str, agent: str | None = None, *, topic: str = TOPICS[0]) -> None:
        """Reload the affected toolboxes, here and in other processes.

        Args:
            tenant: The tenant.
            agent: The agent whose tools have changed; None for those of all agents.
            topic: The topic of `TOPICS` for the change.
        """
        if self._service.bus is not None:
            self._service.bus.publish(tenant, topic, (agent or "").encode())
        await asyncio.to_thread(self.reload_here, tenant, agent)

    def reload_here(self, tenant: str, agent: str | None = None) -> None:
        """Reload the affected toolboxes of this process."""
        boxes: list[LiveToolbox]
        if agent is None:
            boxes = list(self._service.toolboxes(tenant))
        else:
            self._give_own_toolboxes(tenant, [agent])
            with suppress(LookupError, ConfigurationError):
                boxes = [self._service.toolbox(tenant, agent)]
                _reload_boxes(boxes)
            return
        _reload_boxes(boxes)

    async def poll_changes(self) -> None:
        """Poll the store each second for changes of other processes, until cancelled."""
        bus = self._service.bus
        subscriptions = list[Any]()
        try:
            if bus is not None:
                with suppress(BusUnavailable):  # polling is enough
                    subscriptions += [
                        await asyncio.to_thread(bus.subscribe, topic, self.reload_on_message) for topic in TOPICS
                    ]
            while True:
                for tenant in self._service.config.tenants:
                    with suppress(StoreUnavailable):
                        await asyncio.to_thread(self.reload_changed, tenant)
                await asyncio.sleep(_POLL_S)
        finally:
            for one in subscriptions:
                one.close()

    def reload_on_message(self, tenant: str, payload: bytes) -> None:
        """Reload the affected toolboxes after a message on the bus."""
        # A message may name any agent. One without its own tools must not get its own toolbox.
        agent = payload.decode(errors="replace") or None
        if tenant in self._service.config.tenants:
            with suppress(StoreUnavailable):
                if agent is None or self._service.has_own_toolbox(tenant, agent) or self._has_tools(tenant, agent):
                    self.reload_here(tenant, agent)

    def _has_tools(self, tenant: str, agent: str) -> bool:
        return agent != GLOBAL and agent in scopes(self._service.store(tenant))

    def reload_changed(self, tenant: str) -> None:
        """Read the changes since the last poll, and reload the affected toolboxes."""
        store = self._service.store(tenant)
        seen = self._seen.get(tenant)
        if seen is None:
            self._seed(tenant, records_at_start(self._folder, os.environ, now()))
            self.reload_here(tenant)
            return
        last = store.last_change()
        if last == seen:
            return
        try:
            changes = store.changes(seen if last > seen else 0, models=(StoredTool, CustomTool))
        except StoreConflict:  # the store no longer knows all deletions, for instance after a restore
            self._give_own_toolboxes(tenant, scopes(store))
            self.reload_here(tenant)
            self._seen[tenant] = last
            return
        agents = {one.key[0] for one in changes if one.kind == CustomTool.store_kind.name} - {GLOBAL}
        if any(one.kind == StoredTool.store_kind.name or one.key[0] == GLOBAL for one in changes) or last < seen:
            self._give_own_toolboxes(tenant, agents)
            self.reload_here(tenant)
        else:
            for agent in agents:
                self.reload_here(tenant, agent)
        self._seen[tenant] = last if len(changes) < _MAX_CHANGES else changes[-1].seq


_RELOADERS: "WeakKeyDictionary[Service, RegistryReloader]" = WeakKeyDictionary()
_MAX_CHANGES: Final = 1_000
"""The most changes that one query returns. The next poll reads the rest."""


def _reload_boxes(boxes: Iterable[LiveToolbox]) -> None:
    for box in boxes:
        # A failed reload leaves the toolbox unchanged; a closed toolbox needs no reload.
        with suppress(ConfigurationError, ToolboxClosed):
            box.reload()
