"""Loads the plugins that one profile needs, and nothing else.

First all names are looked up and every module's origin is checked; only if no fault was found is
the first plugin imported. Each of the two steps reports all its faults at once.
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
    Failures,
    PathRoute,
    cause,
    direct,
    implementation,
    new_manager,
    only,
    register,
)
from toolcharter.loader.module import PluginModule, load_module, program_files_of, unmet
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
from toolcharter.loader.scan import TOOLS, EntryPoint, Installed, installed
from toolcharter.loader.select import RUNNER, Need, channel_needs, needs_of, pin_faults, select, shared_modules

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
    """A spec and the distribution it came from."""

    spec: ExtensionSpec[Any]
    distribution: str
    version: str
    module: str
    discover: Callable[..., Any] | None = None
    """What its module implements of `discover_tools`."""


class Check(NamedTuple):
    """One implementation of `check_call`, to be called straight."""

    plugin: str
    """`distribution:module`, and `:extension` for the object of an extension."""
    function: "Callable[[Call], Any]"
    """Takes the call; returns None, `Deny`, `Ask` or an awaitable of these."""
    advisory: bool = False
    """Whether a call passes where the check fails."""
    timeout_s: float = CHECK_TIMEOUT_S
    """How long its awaitable may take, in seconds."""
    tool: str | None = None
    """The only tool whose calls it looks at; None: all."""


class Loaded(NamedTuple):
    """The plugins of one profile."""

    specs: dict[str, LoadedTool]
    """By name, in the order of the profile."""
    extension_specs: dict[str, LoadedExtension]
    """By name, in the order of the profile."""
    aliases: dict[str, str]
    """`{alias: tool}`, as the tools write them."""
    distributions: dict[str, str]
    """`{name: version}` of everything loaded, sorted: part of the profile's digest."""
    manager: PluginManager
    checks: tuple[Check, ...]
    """Sorted by `plugin`; complete after `build_extensions`."""
    openers: Openers
    """Of event sinks, by scheme; complete after `build_extensions`."""
    program_files: tuple[Path, ...] = ()
    """Tables of programs beside the core's."""
    approver: "Callable[[ApprovalRequest], Any] | None" = None
    """What answers approvals, if one of the extensions does; known after `build_extensions`."""
    agent_host: "Callable[[AgentTask], Any] | None" = None
    """What runs agents, if one of the extensions does; known after `build_extensions`."""
    runners: "Mapping[str, Callable[[RunnerScope], Any]]" = _NOTHING
    """What opens runners, by the name of the extension; known after `build_extensions`."""
    channels: Openers = _NOTHING
    """What opens channels, by the word under `deliver`; complete after `build_extensions`."""
    stores: Openers = _NOTHING
    """What opens stores, by scheme."""
    buses: Openers = _NOTHING
    """What opens buses, by scheme."""
    discoverers: Mapping[str, Callable[..., Any]] = _NOTHING
    """What the objects of extensions implement of `discover_tools`, by the name of the extension; known after
    `build_extensions`."""
    routes: tuple[PathRoute, ...] = ()
    """What keeps files elsewhere, in the order of the profile; known after `build_extensions`."""
    closers: tuple[Callable[[], object], ...] = ()
    """What the objects of extensions want called when the toolbox closes; known after `build_extensions`."""

    objects: Mapping[tuple[str, str], Any] = MappingProxyType({})
    """The objects of extensions, by distribution and name, once they are built."""
    read_roots: tuple[Path, ...] = ()
    """What these let be read outside the workspace."""

    def program_tables(self) -> "Tables":
        """What is known of programs: the core's tables, and those of these plugins."""
        return tables.CORE.with_added(self.program_files) if self.program_files else tables.CORE

    def build_extensions(self, workspace: Path, policies: Mapping[str, ExtensionPolicy]) -> "Loaded":
        """Build the object of each extension and add the hooks it implements.

        Args:
            workspace: The toolbox's workspace.
            policies: One validated policy for each of `extension_specs`.

        Raises:
            PluginError: A constructor raised, or its object implements a hook wrongly.
        """
        openers, channels = dict(self.openers), dict(self.channels)
        settings, failures = dict[str, ExtensionPolicy](), Failures()
        closers, runners = list[Callable[[], object]](), dict[str, Callable[..., Any]]()
        discoverers, routes = dict[str, Callable[..., Any]](), list[PathRoute]()
        objects, roots = dict[tuple[str, str], Any](), list[Path]()
        for name, loaded in self.extension_specs.items():
            owner, plugin = f"{loaded.distribution} {loaded.version}", f"{loaded.distribution}:{loaded.module}:{name}"
            settings[plugin] = policies[name]
            with failures:
                built = _build(loaded.spec, owner, workspace, policies[name])
                register(self.manager, built, plugin, owner, OBJECT_HOOKS)
                openers |= openers_of(self.manager, "open_sink", built, name, owner)
                channels |= openers_of(self.manager, "open_channel", built, name, owner)
                runner = implementation(self.manager, "open_runner", built)
                runners |= {} if runner is None else {name: runner}
                discoverer = implementation(self.manager, "discover_tools", built)
                discoverers |= {} if discoverer is None else {name: discoverer}
                objects[loaded.distribution, name] = built
                roots += read_roots_of(self.manager, built, owner)
                route = implementation(self.manager, "route_path", built)
                routes += [] if route is None else [PathRoute(loaded.distribution, route)]
                closers += [built.close] if callable(getattr(built, "close", None)) else []
        approver = agent_host = None
        with failures:
            approver = only(self.manager, "answer_approval", "answer approvals")
        with failures:
            agent_host = only(self.manager, "run_agent", "run agents")
        failures.stop()
        return self._replace(
            checks=_checks(self.manager, settings),
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
        """Open the channel *name* for *url*, which the entry at *place* names.

        Raises:
            PluginError: No loaded plugin opens it, or the URL cannot be used. The URL itself is not shown.
        """
        return open_channel(self.channels, name, url, place)

    def open_store(self, url: str, place: str) -> "StoreEngine":
        """Open the store behind *url*, which *place* names; nothing connects yet.

        Raises:
            PluginError: No loaded plugin opens it, or the URL cannot be used. The URL itself is not shown.
        """
        return open_store(self.stores, url, place)

    def open_bus(self, url: str, place: str) -> "Bus":
        """Open the bus behind *url*, which *place* names; as `open_store`."""
        return open_bus(self.buses, url, place)

    def with_channels(self, channels: Mapping[str, str], index: Installed) -> "Loaded":
        """Load the plugins of more channels, which ceilings have asked for since.

        Args:
            channels: The names of channels, each with the place of an entry that asks for it.
            index: What is installed.

        Raises:
            PluginError: As of `load_plugins`.
        """
        there = self.channels.keys() | self.extension_specs.keys()
        missing = {name: place for name, place in channels.items() if name not in there}
        if not missing:
            return self
        more = load_plugins({}, others=channel_needs(missing), index=index)
        for name, module in more.manager.list_name_plugin():
            if not self.manager.has_plugin(name):  # its hooks count as those of any loaded module
                self.manager.register(module, name)
        distributions = dict(sorted({**self.distributions, **more.distributions}.items()))
        program_files = tuple(dict.fromkeys((*self.program_files, *more.program_files)))
        return self._replace(
            channels={**self.channels, **more.channels},
            checks=_checks(self.manager),
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
    index: Installed | None = None,
) -> Loaded:
    """Load what one profile needs.

    Args:
        profile_tools: The names of its tools, each with its place (`file:line:column`).
        extensions: The names of its extensions, each with its place.
        sinks: The schemes of event sinks that the core does not open itself.
        pins: `{distribution: (specifier, place)}`.
        missing_ok: Tools that may be absent.
        runner: Which of *extensions* the profile names as its runner and nowhere else.
        others: What else it needs: `channel_needs`, `store_need`, `bus_need`.
        index: What is installed; default `installed()`.

    Returns:
        The specs of the listed tools and extensions, and the hooks of their plugins.

    Raises:
        PluginError: With every fault that can be found at once; if a name or an origin is
            wrong, nothing was imported.
    """
    index = index or installed()
    chosen, faults = select([*needs_of(profile_tools, extensions, sinks, runner), *others], index, missing_ok)
    failures = Failures([*faults, *pin_faults(pins, index), *shared_modules(chosen.values())])
    failures.stop()

    manager, modules = new_manager(), dict[str, PluginModule]()
    for entry in {entry.module: entry for entry in chosen.values()}.values():
        with failures:
            modules[entry.module] = load_module(entry, index, manager)
    for need, entry in chosen.items():
        if entry.module in modules:
            failures.faults.extend(unmet(need, modules[entry.module], manager, extensions))
    failures.stop()

    loaded = _loaded(chosen, modules, manager)
    failures.faults.extend(_alias_faults(loaded.specs.values()))
    for plugin in modules.values():
        with failures:
            loaded = loaded._replace(
                program_files=(*loaded.program_files, *program_files_of(plugin, manager, loaded.program_files))
            )
    failures.stop()
    return loaded


def _loaded(chosen: Mapping[Need, EntryPoint], modules: Mapping[str, PluginModule], manager: PluginManager) -> Loaded:
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
                implementation(manager, "discover_tools", plugin.module),
            )
    return Loaded(
        specs=specs,
        extension_specs=extension_specs,
        aliases={alias: name for name, tool in specs.items() for alias in tool.spec.aliases},
        distributions=dict(sorted((entry.distribution, entry.version) for entry in chosen.values())),
        manager=manager,
        checks=_checks(manager),
        openers=openers,
        channels=channels,
        stores=stores,
        buses=buses,
    )


def _alias_faults(tools: Iterable[LoadedTool]) -> Iterator[Fault]:
    """Aliases that another loaded tool bears as its name or alias; case does not count."""
    tools = tuple(tools)
    names = {tool.spec.name.lower(): tool for tool in tools}
    aliases: dict[str, LoadedTool] = {}
    for tool in tools:
        for alias in tool.spec.aliases:
            named, aliased = names.get(alias.lower(), tool), aliases.setdefault(alias.lower(), tool)
            if named is not tool:
                yield _alias_clash(alias, tool, "the name of the tool", named)
            elif aliased is not tool:
                yield _alias_clash(alias, tool, "an alias of the tool", aliased)


def _alias_clash(alias: str, tool: LoadedTool, role: str, other: LoadedTool) -> Fault:
    return Fault(
        f"{tool.distribution} {tool.version}",
        "",
        f"the alias {alias!r} of the tool {tool.spec.name!r} is also {role} {other.spec.name!r} "
        f"of {other.distribution} {other.version}.",
        "List only one of the two tools in the profile; upper and lower case do not count.",
    )


def _build(spec: ExtensionSpec[Any], owner: str, workspace: Path, policy: ExtensionPolicy) -> Any:
    try:
        return spec.build(workspace, policy)
    except Exception as error:
        what = f"building the extension {spec.name!r} failed: {cause(error)}"
        raise PluginError([Fault(owner, "", what, "Mend its settings in the profile, or take it out.")]) from error


def _checks(manager: PluginManager, settings: Mapping[str, ExtensionPolicy] = _NOTHING) -> tuple[Check, ...]:
    found = [Check(impl.plugin_name, direct(impl)) for impl in manager.hook.check_call.get_hookimpls()]
    return tuple(sorted((_with(settings.get(check.plugin), check) for check in found), key=lambda check: check.plugin))


def _with(policy: ExtensionPolicy | None, check: Check) -> Check:
    """*check* as its extension's policy wants it; that of a module has no policy."""
    if isinstance(policy, CheckPolicy):
        return check._replace(advisory=policy.advisory, timeout_s=policy.timeout_s)
    return check
