"""Lists the installed plugins, for `toolcharter plugins`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolcharter.loader.hooks import FaultCollector, new_manager
from toolcharter.loader.module import load_module
from toolcharter.loader.origin import origin_faults
from toolcharter.loader.scan import COMMANDS, EXTENSIONS, TOOLS, EntryPoint, InstalledPlugins, find_installed
from toolcharter.loader.select import clash_faults


@dataclass(frozen=True, slots=True)
class PluginInfo:
    """One installed distribution that offers tools, extensions or commands."""

    distribution: str
    version: str
    metadata_dir: str
    trusted: bool
    """Whether its metadata lies in a site directory of this interpreter."""
    permitted: bool
    """Whether `TOOLCHARTER_PLUGINS` lets it load."""
    tools: tuple[str, ...]
    extensions: tuple[str, ...]
    specs: Mapping[str, Any]
    """`{tool: ToolSpec}`, from which capabilities and reasons can be read; without tools that do not load."""
    problems: tuple[str, ...]
    """The reasons why it, or part of it, would not load."""
    extension_specs: Mapping[str, Any] = field(default_factory=dict)
    """`{extension: ExtensionSpec}`; without extensions that only open sinks or channels, or that do not load."""
    commands: tuple[str, ...] = ()


def list_plugins(index: InstalledPlugins | None = None) -> list[PluginInfo]:
    """Describe every installed plugin, sorted by name. This imports all that are trusted and permitted.

    Args:
        index: The installed plugins; default `find_installed()`.
    """
    index = index or find_installed()
    groups: dict[str, list[EntryPoint]] = {}
    for entry in index.entry_points:
        groups.setdefault(entry.metadata_dir, []).append(entry)
    return sorted(
        (_describe(entries, index) for entries in groups.values()),
        key=lambda info: (info.distribution, info.metadata_dir),
    )


def _describe(entries: list[EntryPoint], index: InstalledPlugins) -> PluginInfo:
    first = entries[0]
    specs, extension_specs, problems = _check(entries, index)
    return PluginInfo(
        distribution=first.distribution,
        version=first.version,
        metadata_dir=first.metadata_dir,
        trusted=first.trusted,
        permitted=index.permits(first),
        tools=tuple(sorted(entry.name for entry in entries if entry.group == TOOLS)),
        extensions=tuple(sorted(entry.name for entry in entries if entry.group == EXTENSIONS)),
        specs=specs,
        problems=tuple(problems),
        extension_specs=extension_specs,
        commands=tuple(sorted(entry.name for entry in entries if entry.group == COMMANDS)),
    )


def _check(entries: list[EntryPoint], index: InstalledPlugins) -> tuple[dict[str, Any], dict[str, Any], Iterable[str]]:
    if not entries[0].trusted:
        return {}, {}, ["it lies in no site directory of this interpreter, so it is never loaded."]
    if not index.permits(entries[0]):
        return {}, {}, ["TOOLCHARTER_PLUGINS leaves it out."]
    modules = {entry.module: entry for entry in entries}.values()
    failures = FaultCollector([*clash_faults(entries, index), *(f for entry in modules for f in origin_faults(entry))])
    specs: dict[str, Any] = {}
    extension_specs: dict[str, Any] = {}
    for entry in modules:
        with failures:
            if not any(origin_faults(entry)):
                loaded = load_module(entry, index, new_manager())
                specs |= loaded.tools
                extension_specs |= loaded.extensions
    return specs, extension_specs, [str(fault).removeprefix(f"{fault.place}: ") for fault in failures.faults]
