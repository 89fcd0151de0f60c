"""Asks the discoverers of a profile for tools, and checks the tools by the rules for tools of plugins."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from toolcharter._lazy import lazy
from toolcharter.api.discovery import CapabilityBounds, DiscovererPolicy, Discovery, DiscoveryRuntime, ProfileView
from toolcharter.api.tool import ToolSpec
from toolcharter.errors import ConfigurationError, Fault, PluginError
from toolcharter.loader.discovered import DiscoveredTools
from toolcharter.loader.hooks import describe_error
from toolcharter.loader.load import LoadedExtension, LoadedPlugins, LoadedTool

if TYPE_CHECKING:
    from toolcharter.guards.shell import code_detection
else:
    code_detection = lazy("toolcharter.guards.shell.code_detection")

KINDS = frozenset({"cli", "custom", "mcp"})
"""The kinds a discovered tool may have. It needs its own `allow` rule; only the floor and `deny` judge what it runs."""


class DiscoveryContext(NamedTuple):
    """The facts that a discovery depends on."""

    profile: str
    folder: Path | None
    """The folder of the profile's own file."""
    workspace: Path | None
    installed: Collection[str]
    """The names of all installed tools: no discovered tool may take one of them."""
    bounds: tuple[CapabilityBounds, ...] = ()
    """The limits on what the profile's tools may touch."""


class LateDiscoverers(NamedTuple):
    """The discoverers that are available only with a toolbox: they may start a process or send a request."""

    discoverers: Mapping[str, Callable[..., Any]]
    """The implementations by objects of extensions, by the name of the extension."""
    runtime_of: Callable[[str], DiscoveryRuntime] | None
    """Returns what the extensions of a distribution may use; None if they may use nothing."""


_NO_OBJECTS = LateDiscoverers(MappingProxyType({}), None)


def discover(
    loaded: LoadedPlugins, policies: Mapping[str, Any], context: DiscoveryContext, late: LateDiscoverers = _NO_OBJECTS
) -> DiscoveredTools:
    """Ask each discoverer, in the profile's order.

    Args:
        loaded: The tools and extensions of plugins.
        policies: The validated policies of the extensions. An extension without a policy is not asked.
        context: The facts to discover by, and the names that are taken.
        late: The objects of the extensions, if they are built already.

    Raises:
        PluginError: A discoverer raised, did not return a `Discovery`, or offers a tool that it may not offer.
        ConfigurationError: A declared tool is wrong, or its name is taken. A fault may have a path and no place.
    """
    plugins = {name.lower(): f"the tool {name!r} of a plugin" for name in (*context.installed, *loaded.specs)}
    plugins |= {alias.lower(): f"an alias of the tool {name!r}" for alias, name in loaded.aliases.items()}
    collector = _ToolCollector(plugins)
    answers = [
        (name, extension, _call_discoverer(hook, extension, view, context, runtime))
        for name, extension in loaded.extension_specs.items()
        if name in policies
        for view in (ProfileView(context.profile, context.folder, policies[name], tuple(loaded.specs), context.bounds),)
        for hook, runtime in (
            (extension.discover, None),
            (late.discoverers.get(name), late.runtime_of and late.runtime_of(extension.distribution)),
        )
        if hook is not None
    ]
    for name, extension, answer in answers:
        collector.add_declared(name, extension, answer.declared)
    if collector.faults:
        raise ConfigurationError(collector.faults)
    for name, extension, answer in answers:
        if _may_extend(policies[name]):
            collector.add_found(extension, answer.found)
    folders = tuple(folder for *_, answer in answers for folder in answer.folders)
    notes = (*(note for *_, answer in answers for note in answer.notes), *collector.notes)
    asking = {spec.name for *_, answer in answers if answer.asks_itself for spec in (*answer.declared, *answer.found)}
    return DiscoveredTools(
        collector.tools,
        folders,
        notes,
        tuple(dict.fromkeys(glob for *_, answer in answers for glob in answer.later)),
        max((answer.wait_s for *_, answer in answers), default=0.0),
        frozenset(asking & collector.tools.keys()),
    )


def extenders(policies: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the extensions whose policy allows new tools during a session."""
    return tuple(name for name, policy in policies.items() if _may_extend(policy))


class _ToolCollector:
    """Takes tools whose names are free."""

    def __init__(self, taken: Mapping[str, str]) -> None:
        self._taken = dict(taken)
        self.tools: dict[str, LoadedTool] = {}
        self.faults: list[Fault] = []
        self.notes: list[str] = []

    def add_declared(self, name: str, extension: LoadedExtension, specs: Iterable[ToolSpec[Any]]) -> None:
        for spec in specs:
            if found := self._find_clash(spec):
                what = f"the name {found[0]!r} is {found[1]}; upper and lower case do not count."
                self.faults.append(Fault("", f"extensions.{name}", what, "Give the declared tool another name."))
            else:
                self._add(extension, spec)

    def add_found(self, extension: LoadedExtension, specs: Iterable[ToolSpec[Any]]) -> None:
        for spec in specs:
            if taken := self._find_clash(spec):
                said = "the name" if taken[0] == spec.name else f"its alias {taken[0]!r}"
                self.notes.append(f"The tool {spec.name!r} that was found is left out: {said} is {taken[1]}.")
            elif evaluated := _code_arguments(spec):
                what = (
                    f"a shell or an interpreter would get its argument {evaluated[0]!r} as code, or a program "
                    "would start it (code_is_placeholder)"
                )
                self.notes.append(f"The tool {spec.name!r} that was found is left out: {what}.")
            else:
                self._add(extension, spec)

    def _find_clash(self, spec: ToolSpec[Any]) -> tuple[str, str] | None:
        """Return the first of the tool's names that is taken, and what it already names."""
        return next(
            ((name, role) for name in (spec.name, *spec.aliases) if (role := self._taken.get(name.lower()))), None
        )

    def _add(self, extension: LoadedExtension, spec: ToolSpec[Any]) -> None:
        self._taken |= {alias.lower(): f"an alias of the discovered tool {spec.name!r}" for alias in spec.aliases}
        self._taken[spec.name.lower()] = f"the discovered tool {spec.name!r}"
        self.tools[spec.name] = LoadedTool(spec, extension.distribution, extension.version)


def _code_arguments(spec: ToolSpec[Any]) -> tuple[str, ...]:
    """Return the arguments of a found tool that an interpreter would run as code, or that would start a program."""
    if spec.invocation is None or spec.parameters is None:
        return ()

    return code_detection.code_arguments(spec.invocation, spec.parameters)


def _may_extend(policy: Any) -> bool:
    return isinstance(policy, DiscovererPolicy) and policy.extend


def _call_discoverer(
    hook: Callable[..., Any],
    extension: LoadedExtension,
    view: ProfileView,
    context: DiscoveryContext,
    runtime: DiscoveryRuntime | None,
) -> Discovery:
    owner = f"{extension.distribution} {extension.version}"
    try:
        answer = hook(view, context.workspace, runtime)
    except ConfigurationError:
        raise
    except Exception as error:
        what = f"the hook discover_tools raised {describe_error(error)}"
        fix = f"Report it to the authors of {extension.distribution}, or take it out of the profile."
        raise PluginError([Fault(owner, "", what, fix)]) from error
    if not isinstance(answer, Discovery):
        what = f"the hook discover_tools returned {type(answer).__name__}, not a Discovery."
        raise PluginError([Fault(owner, "", what, "Write: return Discovery(...)")])
    faults = [
        Fault(owner, "", f"the discovered tool {_quoted_name(spec)} {what}.", "The plugin's author has to fix it.")
        for spec in (*answer.declared, *answer.found)
        for what in _spec_violations(spec)
    ]
    if faults:
        raise PluginError(faults)
    return answer


def _quoted_name(spec: object) -> str:
    return repr(spec.name if isinstance(spec, ToolSpec) else spec)


def _spec_violations(spec: object) -> Iterator[str]:
    if not isinstance(spec, ToolSpec):
        yield "is no ToolSpec"
        return
    if spec.kind not in KINDS:
        yield f"is of kind {spec.kind!r}, not one of {', '.join(sorted(KINDS))}"
    if not spec.fingerprint:
        yield "has no fingerprint"
    if any(field.is_required() for field in spec.policy.model_fields.values()):
        yield "has a policy with required fields"
