"""What passes between the gate and a discoverer: an extension that finds tools when a toolbox is built."""

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
    """Whether tools that are found exist though the profile does not name them, and may be looked for again while a
    session lasts. They need an `allow` rule as every unbounded tool does."""


class CapabilityBounds(NamedTuple):
    """What the profile, or one ceiling, says under `capabilities`; a call has to pass each."""

    allow: tuple[str, ...] | None
    """Patterns in which `*` stands for anything; None: no restriction."""
    deny: tuple[str, ...] = ()
    max_safety: str | None = None


class ProfileView(NamedTuple):
    """A profile as a discoverer sees it."""

    name: str
    folder: Path | None
    """Where the profile's own file lies; None for one that is no file."""
    policy: Any
    """The validated policy of the extension that is asked."""
    tools: tuple[str, ...]
    """The tools that the profile lists, by name."""
    bounds: tuple[CapabilityBounds, ...] = ()
    """What its tools may touch, for extensions that hold calls to more than the tools themselves say."""


class Discovery(NamedTuple):
    """What a discoverer answers."""

    declared: tuple[ToolSpec[Any], ...] = ()
    """Tools that the profile names in the extension's policy. One whose name is taken stops the start."""
    found: tuple[ToolSpec[Any], ...] = ()
    """Tools that lie somewhere; they exist only if the policy says `extend: true`, and a name that is taken is
    skipped with a note. Of two with one name the first counts."""
    folders: tuple[str, ...] = ()
    """Where it has looked."""
    notes: tuple[str, ...] = ()
    """What it passed over, each with the reason, as sentences."""
    later: tuple[str, ...] = ()
    """Globs over names that tools of kind `mcp` may have which come while a session lasts (`mcp__files__*`): rules and
    availability may name such tools, and their groups, before they come."""
    wait_s: float = 0.0
    """More is under way, and will be announced: so long, in seconds, a toolbox waits for it that never
    changes, and a session for a single command."""
    asks_itself: bool = False
    """The extension's own check asks a person about tools that have changed, so that the session does not ask besides."""


class DiscoveryRuntime(Protocol):
    """What a discovery may use once the toolbox is there, until that closes. Safe from many threads."""

    @property
    def caller(self) -> Caller:
        """For whom the toolbox was built; views of it are handed to others, too."""
        ...

    @property
    def is_live(self) -> bool:
        """Whether tools may still come and go; if not, what the toolbox is built with stays."""
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

        Its standard error is dropped: what `Running.read` gives is its standard output alone.
        """
        ...

    def transport(
        self, policy: "NetworkPolicy", /, *, limits: "HttpLimits | None" = None
    ) -> "httpx.AsyncBaseTransport":
        """For an `httpx.AsyncClient`, under the network guard: as `Http.async_transport`."""
        ...

    def keep_secret(self, values: Iterable[str], /) -> None:
        """Mask *values* from now on wherever they appear: in results, events and questions."""
        ...

    @property
    def store(self) -> "Store":
        """The records of the extension's distribution, and of the tenant that the toolbox was built for."""
        ...

    def secret(self, text: str, /) -> str:
        """What *text* stands for: with `secret:NAME` the secret of that name, which the tenant of the toolbox keeps; else itself.

        The value is masked from then on wherever it appears. Never give it a text that a model wrote.

        Raises:
            StoreUnavailable: There is no such secret, it cannot be decrypted, or the store cannot be reached.
        """
        ...

    def agents_for(self, caller: Caller, /) -> "Agents":
        """Starts agents beside calls, such as those of a schedule: as `rt.agents` in a call of *caller*."""
        ...

    def inbox_for(self, caller: Caller, /) -> "Inbox":
        """What sessions of the tenant of *caller* are told in their next turn, by default that of *caller*."""
        ...

    def tools_for(self, caller: Caller, /) -> "GovernedTools":
        """The present tools, as *caller* may use them beside calls: each call of them goes through the gate.

        Raises:
            Denied: `not_available`, as long as the toolbox is being built.
        """
        ...

    def allowance_for(self, caller: Caller, /) -> "Allowance":
        """What the profile permits *caller* now, to hold to it what runs later on its behalf; errors as of `tools_for`."""
        ...

    def announce(self) -> None:
        """Say that the next look would find something else. A `LiveToolbox` looks soon, in a thread of its own."""
        ...
