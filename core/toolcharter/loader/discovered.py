"""What the discoverers of a profile have found; `toolcharter.loader.discover` asks them, where there are any."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from toolcharter.loader.load import Loaded, LoadedTool


class Discovered(NamedTuple):
    """The tools of all discoverers of a profile."""

    tools: Mapping[str, LoadedTool] = MappingProxyType({})
    """By name, declared ones first."""
    folders: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    """Globs over the names of tools that may still come."""
    wait_s: float = 0.0
    """How long a toolbox that never changes waits for more, in seconds."""
    asked_about: frozenset[str] = frozenset()
    """Tools about whose changes the check of their own extension asks."""

    @property
    def aliases(self) -> dict[str, str]:
        """`{alias: tool}`."""
        return {alias: name for name, tool in self.tools.items() for alias in tool.spec.aliases}

    @property
    def fingerprints(self) -> dict[str, str]:
        """What distinguishes each tool's code."""
        return {name: tool.spec.fingerprint or "" for name, tool in self.tools.items()}


NOTHING = Discovered()


def has_discoverers(loaded: Loaded) -> bool:
    """Whether any extension of the profile looks for tools."""
    return any(extension.discover for extension in loaded.extension_specs.values())
