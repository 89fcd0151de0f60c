"""What a decision may know: of a tool, what its spec says; of a call, what rules see."""

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
        """One action of each sort, as far as capabilities distinguish them; None means all that are not declared."""
        return (*self.capabilities, None) if isinstance(self.capabilities, Mapping) else (None,)


class Refusal(NamedTuple):
    """Why a command line is refused before any rule looks at it."""

    reason: Reason
    message: str


def as_often(word: str, times: int) -> str:
    """How `Needs.words` holds a *word* that a rule has to mention *times* times; no word of a command has a bare space."""
    return word if times == 1 else f"{word} {times}"


class Requirements(NamedTuple):
    """What one command asks of the rule that would allow it, besides matching."""

    words: frozenset[str] = frozenset()
    """The words of its normal form that the rule has to mention, literally; see `as_often` for one that occurs twice."""
    why: str | None = None
    """The first of them, and what it does, for people."""
    bare: str | None = None
    """The command without the assignments before it, where they are harmless (`LC_ALL=C sort x`): a rule may match this
    instead."""
    deny_forms: tuple[str, ...] = ()
    """What a `deny` rule may match instead: the command without assignments and redirections, its program without a
    path, its subcommand without the options before it."""
    is_exempt: bool = False
    """It needs no rule, because all that it does is start another command (`time`), which needs one."""
    starters: "tuple[tuple[str, Requirements], ...]" = ()
    """The commands that start it, each with what a rule that covers that one has to mention to cover this one, too."""


NO_NEEDS = Requirements()


class RuleInput(NamedTuple):
    """A call as rules see it."""

    action: str | None = None
    args: Mapping[str, Any] = _NO_ARGS
    """Validated, with defaults."""
    commands: tuple[str, ...] = ()
    """What it would run, each command in normal form."""
    refusal: Refusal | None = None
    """What it would run cannot be understood, or no one may permit it."""
    needs: tuple[Requirements, ...] = ()
    """One for each of *commands*; empty if none of them asks for more than a rule that matches."""
    unsupported: str | None = None
    """What in the commands no rule can cover, for people."""
    written: Mapping[str, Any] | None = None
    """The arguments as they were given, where *args* has a path in another form: `deny` rules look at both."""

    @property
    def forms(self) -> tuple[Mapping[str, Any], ...]:
        """The arguments in each form that `deny` rules look at."""
        return (self.args,) if self.written is None else (self.args, self.written)

    @property
    def paired(self) -> tuple[tuple[str, Requirements], ...]:
        """Each command with what it asks of its rule."""
        needs = self.needs or (NO_NEEDS,) * len(self.commands)
        return tuple(zip(self.commands, needs, strict=True))

    @property
    def deniable(self) -> tuple[str, ...]:
        """The texts that `deny` rules look at: each command, and what is left of it without what is around it."""
        return (*self.commands, *(form for needs in self.needs for form in needs.deny_forms))

    @property
    def needing(self) -> tuple[tuple[str, Requirements], ...]:
        """The commands that need an allow rule. Transparent ones (`time`) count only if the line has no other command."""
        paired = self.paired
        return tuple(pair for pair in paired if not pair[1].is_exempt) or paired


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
    """`server:tool` of a tool named `mcp__server__tool`. Hosts of the Model Context Protocol name tools so."""
    server, separator, tool = fold(name).removeprefix("mcp__").partition("__")
    return f"{server}:{tool}" if separator else server


def with_plain_paths(args: Mapping[str, Any], names: Collection[str], workspace: str) -> Mapping[str, Any]:
    """*args* with the paths under *names* in their plain form; *args* itself if they have that already.

    `src/../setup.py` begins with `src/` and leads elsewhere: a glob over the letters would allow it. What the tool gets
    stays as it was written. Links are not followed: a decision looks at no disk; the path guard follows them.
    """
    changed = {name: plain for name in names if (plain := _plain(value := args.get(name), workspace)) != value}
    return {**args, **changed} if changed else args


def plain_path(path: str, workspace: str) -> str:
    """*path* without `.`, `..`, empty parts and a slash at its end; without the *workspace*, if it begins with that.

    A `..` that leads out of where the path begins stays. An empty path and a URL are left alone.
    """
    if not path or "://" in path:
        return path
    if path.startswith("/"):
        plain = full = f"/{normpath(path).lstrip('/')}"  # POSIX lets two slashes mean something else; Linux does not.
    else:
        plain, full = normpath(path), normpath(f"{workspace}/{path}")
    if full == workspace:
        return "."
    return full.removeprefix(f"{workspace}/") if full.startswith(f"{workspace}/") else plain


def _plain(value: Any, workspace: str) -> Any:
    if isinstance(value, str):
        return plain_path(value, workspace)
    return [_plain(item, workspace) for item in value] if isinstance(value, list) else value
