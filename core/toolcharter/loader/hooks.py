"""Checks and registers the hooks that a plugin implements, and finds the implementation of one plugin."""

from collections.abc import Callable, Iterable, Iterator
from inspect import Parameter, signature
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from pluggy import HookImpl, PluginManager

from toolcharter import hookspecs
from toolcharter.errors import Fault, PluginError, did_you_mean

if TYPE_CHECKING:
    from pluggy import HookimplOpts

MODULE_HOOKS = (
    "register_tools",
    "register_extensions",
    "register_programs",
    "register_commands",
    "discover_tools",
    "check_call",
    "open_sink",
    "open_channel",
    "open_store",
    "open_bus",
)
OBJECT_HOOKS = (
    "discover_tools",
    "check_call",
    "open_sink",
    "open_channel",
    "answer_approval",
    "open_runner",
    "read_roots",
    "route_path",
    "run_agent",
)


_HOOKABLE = (FunctionType, MethodType, staticmethod, classmethod)
"""The types that pluggy accepts as a marked implementation."""


class _Manager(PluginManager):
    """A faster `PluginManager`: pluggy asks `inspect` about each name of a module, and most are not functions."""

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> "HookimplOpts | None":
        if type(plugin) is ModuleType and not isinstance(vars(plugin).get(name), _HOOKABLE):
            return None
        return super().parse_hookimpl_opts(plugin, name)


class PathRoute(NamedTuple):
    """One implementation of `route_path`, called without pluggy."""

    distribution: str
    """The distribution whose records its `rt.store` has."""
    function: Callable[..., Any]
    """Takes the path, the caller and the runtime."""


class FaultCollector:
    """Collects the faults of several steps. `with failures:` collects a `PluginError` and suppresses it."""

    def __init__(self, faults: Iterable[Fault] = ()) -> None:
        self.faults = list(faults)
        self._cause: BaseException | None = None

    def __enter__(self) -> None:
        """Begin one step."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, PluginError):
            return False
        self.faults.extend(error.faults)
        self._cause = self._cause or error.__cause__
        return True

    def raise_if_any(self) -> None:
        """Raise all collected faults, if there are any, with the first cause."""
        if self.faults:
            raise PluginError(self.faults) from self._cause


def new_manager() -> PluginManager:
    """Return a plugin manager that knows our hooks and no plugin."""
    manager = _Manager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    return manager


def register(manager: PluginManager, plugin: object, name: str, owner: str, hooks: tuple[str, ...]) -> None:
    """Register *plugin* if every hook it implements is one of *hooks* and has the declared arguments.

    Raises:
        PluginError: A hook is wrong. It holds all faults; pluggy itself would overlook a misspelt name and an argument
            with a default, and stop at the first wrong signature.
    """
    faults = list(_hook_faults(manager, plugin, owner, hooks))
    if faults:
        raise PluginError(faults)
    manager.register(plugin, name)
    manager.check_pending()


def find_implementation(manager: PluginManager, hook: str, plugin: object) -> Callable[..., Any] | None:
    """Return *plugin*'s own implementation of *hook*, to be called with the hook's arguments by position; or None."""
    for impl in getattr(manager.hook, hook).get_hookimpls():
        if impl.plugin is plugin:
            return _pass_declared_arguments(impl, tuple(signature(getattr(hookspecs, hook)).parameters))
    return None


def _pass_declared_arguments(impl: HookImpl, declared: tuple[str, ...]) -> Callable[..., Any]:
    """Wrap the function of *impl*: it is called with all the hook's arguments and passes on those that it names."""
    if not declared[1:]:  # With at most one argument, use the fast path of the hooks that are called most often.
        return without_pluggy(impl)
    function, places = impl.function, tuple(declared.index(name) for name in impl.argnames)
    return lambda *given: function(*(given[place] for place in places))


def without_pluggy(impl: HookImpl) -> Callable[..., Any]:
    """Return the function of *impl*, to be called with the hook's single argument without pluggy.

    An empty call through pluggy costs more than the check itself.
    """
    function: Callable[..., Any] = impl.function
    return function if impl.argnames else lambda *_: function()


def single_implementation(manager: PluginManager, hook: str, what_it_does: str) -> Callable[..., Any] | None:
    """Return the one implementation of *hook*; None without one.

    Args:
        manager: It has the loaded plugins.
        hook: The name of the hook.
        what_it_does: What its implementations do, as a verb phrase for a fault.

    Raises:
        PluginError: There are two: it would be undefined whose answer counts.
    """
    found = getattr(manager.hook, hook).get_hookimpls()
    if len(found) > 1:
        names = ", ".join(sorted(repr(impl.plugin_name) for impl in found))
        raise PluginError([Fault("extensions", "", f"{names} all {what_it_does}.", "Keep one of them in the profile.")])
    return without_pluggy(found[0]) if found else None


def describe_error(error: BaseException) -> str:
    """Return the type and the text of an error on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")


def _hook_faults(manager: PluginManager, plugin: object, owner: str, hooks: tuple[str, ...]) -> Iterator[Fault]:
    for attribute in dir(plugin):
        options = manager.parse_hookimpl_opts(plugin, attribute)
        if options is None:
            continue
        hook = options["specname"] or attribute
        if hook not in hooks:
            near = did_you_mean(hook, hooks)
            what = f"{attribute!r} is marked as an implementation of the unknown hook {hook!r}."
            yield Fault(owner, "", what, f"{near} Hooks here: {', '.join(hooks)}.".strip())
        elif options["wrapper"] or options["hookwrapper"]:
            yield Fault(
                owner,
                "",
                f"{attribute!r} wraps the hook {hook!r}.",
                "Write a plain function: hooks are called directly.",
            )
        else:
            yield from _signature_faults(getattr(plugin, attribute), hook, owner)


def _signature_faults(function: Callable[..., Any], hook: str, owner: str) -> Iterator[Fault]:
    declared = tuple(signature(getattr(hookspecs, hook)).parameters)
    parameters = signature(function).parameters.values()
    # pluggy passes arguments by name and omits each that has a default.
    plain = [p.name for p in parameters if p.kind is Parameter.POSITIONAL_OR_KEYWORD and p.default is Parameter.empty]
    if len(plain) < len(parameters) or not set(plain) <= set(declared):
        yield Fault(
            owner,
            "",
            f"{function.__name__}({', '.join(p.name for p in parameters)}) does not fit the hook {hook}({', '.join(declared)}).",
            "Take just these arguments or fewer, without defaults.",
        )
