"""What a decision may know: of a tool, what its spec says; of a call, what rules see."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from toolcharter.profile.globs import fold
from toolcharter.spec.reasons import Reason
from toolcharter.spec.tool import ToolSpec
from toolcharter.spec.words import Kind, Safety

_NO_ARGS: Mapping[str, Any] = MappingProxyType({})


class ToolFacts(NamedTuple):
    """A tool as rules see it."""

    name: str
    kind: Kind = "builtin"
    aliases: tuple[str, ...] = ()
    groups: frozenset[str] = frozenset()
    """In lower case, with those the profile puts it in, and `mcp` and `mcp:SERVER` for tools of that kind."""
    capabilities: frozenset[str] | Mapping[str, frozenset[str]] | None = None
    """For all actions, by action, or undeclared."""
    safety: Safety = "high"

    @property
    def names(self) -> tuple[str, ...]:
        """Name and aliases without case."""
        return tuple(fold(name) for name in (self.name, *self.aliases))

    @property
    def is_bounded(self) -> bool:
        """Whether its own policy can bound what it does."""
        return self.kind == "builtin"

    def capabilities_of(self, action: str | None) -> frozenset[str] | None:
        """What *action* touches; None if that is not declared."""
        if isinstance(self.capabilities, Mapping):
            return self.capabilities.get(action or "")
        return self.capabilities

    @property
    def actions(self) -> tuple[str | None, ...]:
        """One action of each sort, as far as capabilities tell them apart; None stands for all that are not declared."""
        return (*self.capabilities, None) if isinstance(self.capabilities, Mapping) else (None,)


class Refusal(NamedTuple):
    """Why a command line is refused before any rule looks at it."""

    reason: Reason
    message: str


class Subject(NamedTuple):
    """A call as rules see it."""

    action: str | None = None
    args: Mapping[str, Any] = _NO_ARGS
    """Validated, with defaults."""
    commands: tuple[str, ...] = ()
    """What it would run, each command in normal form."""
    refusal: Refusal | None = None
    """What it would run cannot be understood, or nobody may permit it."""


def facts_of(spec: ToolSpec[Any], groups: frozenset[str] = frozenset()) -> ToolFacts:
    """The facts of *spec*; *groups* are those the profile puts it in besides its own."""
    declared = spec.capabilities
    capabilities = (
        MappingProxyType({action: frozenset(words) for action, words in declared.items()})
        if isinstance(declared, Mapping)
        else spec.capabilities_of(None)
    )
    return ToolFacts(
        spec.name,
        spec.kind,
        spec.aliases,
        groups | own_groups(spec.name, spec.kind, spec.group),
        capabilities,
        spec.safety,
    )


def own_groups(name: str, kind: Kind, group: str | None) -> frozenset[str]:
    """The groups that a tool is in by itself."""
    found = set[str]() if group is None else {fold(group)}
    if kind == "mcp":
        found |= {"mcp", f"mcp:{mcp_subject(name).partition(':')[0]}"}
    return frozenset(found)


def mcp_subject(name: str) -> str:
    """`server:tool` of a tool named `mcp__server__tool`. Source: hosts.md, names of MCP tools."""
    server, separator, tool = fold(name).removeprefix("mcp__").partition("__")
    return f"{server}:{tool}" if separator else server
