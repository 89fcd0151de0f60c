"""Collect the tools that a profile declares and those in its folders."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from toolcharter import ConfigurationError, Discovery, Fault, ProfileView, SpecError, ToolPolicy, ToolSpec
from toolcharter_cli_tools.bundles import Limits, Unusable
from toolcharter_cli_tools.declared import declared_tool
from toolcharter_cli_tools.definitions import Definition, spec_of
from toolcharter_cli_tools.folders import Root, Skipped, bundles_in, tool_in
from toolcharter_cli_tools.manifests import definitions_in
from toolcharter_cli_tools.policy import CliToolsPolicy

Found = Iterator[tuple[Path, Definition] | Skipped]


def discover(profile: ProfileView, workspace: Path | None) -> Discovery:
    """Return all tools that the profile has in addition to those of plugins.

    Raises:
        ConfigurationError: With the faults of all declared tools.
    """
    policy: CliToolsPolicy = profile.policy
    declared = _declared(policy, profile.folder)
    if not policy.extend:
        return Discovery(declared)
    found, notes, folders = list[ToolSpec[ToolPolicy]](), list[str](), list[str]()
    tools = _roots(policy.agent_folders, policy.workspace_folders, profile.folder, workspace)
    skills = _roots(policy.agent_skills, policy.workspace_skills, profile.folder, workspace)
    for root, look in (*((root, _tools) for root in tools), *((root, _skills) for root in skills)):
        try:
            answers = list(look(root, policy))
        except OSError as error:
            notes += (
                [] if isinstance(error, FileNotFoundError) else [f"{root.path} cannot be searched: {error.strerror}."]
            )
            continue
        folders.append(str(root.path))
        for one in answers:
            spec = one if isinstance(one, Skipped) else _spec(*one)
            if isinstance(spec, Skipped):
                notes.append(str(spec))
            else:
                found.append(spec)
    if len(found) > policy.max_tools:
        notes.append(f"{len(found) - policy.max_tools} tools are left out (too_many): max_tools is {policy.max_tools}.")
    return Discovery(declared, tuple(found[: policy.max_tools]), tuple(folders), tuple(notes))


def _declared(policy: CliToolsPolicy, folder: Path | None) -> tuple[ToolSpec[ToolPolicy], ...]:
    specs, faults = list[ToolSpec[ToolPolicy]](), list[Fault]()
    for name, written in policy.tools.items():
        try:
            specs.append(spec_of(declared_tool(name, written, policy, folder)))
        except ConfigurationError as error:
            faults += error.faults
        except SpecError as error:
            faults.append(Fault("", f"extensions.cli_tools.tools.{name}", f"{error}.", "Rename the tool."))
    if faults:
        raise ConfigurationError(faults)
    return tuple(specs)


def _roots(agent: Iterable[Path], shared: Iterable[Path], folder: Path | None, workspace: Path | None) -> list[Root]:
    """The folders to search: the agent's before the workspace's."""
    base = folder or Path.cwd()
    roots = [Root(base / path) for path in agent]
    return roots if workspace is None else roots + [Root(workspace / path, workspace) for path in shared]


def _tools(root: Root, policy: CliToolsPolicy) -> Found:
    for one in bundles_in(root, Limits(policy.max_files, policy.max_bytes)):
        if isinstance(one, Skipped):
            yield one
            continue
        name, bundle, read = one
        try:
            yield root.path / name, tool_in(name, bundle, read, policy)
        except Unusable as error:
            yield Skipped(root.path / name, error.word, error.message)


def _skills(root: Root, policy: CliToolsPolicy) -> Found:
    for one in bundles_in(root, Limits(policy.max_files, policy.max_bytes)):
        if isinstance(one, Skipped):
            yield one
            continue
        name, bundle, read = one
        try:
            for found in definitions_in(name, bundle, policy):
                if isinstance(found, Unusable):
                    yield Skipped(root.path / name, found.word, found.message)
                else:
                    yield root.path / name, found._replace(read=read, hash=bundle.hash)
        except Unusable as error:
            yield Skipped(root.path / name, error.word, error.message)


def _spec(place: Path, definition: Definition) -> ToolSpec[ToolPolicy] | Skipped:
    try:
        return spec_of(definition)
    except SpecError as error:
        return Skipped(place, "bad_name", str(error))
