"""The main function of a separate process that loads one plugin under watch, for the contract test.

Its two arguments are the names of the request file and the report file, both JSON.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from toolcharter.api.extension import ExtensionSpec
from toolcharter.api.policy import ToolPolicy
from toolcharter.api.reasons import Reason
from toolcharter.api.tool import ToolSpec
from toolcharter.errors import ConfigurationError
from toolcharter.gate.observe import ContractBroken
from toolcharter.gate.toolbox import Toolbox
from toolcharter.loader.load import load_plugins
from toolcharter.loader.scan import InstalledPlugins
from toolcharter.testing.effects import Effects, ForbiddenEffect
from toolcharter.testing.samples import sample_arguments, sample_policies
from toolcharter.testing.toolboxes import toolbox_of


class Guesses(NamedTuple):
    """Policies and arguments by tool, from the plugin's author, in addition to those made from schemas."""

    policies: Mapping[str, list[dict[str, Any]]]
    samples: Mapping[str, list[dict[str, Any]]]


class WatchedRuntime:
    """A tool's runtime that permits `inspect` and `compute` to start programs."""

    def __init__(self, inner: Any, effects: Effects) -> None:
        self._inner = inner
        self._effects = effects

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def inspect(self, *args: Any, **options: Any) -> Any:
        """Run a program that only reads."""
        with self._effects.permitted():
            return self._inner.inspect(*args, **options)

    def compute(self, *args: Any, **options: Any) -> Any:
        """Call a function in a child process, which has no effects."""
        with self._effects.permitted():
            return self._inner.compute(*args, **options)


def main(request_file: str, report_file: str) -> None:
    """Process the request under a real audit hook."""
    request = orjson.loads(Path(request_file).read_bytes())
    effects = Effects(Path(request["workspace"]))
    sys.dont_write_bytecode = True
    sys.addaudithook(effects)
    guesses = Guesses(request["policies"], request["samples"])
    if "tools" in request:
        report = probe(request["tools"], guesses, effects)
    else:
        report = probe_extensions(request["extensions"], guesses, effects)
    Path(report_file).write_bytes(orjson.dumps(report))


def probe(
    tools: list[str], guesses: Guesses, effects: Effects, index: InstalledPlugins | None = None
) -> dict[str, dict[str, list[str]]]:
    """Import and build *tools*, all of one distribution, and make dry runs of their calls.

    Args:
        tools: Names of tools.
        guesses: Policies and arguments in addition to those made from the schemas.
        effects: Records the effects, whether or not it is installed as an audit hook.
        index: The installed plugins.

    Returns:
        The forbidden effects by phase (`import`, `construction`, `dry run`) and tool.
    """
    _warm_up(effects.workspace)
    imported: list[str] = []
    report: dict[str, dict[str, list[str]]] = {"import": dict.fromkeys(tools, imported)}
    try:
        with effects.phase(imported):
            loaded = load_plugins(dict.fromkeys(tools, "contract"), index=index)
    except ConfigurationError as error:
        imported.append(str(error))
        return report
    probed = {name: _probe_tool(tool.spec, guesses, effects) for name, tool in loaded.specs.items()}
    report["construction"] = {name: built for name, (built, _) in probed.items()}
    report["dry run"] = {name: rehearsed for name, (_, rehearsed) in probed.items()}
    return report


def probe_extensions(
    extensions: list[str], guesses: Guesses, effects: Effects, index: InstalledPlugins | None = None
) -> dict[str, dict[str, list[str]]]:
    """Import and build *extensions*, all of one distribution; otherwise like `probe`."""
    _warm_up(effects.workspace)
    imported: list[str] = []
    report: dict[str, dict[str, list[str]]] = {"import": dict.fromkeys(extensions, imported), "construction": {}}
    try:
        with effects.phase(imported):
            loaded = load_plugins({}, dict.fromkeys(extensions, "contract"), index=index)
    except ConfigurationError as error:
        imported.append(str(error))
        return report
    for name, extension in loaded.extension_specs.items():
        report["construction"][name] = list(dict.fromkeys(_probe_extension(extension.spec, guesses, effects)))
    return report


def _probe_extension(spec: ExtensionSpec[Any], guesses: Guesses, effects: Effects) -> list[str]:
    built: list[str] = []
    policies = (*sample_policies(spec), *guesses.policies.get(spec.name, ()))
    for policy in map(spec.policy.from_profile, policies):
        with effects.phase(built, quiet=True):
            try:
                spec.build(effects.workspace, policy)
            except ForbiddenEffect:
                pass  # `effects` has recorded it.
            except Exception as error:  # noqa: BLE001 - a foreign constructor may raise anything
                built.append(f"fails: {type(error).__name__}: {error}")
    return built if policies else ["no policy can be guessed; hand one to contract_of(policies=...)"]


def _probe_tool(spec: ToolSpec[Any], guesses: Guesses, effects: Effects) -> tuple[list[str], list[str]]:
    built: list[str] = []
    rehearsed: list[str] = []
    watched = _watch_spec(spec, effects, built)
    for policy in (*sample_policies(spec), *guesses.policies.get(spec.name, ())):
        try:
            toolbox = toolbox_of(watched, workspace=effects.workspace, policies={spec.name: policy})
        except ConfigurationError as error:
            built.append(str(error))
            continue
        with toolbox:
            given = [*sample_arguments(toolbox[spec.name].parameters), *guesses.samples.get(spec.name, ())]
            for args in given if spec.staged else ():
                rehearsed += _dry_run(toolbox, spec.name, args, effects)
    return list(dict.fromkeys(built)), list(dict.fromkeys(rehearsed))


def _dry_run(toolbox: Toolbox, name: str, args: dict[str, Any], effects: Effects) -> list[str]:
    found: list[str] = []
    with effects.phase(found):
        try:
            decision = toolbox.decide(name, args)
            failure = decision.message if decision.reason == Reason.UNEXPECTED_FAILURE else None
        except ContractBroken as error:
            failure = str(error)
    if failure:
        found.append(f"fails: {failure}")
    return [f"{what} (called with {orjson.dumps(args).decode()})" for what in found]


def _watch_spec(spec: ToolSpec[Any], effects: Effects, built: list[str]) -> ToolSpec[Any]:
    """Return *spec* with its constructor under watch; its effects are added to *built*."""

    def build(workspace: Path, policy: ToolPolicy, rt: Any) -> Callable[..., Any]:
        with effects.phase(built, quiet=True):
            watched: Any = WatchedRuntime(rt, effects)
            return spec.build(workspace, policy, watched)

    return replace(spec, build=build)


def _warm_up(workspace: Path) -> None:
    """Use every part of the gate that a probe uses, so that the gate's own imports are not counted as the plugin's."""

    def build(_workspace: Path, _policy: ToolPolicy, rt: Any) -> Callable[[], Any]:
        async def warm() -> None:
            rt.start("warm").policy_passed()

        return warm

    with toolbox_of(ToolSpec("warm", ToolPolicy, build, staged=True), workspace=workspace) as toolbox:
        toolbox.decide("warm", {})
