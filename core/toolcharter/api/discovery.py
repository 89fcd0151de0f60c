"""The values and the protocol between the gate and a discoverer, an extension that finds tools."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from toolcharter.api.call import Caller
from toolcharter.api.extension import ExtensionPolicy
from toolcharter.api.runner import Running
from toolcharter.api.tool import ToolSpec

if TYPE_CHECKING:
    import httpx

    from toolcharter.api.agents import Agents, GovernedTools
    from toolcharter.api.allowance import Allowance
    from toolcharter.api.job import ProcessLimits
    from toolcharter.api.network import HttpLimits, NetworkPolicy
    from toolcharter.api.sessions import Inbox
    from toolcharter.api.store import Store


class DiscovererPolicy(ExtensionPolicy):
    """Base of the knobs of an extension that implements `discover_tools`."""

    extend: bool = False
    """Whether the toolbox gets the tools that were found although the profile does not name them. If so, the extension
    may also look for more of them during a session. Like every unbounded tool, they need an `allow` rule."""


class CapabilityBounds(NamedTuple):
    """The `capabilities` section of the profile or of one ceiling; a call has to satisfy each of these sections."""

    allow: tuple[str, ...] | None
    """Patterns in which `*` matches anything; None: no restriction."""
    deny: tuple[str, ...] = ()
    max_safety: str | None = None


class ProfileView(NamedTuple):
    """A profile as a discoverer sees it."""

    name: str
    folder: Path | None
    """The folder of the profile's own file; None for a profile that is no file."""
    policy: Any
    """The validated policy of the extension."""
    tools: tuple[str, ...]
    """The tools that the profile lists, by name."""
    bounds: tuple[CapabilityBounds, ...] = ()
    """The capabilities that its tools may have, for extensions that restrict calls beyond what the tools declare."""


class Discovery(NamedTuple):
    """The answer of a discoverer."""

    declared: tuple[ToolSpec[Any], ...] = ()
    """Tools that the profile names in the extension's policy. A tool whose name is taken stops the start-up."""
    found: tuple[ToolSpec[Any], ...] = ()
    """Tools that the extension came across. The toolbox gets them only if the policy says `extend: true`. A tool whose
    name is taken is skipped with a note; of two tools with one name, the first counts."""
    folders: tuple[str, ...] = ()
    """The folders that were searched."""
    notes: tuple[str, ...] = ()
    """What was skipped, each with the reason, as sentences."""
    later: tuple[str, ...] = ()
    """Globs over the names of tools of kind `mcp` that may come during a session (`mcp__files__*`). Rules and
    availability may name such tools and their groups before they come."""
    wait_s: float = 0.0
    """How long, in seconds, a toolbox that never changes, or a session for a single command, waits for tools that the
    extension will announce."""
    asks_itself: bool = False
    """Whether the extension's own check asks a person about changed tools; then the session does not ask as well."""


class DiscoveryRuntime(Protocol):
    """The runtime of a discoverer, from the building of the toolbox until it closes. Thread-safe."""

    @property
    def caller(self) -> Caller:
        """The caller that the toolbox was built for; other callers may get views of it."""
        ...

    @property
    def is_live(self) -> bool:
        """Whether tools may still come and go; if not, the toolbox keeps the tools that it was built with."""
        ...

    def spawn(
        self,
        argv: Sequence[str],
        /,
        *,
        env: Mapping[str, str],
        limits: "ProcessLimits | None" = None,
        network: bool = False,
    ) -> Running:
        """Start a program on the profile's runner, in the workspace, as `ToolRuntime.spawn` does for unbounded tools.

        Its standard error is dropped: `Running.read` returns its standard output only.
        """
        ...

    def transport(
        self, policy: "NetworkPolicy", /, *, limits: "HttpLimits | None" = None
    ) -> "httpx.AsyncBaseTransport":
        """Return a transport for an `httpx.AsyncClient` under the network guard, as `Http.async_transport` does."""
        ...

    def keep_secret(self, values: Iterable[str], /) -> None:
        """Mask *values* from now on wherever they appear: in results, events and questions."""
        ...

    @property
    def store(self) -> "Store":
        """The records of the extension's distribution, and of the tenant that the toolbox was built for."""
        ...

    def secret(self, text: str, /) -> str:
        """Return the secret NAME of the toolbox's tenant if *text* is `secret:NAME`, else *text* itself.

        The value is masked from then on wherever it appears. Never pass a text that a model wrote.

        Raises:
            StoreUnavailable: There is no such secret, it cannot be decrypted, or the store cannot be reached.
        """
        ...

    def agents_for(self, caller: Caller, /) -> "Agents":
        """Starts agents outside a call, for example on a schedule, as `rt.agents` would in a call of *caller*."""
        ...

    def inbox_for(self, caller: Caller, /) -> "Inbox":
        """Return the inboxes of the sessions of *caller*'s tenant; by default `put` uses the session of *caller*."""
        ...

    def tools_for(self, caller: Caller, /) -> "GovernedTools":
        """Return the current tools, as *caller* may use them outside a call. Each call of them goes through the gate.

        Raises:
            Denied: `not_available`, while the toolbox is being built.
        """
        ...

    def allowance_for(self, caller: Caller, /) -> "Allowance":
        """Return what the profile permits *caller* now, to restrict later work on its behalf; raises as `tools_for`."""
        ...

    def announce(self) -> None:
        """Report that a discovery would now find other tools. A `LiveToolbox` soon runs one, in a thread of its own."""
        ...
