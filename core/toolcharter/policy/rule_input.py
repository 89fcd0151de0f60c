"""The input of a decision: the facts of a tool's spec, and a call as rules see it."""

from collections.abc import Collection, Mapping
from posixpath import normpath
from types import MappingProxyType
from typing import Any, NamedTuple

from toolcharter.api.reasons import Reason
from toolcharter.api.tool import ToolSpec
from toolcharter.api.words import Kind, Safety
from toolcharter.profile.globs import fold

_NO_ARGS: Mapping[str, Any] = MappingProxyType({})


class ToolFacts(NamedTuple):
    """A tool as rules see it."""

    name: str
    kind: Kind = "builtin"
    aliases: tuple[str, ...] = ()
    groups: frozenset[str] = frozenset()
    """In lower case, including groups that the profile adds, and `mcp` and `mcp:SERVER` for tools of that kind."""
    capabilities: frozenset[str] | Mapping[str, frozenset[str]] | None = None
    """For all actions, by action, or None if undeclared."""
    safety: Safety = "high"

    @property
    def names(self) -> tuple[str, ...]:
        """The name and the aliases, without case."""
        return tuple(fold(name) for name in (self.name, *self.aliases))

    @property
    def is_bounded(self) -> bool:
        """Whether the tool's own policy can limit its effects."""
        return self.kind == "builtin"

    def capabilities_of(self, action: str | None) -> frozenset[str] | None:
        """Return what *action* touches; None if that is undeclared."""
        if isinstance(self.capabilities, Mapping):
            return self.capabilities.get(action or "")
        return self.capabilities

    @property
    def actions(self) -> tuple[str | None, ...]:
        """One action for each distinct declaration of capabilities; None stands for all undeclared actions."""
        return (*self.capabilities, None) if isinstance(self.capabilities, Mapping) else (None,)


class Refusal(NamedTuple):
    """Why a command line is refused before any rule is matched."""

    reason: Reason
    message: str


def encode_repeats(word: str, times: int) -> str:
    """Encode in `Requirements.words` that a rule has to mention *word* *times* times. Words contain no bare space."""
    return word if times == 1 else f"{word} {times}"


class Requirements(NamedTuple):
    """What an allow rule for one command needs besides matching it."""

    words: frozenset[str] = frozenset()
    """The words of its normal form that the rule has to mention literally; `encode_repeats` encodes a repeated word."""
    why: str | None = None
    """The first of these words and its effect, for users."""
    bare: str | None = None
    """The command without the assignments before it, if they are harmless (`LC_ALL=C sort x`). A rule may match this
    instead."""
    deny_forms: tuple[str, ...] = ()
    """Forms that a `deny` rule may match instead: the command without assignments and redirections, the program without
    its path, the subcommand without the options before it."""
    is_exempt: bool = False
    """Whether it needs no rule, because it only starts another command (`time`), which needs one."""
    starters: "tuple[tuple[str, Requirements], ...]" = ()
    """The commands that start it, each with the words that a rule has to mention to cover both commands."""


NO_REQUIREMENTS = Requirements()


class RuleInput(NamedTuple):
    """A call as rules see it."""

    action: str | None = None
    args: Mapping[str, Any] = _NO_ARGS
    """The validated arguments, with defaults."""
    commands: tuple[str, ...] = ()
    """The commands that it would run, in normal form."""
    refusal: Refusal | None = None
    """Set if the commands cannot be parsed, or if no profile and no person may permit them."""
    needs: tuple[Requirements, ...] = ()
    """One for each of *commands*; empty if a matching rule suffices for all of them."""
    unsupported: str | None = None
    """The part of the commands that no rule can cover, for users."""
    written: Mapping[str, Any] | None = None
    """The arguments as given, if *args* has a path in another form; `deny` rules match both."""

    @property
    def argument_forms(self) -> tuple[Mapping[str, Any], ...]:
        """The arguments in each form that `deny` rules match."""
        return (self.args,) if self.written is None else (self.args, self.written)

    @property
    def commands_with_needs(self) -> tuple[tuple[str, Requirements], ...]:
        """Each command with its requirements."""
        needs = self.needs or (NO_REQUIREMENTS,) * len(self.commands)
        return tuple(zip(self.commands, needs, strict=True))

    @property
    def deny_texts(self) -> tuple[str, ...]:
        """The texts that `deny` rules match: each command and its `deny_forms`."""
        return (*self.commands, *(form for needs in self.needs for form in needs.deny_forms))

    @property
    def commands_to_cover(self) -> tuple[tuple[str, Requirements], ...]:
        """The commands that need an allow rule. Transparent ones (`time`) count only if the line has no other command."""
        paired = self.commands_with_needs
        return tuple(pair for pair in paired if not pair[1].is_exempt) or paired


def facts_of(spec: ToolSpec[Any], groups: frozenset[str] = frozenset()) -> ToolFacts:
    """Return the facts of *spec*; *groups* are the groups that the profile adds to its own."""
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
    """Return the groups that a tool is in because of its spec."""
    found = set[str]() if group is None else {fold(group)}
    if kind == "mcp":
        found |= {"mcp", f"mcp:{mcp_subject(name).partition(':')[0]}"}
    return frozenset(found)


def mcp_subject(name: str) -> str:
    """Return `server:tool` for a tool named `mcp__server__tool`, as hosts of the Model Context Protocol name tools."""
    server, separator, tool = fold(name).removeprefix("mcp__").partition("__")
    return f"{server}:{tool}" if separator else server


def with_plain_paths(args: Mapping[str, Any], names: Collection[str], workspace: str) -> Mapping[str, Any]:
    """Normalise the paths under *names*; return *args* itself if nothing changes.

    `src/../setup.py` begins with `src/` but leads elsewhere, so a glob for the text would allow it. The tool still gets
    the path as written. Links are not followed, because a decision does no I/O; the path guard follows them.
    """
    changed = {name: plain for name in names if (plain := _plain(value := args.get(name), workspace)) != value}
    return {**args, **changed} if changed else args


def plain_path(path: str, workspace: str) -> str:
    """Return *path* without `.`, `..`, empty parts, a trailing slash, and a leading *workspace*.

    A `..` that leads above the start of the path stays. An empty path and a URL stay unchanged.
    """
    if not path or "://" in path:
        return path
    if path.startswith("/"):
        plain = full = f"/{normpath(path).lstrip('/')}"  # POSIX may distinguish `//` from `/`; Linux does not.
    else:
        plain, full = normpath(path), normpath(f"{workspace}/{path}")
    if full == workspace:
        return "."
    return full.removeprefix(f"{workspace}/") if full.startswith(f"{workspace}/") else plain


def _plain(value: Any, workspace: str) -> Any:
    if isinstance(value, str):
        return plain_path(value, workspace)
    return [_plain(item, workspace) for item in value] if isinstance(value, list) else value
