"""Loads only the plugins that one profile needs.

First it looks up all names and checks the origin of every module. Only if it found no fault, it imports the plugins.
Each of the two steps reports all its faults at once.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from pluggy import PluginManager

from toolcharter._lazy import lazy
from toolcharter.api.extension import CHECK_TIMEOUT_S, CheckPolicy, ExtensionPolicy, ExtensionSpec, Sink
from toolcharter.api.tool import ToolSpec
from toolcharter.errors import Fault, PluginError
from toolcharter.loader.hooks import (
    OBJECT_HOOKS,
    FaultCollector,
    PathRoute,
    describe_error,
    find_implementation,
    new_manager,
    register,
    single_implementation,
    without_pluggy,
)
from toolcharter.loader.module import PluginModule, load_module, program_files_of, role_faults
from toolcharter.loader.openers import (
    Opener,
    Openers,
    open_bus,
    open_channel,
    open_sink,
    open_store,
    openers_of,
    read_roots_of,
)
from toolcharter.loader.scan import TOOLS, EntryPoint, InstalledPlugins, find_installed
from toolcharter.loader.select import RUNNER, Need, channel_needs, needs_of, pin_faults, select, shared_module_faults

if TYPE_CHECKING:
    from toolcharter.api.agents import AgentTask
    from toolcharter.api.approval import ApprovalRequest
    from toolcharter.api.bus import Bus
    from toolcharter.api.call import Call
    from toolcharter.api.channel import Channel
    from toolcharter.api.runner import RunnerScope
    from toolcharter.api.store_engine import StoreEngine
    from toolcharter.guards.shell.programs import tables
    from toolcharter.guards.shell.programs.tables import Tables
else:
    tables = lazy("toolcharter.guards.shell.programs.tables")

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class LoadedTool(NamedTuple):
    """A spec and the distribution it came from."""

    spec: ToolSpec[Any]
    distribution: str
    version: str


class LoadedExtension(NamedTuple):
    """A spec, the distribution it came from, and its module."""

    spec: ExtensionSpec[Any]
    distribution: str
    version: str
    module: str
    discover: Callable[..., Any] | None = None
    """Its module's implementation of `discover_tools`."""


class Check(NamedTuple):
    """One implementation of `check_call`, called without pluggy."""

    plugin: str
    """`distribution:module`, with `:extension` appended for the object of an extension."""
    function: "Callable[[Call], Any]"
    """Takes the call; returns None, `Deny`, `Ask` or an awaitable of these."""
    advisory: bool = False
    """Whether a call passes if the check fails."""
    timeout_s: float = CHECK_TIMEOUT_S
    """How long its awaitable may take, in seconds."""
    tool: str | None = None
    """The only tool whose calls it checks; None for all tools."""


class LoadedPlugins(NamedTuple):
    """The plugins of one profile."""

    specs: dict[str, LoadedTool]
    """By name, in the order of the profile."""
    extension_specs: dict[str, LoadedExtension]
    """By name, in the order of the profile."""
    aliases: dict[str, str]
    """`{alias: tool}`, as the tools' authors write them."""
    distributions: dict[str, str]
    """`{name: version}` of everything loaded, sorted: part of the profile's digest."""
    manager: PluginManager
    checks: tuple[Check, ...]
    """Sorted by `plugin`; complete after `build_extensions`."""
    openers: Openers
    """The functions that open event sinks, by scheme; complete after `build_extensions`."""
    program_files: tuple[Path, ...] = ()
    """Tables of programs in addition to the core's."""
    approver: "Callable[[ApprovalRequest], Any] | None" = None
    """The function that answers approvals, if an extension has one; set by `build_extensions`."""
    agent_host: "Callable[[AgentTask], Any] | None" = None
    """The function that runs agents, if an extension has one; set by `build_extensions`."""
    runners: "Mapping[str, Callable[[RunnerScope], Any]]" = _NOTHING
    """The functions that open runners, by the name of the extension; set by `build_extensions`."""
    channels: Openers = _NOTHING
    """The functions that open channels, by the word under `deliver`; complete after `build_extensions`."""
    stores: Openers = _NOTHING
    """The functions that open stores, by scheme."""
    buses: Openers = _NOTHING
    """The functions that open buses, by scheme."""
    discoverers: Mapping[str, Callable[..., Any]] = _NOTHING
    """The implementations of `discover_tools` by objects of extensions, by the extension's name; set by
    `build_extensions`."""
    routes: tuple[PathRoute, ...] = ()
    """The functions that route paths to other places, in the order of the profile; set by `build_extensions`."""
    closers: tuple[Callable[[], object], ...] = ()
    """The `close` methods of the objects of extensions, for the end of the toolbox; set by `build_extensions`."""

    objects: Mapping[tuple[str, str], Any] = MappingProxyType({})
    """The objects of extensions, by distribution and name, once they are built."""
    read_roots: tuple[Path, ...] = ()
    """The paths outside the workspace that these objects permit to read."""

    def program_tables(self) -> "Tables":
        """Return the tables of known programs: the core's and those of these plugins."""
        return tables.CORE_TABLES.with_added(self.program_files) if self.program_files else tables.CORE_TABLES

    def build_extensions(self, workspace: Path, policies: Mapping[str, ExtensionPolicy]) -> "LoadedPlugins":
        """Build the object of each extension and add the hooks it implements.

        Args:
            workspace: The toolbox's workspace.
            policies: One validated policy for each of `extension_specs`.

        Raises:
            PluginError: A constructor raised, or its object implements a hook wrongly.
        """
        openers, channels = dict(self.openers), dict(self.channels)
        settings, failures = dict[str, ExtensionPolicy](), FaultCollector()
        closers, runners = list[Callable[[], object]](), dict[str, Callable[..., Any]]()
        discoverers, routes = dict[str, Callable[..., Any]](), list[PathRoute]()
        objects, roots = dict[tuple[str, str], Any](), list[Path]()
        for name, loaded in self.extension_specs.items():
            owner, plugin = f"{loaded.distribution} {loaded.version}", f"{loaded.distribution}:{loaded.module}:{name}"
            settings[plugin] = policies[name]
            with failures:
                built = _build_extension(loaded.spec, owner, workspace, policies[name])
                register(self.manager, built, plugin, owner, OBJECT_HOOKS)
                openers |= openers_of(self.manager, "open_sink", built, name, owner)
                channels |= openers_of(self.manager, "open_channel", built, name, owner)
                runner = find_implementation(self.manager, "open_runner", built)
                runners |= {} if runner is None else {name: runner}
                discoverer = find_implementation(self.manager, "discover_tools", built)
                discoverers |= {} if discoverer is None else {name: discoverer}
                objects[loaded.distribution, name] = built
                roots += read_roots_of(self.manager, built, owner)
                route = find_implementation(self.manager, "route_path", built)
                routes += [] if route is None else [PathRoute(loaded.distribution, route)]
                closers += [built.close] if callable(getattr(built, "close", None)) else []
        approver = agent_host = None
        with failures:
            approver = single_implementation(self.manager, "answer_approval", "answer approvals")
        with failures:
            agent_host = single_implementation(self.manager, "run_agent", "run agents")
        failures.raise_if_any()
        return self._replace(
            checks=_collect_checks(self.manager, settings),
            openers=openers,
            channels=channels,
            approver=approver,
            agent_host=agent_host,
            runners=runners,
            discoverers=discoverers,
            routes=tuple(routes),
            closers=tuple(closers),
            objects=objects,
            read_roots=tuple(roots),
        )

    def open_sink(self, url: str) -> Sink:
        """Open the event sink behind *url* through the plugin whose entry point is its scheme.

        Raises:
            PluginError: No loaded plugin opens it, or opening it failed. The URL itself is not
                shown: it may hold a password.
        """
        return open_sink(self.openers, url)

    def open_channel(self, name: str, url: str, place: str) -> "Channel":
        """Open the channel *name* for *url*. A fault names *place*, where the entry is.

        Raises:
            PluginError: No loaded plugin opens it, or the URL cannot be used. The URL itself is not shown.
        """
        return open_channel(self.channels, name, url, place)

    def open_store(self, url: str, place: str) -> "StoreEngine":
        """Open the store behind *url*, without connecting. A fault names *place*, where the URL is.

        Raises:
            PluginError: No loaded plugin opens it, or the URL cannot be used. The URL itself is not shown.
        """
        return open_store(self.stores, url, place)

    def open_bus(self, url: str, place: str) -> "Bus":
        """Open the bus behind *url*; otherwise like `open_store`."""
        return open_bus(self.buses, url, place)

    def with_channels(self, channels: Mapping[str, str], index: InstalledPlugins) -> "LoadedPlugins":
        """Load the plugins of further channels that ceilings ask for.

        Args:
            channels: The names of channels, each with the place of an entry that asks for it.
            index: The installed plugins.

        Raises:
            PluginError: See `load_plugins`.
        """
        there = self.channels.keys() | self.extension_specs.keys()
        missing = {name: place for name, place in channels.items() if name not in there}
        if not missing:
            return self
        more = load_plugins({}, others=channel_needs(missing), index=index)
        for name, module in more.manager.list_name_plugin():
            if not self.manager.has_plugin(name):  # The hooks of a new module count like those of any loaded module.
                self.manager.register(module, name)
        distributions = dict(sorted({**self.distributions, **more.distributions}.items()))
        program_files = tuple(dict.fromkeys((*self.program_files, *more.program_files)))
        return self._replace(
            channels={**self.channels, **more.channels},
            checks=_collect_checks(self.manager),
            distributions=distributions,
            program_files=program_files,
        )


def load_plugins(
    profile_tools: Mapping[str, str],
    extensions: Mapping[str, str] = _NOTHING,
    sinks: Iterable[str] = (),
    pins: Mapping[str, tuple[str, str]] = _NOTHING,
    missing_ok: Collection[str] = frozenset(),
    *,
    runner: str | None = None,
    others: Iterable[Need] = (),
    index: InstalledPlugins | None = None,
) -> LoadedPlugins:
    """Load the plugins that one profile needs.

    Args:
        profile_tools: The names of its tools, each with its place (`file:line:column`).
        extensions: The names of its extensions, each with its place.
        sinks: The schemes of event sinks that the core does not open itself.
        pins: `{distribution: (specifier, place)}`.
        missing_ok: Tools that may be absent.
        runner: The extension that the profile names as its runner and nowhere else.
        others: Further needs: `channel_needs`, `store_need`, `bus_need`.
        index: The installed plugins; default `find_installed()`.

    Returns:
        The specs of the listed tools and extensions, and the hooks of their plugins.

    Raises:
        PluginError: A plugin cannot be loaded. It holds every fault that can be found at once. If a name or an origin
            is wrong, nothing was imported.
    """
    index = index or find_installed()
    chosen, faults = select([*needs_of(profile_tools, extensions, sinks, runner), *others], index, missing_ok)
    failures = FaultCollector([*faults, *pin_faults(pins, index), *shared_module_faults(chosen.values())])
    failures.raise_if_any()

    manager, modules = new_manager(), dict[str, PluginModule]()
    for entry in {entry.module: entry for entry in chosen.values()}.values():
        with failures:
            modules[entry.module] = load_module(entry, index, manager)
    for need, entry in chosen.items():
        if entry.module in modules:
            failures.faults.extend(role_faults(need, modules[entry.module], manager, extensions))
    failures.raise_if_any()

    loaded = _collect_plugins(chosen, modules, manager)
    failures.faults.extend(_alias_faults(loaded.specs.values()))
    for plugin in modules.values():
        with failures:
            loaded = loaded._replace(
                program_files=(*loaded.program_files, *program_files_of(plugin, manager, loaded.program_files))
            )
    failures.raise_if_any()
    return loaded


def _collect_plugins(
    chosen: Mapping[Need, EntryPoint], modules: Mapping[str, PluginModule], manager: PluginManager
) -> LoadedPlugins:
    specs: dict[str, LoadedTool] = {}
    extension_specs: dict[str, LoadedExtension] = {}
    openers: dict[str, Opener] = {}
    channels: dict[str, Opener] = {}
    stores: dict[str, Opener] = {}
    buses: dict[str, Opener] = {}
    for need, entry in chosen.items():
        plugin = modules[entry.module]
        if need.group == TOOLS:
            specs[need.name] = LoadedTool(plugin.tools[need.name], entry.distribution, entry.version)
            continue
        openers |= openers_of(manager, "open_sink", plugin.module, need.name, entry.owner)
        channels |= openers_of(manager, "open_channel", plugin.module, need.name, entry.owner)
        stores |= openers_of(manager, "open_store", plugin.module, need.name, entry.owner)
        buses |= openers_of(manager, "open_bus", plugin.module, need.name, entry.owner)
        if need.noun in {"extension", RUNNER}:
            spec = plugin.extensions[need.name]
            extension_specs[need.name] = LoadedExtension(
                spec,
                entry.distribution,
                entry.version,
                entry.module,
                find_implementation(manager, "discover_tools", plugin.module),
            )
    return LoadedPlugins(
        specs=specs,
        extension_specs=extension_specs,
        aliases={alias: name for name, tool in specs.items() for alias in tool.spec.aliases},
        distributions=dict(sorted((entry.distribution, entry.version) for entry in chosen.values())),
        manager=manager,
        checks=_collect_checks(manager),
        openers=openers,
        channels=channels,
        stores=stores,
        buses=buses,
    )


def _alias_faults(tools: Iterable[LoadedTool]) -> Iterator[Fault]:
    """Yield a fault for each alias that is also the name or an alias of another loaded tool; case does not count."""
    tools = tuple(tools)
    names = {tool.spec.name.lower(): tool for tool in tools}
    aliases: dict[str, LoadedTool] = {}
    for tool in tools:
        for alias in tool.spec.aliases:
            named, aliased = names.get(alias.lower(), tool), aliases.setdefault(alias.lower(), tool)
            if named is not tool:
                yield _alias_clash_fault(alias, tool, "the name of the tool", named)
            elif aliased is not tool:
                yield _alias_clash_fault(alias, tool, "an alias of the tool", aliased)


def _alias_clash_fault(alias: str, tool: LoadedTool, role: str, other: LoadedTool) -> Fault:
    return Fault(
        f"{tool.distribution} {tool.version}",
        "",
        f"the alias {alias!r} of the tool {tool.spec.name!r} is also {role} {other.spec.name!r} "
        f"of {other.distribution} {other.version}.",
        "List only one of the two tools in the profile; upper and lower case do not count.",
    )


def _build_extension(spec: ExtensionSpec[Any], owner: str, workspace: Path, policy: ExtensionPolicy) -> Any:
    try:
        return spec.build(workspace, policy)
    except Exception as error:
        what = f"building the extension {spec.name!r} failed: {describe_error(error)}"
        raise PluginError([Fault(owner, "", what, "Correct its settings in the profile, or take it out.")]) from error


def _collect_checks(manager: PluginManager, settings: Mapping[str, ExtensionPolicy] = _NOTHING) -> tuple[Check, ...]:
    found = [Check(impl.plugin_name, without_pluggy(impl)) for impl in manager.hook.check_call.get_hookimpls()]
    return tuple(
        sorted((_apply_policy(settings.get(check.plugin), check) for check in found), key=lambda check: check.plugin)
    )


def _apply_policy(policy: ExtensionPolicy | None, check: Check) -> Check:
    """Apply the policy of the check's extension to *check*; the check of a module has no policy."""
    if isinstance(policy, CheckPolicy):
        return check._replace(advisory=policy.advisory, timeout_s=policy.timeout_s)
    return check
