"""Imports the module of one distribution and collects the specs that it registers."""

from collections.abc import Collection, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pluggy import PluginManager

from toolcharter._lazy import lazy
from toolcharter.api.extension import ExtensionSpec
from toolcharter.api.tool import ToolSpec
from toolcharter.errors import Fault, PluginError
from toolcharter.loader.hooks import MODULE_HOOKS, describe_error, find_implementation, register
from toolcharter.loader.scan import EXTENSIONS, TOOLS, EntryPoint, InstalledPlugins
from toolcharter.loader.select import BUS, CHANNEL, RUNNER, SINK, STORE, Need

if TYPE_CHECKING:
    from toolcharter.guards.shell.programs import tables
else:
    tables = lazy("toolcharter.guards.shell.programs.tables")

_EXAMPLE_URLS = {STORE: "sqlite:", BUS: "nats://127.0.0.1:4222"}
_OPENING_HOOKS = ("open_sink", "open_channel", "open_store", "open_bus")
S = TypeVar("S", ToolSpec[Any], ExtensionSpec[Any])


class PluginModule(NamedTuple):
    """An imported module of a plugin, and its specs."""

    entry: EntryPoint
    """One of the entry points that name the module."""
    module: ModuleType
    tools: Mapping[str, ToolSpec[Any]]
    extensions: Mapping[str, ExtensionSpec[Any]]


def load_module(entry: EntryPoint, index: InstalledPlugins, manager: PluginManager) -> PluginModule:
    """Import the module of *entry*, register it, and collect the specs of all its entry points.

    Raises:
        PluginError: The import failed; a hook is misspelt, has a wrong signature, raises or returns a wrong value; or
            the names of the specs and of the entry points differ.
    """
    module = _import(entry)
    register(manager, module, f"{entry.distribution}:{entry.module}", entry.owner, MODULE_HOOKS)
    tools = _call_registering_hook(manager, module, entry, "register_tools", ToolSpec)
    extensions = _call_registering_hook(manager, module, entry, "register_extensions", ExtensionSpec)
    names = {group: _own_names(entry, group, index) for group in (TOOLS, EXTENSIONS)}
    faults = [
        *_name_faults(entry, "tool", [spec.name for spec in tools], names[TOOLS]),
        *_missing_spec_faults(entry, "tool", names[TOOLS] - {spec.name for spec in tools}),
        *_name_faults(entry, "extension", [spec.name for spec in extensions], names[EXTENSIONS]),
    ]
    if not any(find_implementation(manager, hook, module) for hook in _OPENING_HOOKS):
        # A plugin that opens sinks, channels, stores or buses needs no spec: they have the name of its entry point.
        faults += _missing_spec_faults(entry, "extension", names[EXTENSIONS] - {spec.name for spec in extensions})
    if faults:
        raise PluginError(faults)
    return PluginModule(entry, module, {spec.name: spec for spec in tools}, {spec.name: spec for spec in extensions})


def _import(entry: EntryPoint) -> ModuleType:
    try:
        return import_module(entry.module)
    except (Exception, SystemExit) as error:
        what = f"importing {entry.module!r} failed: {describe_error(error)}"
        fix = f"Install {entry.distribution} again with what it depends on, or take it out of the profile."
        raise PluginError([Fault(entry.owner, "", what, fix)]) from error


def _call_registering_hook(
    manager: PluginManager, module: ModuleType, entry: EntryPoint, hook: str, wanted: type[S]
) -> list[S]:
    function = find_implementation(manager, hook, module)
    if function is None:
        return []
    try:
        specs = function()
    except Exception as error:
        what = f"the hook {hook} raised {describe_error(error)}"
        fix = f"Report it to the authors of {entry.distribution}, or install another version."
        raise PluginError([Fault(entry.owner, "", what, fix)]) from error
    if isinstance(specs, list | tuple) and all(isinstance(spec, wanted) for spec in specs):
        return list(specs)
    members = {type(spec).__name__ for spec in specs} if isinstance(specs, list | tuple) else ()
    shown = type(specs).__name__ + (f" of {', '.join(sorted(members))}" if members else "")
    what = f"the hook {hook} returned {shown}, not a list of {wanted.__name__}."
    raise PluginError([Fault(entry.owner, "", what, f"Write: return [{wanted.__name__}(...)]")])


def _own_names(entry: EntryPoint, group: str, index: InstalledPlugins) -> set[str]:
    """Return the names of the distribution's entry points that name this module."""
    source = (entry.distribution, entry.module, entry.metadata_dir, group)
    return {
        other.name
        for other in index.entry_points
        if (other.distribution, other.module, other.metadata_dir, other.group) == source
    }


def _missing_spec_faults(entry: EntryPoint, noun: str, names: set[str]) -> list[Fault]:
    return [
        Fault(
            entry.owner,
            "",
            f"the entry point {name!r} has no {noun} behind it: {entry.module} registers none of that name.",
            f"Mark register_{noun}s with @hookimpl, and give the spec the entry point's name, letter by letter.",
        )
        for name in sorted(names)
    ]


def _name_faults(entry: EntryPoint, noun: str, names: list[str], known: set[str]) -> Iterator[Fault]:
    group = TOOLS if noun == "tool" else EXTENSIONS
    for name in dict.fromkeys(names):
        if name not in known:
            what = f"{entry.module} registers the {noun} {name!r}, for which {entry.distribution} has no entry point."
            fix = f'Add {name} = "{entry.module}" under [project.entry-points."{group}"], or rename the spec.'
            yield Fault(entry.owner, "", what, fix)
        elif names.count(name) > 1:
            yield Fault(
                entry.owner, "", f"{entry.module} registers the {noun} {name!r} {names.count(name)} times.", "Keep one."
            )


def role_faults(
    need: Need, plugin: PluginModule, manager: PluginManager, extensions: Collection[str]
) -> Iterator[Fault]:
    """Report why a plugin that loaded cannot fill the role it is needed in."""
    owner, module = plugin.entry.owner, plugin.entry.module
    if need.noun in {"extension", RUNNER} and need.name not in plugin.extensions:
        what = f"{module} registers no extension {need.name!r}; it only opens event sinks, channels, stores or buses."
        yield Fault(owner, "", what, f"Take {need.path} out of the profile.")
    if need.name in extensions:  # Then the extension's object may open what the module does not.
        return
    if need.noun == SINK and find_implementation(manager, "open_sink", plugin.module) is None:
        what = f"{module} implements no hook open_sink, so it opens no event sink '{need.name}:'."
        yield Fault(owner, "", what, f"List {need.name!r} under extensions if its object does, or take the sink out.")
    if need.noun in _EXAMPLE_URLS and find_implementation(manager, f"open_{need.noun}", plugin.module) is None:
        what = f"{module} of {owner} implements no hook open_{need.noun}, so it opens no {need.noun} '{need.name}:'."
        yield Fault(
            need.place, need.path, what, f"Write the URL of a {need.noun}, such as {_EXAMPLE_URLS[need.noun]!r}."
        )
    if need.noun == CHANNEL and find_implementation(manager, "open_channel", plugin.module) is None:
        what = f"{module} of {owner} implements no hook open_channel, so it delivers no notification."
        fix = f"List {need.name!r} under extensions if its object does, or write `deliver: log`."
        yield Fault(need.place, need.path, what, fix)


def program_files_of(plugin: PluginModule, manager: PluginManager, others: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the files with tables of programs that a plugin registers.

    Raises:
        PluginError: The tables conflict with the core's or with those in *others*, or are wrong.
    """
    function = find_implementation(manager, "register_programs", plugin.module)
    if function is None:
        return ()

    try:
        files = tuple(map(Path, function()))
        tables.CORE_TABLES.with_added((*others, *files))
    except Exception as error:
        what = f"the hook register_programs: {describe_error(error)}"
        raise PluginError(
            [Fault(plugin.entry.owner, "", what, "The plugin's author has to fix its tables.")]
        ) from error
    return files
