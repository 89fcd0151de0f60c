"""`Service`: the store, the toolboxes of each tenant's agents, the bus, and the background tasks."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar
from uuid import uuid4

from toolcharter import (
    Approver,
    Caller,
    ConfigurationError,
    Fault,
    LiveToolbox,
    Sink,
    Store,
    StoreHandle,
    Toolbox,
    open_live,
    scrub_value,
)
from toolcharter.hosts import Emitter, Host, open_sinks
from toolcharter_service.config import ANY_AGENT, AgentConfig, ConfigFile, is_unset, missing_workspace, url_of
from toolcharter_service.gateway import Control, building_for
from toolcharter_service.heartbeat import OwnHeartbeat

P = TypeVar("P")
DISTRIBUTION = "toolcharter-service"
"""The distribution that owns the service's own records."""
_MAX_UNREADABLE = 10_000
_CANCELLED_S = 1.0
"""How long background tasks may take to end before they are cancelled again, in seconds."""


def now() -> str:
    """Return the time in UTC, to the microsecond: `2026-11-24T20:00:00.000000Z`."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


class Stores(Protocol):
    """The interface of the handle from `toolcharter.open_store`."""

    def bound(self, tenant: str, distribution: str, *, on_unreadable: Callable[[str], object] | None = None) -> Store:
        """Return the records of one tenant and distribution."""
        ...

    def close(self) -> None:
        """Close the engine."""
        ...


class UnknownAgent(LookupError):
    """The tenant has no such agent, or the tenant does not exist."""


class _ToolboxKey(NamedTuple):
    """The key of a toolbox. Agents with the same key share it."""

    tenant: str
    profile: str
    workspace: str
    agent: str
    """Empty for agents without their own custom tools."""


class _OpenToolbox(NamedTuple):
    box: LiveToolbox
    host: Host


class Service:
    """One process of the service. `start` builds all toolboxes; `stop` ends what runs.

    Args:
        file: The configuration.
        stores: The handle of the store.
        dev: Whether it is `serve --dev`: one profile, loopback, no credentials, and a warning in each response.
    """

    ANY: ClassVar[str] = ANY_AGENT
    """The key of a tenant's agents for every agent without its own entry."""

    def __init__(self, file: ConfigFile, *, stores: Stores, dev: bool = False) -> None:
        self.worker = uuid4().hex
        """The unique id of this process among the workers."""
        self.control: Control | None = None
        """Stops and restarts the process; None if another program runs the server."""
        self.stopping = asyncio.Event()
        """Set when the service begins to stop: event streams end, and calls have `stop_s` seconds."""
        self.tenant_sinks: list[Callable[[str], Sink]] = []
        """Functions that create a sink for the events of one tenant. Parts of the service add theirs before `start`."""
        self.on_stopping: list[Callable[[], object]] = []
        """Called once when the service begins to stop."""
        self.loop: asyncio.AbstractEventLoop
        """The event loop that it runs in, from `start` on."""
        self._parts: dict[type, object] = {}
        self.on_starting: list[Callable[[], object]] = []
        """Called in a thread at the start, before toolboxes are built. An exception stops the start."""
        self.faults: list[Fault] = []
        """The faults found while the service and its parts were created. `build` reports them with all others."""
        self.on_examining: list[Callable[[], object]] = []
        """Called before `on_starting`, and by `serve --check`. Each raises `ConfigurationError` with the faults that it
        finds, and writes nothing."""
        self.on_stop: list[Callable[[], Awaitable[object]]] = []
        """Awaited when the service stops, before toolboxes are closed."""
        self.file = file
        self.config = file.config
        self.dev = dev
        self.heartbeat = OwnHeartbeat()
        """Decides whether this process may declare another process dead."""
        self.sinks: list[str | Sink] = [url_of(each) for each in file.config.events if not is_unset(each)]
        """The sinks for the events of all toolboxes. Parts of the service add theirs before `start`."""
        self.health_checks: dict[str, Callable[[], Awaitable[str | None]]] = {}
        """The checks of `/readyz`: by name, a function that returns why the part is unreachable, or None."""
        self.bus: Any = None
        self.approver: Callable[[str], Approver] | None = None
        """Returns the approver for a tenant's toolboxes; None if there are no approvals."""
        self.is_token_valid: Callable[[str, str], Awaitable[bool]] | None = None
        """Whether a tenant's token with this id is still valid, for the stored calls that it made; None if the service
        has no tokens."""
        self.is_credential_valid: Callable[[str, str, str], Awaitable[bool]] | None = None
        """Whether a credential is still valid, by tenant, means and id, for calls that wait for an approver."""
        self._stores = stores
        self._store_cache: dict[tuple[str, str], Store] = {}
        self._unreadable: set[tuple[str, str]] = set()
        """The tenants and messages of unreadable records that were reported already."""
        self._boxes: dict[_ToolboxKey, _OpenToolbox] = {}
        self._with_own_toolbox: set[tuple[str, str]] = set()
        self._lock = threading.RLock()
        self._emitter: Emitter | None = None
        self._background: list[tuple[str, Callable[[], Awaitable[None]]]] = []
        self._tasks: list[asyncio.Task[None]] = []

    def add_part(self, part: object) -> None:
        """Register a part of the application, such as `Calls`, by its class."""
        self._parts[type(part)] = part

    def part(self, kind: type[P]) -> P:
        """Return the part of this class that was registered with `add_part`."""
        found = self._parts[kind]
        assert isinstance(found, kind)  # noqa: S101 - for the type checkers
        return found

    def store(self, tenant: str, distribution: str = DISTRIBUTION) -> Store:
        """Return the records of a tenant.

        Args:
            tenant: The tenant; empty for the records of the service as a whole.
            distribution: The distribution that owns the records; by default the service.
        """
        known = self._store_cache.get((tenant, distribution))
        if known is None:
            tell = partial(self._report_unreadable, tenant)
            known = self._store_cache[tenant, distribution] = self._stores.bound(
                tenant, distribution, on_unreadable=tell
            )
        return known

    def _report_unreadable(self, tenant: str, what: str) -> None:
        """Emit an event about an unreadable record, once, since some lists are read each second."""
        if (tenant, what) not in self._unreadable and len(self._unreadable) < _MAX_UNREADABLE:
            self._unreadable.add((tenant, what))
            with suppress(ConfigurationError, OSError):
                self.emit("service.record_unreadable", tenant=tenant, message=what)

    def agents(self, tenant: str) -> Mapping[str, AgentConfig]:
        """Return the agents of *tenant*, possibly with `ANY`; none if the tenant does not exist."""
        known = self.config.tenants.get(tenant)
        return {} if known is None else known.agents

    def agent(self, tenant: str, agent: str) -> AgentConfig:
        """Return the profile and workspace of an agent.

        Raises:
            UnknownAgent: The configuration does not have it.
        """
        agents = self.agents(tenant)
        one = agents.get(agent) or agents.get(self.ANY)
        if one is None:
            raise UnknownAgent(f"There is no agent {agent!r}.")
        return one

    def toolbox(self, tenant: str, agent: str | None) -> LiveToolbox:
        """Return the toolbox of an agent. Agents may share it: use a view of `toolbox.current` for each caller.

        Args:
            tenant: The agent's tenant.
            agent: The agent's name; None for any agent of a tenant that does not name its agents.

        Raises:
            UnknownAgent: The configuration does not have it.
            ConfigurationError: The agent has new custom tools, and its own toolbox cannot be built.
        """
        return self._find_toolbox(tenant, agent).box

    def host(self, tenant: str, agent: str | None) -> Host:
        """Return the host over an agent's toolbox.

        Raises:
            UnknownAgent: As `toolbox`.
            ConfigurationError: As `toolbox`.
        """
        return self._find_toolbox(tenant, agent).host

    def view(self, caller: Caller, *, tenant: str, agent: str | None) -> Toolbox:
        """Return the current tools of *agent*'s toolbox for *caller*."""
        return self.toolbox(tenant, agent).current.for_caller(caller)

    def toolboxes(self, tenant: str | None = None) -> Iterator[LiveToolbox]:
        """Return all open toolboxes, or those of one tenant."""
        with self._lock:
            boxes = list(self._boxes.items())
        return (one.box for key, one in boxes if tenant in {None, key.tenant})

    def give_own_toolbox(self, tenant: str, agent: str) -> None:
        """Give an agent its own toolbox, since it has its own custom tools."""
        self.agent(tenant, agent)
        self._with_own_toolbox.add((tenant, agent))

    def has_own_toolbox(self, tenant: str, agent: str) -> bool:
        """Whether an agent has its own toolbox."""
        return (tenant, agent) in self._with_own_toolbox

    def run_in_background(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Run *work* from `start` until `stop` cancels it. If it raises, it is restarted after a second."""
        self._background.append((name, work))

    def emit(self, event: str, /, **fields: Any) -> None:
        """Write an event of the service itself, such as `service.admin`, to the configured sinks."""
        told, _ = scrub_value(json.loads(json.dumps(fields, default=str)))
        line = json.dumps({"event": event, "level": "info", "ts": now(), **told}).encode() + b"\n"
        self._open_event_sinks().emit(line)

    def _open_event_sinks(self) -> Emitter:
        """Open the configured sinks for the service's own events, once.

        Raises:
            ConfigurationError: A sink cannot be opened.
        """
        known = self._emitter
        if known is not None:  # Without the lock: a transaction may emit an event while a toolbox is built.
            return known
        with self._lock:
            if self._emitter is None:
                self._emitter = open_sinks(self.sinks)
            return self._emitter

    def _close_events(self) -> None:
        with self._lock:
            emitter, self._emitter = self._emitter, None
        if emitter is not None:
            emitter.close()

    def build(self, *, starts: bool = True) -> None:
        """Build every toolbox that is not built yet.

        Args:
            starts: Whether the service is about to start. If not, `on_starting` is skipped and nothing is written.

        Raises:
            ConfigurationError: It lists every fault of the configuration and of the profiles, sinks and stores that it
                names. All toolboxes are closed again.
        """
        faults = [*self.file.faults, *self.faults, *self._sink_faults(), *self._external_faults()]
        if not faults and starts:
            for begin in self.on_starting:
                begin()
        for tenant, one in self.config.tenants.items():
            for agent in one.agents:
                faults += self._toolbox_faults(tenant, agent)
        if faults:
            self._close_toolboxes()
            raise self.file.error(faults)

    def _sink_faults(self) -> list[Fault]:
        """Return the faults of sinks that cannot be opened. They are removed, so no toolbox tries them again."""
        with suppress(ConfigurationError):
            self._open_event_sinks()
            return []
        faults = list[Fault]()
        for number, named in enumerate(self.config.events):
            url = "" if is_unset(named) else url_of(named)
            try:
                open_sinks([url] if url else []).close()
            except ConfigurationError as error:
                faults += self.file.locate_faults(error, "events", number)
                self.sinks = [sink for sink in self.sinks if sink != url]
        return faults

    def _external_faults(self) -> list[Fault]:
        """Return the faults that parts of the service find outside the configuration, such as in secrets and files."""
        faults = list[Fault]()
        for examine in self.on_examining:
            try:
                examine()
            except ConfigurationError as error:
                faults += error.faults
        return faults

    def _toolbox_faults(self, tenant: str, agent: str) -> Iterator[Fault]:
        """Build the toolbox of an agent. If its workspace is missing, only check it, in an empty temporary folder."""
        one = self.agent(tenant, agent)
        try:
            if (missing := missing_workspace(self.file, tenant, agent)) is None:
                self.toolbox(tenant, agent)
                return
            yield missing
            with TemporaryDirectory() as instead, suppress(ExceptionGroup):
                self._open_toolbox(_ToolboxKey(tenant, one.profile, instead, "")).close()
        except ConfigurationError as error:
            yield from self.file.locate_faults(error, "tenants", tenant, "agents", agent, "profile")

    def _close_toolboxes(self) -> None:
        for box in self.toolboxes():
            with suppress(ExceptionGroup):
                box.close()
        self._boxes.clear()

    def close(self) -> None:
        """Close the toolboxes and the store of a service that was not started."""
        self._close_toolboxes()
        self._close_events()
        self._stores.close()

    async def start(self) -> None:
        """Build every toolbox, and start the background tasks.

        Raises:
            ConfigurationError: As `build`.
        """
        self.loop = asyncio.get_running_loop()
        await asyncio.to_thread(self.build)
        self._tasks = [asyncio.create_task(_run_restarting(work), name=name) for name, work in self._background]

    def begin_stop(self) -> None:
        """Announce that the service is about to stop. Call this in the thread of its event loop."""
        if not self.stopping.is_set():
            self.stopping.set()
            for notify in self.on_stopping:
                notify()

    async def stop(self) -> None:
        """Cancel the background tasks, wait for running calls, and close everything."""
        self.begin_stop()
        # In a loop: before Python 3.12 `asyncio.wait_for` may lose a cancellation, and libraries use it.
        while running := [task for task in self._tasks if not task.done()]:
            for task in running:
                task.cancel()
            await asyncio.wait(running, timeout=_CANCELLED_S)
        self._tasks.clear()
        for end in self.on_stop:
            with suppress(Exception):
                await end()
        with self._lock:
            boxes, self._boxes = list(self._boxes.values()), {}
        await asyncio.gather(*(one.box.aclose() for one in boxes), return_exceptions=True)
        self._close_events()
        await asyncio.to_thread(self._stores.close)

    def _find_toolbox(self, tenant: str, agent: str | None) -> "_OpenToolbox":
        one = self.agent(tenant, agent or self.ANY)
        own = agent if agent is not None and (tenant, agent) in self._with_own_toolbox else ""
        key = _ToolboxKey(tenant, one.profile, one.workspace, own)
        known = self._boxes.get(key)
        return self._find_or_build(key) if known is None else known

    def _find_or_build(self, key: _ToolboxKey) -> "_OpenToolbox":
        with self._lock:
            known = self._boxes.get(key)
            if known is None:
                box = self._open_toolbox(key)
                known = self._boxes[key] = _OpenToolbox(box, Host.over(box))
            return known

    def _open_toolbox(self, key: _ToolboxKey) -> LiveToolbox:
        with building_for(self):
            return open_live(
                key.profile,
                workspace=key.workspace,
                caller=Caller(agent=key.agent or None, tenant=key.tenant),
                events=[*self.sinks, *(make(key.tenant) for make in self.tenant_sinks)],
                approver=None if self.approver is None else self.approver(key.tenant),
                stores=self._stores if isinstance(self._stores, StoreHandle) else None,
            )


async def _run_restarting(work: Callable[[], Awaitable[None]]) -> None:
    while True:
        try:
            await work()
        except Exception:  # noqa: BLE001 - it is restarted; its own part reports its state
            await asyncio.sleep(1)
        else:
            return
