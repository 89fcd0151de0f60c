"""What passes between the gate and a discoverer: an extension that finds tools when a toolbox is built."""

from pathlib import Path
from typing import Any, NamedTuple

from toolcharter.api.extension import ExtensionPolicy
from toolcharter.api.tool import ToolSpec


class DiscovererPolicy(ExtensionPolicy):
    """Base of the knobs of an extension that implements `discover_tools`."""

    extend: bool = False
    """Whether tools that are found exist though the profile does not name them, and may be looked for again while a
    session lasts. They need an `allow` rule as every unbounded tool does."""


class ProfileView(NamedTuple):
    """A profile as a discoverer sees it."""

    name: str
    folder: Path | None
    """Where the profile's own file lies; None for one that is no file."""
    policy: Any
    """The validated policy of the extension that is asked."""
    tools: tuple[str, ...]
    """The tools that the profile lists, by name."""


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
