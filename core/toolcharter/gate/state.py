"""`ToolboxState`: what all calls of one toolbox share, from profile to sinks; `CallRegistry`: the calls under way."""

import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from toolcharter._fork import renew_in_child
from toolcharter._lazy import lazy
from toolcharter.api.call import Caller
from toolcharter.api.runner import RunnerScope
from toolcharter.errors import (
    ConfigurationError,
    Fault,
    NotDelivered,
    StoreUnavailable,
    ToolboxClosed,
    ToolcharterError,
)
from toolcharter.events.contract import TOOLBOX_CLOSE, TOOLBOX_OPEN
from toolcharter.events.emitter import Emitter
from toolcharter.events.lines import LineFormat
from toolcharter.gate.call import CURRENT, CallContext
from toolcharter.gate.redact import ArgsDetail, redact_id
from toolcharter.gate.runners import Runners
from toolcharter.gate.waiting import LoopThread
from toolcharter.guards.inventory import Inventory
from toolcharter.loader.hooks import PathRoute
from toolcharter.loader.imports import child_search_path
from toolcharter.loader.load import Check
from toolcharter.policy.availability import AvailabilityPlan, ToolCatalog
from toolcharter.policy.evaluate import Policy
from toolcharter.policy.rule_input import ToolFacts
from toolcharter.profile.model import HOST, Limits
from toolcharter.profile.settings import HiddenGlob

if TYPE_CHECKING:
    from toolcharter.api.agents import AgentTask, RunningAgent, ToolboxView
    from toolcharter.api.allowance import Allowance
    from toolcharter.api.channel import Channel
    from toolcharter.api.runtime import Reload
    from toolcharter.api.store_engine import StoreEngine
    from toolcharter.api.tool import ToolSpec
    from toolcharter.events.notify import Notifier
    from toolcharter.gate.stages import s4_confine
    from toolcharter.gate.stages.s4_session import SessionStage
    from toolcharter.gate.stages.s5_approval import ApprovalService
    from toolcharter.guards import compute as compute_pool
    from toolcharter.guards.network import client as network_client
    from toolcharter.guards.paths import WorkspacePaths
    from toolcharter.guards.rates.binding import RateLimits
    from toolcharter.guards.shell.programs.tables import Tables
    from toolcharter.guards.store import handle as store_handle
    from toolcharter.guards.store.handle import StoreHandle
    from toolcharter.loader.discover import LateDiscoverers
else:
    compute_pool = lazy("toolcharter.guards.compute")
    network_client = lazy("toolcharter.guards.network.client")
    s4_confine = lazy("toolcharter.gate.stages.s4_confine")
    store_handle = lazy("toolcharter.guards.store.handle")
CLOSE_WAIT_S = 5.0
"""How long closing a toolbox waits for calls under way, in seconds."""


class CallRegistry:
    """The calls under way in one toolbox, and the callbacks for its closing. Thread-safe."""

    def __init__(self) -> None:
        self.live: dict[int, tuple[CallContext, Callable[[CallContext], object]]] = {}
        """Calls under way, each with the function that interrupts it, by `live_key`. Dictionary changes are atomic."""
        self.agents: set[RunningAgent] = set()
        """The agents that tools have started; `close` cancels them."""
        self.closed = False
        self._callbacks: list[Callable[[], object]] = []
        self._closing = threading.Lock()
        renew_in_child(self)

    def renew(self) -> None:
        """Drop the calls in a forked child: they are the parent's, which writes their `tool.after`."""
        for ctx, _ in self.live.values():
            ctx.try_finish()
        self.live.clear()
        self.agents.clear()

    def require_open(self) -> None:
        """Raise `ToolboxClosed` after `close`."""
        if self.closed:
            raise ToolboxClosed("the toolbox is closed; build another with build_tools()")

    def admit(self, agent: "RunningAgent") -> None:
        """Register *agent*, so that `close` cancels it.

        Raises:
            ToolboxClosed: The toolbox is closed; `close` would no longer see the agent.
        """
        self.agents.add(agent)
        if self.closed:
            self.agents.discard(agent)
            self.require_open()

    def on_close(self, callback: Callable[[], object]) -> None:
        """Run *callback* when the toolbox closes, before those registered earlier."""
        self._callbacks.append(callback)

    def close(self, wait_s: float) -> bool:
        """Refuse new calls, wait up to *wait_s* seconds for calls under way, and interrupt the rest.

        Returns:
            False if it was closed already.

        Raises:
            ToolcharterError: The body of a call under way tries to close its own toolbox.
        """
        current = CURRENT.get()
        if current is not None and current.live_key in self.live:
            raise ToolcharterError(f"the call {current.call_id!r} cannot close its own toolbox")
        with self._closing:
            if self.closed:
                return False
            self.closed = True
        for agent in list(self.agents):
            agent.cancel()
        deadline = monotonic() + wait_s
        while self.live and monotonic() < deadline:
            sleep(0.005)
        for ctx, interrupt in list(self.live.values()):
            interrupt(ctx.abandon())
        return True

    def run_callbacks(self) -> list[Exception]:
        """Run the callbacks of `on_close`, the last registered first; returns their exceptions."""
        errors = []
        while self._callbacks:
            try:
                self._callbacks.pop()()
            except Exception as error:  # noqa: BLE001 - the other callbacks must run, too
                errors.append(error)
        return errors


def _refuse_channel(name: str, _url: str, _place: str) -> "Channel":
    raise NotDelivered(f"This toolbox does not know the channel {name!r}.")


def _refuse_store(_: str) -> "StoreEngine":
    raise StoreUnavailable("This toolbox has no store.")


class ProfileStore:
    """The store for the records of a profile's tools: one store for a session and all of its reloads.

    Args:
        url: The store's URL in the profile; empty if the profile names none.
        place: The place of the URL in the profile.
        open_engine: Opens the engine for a URL, or with an empty URL the default store; does not connect yet.
        shared: A host's own store, used instead and never closed here.

    Raises:
        ConfigurationError: The profile names a store that cannot be used.
    """

    def __init__(
        self,
        url: str = "",
        place: str = "",
        open_engine: "Callable[[str], StoreEngine]" = _refuse_store,
        shared: "StoreHandle | None" = None,
    ) -> None:
        self._place = place
        self._open_engine = open_engine
        self._shared = shared
        self._handle: StoreHandle | None = shared
        self._engine: StoreEngine | None = open_engine(url) if url else None
        self.renew()
        renew_in_child(self)

    def renew(self) -> None:
        """Replace the lock in a forked child: a thread of the parent may hold it."""
        self._lock = threading.Lock()

    @property
    def state_paths(self) -> tuple[Path, ...]:
        """The files and folders of a store that the profile names."""
        return () if self._engine is None else tuple(self._engine.keeps_state_in())

    def require_full_text(self, specs: "Iterable[ToolSpec[Any]]") -> None:
        """Raise if a tool of *specs* needs full-text search and the store cannot search.

        Raises:
            ConfigurationError: The store has no full-text search, or it cannot be opened.
        """
        searching = [spec.name for spec in specs if any(one.store_kind.full_text for one in spec.records)]
        if not searching:
            return
        with self._lock:
            engine = self._engine = self._engine or self._open_engine("")
        if not engine.has_full_text:
            names = ", ".join(map(repr, searching))
            what = f"records of {names} are searched, but this store has no full-text search."
            raise ConfigurationError(
                [Fault(self._place, "store", what, "Name a store with full-text search: `sqlite:`.")]
            )

    @property
    def handle(self) -> "StoreHandle":
        """A handle of the store; does not open the store yet."""
        with self._lock:
            if self._handle is None:
                self._handle = store_handle.StoreHandle(self._open)
            return self._handle

    def _open(self) -> "StoreEngine":
        return self._engine or self._open_engine("")

    def close(self) -> None:
        """Release the store, unless it is a host's own."""
        if self._shared is not None:
            return
        if self._handle is not None:
            self._handle.close()
        elif self._engine is not None:
            self._engine.close()


@dataclass(eq=False, repr=False)
class ToolboxState:
    """The state that all calls of one toolbox share; made by `build_tools`, closed once."""

    profile: str
    digest: str
    workspace: Path
    lines: LineFormat
    emitter: Emitter
    policy: Policy = field(default_factory=Policy)
    availability: AvailabilityPlan = field(default_factory=lambda: AvailabilityPlan((), ToolCatalog({}, {})))
    files: tuple[Path, ...] = ()
    """The profile's own file and the files that it extends."""
    required: bool = False
    """Whether the profile says `events: {required: true}`."""
    args_detail: ArgsDetail = "full"
    checks: tuple[Check, ...] = ()
    rates: "RateLimits | None" = None
    """None if no call is limited."""
    notifier: "Notifier | None" = None
    """None without notifications."""
    session: "SessionStage | None" = None
    """The session guards; None if none is switched on."""
    tables: "Tables | None" = None
    """Tables of programs from plugins, in addition to the core's; None if there are none."""
    inventory: Inventory = field(default_factory=lambda: Inventory(Path()))
    """The files in the workspace that no tool may change."""
    store: ProfileStore = field(default_factory=ProfileStore)
    """The store for the tools' records."""
    runners: Runners = field(default_factory=lambda: Runners(None, None, RunnerScope(Path())))
    """The runner for programs."""
    facts: dict[str, ToolFacts] = field(default_factory=dict)
    """The facts about each tool that rules use, including tools that a reload has removed."""
    hidden: tuple[HiddenGlob, ...] = ()
    """The files that no tool reads, and no program in a sandbox sees."""
    paths: "WorkspacePaths | None" = None
    """The workspace's files."""
    view: "Callable[[Caller], ToolboxView] | None" = None
    """Returns the current tools, as a caller may use them."""
    allowance: "Callable[[], Allowance] | None" = None
    """Returns what the profile permits a caller that sees all tools."""
    reload: "Callable[[], Reload] | None" = None
    """Runs the discoverers again; None if the toolbox never changes."""
    limits_for: Callable[[str], Limits] = lambda _: Limits()
    """The limits of a tool, by its name."""
    owns_resources: bool = True
    """False for the state of a reloaded toolbox: it borrows sinks, runners and session guards, and must not close them."""
    open_approval: "Callable[[ToolboxState], ApprovalService] | None" = None
    """Makes the service of `approval`, when the first call has to wait for a person."""
    open_channel: "Callable[[str, str, str], Channel]" = _refuse_channel
    """Opens a channel, given its name, its URL and the place for faults."""
    discoverers: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """The methods `discover_tools` of the extensions' objects, by the name of the extension."""
    extensions: Mapping[tuple[str, str], Any] = field(default_factory=dict)
    """The objects of extensions, by distribution and name of the extension."""
    routes: tuple[PathRoute, ...] = ()
    """The implementations of `route_path`, which keep files outside the disk."""
    agent_host: "Callable[[AgentTask], Any] | None" = None
    """The implementation of `run_agent`; None if no extension runs agents."""
    late: "LateDiscoverers | None" = None
    """The discoverers with the runtime that they may use; None until `discover_late` runs."""
    has_approver: bool = False
    """Whether there is an approver."""
    strict: bool = False
    """For `toolcharter.testing`: whether a tool that breaks its own spec raises."""
    loop: LoopThread = field(default_factory=LoopThread)
    calls: CallRegistry = field(default_factory=CallRegistry)
    """The calls under way."""
    opened_for: "Caller" = field(default_factory=Caller)
    """The caller that the toolbox was built for."""
    _opened_at: float = field(default_factory=monotonic)

    @cached_property
    def approval(self) -> "ApprovalService":
        """Stage 5: the service that asks people."""
        if self.open_approval is None:
            raise ToolcharterError("this toolbox can ask no one")
        return self.open_approval(self)

    @cached_property
    def client(self) -> "network_client.Client":
        """The HTTP client of the toolbox."""
        return network_client.Client()

    @cached_property
    def compute(self) -> "compute_pool.ComputePool":
        """The pool of child processes for `rt.compute`."""
        pool = compute_pool.ComputePool(child_search_path)
        self.calls.on_close(pool.close)
        return pool

    @cached_property
    def confinement(self) -> "s4_confine.Confinement":
        """Checks commands against the file system."""
        confinement = s4_confine.Confinement(self.workspace, self.inventory, self.hidden)
        self.calls.on_close(confinement.close)
        return confinement

    def child(self, **changed: Any) -> "ToolboxState":
        """Return the state for a reloaded toolbox: its own calls, but the same sinks, runners and session guards."""
        return replace(self, calls=CallRegistry(), owns_resources=False, **changed)

    def withdraw(self, ctx: CallContext) -> None:
        """Withdraw the question about *ctx*, if a person is being asked."""
        approval: ApprovalService | None = self.__dict__.get("approval")  # does not open the service
        if approval is not None:
            approval.withdraw(ctx)

    def opening_event(self, caller: "Caller", versions: Mapping[str, str]) -> bytes:
        """Return the event `toolbox.open`, which describes this toolbox."""
        system, runner = os.uname(), self.runners.name_for(bounded=False)
        described = {
            "files": [redact_id(file.absolute()) for file in self.files],
            "workspace": redact_id(self.workspace),
            "versions": {"toolcharter": import_module("toolcharter").__version__, **versions},
            "host": {
                "name": system.nodename,
                "python": ".".join(map(str, sys.version_info[:3])),
                "platform": f"{system.sysname} {system.release} {system.machine}",
            },
            # On the host, programs see everything that this user may read.
            "hidden_from_programs": runner != HOST if self.hidden and runner else None,
        }
        self.opened_for = caller
        return self.lines.frame(TOOLBOX_OPEN, caller, described)

    def _close_emitter(self) -> None:
        """Write the event `toolbox.close`, if any other event was written, and close the sinks."""
        if self.emitter.has_written_preface:
            elapsed_ms = round((monotonic() - self._opened_at) * 1000, 2)
            closed = {"elapsed_ms": elapsed_ms, "lost": self.emitter.lost}
            self.emitter.emit(self.lines.frame(TOOLBOX_CLOSE, self.opened_for, closed))
        self.emitter.close()

    def close(self, wait_s: float | None = None) -> list[Exception]:
        """Wait up to *wait_s* seconds, by default `CLOSE_WAIT_S`, for calls under way, and release everything.

        Returns:
            The exceptions of callbacks that failed.

        Raises:
            ToolcharterError: The body of a call under way tries to close its own toolbox.
        """
        if not self.calls.close(CLOSE_WAIT_S if wait_s is None else wait_s):
            return []
        if "approval" in self.__dict__:
            self.approval.close()
        try:
            return self.calls.run_callbacks()
        finally:
            if self.owns_resources:
                self.loop.close()
                self._close_emitter()
