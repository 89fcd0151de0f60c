"""The runtime of discoverers once a toolbox is built: runner, network guard, scrubber, and announcements."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from math import inf
from time import monotonic, sleep
from typing import TYPE_CHECKING

from toolcharter._lazy import lazy
from toolcharter.api.call import Caller
from toolcharter.api.network import HttpLimits, NetworkPolicy
from toolcharter.api.reasons import Reason
from toolcharter.api.runner import Running
from toolcharter.errors import Denied
from toolcharter.events.lines import LineFormat
from toolcharter.gate.build.plan import Plan, refresh_discovered
from toolcharter.gate.redact import redact_id
from toolcharter.gate.state import ToolboxState
from toolcharter.guards.process import GovernedRunner
from toolcharter.loader.discover import LateDiscoverers
from toolcharter.loader.scan import find_installed
from toolcharter.policy.compile import compile_availability

if TYPE_CHECKING:
    import httpx

    from toolcharter.api import store_engine
    from toolcharter.api.agents import Agents, ToolboxView
    from toolcharter.api.allowance import Allowance
    from toolcharter.api.job import ProcessLimits
    from toolcharter.api.sessions import Inbox
    from toolcharter.api.store import Store
    from toolcharter.gate import agents
    from toolcharter.guards.network import transport
    from toolcharter.guards.secrets import engine
    from toolcharter.guards.shell.git import settings as git_settings
    from toolcharter.guards.store import secrets
    from toolcharter.guards.store import view as store_view
    from toolcharter.guards.store.handle import StoreHandle
    from toolcharter.guards.store.view import BoundStore
else:
    agents = lazy("toolcharter.gate.agents")
    engine = lazy("toolcharter.guards.secrets.engine")
    git_settings = lazy("toolcharter.guards.shell.git.settings")
    store_engine = lazy("toolcharter.api.store_engine")
    secrets = lazy("toolcharter.guards.store.secrets")
    store_view = lazy("toolcharter.guards.store.view")
    transport = lazy("toolcharter.guards.network.transport")

_DEBOUNCE_S = 0.05
"""How long a session debounces announcements, in seconds."""


class LateRuntime:
    """The parts of `DiscoveryRuntime` that all discoverers of a toolbox, or of a session, share."""

    def __init__(self, state: ToolboxState, *, is_live: bool) -> None:
        self.is_live = is_live
        self._state = state
        self._has_announcement = threading.Event()
        self._callback: Callable[[], object] | None = None
        self._lock = threading.Lock()
        self._is_callback_running = False
        self._runtimes: dict[str, ExtensionRuntime] = {}
        self.opened_for = state.opened_for

    def spawn(
        self,
        argv: Sequence[str],
        /,
        *,
        env: Mapping[str, str],
        limits: "ProcessLimits | None" = None,
        network: bool = False,
    ) -> Running:
        """Start a program as `ToolRuntime.spawn` does for unbounded tools. Its standard error is dropped."""
        state = self._state
        governed = GovernedRunner(
            partial(state.runners.runner_for, bounded=False),
            state.workspace,
            deadline=lambda: inf,
            check=self._require_open,
            protected=state.runners.repositories,
            environment=git_settings.git_overrides(str(state.workspace)),
        )
        return governed.spawn(argv, env=env, limits=limits, network=network, drops_errors=True)

    def transport(self, policy: NetworkPolicy, /, *, limits: HttpLimits | None = None) -> "httpx.AsyncBaseTransport":
        """Return a transport for an `httpx.AsyncClient`, under the network guard."""
        self._require_open()
        return transport.AsyncGuardedTransport(lambda: self._state.client.settings(policy, limits, inf))

    def runtime_for(self, distribution: str) -> "ExtensionRuntime":
        """Return the runtime of the extensions of *distribution*."""
        with self._lock:
            return self._runtimes.setdefault(distribution, ExtensionRuntime(self, distribution))

    def store_access(self, distribution: str) -> "store_view.Access":
        """Return the access of *distribution* to its records, for the tenant that the toolbox was built for."""
        scope = store_engine.Scope(self._state.opened_for.tenant, distribution)
        return store_view.Access(lambda: scope, lambda: store_view.TIMEOUT_S, lambda: None)

    @property
    def store(self) -> "StoreHandle":
        """The toolbox's store."""
        return self._state.store.handle

    def agents_for(self, caller: Caller, /) -> "Agents":
        """Starts agents for *caller*, outside calls."""
        return agents.AgentLauncher(self._state, caller, None)

    def inbox_for(self, caller: Caller, /) -> "Inbox":
        """Leaves notices for sessions of *caller*'s tenant."""
        return agents.SessionInbox(self._state, caller)

    def tools_for(self, caller: Caller, /) -> "ToolboxView":
        """Return the current tools, as *caller* may use them."""
        if self._state.view is None:
            raise Denied(Reason.NOT_AVAILABLE, "The toolbox is still being built.")
        return self._state.view(caller)

    def allowance_for(self, caller: Caller, /) -> "Allowance":
        """Return what the profile permits *caller* now."""
        seen = {*self.tools_for(caller)}
        assert self._state.allowance is not None  # noqa: S101 - it comes with the view; for the type checkers
        whole = self._state.allowance()
        return whole._replace(tools={name: digest for name, digest in whole.tools.items() if name in seen})

    def keep_secret(self, values: Iterable[str], /) -> None:
        """Mask *values* from now on."""
        engine.add_secrets(tuple(values))

    def announce(self) -> None:
        """Report that there may be other tools now. A thread of its own runs the discoverers again."""
        self._has_announcement.set()
        with self._lock:
            if self._callback is None or self._is_callback_running or self._state.calls.closed:
                return
            self._is_callback_running = True
        threading.Thread(target=self._run_callback, name="toolcharter-discovery", daemon=True).start()

    def wait(self, timeout_s: float) -> bool:
        """Wait up to *timeout_s* seconds for an unhandled announcement; returns whether there was one."""
        has_announcement = self._has_announcement.wait(timeout_s)
        self._has_announcement.clear()
        return has_announcement

    def on_announcement(self, callback: Callable[[], object]) -> None:
        """Call *callback* after each announcement, including earlier ones, but never twice at the same time."""
        self._callback = callback
        if self._has_announcement.is_set():
            self.announce()

    def _run_callback(self) -> None:
        while self._has_announcement.is_set() and self._callback is not None:
            sleep(_DEBOUNCE_S)
            self._has_announcement.clear()
            self._callback()
        with self._lock:
            self._is_callback_running = False
        if self._has_announcement.is_set():
            self.announce()

    def _require_open(self) -> None:
        if self._state.calls.closed:
            raise Denied(Reason.SANDBOX_UNAVAILABLE, "The toolbox is closed.")


class ExtensionRuntime:
    """Satisfies `DiscoveryRuntime`, for the extensions of one distribution."""

    def __init__(self, shared: LateRuntime, distribution: str) -> None:
        self.is_live = shared.is_live
        self.caller = shared.opened_for
        self.spawn = shared.spawn
        self.transport = shared.transport
        self.agents_for = shared.agents_for
        self.inbox_for = shared.inbox_for
        self.tools_for = shared.tools_for
        self.allowance_for = shared.allowance_for
        self.keep_secret = shared.keep_secret
        self.announce = shared.announce
        self.shared = shared
        self._distribution = distribution

    @property
    def store(self) -> "Store":
        """The distribution's records."""
        return self._store

    @cached_property
    def _store(self) -> "BoundStore":
        return self.shared.store.view(self.shared.store_access(self._distribution))

    def secret(self, text: str, /) -> str:
        """Return the secret NAME if *text* is `secret:NAME`, else *text* itself."""

        def open_secrets() -> "Store":
            return secrets.secrets_of(self.shared.store.view, self.shared.store_access(self._distribution))

        return secrets.secret_value(open_secrets, text)


def discover_late(plan: Plan, state: ToolboxState, runtime: LateRuntime | None) -> Plan:
    """Run the discoverers of the extensions' objects, and update *state*. Returns the plan with the tools they found.

    Args:
        plan: The plan.
        state: The state of the toolbox.
        runtime: The runtime for the discoverers; None if they must start nothing.

    Raises:
        ConfigurationError: A discoverer failed, or a tool that it declares is not possible.
    """
    if not state.discoverers:
        return plan
    state.late = late = LateDiscoverers(state.discoverers, None if runtime is None else runtime.runtime_for)
    names = find_installed().tools
    plan = refresh_discovered(plan, state.workspace, names, late)
    began = monotonic()
    while (
        runtime is not None
        and not runtime.is_live
        and (left := began + plan.discovered.wait_s - monotonic()) > 0
        and runtime.wait(left)
    ):
        plan = refresh_discovered(plan, state.workspace, names, late)
    state.digest = plan.digest
    state.lines = LineFormat(state.profile, plan.digest, plan.profile.runner, redact_id)
    state.availability = compile_availability(plan.profile, plan.catalog)
    return plan
