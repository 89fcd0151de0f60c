"""The policy of the extension: the tools that a profile declares, and the folders that are searched for more."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from toolcharter import DiscovererPolicy, ToolPolicy

LOWEST = ("fs:read", "proc:exec")
"""The default capabilities of a declared tool, and the capabilities of every discovered tool."""

Type = Literal["string", "integer", "number", "boolean", "array", "object"]
_SHORT = {"str": "string", "text": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array"}


def _long(written: Any) -> Any:
    """Expand a parameter that is only the name of a type, and the short names of types."""
    if isinstance(written, str):
        return {"type": _SHORT.get(written, written)}
    if not isinstance(written, dict):
        return written
    found: dict[str, Any] = dict(written)
    kind, values = found.get("type"), found.get("enum")
    if isinstance(kind, str):
        found["type"] = _SHORT.get(kind, kind)
    if isinstance(values, list):  # after this validator, a list is no longer accepted for a tuple
        found["enum"] = tuple(values)
    return found


class Parameter(ToolPolicy):
    """One argument of a declared tool."""

    type: Type = "string"
    description: str = ""
    required: bool = True
    """Whether a call has to give it; one with a default need not."""
    default: Any = None
    enum: tuple[Any, ...] = ()
    """The values it may have; any, if none is named."""
    allow_dash: bool = False
    """Whether a value may begin a word with `-`, which most programs take for an option."""


class DeclaredTool(ToolPolicy):
    """A tool that the profile declares."""

    command: Annotated[str, Field(pattern=r"^[^\x00-\x1f]+$")]
    """A program by its bare name, or a script by its path: absolute, or relative to the profile's folder."""
    args: tuple[str, ...] | None = None
    """The words behind it; `{name}` stands for an argument. Without it, a call gives the words itself, in `args`."""
    description: str = ""
    readme: Annotated[Path, Field(strict=False)] | None = None
    """What a call with `help: true` answers; relative to the profile's folder."""
    parameters: dict[str, Annotated[Parameter, BeforeValidator(_long)]] | None = None
    """The arguments; by default a text for each `{name}` in `args`."""
    stdin: str | None = None
    """The name of the argument that programs read as their input."""
    capabilities: tuple[str, ...] = LOWEST
    """What the tool touches, which is what it may: without `fs:write` the workspace is read-only to it, without
    `net:read` or another of its kind it has no network."""
    safety: Literal["low", "medium", "high"] = "high"
    timeout_s: float | None = Field(default=None, gt=0, le=3600)
    """In seconds; by default that of the extension."""
    allow_dash: bool = False
    """Whether words in `args` of a call may begin with `-`."""

    @field_validator("parameters")
    @classmethod
    def _names(cls, parameters: dict[str, Parameter] | None) -> dict[str, Parameter] | None:
        for name in parameters or {}:
            if not name.isidentifier():
                raise ValueError(f"{name!r} is no name of an argument; write letters, digits and '_'")
        return parameters

    @model_validator(mode="after")
    def _fits(self) -> "DeclaredTool":
        if self.args is None and self.parameters is not None:
            raise ValueError("parameters are for the words in args; write args, or leave them out")
        return self


class CliToolsPolicy(DiscovererPolicy):
    """The tools that a profile has in addition to those of plugins."""

    tools: dict[str, DeclaredTool] = Field(default_factory=dict)
    """Tools that the profile declares, by name."""
    agent_folders: tuple[Annotated[Path, Field(strict=False)], ...] = ()
    """Folders of tools, `NAME/run`, relative to the profile's folder. Those found first count."""
    workspace_folders: tuple[Annotated[Path, Field(strict=False)], ...] = ()
    """The same relative to the workspace, behind those of the agent."""
    agent_skills: tuple[Annotated[Path, Field(strict=False)], ...] = ()
    """Folders of skills, each with a manifest, relative to the profile's folder; behind the folders of tools."""
    workspace_skills: tuple[Annotated[Path, Field(strict=False)], ...] = ()
    """The same relative to the workspace."""
    allow_dash: bool = False
    """Whether the words that a call gives a tool in a folder may begin with `-`."""
    timeout_s: float = Field(default=30.0, gt=0, le=3600)
    """How long a tool may take that says nothing of its own, in seconds."""
    max_output_bytes: int = Field(default=1_000_000, ge=1)
    """Kept of each of a program's two streams."""
    max_tools: int = Field(default=100, ge=0)
    """How many tools that are found may exist."""
    max_files: int = Field(default=200, ge=1)
    """How many files the folder of one tool may hold."""
    max_bytes: int = Field(default=4_000_000, ge=1)
    """How large they may be together."""
    max_readme_chars: int = Field(default=20_000, ge=1)
    """How much of a README a call with `help: true` answers."""

    @field_validator("workspace_folders", "workspace_skills")
    @classmethod
    def _below(cls, folders: tuple[Path, ...]) -> tuple[Path, ...]:
        for folder in folders:
            if folder.is_absolute() or ".." in folder.parts:
                raise ValueError(f"{str(folder)!r} does not lie below the workspace")
        return folders
