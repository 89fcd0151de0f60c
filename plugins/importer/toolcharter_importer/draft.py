"""The draft of a profile, and the tools and extensions that are installed for it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import importlib_metadata

from toolcharter_importer.source import Note, Source

_ORDER: Final = (
    "profile", "description", "mode", "tools", "deny", "ask", "allow", "availability", "toolsets", "session_guards", "limits",
    "notify", "extensions", "missing_ok",
)  # fmt: skip
_NAME_CHARS: Final = 64


class Installed(NamedTuple):
    """The tools and extensions that the plugins of this installation provide."""

    tools: frozenset[str]
    extensions: frozenset[str]


def find_installed() -> Installed:
    """Return the names in the entry points of this installation. No plugin is imported."""
    found = importlib_metadata.entry_points()
    return Installed(
        frozenset(entry.name for entry in found.select(group="toolcharter")),
        frozenset(entry.name for entry in found.select(group="toolcharter.extensions")),
    )


@dataclass
class Draft:
    """A profile in the making."""

    source: Source
    installed: Installed
    name: str
    keys: dict[str, Any] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    """The notes of files other than *source*."""

    def add_tool(self, name: str, policy: dict[str, Any] | None, *path: str | int) -> bool:
        """List the tool *name*; return false and leave out the value at *path* if no plugin provides the tool."""
        if name not in self.installed.tools:
            self.source.leave_out(*path, why=f"no installed plugin provides a tool named {name!r}.")
            return False
        self.keys.setdefault("tools", {})[name] = policy or {}
        return True

    def declare_tool(self, name: str, tool: dict[str, Any], *path: str | int) -> bool:
        """Declare a `cli` tool; return false and leave out the value at *path* if the plugin is not installed."""
        if "cli_tools" not in self.installed.extensions:
            self.source.leave_out(*path, why="the plugin toolcharter-cli-tools is not installed.")
            return False
        self.keys.setdefault("extensions", {}).setdefault("cli_tools", {}).setdefault("tools", {})[name] = tool
        return True

    def append_missing(self, key: str, found: Iterable[Any]) -> None:
        """Append those items of *found* to the list *key* that it does not contain."""
        there = self.keys.setdefault(key, [])
        there += [one for one in found if one not in there]
        if not there:
            del self.keys[key]

    def ordered_keys(self) -> dict[str, Any]:
        """Return the profile with its keys in the usual order."""
        keys = {"profile": self.name, "tools": {}, **self.keys}
        return {key: keys[key] for key in _ORDER if key in keys}


def to_name(text: str) -> str:
    """Turn *text* into a name for a profile or a tool: characters that are not allowed become `-`."""
    kept = "".join(char if char.isascii() and (char.isalnum() or char in "_-") else "-" for char in text)
    return kept.strip("-")[:_NAME_CHARS] or "imported"


def profile_name(source: Source, *path: str | int, default: str) -> str:
    """Return the name at *path*, or *default*, as a valid name of a profile."""
    written = source.text(*path, default=default)
    name = to_name(written)
    if name != written:
        source.leave_out(
            *path, why=f"the name of a profile may only have letters, digits, `_` and `-`; it becomes {name!r}."
        )
    return name
