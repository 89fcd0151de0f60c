"""The policy of the extension: the tools that a profile declares, and the folders that are searched for more."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from toolcharter import DiscovererPolicy, ToolPolicy

LOWEST_CAPABILITIES = ("fs:read", "proc:exec")
"""The default capabilities of a declared tool, and the capabilities of every discovered tool."""

Type = Literal["string", "integer", "number", "boolean", "array", "object"]
_SHORT_TYPES = {
    "str": "string",
    "text": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
}


def _expand_parameter(written: Any) -> Any:
    """Expand a parameter that is only the name of a type, and the short names of types."""
    if isinstance(written, str):
        return {"type": _SHORT_TYPES.get(written, written)}
    if not isinstance(written, dict):
        return written
    found: dict[str, Any] = dict(written)
    kind, values = found.get("type"), found.get("enum")
    if isinstance(kind, str):
        found["type"] = _SHORT_TYPES.get(kind, kind)
    if isinstance(values, list):  # after this validator, a list is no longer accepted for a tuple
        found["enum"] = tuple(values)
    return found


class Parameter(ToolPolicy):
    """One argument of a declared tool."""

    type: Type = "string"
    description: str = ""
    required: bool = True
    """Whether a call must give the argument. An argument with a default is never required."""
    default: Any = None
    enum: tuple[Any, ...] = ()
    """The permitted values; empty for any value."""
    allow_dash: bool = False
    """Whether a value may begin a word with `-`, which most programs take for an option."""


class DeclaredTool(ToolPolicy):
    """A tool that the profile declares."""

    command: Annotated[str, Field(pattern=r"^[^\x00-\x1f]+$")]
    """A program by its bare name, or a script by its path: absolute, or relative to the profile's folder."""
    args: tuple[str, ...] | None = None
    """The program's arguments, with `{name}` for an argument of the tool. Without `args`, the call gives all words
    itself, in its own `args`."""
    description: str = ""
    readme: Annotated[Path, Field(strict=False)] | None = None
    """The README that a call with `help: true` returns; relative to the profile's folder."""
    parameters: dict[str, Annotated[Parameter, BeforeValidator(_expand_parameter)]] | None = None
    """The tool's arguments; by default a text for each `{name}` in `args`."""
    stdin: str | None = None
    """The name of the argument that the program reads from its standard input."""
    capabilities: tuple[str, ...] = LOWEST_CAPABILITIES
    """The tool's capabilities. They also limit it: without `fs:write` the workspace is read-only, and without
    `net:read` or another `net:` capability there is no network."""
    safety: Literal["low", "medium", "high"] = "high"
    timeout_s: float | None = Field(default=None, gt=0, le=3600)
    """The longest run, in seconds; by default the extension's `timeout_s`."""
    allow_dash: bool = False
    """Whether words in `args` of a call may begin with `-`."""

    @field_validator("parameters")
    @classmethod
    def _require_identifiers(cls, parameters: dict[str, Parameter] | None) -> dict[str, Parameter] | None:
        for name in parameters or {}:
            if not name.isidentifier():
                raise ValueError(f"{name!r} is not a valid name of an argument; use letters, digits and '_'")
        return parameters

    @model_validator(mode="after")
    def _require_args(self) -> "DeclaredTool":
        if self.args is None and self.parameters is not None:
            raise ValueError("parameters are for the words in args; write args, or leave them out")
        return self


class CliToolsPolicy(DiscovererPolicy):
    """The tools that a profile has in addition to those of plugins."""

    tools: dict[str, DeclaredTool] = Field(default_factory=dict)
    """Tools that the profile declares, by name."""
    agent_folders: tuple[Annotated[Path, Field(strict=False)], ...] = ()
    """Folders of tools, `NAME/run`, relative to the profile's folder. If a name is found twice, the first counts."""
    workspace_folders: tuple[Annotated[Path, Field(strict=False)], ...] = ()
    """Folders of tools relative to the workspace; searched after those of the agent."""
    agent_skills: tuple[Annotated[Path, Field(strict=False)], ...] = ()
    """Folders of skills, each with a manifest, relative to the profile's folder; searched after those of tools."""
    workspace_skills: tuple[Annotated[Path, Field(strict=False)], ...] = ()
    """Folders of skills relative to the workspace; searched last."""
    allow_dash: bool = False
    """Whether the words that a call gives to a tool in a folder may begin with `-`."""
    timeout_s: float = Field(default=30.0, gt=0, le=3600)
    """The longest run of a tool without a `timeout_s` of its own, in seconds."""
    max_output_bytes: int = Field(default=1_000_000, ge=1)
    """How much is kept of each of a program's two output streams, in bytes."""
    max_tools: int = Field(default=100, ge=0)
    """The most tools that are taken from folders."""
    max_files: int = Field(default=200, ge=1)
    """The most files in the folder of one tool."""
    max_bytes: int = Field(default=4_000_000, ge=1)
    """The size of all files of one tool together, in bytes."""
    max_readme_chars: int = Field(default=20_000, ge=1)
    """How much of a README a call with `help: true` returns, in characters."""

    @field_validator("workspace_folders", "workspace_skills")
    @classmethod
    def _require_below(cls, folders: tuple[Path, ...]) -> tuple[Path, ...]:
        for folder in folders:
            if folder.is_absolute() or ".." in folder.parts:
                raise ValueError(f"{str(folder)!r} does not lie below the workspace")
        return folders
