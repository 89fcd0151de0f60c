"""What all calls of one toolbox share: its profile, its sinks, its loop, what is under way."""

import os
import sys
import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from itertools import count
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from toolcharter.errors import ToolboxClosed, ToolcharterError
from toolcharter.events.contract import TOOLBOX_CLOSE, TOOLBOX_OPEN
from toolcharter.events.emitter import Emitter
from toolcharter.events.lines import LineFormat
from toolcharter.gate.context import CURRENT, CallContext
from toolcharter.gate.loop import LoopThread
from toolcharter.gate.running import Runners
from toolcharter.gate.shown import ArgsDetail, shown_id
from toolcharter.guards.inventory import Inventory
from toolcharter.loader.imports import child_search_path
from toolcharter.loader.load import Check
from toolcharter.policy.availability import AvailabilityPlan, Universe
from toolcharter.policy.evaluate import Policy
from toolcharter.policy.facts import ToolFacts
from toolcharter.profile.model import HOST
from toolcharter.profile.settings import HiddenGlob
from toolcharter.spec.call import Caller
from toolcharter.spec.runner import RunnerScope

if TYPE_CHECKING:
    from toolcharter.events.notify import Notifier
    from toolcharter.gate.approval import Desk
    from toolcharter.gate.runtime import View
    from toolcharter.gate.world import Lookout
    from toolcharter.guards.compute import ComputePool
    from toolcharter.guards.memory.session import SessionMemory
    from toolcharter.guards.network.client import Client
    from toolcharter.guards.paths import WorkspacePaths
    from toolcharter.guards.rates.binding import RateLimits
    from toolcharter.guards.shell.tables import Tables
    from toolcharter.spec.reload import Reload

CLOSE_WAIT_S = 5.0
"""How long closing a toolbox waits for calls under way, in seconds."""
MAX_NESTING = 16
"""How deep calls may call other tools before the gate takes it for a runaway."""


class CallIds:
    """Identifiers unique to this process: a random prefix and a number. Cheaper than a UUID."""

    def __init__(self) -> None:
        self._renew()
        os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._prefix = f"call-{os.urandom(6).hex()}-"
        self._numbers = count(1)

    def __call__(self) -> str:
        """The next identifier."""
        return f"{self._prefix}{next(self._numbers)}"


new_call_id = CallIds()


@dataclass(eq=False)
class Shared:
    """One toolbox's common ground; made by `build_tools`, closed once."""

    profile: str
    digest: str
    workspace: Path
    lines: LineFormat
    emitter: Emitter
    policy: Policy = field(default_factory=Policy)
    availability: AvailabilityPlan = field(default_factory=lambda: AvailabilityPlan((), Universe({}, {})))
    files: tuple[Path, ...] = ()
    """The profile's own file and those that it extends."""
    required: bool = False
    """The profile says `events: {required: true}`."""
    args_detail: ArgsDetail = "full"
    checks: tuple[Check, ...] = ()
    rates: "RateLimits | None" = None
    """None if no call is limited."""
    notifier: "Notifier | None" = None
    """None if nobody wants to be told."""
    memory: "SessionMemory | None" = None
    """The guards that remember a session's calls; None if none is switched on."""
    tables: "Tables | None" = None
    """What plugins know of programs besides the core; None if that is nothing."""
    inventory: Inventory = field(default_factory=lambda: Inventory(Path()))
    """What no tool may change in the workspace."""
    runners: Runners = field(default_factory=lambda: Runners(None, None, RunnerScope(Path())))
    """Where programs run."""
    facts: dict[str, ToolFacts] = field(default_factory=dict)
    """What rules see of each tool, also of those that a reload took away."""
    hidden: tuple[HiddenGlob, ...] = ()
    """What no tool reads, and no program in a sandbox sees."""
    paths: "WorkspacePaths | None" = None
    """The workspace's files."""
    view: "Callable[[Caller], View] | None" = None
    """The present tools, as a caller may use them."""
    reload: "Callable[[], Reload] | None" = None
    """Looks for tools again; None if the toolbox never changes."""
    is_lent: bool = False
    """It stands on another's ground, which outlives it: sinks, runners and what remembers are not its to close."""
    open_desk: "Callable[[Shared], Desk] | None" = None
    """Makes what `desk` gives, when the first call has to wait for a person."""
    has_approver: bool = False
    """Whether there is somebody to ask."""
    strict: bool = False
    """Under `toolcharter.testing`: a tool that breaks its own spec raises."""
    loop: LoopThread = field(default_factory=LoopThread)
    live: dict[int, tuple[CallContext, Callable[[CallContext], object]]] = field(default_factory=dict)
    """Calls under way with what interrupts each, by identity. Setting and deleting a key is atomic."""
    closed: bool = False
    opened_for: "Caller" = field(default_factory=Caller)
    """Whom the toolbox was built for."""
    _opened_at: float = field(default_factory=monotonic)
    _callbacks: list[Callable[[], object]] = field(default_factory=list)
    _closing: Any = field(default_factory=threading.Lock)

    @cached_property
    def desk(self) -> "Desk":
        """Where calls wait for people."""
        if self.open_desk is None:
            raise ToolcharterError("this toolbox has no desk")
        return self.open_desk(self)

    @cached_property
    def client(self) -> "Client":
        """The way to the network."""
        from toolcharter.guards.network.client import Client  # noqa: PLC0415 - few profiles reach the network

        return Client()

    @cached_property
    def compute(self) -> "ComputePool":
        """The child processes that read text of strangers."""
        from toolcharter.guards.compute import ComputePool  # noqa: PLC0415 - few profiles read such text

        pool = ComputePool(child_search_path)
        self.on_close(pool.close)
        return pool

    @cached_property
    def lookout(self) -> "Lookout":
        """What holds commands against the file system."""
        from toolcharter.gate.world import Lookout  # noqa: PLC0415 - few profiles run programs

        lookout = Lookout(self.workspace, self.inventory, self.hidden)
        self.on_close(lookout.close)
        return lookout

    def __post_init__(self) -> None:
        _ALL.add(self)

    def lend(self, **changed: Any) -> "Shared":
        """The ground of another toolbox on this one, with calls and resources of its own."""
        return replace(self, live={}, closed=False, is_lent=True, _callbacks=[], _closing=threading.Lock(), **changed)

    def withdraw(self, ctx: CallContext) -> None:
        """Take back the question whether *ctx* may run, if somebody is being asked."""
        desk: Desk | None = self.__dict__.get("desk")  # none is opened for it
        if desk is not None:
            desk.withdraw(ctx)

    def require_open(self) -> None:
        """Refuse what comes after `close`."""
        if self.closed:
            raise ToolboxClosed("the toolbox is closed; build another with build_tools()")

    def on_close(self, callback: Callable[[], object]) -> None:
        """Run *callback* when the toolbox closes, before those registered earlier."""
        self._callbacks.append(callback)

    def announce(self, caller: "Caller", versions: Mapping[str, str]) -> bytes:
        """The event `toolbox.open`, which says what this toolbox is made of."""
        system, runner = os.uname(), self.runners.name_for(bounded=False)
        opened = {
            "files": [shown_id(file.absolute()) for file in self.files],
            "workspace": shown_id(self.workspace),
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

    def close(self) -> list[Exception]:
        """Let calls under way end, release everything, and return what went wrong meanwhile.

        Raises:
            ToolcharterError: One of the calls under way is the one that would close them.
        """
        current = CURRENT.get()
        if current is not None and current.live_key in self.live:
            raise ToolcharterError(f"the call {current.call_id!r} cannot close the toolbox that it goes through")
        with self._closing:
            if self.closed:
                return []
            self.closed = True
        give_up = monotonic() + CLOSE_WAIT_S
        while self.live and monotonic() < give_up:
            sleep(0.005)
        for ctx, interrupt in list(self.live.values()):
            interrupt(ctx.abandon())
        if "desk" in self.__dict__:
            self.desk.close()
        errors = []
        try:
            while self._callbacks:
                try:
                    self._callbacks.pop()()
                except Exception as error:  # noqa: BLE001 - the others must run too
                    errors.append(error)
        finally:
            if not self.is_lent:
                self.loop.close()
                self._close_emitter()
        return errors


_ALL: "weakref.WeakSet[Shared]" = weakref.WeakSet()


def _leave_calls_to_the_parent() -> None:
    """In a fork's child: the calls under way are the parent's, and so are their afters."""
    for shared in _ALL:
        for ctx, _ in shared.live.values():
            ctx.claim()
        shared.live.clear()


os.register_at_fork(after_in_child=_leave_calls_to_the_parent)
