"""`LiveToolbox`: a session's toolbox, which a reload replaces when its discoverers find other tools than before.

A toolbox itself never changes. The toolboxes of a session share their base: sinks, rate limits, the memory of session
guards, the runner, and the tools of plugins with their resources. The previous toolbox stays usable until the next
reload, so that a turn that has begun can end on it. It is closed when its calls have ended.
"""

import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from toolcharter._lazy import lazy
from toolcharter.api.approval import Approver
from toolcharter.api.call import Ask, Call, Caller, ToolResult
from toolcharter.api.reasons import Reason
from toolcharter.api.runtime import Reload
from toolcharter.errors import ConfigurationError, Denied, ToolboxClosed
from toolcharter.events.lines import LineFormat
from toolcharter.events.sinks import SinkLike
from toolcharter.gate.build.inventory import require_store_outside, resolve_workspace
from toolcharter.gate.build.late import LateRuntime, discover_late
from toolcharter.gate.build.open import build_tools_into, open_state, plan_for
from toolcharter.gate.build.plan import Plan, refresh_discovered
from toolcharter.gate.redact import mask_secrets, redact_id
from toolcharter.gate.state import ProfileStore, ToolboxState
from toolcharter.gate.toolbox import Toolbox
from toolcharter.loader.discover import extenders
from toolcharter.loader.load import Check
from toolcharter.loader.scan import find_installed
from toolcharter.policy.compile import compile_availability
from toolcharter.profile.globs import fold

if TYPE_CHECKING:
    import asyncio

    from toolcharter.api import sessions
    from toolcharter.api.sessions import InboxItem, Role, Usage
    from toolcharter.gate import agents
    from toolcharter.guards.store.handle import StoreHandle
else:
    sessions = lazy("toolcharter.api.sessions")
    agents = lazy("toolcharter.gate.agents")
    asyncio = lazy("asyncio")

Subscriber = Callable[[Toolbox], object]


def open_live(
    profile: str | Path,
    *,
    workspace: str | Path,
    caller: Caller | None = None,
    events: SinkLike | Iterable[SinkLike] | None = (),
    approver: Approver | None = None,
    last_approver: Approver | None = None,
    strict: bool = False,
    believed: Iterable[Path] = (),
    stores: "StoreHandle | None" = None,
) -> "LiveToolbox":
    """Build the tools of *profile* for a session in which tools may come and go.

    Args:
        profile: As for `build_tools`.
        workspace: As for `build_tools`.
        caller: As for `build_tools`.
        events: As for `build_tools`; with None, events are written only if the profile requires them.
        approver: As for `build_tools`.
        last_approver: The approver if there is neither an *approver* nor an extension that answers.
        strict: For tests: a tool that breaks its own spec raises.
        believed: Files and folders that the host executes or trusts. No tool may change them.
        stores: The host's own store, used instead of the profile's. The host closes it. It must not lie in the
            workspace.

    Raises:
        ConfigurationError: It lists every fault of the profile and the installation; nothing is built.
    """
    places = () if stores is None else stores.keeps_state_in()
    require_store_outside(resolve_workspace(workspace), places)
    with plan_for(profile, workspace, () if events is None else events) as (planned, named, survey):
        sinks = named if events is not None or planned.profile.events.required else []
        plan, base = open_state(
            planned,
            workspace,
            sinks,
            approver,
            last_approver,
            strict=strict,
            believed=(*believed, *places),
            survey=survey,
        )
    if stores is not None:
        base.store.close()
        base.store = ProfileStore(shared=stores)
    try:
        return LiveToolbox(plan, base, caller or Caller())
    except BaseException:
        base.close()
        raise


class LiveToolbox:
    """The current toolbox of one session, and the subscribers to its replacement. Thread-safe."""

    def __init__(self, plan: Plan, base: ToolboxState, caller: Caller) -> None:
        self._base = base
        self._caller = caller
        self._lock = threading.RLock()
        self._subscribers: dict[object, Subscriber] = {}
        self._retired: list[Toolbox] = []
        self._closed = False
        base.reload, base.opened_for = self._reload_for_tool, caller
        late = LateRuntime(base, is_live=True)
        self._plan = plan = discover_late(plan, base, late)
        self._first_fingerprints = _fold_names(plan.discovered.fingerprints)
        """The first fingerprint of each discovered tool in this session, by its name without case, as rules name it."""
        self._current = build_tools_into(base.child(), plan, caller, base=base)
        base.emitter.set_preface(base.opening_event(caller, plan.loaded.distributions))
        late.on_announcement(self._reload_if_usable)

    @property
    def is_closed(self) -> bool:
        """Whether the session has ended."""
        return self._closed

    @property
    def current(self) -> Toolbox:
        """The toolbox for the calls of the next turn. A toolbox never changes, so read this property after a reload."""
        return self._current

    def call(
        self, name: str, args: Mapping[str, Any], *, call_id: str | None = None, parent_id: str | None = None
    ) -> ToolResult:
        """Call a tool through the current toolbox."""
        while True:
            toolbox = self._read_current()
            try:
                return toolbox.call(name, args, call_id=call_id, parent_id=parent_id)
            except ToolboxClosed:
                if self._closed or toolbox is self._current:
                    raise

    def _read_current(self) -> Toolbox:
        return self._current

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call *subscriber* with each toolbox that a reload makes, in the thread of the reload.

        It is for hosts, which offer the new tools from the next turn on. If a subscriber raises, the result of the
        reload has a note about it, and the other subscribers are still notified.

        Returns:
            A function that ends the subscription.
        """
        key = object()
        self._subscribers[key] = subscriber
        return lambda: self._subscribers.pop(key, None) and None

    def record(self, role: "Role", text: str, usage: "Usage | None" = None, *, caller: Caller | None = None) -> None:
        """Add a message to the session's record, which the session tools read. Scrubs the text of secrets.

        Args:
            role: The author of the message.
            text: The text; cut to 100,000 characters.
            usage: The tokens that a model has used for it.
            caller: The caller whose session it is; by default the caller that the toolbox was built for.

        Raises:
            StoreUnavailable: The store cannot be reached.
        """
        caller = caller or self._caller
        agents.sessions_of(self._base, caller).record(caller, role, mask_secrets(text)[0], usage)

    def inbox(self, *, caller: Caller | None = None) -> "tuple[InboxItem, ...]":
        """Take the items from the session's inbox: results of agents, fired jobs, messages. Each item is returned once.

        Args:
            caller: As for `record`.

        Raises:
            StoreUnavailable: The store cannot be reached.
        """
        caller = caller or self._caller
        return agents.sessions_of(self._base, caller).take(sessions.session_key(caller))

    def settle(self) -> None:
        """Wait for announced tools, up to the discoverers' `wait_s`. For a session of a single command."""
        until = monotonic() + self._plan.discovered.wait_s
        while self._plan.discovered.wait_s and monotonic() < until:
            sleep(_POLL_S)

    def reload(self) -> Reload:
        """Run the discoverers again, and make another toolbox if they find other tools than before.

        The profile is not read again.

        Raises:
            ConfigurationError: The tools that were found cannot be used; the current toolbox stays.
            ToolboxClosed: The session has ended.
        """
        with self._lock:
            self._base.calls.require_open()
            before = self._plan.discovered.fingerprints
            plan = refresh_discovered(self._plan, self._plan.workspace, find_installed().tools, self._base.late)
            after = plan.discovered.fingerprints
            if after != before:
                self._replace_toolbox(plan)
            self._plan = plan
            toolbox = self._current
        notes = list(plan.discovered.notes)
        if after != before:
            notes += [
                note for notify in list(self._subscribers.values()) if (note := _notify_subscriber(notify, toolbox))
            ]
        return Reload(
            tools=tuple(sorted(after)),
            new=tuple(sorted(after.keys() - before.keys())),
            changed=tuple(sorted(self._find_changed_tools(plan))),
            gone=tuple(sorted(before.keys() - after.keys())),
            folders=plan.discovered.folders,
            notes=tuple(notes),
        )

    def _reload_if_usable(self) -> None:
        """Reload because a discoverer has announced new tools. If they cannot be used, nothing changes."""
        with suppress(ConfigurationError, ToolboxClosed):
            self.reload()

    def _reload_for_tool(self) -> Reload:
        if not extenders(self._plan.extensions):
            message = "The profile permits no new tools during a session: no discoverer says `extend: true`."
            raise Denied(Reason.NOT_AVAILABLE, message)
        return self.reload()

    def _find_changed_tools(self, plan: Plan) -> frozenset[str]:
        """Return the tools whose code has changed, except those whose own extension asks about them."""
        present = plan.discovered.fingerprints.items()
        changed = frozenset(name for name, code in present if self._first_fingerprints.get(fold(name), code) != code)
        return changed - plan.discovered.asked_about

    def _replace_toolbox(self, plan: Plan) -> None:
        base, old = self._base, self._current
        changed = self._find_changed_tools(plan)
        checks = tuple(check for check in base.checks if check.plugin != _CORE_PLUGIN)
        child = base.child(
            digest=plan.digest,
            lines=LineFormat(base.profile, plan.digest, plan.profile.runner, redact_id),
            availability=compile_availability(plan.profile, plan.catalog),
            checks=(*checks, _code_change_check(changed)) if changed else checks,
        )
        reused_tools = {name: tool for name, tool in old.built.items() if name not in self._plan.discovered.tools}
        try:
            self._current = build_tools_into(child, plan, self._caller, base=base, reused_tools=reused_tools)
        except BaseException:
            child.close()
            raise
        # For events of plugins' tools outside calls.
        base.digest, base.lines = child.digest, child.lines
        if base.emitter.has_written_preface:
            base.emitter.emit(base.opening_event(self._caller, plan.loaded.distributions))
        else:
            base.emitter.set_preface(base.opening_event(self._caller, plan.loaded.distributions))
        self._first_fingerprints = {**_fold_names(plan.discovered.fingerprints), **self._first_fingerprints}
        self._retire_toolbox(old)

    def _retire_toolbox(self, old: Toolbox) -> None:
        """Close the toolboxes before *old* whose calls have ended."""
        idle = [toolbox for toolbox in self._retired if not toolbox.is_busy]
        self._retired = [*(toolbox for toolbox in self._retired if toolbox.is_busy), old]
        for toolbox in idle:
            toolbox.close()

    def close(self) -> None:
        """Wait for calls under way, close the tools' resources, and flush the sinks.

        Raises:
            ExceptionGroup: The exceptions of tools that failed to close. Everything else is closed nevertheless.
        """
        with self._lock:
            self._closed = True
            errors: list[Exception] = []
            for toolbox in (*self._retired, self._current):
                errors += toolbox.close_shared()
            errors += self._base.close()
        if errors:
            raise ExceptionGroup("tools raised while the toolbox closed", errors)

    async def aclose(self) -> None:
        """`close` from asynchronous code. Does not block the event loop, so that its calls under way can end."""
        await asyncio.to_thread(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


_CORE_PLUGIN = "toolcharter"
_POLL_S = 0.01
"""The polling interval of a session that waits for tools, in seconds."""


def _code_change_check(changed: Collection[str]) -> Check:
    """Return a check that requires approval for calls of tools whose code has changed, whatever allows them."""

    def ask_again(call: Call) -> Ask | None:
        if call.tool in changed:
            return Ask(Reason.PRECONDITION_FAILED, f"The code of {call.tool!r} has changed since the session began.")
        return None

    return Check(_CORE_PLUGIN, ask_again)


def _fold_names(fingerprints: Mapping[str, str]) -> Mapping[str, str]:
    return {fold(name): code for name, code in fingerprints.items()}


def _notify_subscriber(subscriber: Subscriber, toolbox: Toolbox) -> str | None:
    """Notify *subscriber*. Returns a sentence about its exception, or None."""
    try:
        subscriber(toolbox)
    except Exception as error:  # noqa: BLE001 - a host's code; the other subscribers must still be notified
        return f"A host could not take over the new tools: {type(error).__name__}."
    return None
