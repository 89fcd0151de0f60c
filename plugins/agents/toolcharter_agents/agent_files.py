"""Agents as files: `NAME/agent.yaml`, or `NAME.md` with front matter. A file only narrows what its starter may use.

Source: Duragent's agent format (`agent.yaml` with `metadata` and `spec`), linggen's `agents/*.md` with its policy of
`Patch`, `Finalize` and `Delegate`.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from toolcharter import ConfigurationError, Fault, ToolPolicy, read_settings
from toolcharter_agents.names import fold_name

AGENTS_FOLDER = ".toolcharter/agents"
"""The default folder of agents in a workspace; no tool can write there."""
MAX_AGENTS = 100
MAX_PROMPT_CHARS = 100_000

Grant = Literal["Patch", "Finalize", "Delegate"]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Names = tuple[Annotated[str, Field(min_length=1, max_length=128)], ...]
Iterations = Annotated[int, Field(ge=1, le=1000)]


class Agent(NamedTuple):
    """An agent that another agent may start."""

    name: str
    description: str
    prompt: str
    model: str
    """Empty for the host's default model."""
    tools: tuple[str, ...] | None
    """The only tools of its parent that the agent gets; None for all of them."""
    grants: frozenset[Grant]
    delegate_targets: tuple[str, ...]
    max_iterations: int | None
    file: str

    def may_delegate_to(self, name: str) -> bool:
        """Return whether this agent may start the agent *name*."""
        return "Delegate" in self.grants and is_listed(name, self.delegate_targets)


def is_listed(name: str, targets: Sequence[str]) -> bool:
    """Return whether *targets* contains *name*, in upper or lower case, or `*` for all names."""
    return any(target == "*" or fold_name(target) == fold_name(name) for target in targets)


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _Metadata(_Part):
    name: Name
    description: str = ""
    version: str = ""
    labels: dict[str, str] = {}


class _Model(_Part):
    provider: str = ""
    name: str = Field(min_length=1)


class _Tool(_Part):
    """A tool of the parent that the agent gets. There are no keys that would declare a new tool."""

    type: Literal["builtin", "cli", "mcp", "custom"] = "builtin"
    name: str = Field(min_length=1)


class _Spec(_Part):
    model: _Model | None = None
    soul: str = ""
    system_prompt: str = ""
    instructions: str = ""
    tools: tuple[str | _Tool, ...] | None = None
    policy: tuple[Grant, ...] = ()
    delegate_targets: Names = ()
    max_iterations: Iterations | None = None


class _AgentYaml(ToolPolicy):
    """`agent.yaml`."""

    apiVersion: Literal["duragent/v1alpha1"]  # noqa: N815 - as the format has it
    kind: Literal["Agent"]
    metadata: _Metadata
    spec: _Spec = _Spec()


class _FrontMatter(ToolPolicy):
    """The settings above the prompt in a Markdown file."""

    name: Name
    description: str = ""
    model: str = ""
    tools: Names | None = None
    policy: tuple[Grant, ...] = ()
    delegate_targets: Names = ()
    max_iterations: Iterations | None = None


def read_agents(workspace: Path, folders: Sequence[Path]) -> dict[str, Agent]:
    """Read the agents of *folders*, by default of the workspace's own folder. The keys are the names in lower case.

    Raises:
        ConfigurationError: With the faults of all files.
    """
    places = list(folders) or [place for place in (workspace / AGENTS_FOLDER,) if place.is_dir()]
    agents: dict[str, Agent] = {}
    faults: list[Fault] = []
    for file in _iter_files(places, faults):
        try:
            agent = read_agent(file)
        except ConfigurationError as error:
            faults += error.faults
            continue
        other = agents.setdefault(fold_name(agent.name), agent)
        if other is not agent:
            what = f"{other.file} has an agent named {agent.name!r}, too."
            faults.append(Fault(str(file), "name", what, "Rename one of them."))
    if len(agents) > MAX_AGENTS:
        what = f"there are {len(agents)} agents, and at most {MAX_AGENTS} are read."
        faults.append(Fault(str(places[0]), "", what, "Move some of them away."))
    if faults:
        raise ConfigurationError(faults)
    return agents


def _iter_files(folders: Sequence[Path], faults: list[Fault]) -> Iterator[Path]:
    for folder in folders:
        try:
            entries = sorted(folder.iterdir())
        except OSError as error:
            what = f"the folder of agents cannot be read: {error.strerror}."
            faults.append(Fault(str(folder), "", what, "Mend the path, or the folder."))
            continue
        yield from (entry for entry in entries if entry.suffix == ".md" and entry.is_file())
        yield from (file for entry in entries if (file := entry / "agent.yaml").is_file())


def read_agent(file: Path) -> Agent:
    """Read one agent.

    Raises:
        ConfigurationError: With all faults of the file.
    """
    if file.suffix == ".md":
        settings = read_settings(file, _FrontMatter, least="name: NAME", front_matter=True)
        read = settings.values
        return Agent(
            read.name,
            read.description,
            _require_size(settings.body, file),
            "" if read.model == "inherit" else read.model,
            _parse_names(read.tools),
            frozenset(read.policy),
            read.delegate_targets,
            read.max_iterations,
            str(file),
        )
    yaml = read_settings(file, _AgentYaml, least="apiVersion: duragent/v1alpha1").values
    spec = yaml.spec
    texts = (
        _text(file, key, written)
        for key, written in (
            ("soul", spec.soul),
            ("system_prompt", spec.system_prompt),
            ("instructions", spec.instructions),
        )
        if written
    )
    return Agent(
        yaml.metadata.name,
        yaml.metadata.description,
        _require_size("\n\n".join(texts), file),
        spec.model.name if spec.model else "",
        None if spec.tools is None else _parse_names(one if isinstance(one, str) else one.name for one in spec.tools),
        frozenset(spec.policy),
        spec.delegate_targets,
        spec.max_iterations,
        str(file),
    )


def _parse_names(written: "Iterator[str] | Sequence[str] | None") -> tuple[str, ...] | None:
    return None if written is None else tuple(dict.fromkeys(written))


def _text(file: Path, key: str, written: str) -> str:
    """A part of the prompt: if *written* is a path (`./...`), the text of that file beside *file*; else *written*."""
    if not written.startswith("./"):
        return written
    home = file.parent.resolve()
    place = (home / written).resolve()
    if not place.is_relative_to(home):
        what = f"{written!r} leads out of the agent's folder."
        raise ConfigurationError([Fault(str(file), f"spec.{key}", what, "Put the text beside the file.")])
    try:
        return place.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not in UTF-8"
        what = f"{written!r} cannot be read: {why}."
        raise ConfigurationError([Fault(str(file), f"spec.{key}", what, "Mend the path, or the file.")]) from error


def _require_size(prompt: str, file: Path) -> str:
    if len(prompt) > MAX_PROMPT_CHARS:
        what = f"the prompt has more than {MAX_PROMPT_CHARS} characters."
        raise ConfigurationError([Fault(str(file), "", what, "Shorten it.")])
    return prompt
