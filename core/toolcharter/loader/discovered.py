"""The tools that the discoverers of a profile have found; `toolcharter.loader.discover` asks them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from toolcharter.loader.load import LoadedPlugins, LoadedTool


class DiscoveredTools(NamedTuple):
    """The tools of all discoverers of a profile."""

    tools: Mapping[str, LoadedTool] = MappingProxyType({})
    """By name, declared ones first."""
    folders: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    """Globs for the names of tools that may still appear."""
    wait_s: float = 0.0
    """How long a toolbox that never changes waits for more tools, in seconds."""
    asked_about: frozenset[str] = frozenset()
    """The tools whose extension has a check of its own that asks about their changes."""

    @property
    def aliases(self) -> dict[str, str]:
        """`{alias: tool}`."""
        return {alias: name for name, tool in self.tools.items() for alias in tool.spec.aliases}

    @property
    def fingerprints(self) -> dict[str, str]:
        """The fingerprint of each tool's code, by name."""
        return {name: tool.spec.fingerprint or "" for name, tool in self.tools.items()}


NO_TOOLS = DiscoveredTools()


def has_discoverers(loaded: LoadedPlugins) -> bool:
    """Whether any extension of the profile discovers tools."""
    return any(extension.discover for extension in loaded.extension_specs.values())
