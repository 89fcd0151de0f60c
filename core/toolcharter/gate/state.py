"""What all calls of one toolbox use: `ToolboxState`, from its profile to its sinks, and the calls under way."""

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
    from toolcharter.loader.discover import Late
else:
    compute_pool = lazy("toolcharter.guards.compute")
    network_client = lazy("toolcharter.guards.network.client")
    s4_confine = lazy("toolcharter.gate.stages.s4_confine")
    store_handle = lazy("toolcharter.guards.store.handle")
CLOSE_WAIT_S = 5.0
"""How long closing a toolbox waits for calls under way, in seconds."""


class CallRegistry:
    """The calls under way in one toolbox, and what has to happen when it closes. Safe from many threads."""

    def __init__(self) -> None:
        self.live: dict[int, tuple[CallContext, Callable[[CallContext], object]]] = {}
        """Calls under way with what interrupts each, by identity. Setting and deleting a key is atomic."""
        self.agents: set[RunningAgent] = set()
        """The agents that tools have started; `close` cancels them."""
        self.closed = False
        self._callbacks: list[Callable[[], object]] = []
        self._closing = threading.Lock()
        renew_in_child(self)

    def renew(self) -> None:
        """In a fork's child: the calls under way are the parent's, and so are their afters."""
        for ctx, _ in self.live.values():
            ctx.try_finish()
        self.live.clear()
        self.agents.clear()

    def require_open(self) -> None:
        """Refuse what comes after `close`."""
        if self.closed:
            raise ToolboxClosed("the toolbox is closed; build another with build_tools()")

    def admit(self, agent: "RunningAgent") -> None:
        """Note *agent*, which `close` cancels.

        Raises:
            ToolboxClosed: It is too late: what is noted after `close` has looked would be cancelled by nobody.
        """
        self.agents.add(agent)
        if self.closed:
            self.agents.discard(agent)
            self.require_open()

    def on_close(self, callback: Callable[[], object]) -> None:
        """Run *callback* when the toolbox closes, before those registered earlier."""
        self._callbacks.append(callback)

    def close(self, wait_s: float) -> bool:
        """Let no call begin any more, let those under way end for *wait_s* seconds, and interrupt the rest.

        Returns:
            False if it was closed already.

        Raises:
            ToolcharterError: One of the calls under way is the one that would close them.
        """
        current = CURRENT.get()
        if current is not None and current.live_key in self.live:
            raise ToolcharterError(f"the call {current.call_id!r} cannot close the toolbox that it goes through")
        with self._closing:
            if self.closed:
                return False
            self.closed = True
        for agent in list(self.agents):
            agent.cancel()
        give_up = monotonic() + wait_s
        while self.live and monotonic() < give_up:
            sleep(0.005)
        for ctx, interrupt in list(self.live.values()):
            interrupt(ctx.abandon())
        return True

    def run_callbacks(self) -> list[Exception]:
        """Run what `on_close` was given, the last first; returns what it raised."""
        errors = []
        while self._callbacks:
            try:
                self._callbacks.pop()()
            except Exception as error:  # noqa: BLE001 - the others must run too
                errors.append(error)
        return errors


def _no_channel(name: str, _url: str, _place: str) -> "Channel":
    raise NotDelivered(f"This toolbox does not know the channel {name!r}.")


def _no_store(_: str) -> "StoreEngine":
    raise StoreUnavailable("This toolbox has no store.")


class ProfileStore:
    """Where the tools of a profile keep records: one store for a session, with all of its reloads.

    Args:
        url: What the profile says; empty if it names none.
        place: Where it says so.
        open_engine: Opens the engine for a URL, or for the store of those who name none; nothing connects yet.
        shared: A host's own store, used instead and left open.

    Raises:
        ConfigurationError: The profile names a store that cannot be used.
    """

    def __init__(
        self,
        url: str = "",
        place: str = "",
        open_engine: "Callable[[str], StoreEngine]" = _no_store,
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
        """In a fork's child: a thread of the parent may be at it."""
        self._lock = threading.Lock()

    @property
    def places(self) -> tuple[Path, ...]:
        """The files and folders of a store that the profile names."""
        return () if self._engine is None else tuple(self._engine.keeps_state_in())

    def require_full_text(self, specs: "Iterable[ToolSpec[Any]]") -> None:
        """Refuse to start tools of *specs* whose records are searched, on a store that cannot search.

        Raises:
            ConfigurationError: The store has no full text, or there is none.
        """
        searching = [spec.name for spec in specs if any(one.store_kind.full_text for one in spec.records)]
        if not searching:
            return
        with self._lock:
            engine = self._engine = self._engine or self._open_engine("")
        if not engine.has_full_text:
            names = ", ".join(map(repr, searching))
            what = f"records of {names} are searched, and this store has no full text."
            raise ConfigurationError([Fault(self._place, "store", what, "Name a store that has: `sqlite:`.")])

    @property
    def handle(self) -> "StoreHandle":
        """The store; nothing is opened yet."""
        with self._lock:
            if self._handle is None:
                self._handle = store_handle.StoreHandle(self._open)
            return self._handle

    def _open(self) -> "StoreEngine":
        return self._engine or self._open_engine("")

    def close(self) -> None:
        """Release the store."""
        if self._shared is not None:
            return
        if self._handle is not None:
            self._handle.close()
        elif self._engine is not None:
            self._engine.close()


@dataclass(eq=False, repr=False)
class ToolboxState:
    """What all calls of one toolbox use; made by `build_tools`, closed once."""

    profile: str
    digest: str
    workspace: Path
    lines: LineFormat
    emitter: Emitter
    policy: Policy = field(default_factory=Policy)
    availability: AvailabilityPlan = field(default_factory=lambda: AvailabilityPlan((), ToolCatalog({}, {})))
    files: tuple[Path, ...] = ()
    """The profile's own file and those that it extends."""
    required: bool = False
    """The profile says `events: {required: true}`."""
    args_detail: ArgsDetail = "full"
    checks: tuple[Check, ...] = ()
    rates: "RateLimits | None" = None
    """None if no call is limited."""
    notifier: "Notifier | None" = None
    """None without notifications."""
    session: "SessionStage | None" = None
    """The guards that remember a session's calls; None if none is switched on."""
    tables: "Tables | None" = None
    """What plugins know of programs besides the core; None if that is nothing."""
    inventory: Inventory = field(default_factory=lambda: Inventory(Path()))
    """What no tool may change in the workspace."""
    store: ProfileStore = field(default_factory=ProfileStore)
    """Where its tools keep records."""
    runners: Runners = field(default_factory=lambda: Runners(None, None, RunnerScope(Path())))
    """Where programs run."""
    facts: dict[str, ToolFacts] = field(default_factory=dict)
    """What rules see of each tool, also of those that a reload took away."""
    hidden: tuple[HiddenGlob, ...] = ()
    """What no tool reads, and no program in a sandbox sees."""
    paths: "WorkspacePaths | None" = None
    """The workspace's files."""
    view: "Callable[[Caller], ToolboxView] | None" = None
    """The present tools, as a caller may use them."""
    allowance: "Callable[[], Allowance] | None" = None
    """What the profile permits whoever sees all of them."""
    reload: "Callable[[], Reload] | None" = None
    """Looks for tools again; None if the toolbox never changes."""
    limits_for: Callable[[str], Limits] = lambda _: Limits()
    """The limits of a tool, by its name."""
    owns_resources: bool = True
    """False for the state of a reloaded toolbox: it borrows sinks, runners and session guards, and must not close them."""
    open_approval: "Callable[[ToolboxState], ApprovalService] | None" = None
    """Makes what `approval` gives, when the first call has to wait for a person."""
    open_channel: "Callable[[str, str, str], Channel]" = _no_channel
    """Opens the channel of a name and a URL for whom the last argument names."""
    discoverers: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """What the objects of extensions implement of `discover_tools`, by the name of the extension."""
    extensions: Mapping[tuple[str, str], Any] = field(default_factory=dict)
    """The objects of extensions, by distribution and name of the extension."""
    routes: tuple[PathRoute, ...] = ()
    """What keeps files elsewhere than on the disk."""
    agent_host: "Callable[[AgentTask], Any] | None" = None
    """What runs agents; None if no extension does."""
    late: "Late | None" = None
    """The same with what they may use; known once they have been asked."""
    has_approver: bool = False
    """Whether there is an approver."""
    strict: bool = False
    """Under `toolcharter.testing`: a tool that breaks its own spec raises."""
    loop: LoopThread = field(default_factory=LoopThread)
    calls: CallRegistry = field(default_factory=CallRegistry)
    """The calls under way."""
    opened_for: "Caller" = field(default_factory=Caller)
    """Whom the toolbox was built for."""
    _opened_at: float = field(default_factory=monotonic)

    @cached_property
    def approval(self) -> "ApprovalService":
        """Stage 5: where calls wait for people."""
        if self.open_approval is None:
            raise ToolcharterError("this toolbox can ask no one")
        return self.open_approval(self)

    @cached_property
    def client(self) -> "network_client.Client":
        """The way to the network."""
        return network_client.Client()

    @cached_property
    def compute(self) -> "compute_pool.ComputePool":
        """The child processes that read text of strangers."""
        pool = compute_pool.ComputePool(child_search_path)
        self.calls.on_close(pool.close)
        return pool

    @cached_property
    def confinement(self) -> "s4_confine.Confinement":
        """What holds commands against the file system."""
        confinement = s4_confine.Confinement(self.workspace, self.inventory, self.hidden)
        self.calls.on_close(confinement.close)
        return confinement

    def child(self, **changed: Any) -> "ToolboxState":
        """The state of a reloaded toolbox: calls of its own, on the sinks, runners and session guards of this one."""
        return replace(self, calls=CallRegistry(), owns_resources=False, **changed)

    def withdraw(self, ctx: CallContext) -> None:
        """Take back the question whether *ctx* may run, if one is under way."""
        approval: ApprovalService | None = self.__dict__.get("approval")  # none is opened for it
        if approval is not None:
            approval.withdraw(ctx)

    def announce(self, caller: "Caller", versions: Mapping[str, str]) -> bytes:
        """The event `toolbox.open`, which says what this toolbox is made of."""
        system, runner = os.uname(), self.runners.name_for(bounded=False)
        opened = {
            "files": [redact_id(file.absolute()) for file in self.files],
            "workspace": redact_id(self.workspace),
            "versions": {"toolcharter": import_module("toolcharter").__version__, **versions},
            "host": {
                "name": system.nodename,
                "python": ".".join(map(str, sys.version_info[:3])),
                "platform": f"{system.sysname} {system.release} {system.machine}",
            },
            # On the host programs see all that this user may read.
            "hidden_from_programs": runner != HOST if self.hidden and runner else None,
        }
        self.opened_for = caller
        return self.lines.frame(TOOLBOX_OPEN, caller, opened)

    def _close_emitter(self) -> None:
        """Write the event `toolbox.close` if any other was written, and close the sinks."""
        if self.emitter.has_begun:
            elapsed_ms = round((monotonic() - self._opened_at) * 1000, 2)
            closed = {"elapsed_ms": elapsed_ms, "lost": self.emitter.lost}
            self.emitter.emit(self.lines.frame(TOOLBOX_CLOSE, self.opened_for, closed))
        self.emitter.close()

    def close(self, wait_s: float | None = None) -> list[Exception]:
        """Let calls under way end for *wait_s* seconds, by default `CLOSE_WAIT_S`, release everything, and return what went wrong meanwhile.

        Raises:
            ToolcharterError: One of the calls under way is the one that would close them.
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
