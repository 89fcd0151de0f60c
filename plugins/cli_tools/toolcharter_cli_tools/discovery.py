"""Collect the tools that a profile declares and those in its folders."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from toolcharter import ConfigurationError, Discovery, Fault, ProfileView, SpecError, ToolPolicy, ToolSpec
from toolcharter_cli_tools.bundles import Limits, UnusableTool
from toolcharter_cli_tools.declared import build_declared
from toolcharter_cli_tools.definitions import Definition, build_spec
from toolcharter_cli_tools.folders import Root, SkippedTool, build_definition, iter_bundles
from toolcharter_cli_tools.manifests import iter_definitions
from toolcharter_cli_tools.policy import CliToolsPolicy

FoundTools = Iterator[tuple[Path, Definition] | SkippedTool]


def discover(profile: ProfileView, workspace: Path | None) -> Discovery:
    """Return all tools that the profile has in addition to those of plugins.

    Raises:
        ConfigurationError: With the faults of all declared tools.
    """
    policy: CliToolsPolicy = profile.policy
    declared = _declared_specs(policy, profile.folder)
    if not policy.extend:
        return Discovery(declared)
    found, notes, folders = list[ToolSpec[ToolPolicy]](), list[str](), list[str]()
    tools = _search_roots(policy.agent_folders, policy.workspace_folders, profile.folder, workspace)
    skills = _search_roots(policy.agent_skills, policy.workspace_skills, profile.folder, workspace)
    for root, look in (*((root, _find_tools) for root in tools), *((root, _find_skills) for root in skills)):
        try:
            answers = list(look(root, policy))
        except OSError as error:
            notes += (
                [] if isinstance(error, FileNotFoundError) else [f"{root.path} cannot be searched: {error.strerror}."]
            )
            continue
        folders.append(str(root.path))
        for one in answers:
            spec = one if isinstance(one, SkippedTool) else _spec_or_skipped(*one)
            if isinstance(spec, SkippedTool):
                notes.append(str(spec))
            else:
                found.append(spec)
    if len(found) > policy.max_tools:
        notes.append(f"{len(found) - policy.max_tools} tools are left out (too_many): max_tools is {policy.max_tools}.")
    return Discovery(declared, tuple(found[: policy.max_tools]), tuple(folders), tuple(notes))


def _declared_specs(policy: CliToolsPolicy, folder: Path | None) -> tuple[ToolSpec[ToolPolicy], ...]:
    specs, faults = list[ToolSpec[ToolPolicy]](), list[Fault]()
    for name, written in policy.tools.items():
        try:
            specs.append(build_spec(build_declared(name, written, policy, folder)))
        except ConfigurationError as error:
            faults += error.faults
        except SpecError as error:
            faults.append(Fault("", f"extensions.cli_tools.tools.{name}", f"{error}.", "Rename the tool."))
    if faults:
        raise ConfigurationError(faults)
    return tuple(specs)


def _search_roots(
    agent: Iterable[Path], shared: Iterable[Path], folder: Path | None, workspace: Path | None
) -> list[Root]:
    """The folders to search: the agent's before the workspace's."""
    base = folder or Path.cwd()
    roots = [Root(base / path) for path in agent]
    return roots if workspace is None else roots + [Root(workspace / path, workspace) for path in shared]


def _find_tools(root: Root, policy: CliToolsPolicy) -> FoundTools:
    for one in iter_bundles(root, Limits(policy.max_files, policy.max_bytes)):
        if isinstance(one, SkippedTool):
            yield one
            continue
        name, bundle, read = one
        try:
            yield root.path / name, build_definition(name, bundle, read, policy)
        except UnusableTool as error:
            yield SkippedTool(root.path / name, error.reason, error.message)


def _find_skills(root: Root, policy: CliToolsPolicy) -> FoundTools:
    for one in iter_bundles(root, Limits(policy.max_files, policy.max_bytes)):
        if isinstance(one, SkippedTool):
            yield one
            continue
        name, bundle, read = one
        try:
            for found in iter_definitions(name, bundle, policy):
                if isinstance(found, UnusableTool):
                    yield SkippedTool(root.path / name, found.reason, found.message)
                else:
                    yield root.path / name, found._replace(read=read, hash=bundle.hash)
        except UnusableTool as error:
            yield SkippedTool(root.path / name, error.reason, error.message)


def _spec_or_skipped(place: Path, definition: Definition) -> ToolSpec[ToolPolicy] | SkippedTool:
    try:
        return build_spec(definition)
    except SpecError as error:
        return SkippedTool(place, "bad_name", str(error))
