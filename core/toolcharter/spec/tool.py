"""`ToolSpec`: what a plugin registers for each of its tools."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, Literal, TypeVar

from toolcharter.errors import SpecError
from toolcharter.spec.call import Invocation
from toolcharter.spec.policy import ToolPolicy
from toolcharter.spec.runtime import ToolRuntime

P = TypeVar("P", bound=ToolPolicy)

Kind = Literal["builtin", "bash", "cli", "mcp", "custom"]
Safety = Literal["low", "medium", "high"]
Constructor = Callable[[Path, P, ToolRuntime], Callable[..., Any]]

KINDS = ("builtin", "bash", "cli", "mcp", "custom")
SAFETY_LEVELS = ("low", "medium", "high")
RULE_PREFIXES = frozenset({"bash", "builtin", "cli", "mcp", "custom", "*", "group", "cap"})

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
REASON = re.compile(r"[a-z][a-z0-9_]{0,63}")
"""The form of every reason: a short, stable word."""
_CAPABILITY = re.compile(r"[a-z][a-z0-9_-]*(:[a-z0-9_-]+)*")


@dataclass(frozen=True, init=False)
class ToolSpec(Generic[P]):
    """A tool before any profile has picked it: three facts, and more where a tool has them.

    `ToolSpec(name, policy, build)` suffices. Checked when made; frozen.

    Raises:
        SpecError: With every contradiction at once.
    """

    name: str
    """The tool's name: `[A-Za-z0-9_-]{1,64}`, unique without case."""
    policy: type[P]
    """The model of the tool's knobs in a profile."""
    build: Constructor[P]
    """`(workspace, policy, rt) -> function`; does no I/O."""
    reasons: type[StrEnum] | Collection[str] | None
    """The closed list of the tool's own reasons; None leaves them unchecked."""
    capabilities: Collection[str] | Mapping[str, Collection[str]] | None
    """What the tool touches (`fs:read`), or the same for each action; None is undeclared."""
    safety: Safety
    """How much harm a wrong call can do."""
    kind: Kind
    """Any kind but `builtin` is unbounded: its arguments are programs."""
    staged: bool
    """The body calls `ctx.policy_passed()` before it acts on the world."""
    isolate: bool
    """The body may block for ever: run it in a thread of its own."""
    group: str | None
    """A tool group (`fs`) that rules can name."""
    aliases: tuple[str, ...]
    """Other names the tool answers to."""
    argument_aliases: Mapping[str, str]
    """Other names of arguments: `{alias: argument}`."""
    parameters: Mapping[str, Any] | None
    """A JSON Schema that replaces the one of the function's signature."""
    output: Mapping[str, Any] | type | None
    """JSON Schema, `TypedDict` or model of the result's `data`."""
    description: str | None
    """Replaces the function's docstring."""
    invocation: Callable[[Mapping[str, Any]], Invocation] | None
    """Pure; what rules see of a call. Default: the `action` argument, no commands."""
    advertise: Callable[[P, dict[str, Any]], dict[str, Any]] | None
    """Narrows the schema that the model is shown; validation stays as wide as it is."""

    def __init__(  # noqa: PLR0913 - the keywords are the public form of a spec
        self,
        name: str,
        policy: type[P],
        build: Constructor[P],
        *,
        reasons: type[StrEnum] | Collection[str] | None = None,
        capabilities: Collection[str] | Mapping[str, Collection[str]] | None = None,
        safety: Safety = "high",
        kind: Kind = "builtin",
        staged: bool = False,
        isolate: bool = False,
        group: str | None = None,
        aliases: Collection[str] = (),
        argument_aliases: Mapping[str, str] = MappingProxyType({}),
        parameters: Mapping[str, Any] | None = None,
        output: Mapping[str, Any] | type | None = None,
        description: str | None = None,
        invocation: Callable[[Mapping[str, Any]], Invocation] | None = None,
        advertise: Callable[[P, dict[str, Any]], dict[str, Any]] | None = None,
    ) -> None:
        values = {key: value for key, value in locals().items() if key not in {"self", "__class__"}}
        values["aliases"] = tuple(aliases)
        values["argument_aliases"] = MappingProxyType(dict(argument_aliases))
        for key, value in values.items():
            object.__setattr__(self, key, value)
        faults = list(_faults(self))
        if faults:
            raise SpecError(f"ToolSpec {name!r}: " + "; ".join(faults))

    def own_reasons(self) -> frozenset[str] | None:
        """The tool's declared reasons, or None if it leaves them open."""
        return None if self.reasons is None else frozenset(str(reason) for reason in self.reasons)

    def capabilities_of(self, action: str | None) -> frozenset[str] | None:
        """What *action* touches; None if that is not declared."""
        declared = self.capabilities
        if isinstance(declared, Mapping):
            declared = declared.get(action or "")
        return None if declared is None else frozenset(declared)

    def all_capabilities(self) -> frozenset[str] | None:
        """What the tool touches, all actions together; None if that is not declared."""
        declared = self.capabilities
        if isinstance(declared, Mapping):
            return frozenset(word for words in declared.values() for word in words)
        return None if declared is None else frozenset(declared)


def _faults(spec: ToolSpec[Any]) -> Iterator[str]:
    yield from _name_faults(spec)
    if not (isinstance(spec.policy, type) and issubclass(spec.policy, ToolPolicy)):
        yield f"policy is {spec.policy!r}, not a subclass of ToolPolicy"
    if not callable(spec.build):
        yield f"build is {spec.build!r}, not a function"
    if spec.kind not in KINDS:
        yield f"kind is {spec.kind!r}, not one of {', '.join(KINDS)}"
    if spec.safety not in SAFETY_LEVELS:
        yield f"safety is {spec.safety!r}, not one of {', '.join(SAFETY_LEVELS)}"
    if spec.parameters is not None and spec.parameters.get("type") != "object":
        yield "parameters is no JSON Schema of type 'object'"
    yield from _word_faults(spec)


def _name_faults(spec: ToolSpec[Any]) -> Iterator[str]:
    for name in (spec.name, *spec.aliases):
        if not (isinstance(name, str) and _NAME.fullmatch(name)):
            yield f"the name {name!r} does not match [A-Za-z0-9_-]{{1,64}}"
        elif name.lower() in RULE_PREFIXES and (name.lower(), spec.kind) != ("bash", "bash"):
            yield f"the name {name!r} is a prefix of the rule language"
    for alias, argument in spec.argument_aliases.items():
        if alias == argument or argument in spec.argument_aliases:
            yield f"the argument alias {alias!r} leads to {argument!r}, which is an alias itself"


def _word_faults(spec: ToolSpec[Any]) -> Iterator[str]:
    declared = spec.capabilities
    groups = list(declared.values()) if isinstance(declared, Mapping) else [declared or ()]
    # A text is a collection too, of its letters.
    texts = [("reasons", spec.reasons), *(("capabilities", group) for group in groups)]
    mistaken = [f"{field} is the text {value!r}; write a set" for field, value in texts if isinstance(value, str)]
    if mistaken:
        yield from mistaken
        return
    for reason in spec.own_reasons() or ():
        if not REASON.fullmatch(reason):
            yield f"the reason {reason!r} is no short lower-case word"
    for capability in (word for group in groups for word in group):
        if not _CAPABILITY.fullmatch(capability):
            yield f"the capability {capability!r} does not look like 'fs:read'"
