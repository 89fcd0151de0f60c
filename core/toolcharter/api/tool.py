"""`ToolSpec`: what a plugin registers for each of its tools."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType, NoneType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from toolcharter.api.call import Ask, Call, Invocation
from toolcharter.api.policy import ToolPolicy
from toolcharter.api.runtime import ToolRuntime
from toolcharter.api.words import KINDS, RULE_PREFIXES, SAFETY_LEVELS, Kind, Safety
from toolcharter.errors import SpecError

if TYPE_CHECKING:
    from toolcharter.api.store import StoreRecord

P = TypeVar("P", bound=ToolPolicy)

Constructor = Callable[[Path, P, ToolRuntime], Callable[..., Any]]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
REASON = re.compile(r"[a-z][a-z0-9_]{0,63}")
"""The form of every reason: a short, stable word."""
_CAPABILITY = re.compile(r"[a-z][a-z0-9_-]*(:[a-z0-9_-]+)*")


@dataclass(frozen=True, init=False)
class ToolSpec(Generic[P]):
    """A tool as a plugin registers it, independent of any profile.

    `ToolSpec(name, policy, build)` suffices. A spec is frozen, and checked when it is made.

    Raises:
        SpecError: It lists every contradiction.
    """

    name: str
    """The tool's name: `[A-Za-z0-9_-]{1,64}`, unique without regard to case."""
    policy: type[P]
    """The model of the tool's settings in a profile."""
    build: Constructor[P]
    """`(workspace, policy, rt) -> function`; must do no I/O."""
    reasons: type[StrEnum] | Collection[str] | None
    """The closed list of the tool's own reasons; None leaves them unchecked."""
    capabilities: Collection[str] | Mapping[str, Collection[str]] | None
    """What the tool may touch (`fs:read`), for all actions or by action; None if that is not declared."""
    safety: Safety
    """How much harm a wrong call can do."""
    kind: Kind
    """Every kind except `builtin` is unbounded: its arguments are programs."""
    staged: bool
    """Whether the body calls `ctx.policy_passed()` before it acts on the world."""
    isolate: bool
    """Whether the body may block forever and so runs in a thread of its own. Not for `async def`, which the gate
    cancels at its deadline."""
    group: str | None
    """A tool group (`fs`) that rules can name."""
    aliases: tuple[str, ...]
    """Other names of the tool."""
    argument_aliases: Mapping[str, str]
    """Other names of arguments: `{alias: argument}`."""
    path_arguments: frozenset[str]
    """Arguments that are paths, or lists of paths: rules see them without `..`, relative to the workspace."""
    parameters: Mapping[str, Any] | None
    """A JSON Schema that replaces the schema derived from the function's signature."""
    output: Mapping[str, Any] | type | None
    """A JSON Schema, `TypedDict` or model of the result's `data`."""
    description: str | None
    """Replaces the function's docstring."""
    invocation: Callable[[Mapping[str, Any]], Invocation] | None
    """Returns the action and the commands of a call, which rules see. Must be pure. Default: the argument `action`, and
    no commands."""
    advertise: Callable[[P, dict[str, Any]], dict[str, Any]] | None
    """Narrows the schema that is shown to the model; the full schema still validates the arguments."""
    asks: Callable[[P, Call], Ask | None] | None
    """Returns why a person has to approve a call, whatever the profile allows; None if no approval is needed. Must be
    pure."""
    fingerprint: str | None
    """A hash of the code and definition of a discovered tool, which no distribution's version identifies. It is part of
    the profile's digest and of saved approvals."""
    records: "tuple[type[StoreRecord], ...]"
    """The models of the records that the tool keeps in `rt.store`, if some have full-text fields. Then a store without
    full-text search stops the start-up."""

    def __init__(
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
        path_arguments: Collection[str] = ("path", "paths"),
        parameters: Mapping[str, Any] | None = None,
        output: Mapping[str, Any] | type | None = None,
        description: str | None = None,
        invocation: Callable[[Mapping[str, Any]], Invocation] | None = None,
        advertise: Callable[[P, dict[str, Any]], dict[str, Any]] | None = None,
        asks: Callable[[P, Call], Ask | None] | None = None,
        fingerprint: str | None = None,
        records: "Collection[type[StoreRecord]]" = (),
    ) -> None:
        values = {key: value for key, value in locals().items() if key not in {"self", "__class__"}}
        if isinstance(aliases, Collection) and not isinstance(aliases, str):
            values["aliases"] = tuple(aliases)
        if isinstance(records, Collection):
            values["records"] = tuple(records)
        if isinstance(argument_aliases, Mapping):
            values["argument_aliases"] = MappingProxyType(dict(argument_aliases))
        if isinstance(path_arguments, Collection) and not isinstance(path_arguments, str):
            values["path_arguments"] = frozenset(path_arguments)
        for key, value in values.items():
            object.__setattr__(self, key, value)
        faults = list(_spec_faults(self))
        if faults:
            raise SpecError(f"ToolSpec {name!r}: " + "; ".join(faults))

    def own_reasons(self) -> frozenset[str] | None:
        """Return the tool's declared reasons; None if it does not declare them."""
        return None if self.reasons is None else frozenset(str(reason) for reason in self.reasons)

    def capabilities_of(self, action: str | None) -> frozenset[str] | None:
        """Return the capabilities of *action*; None if they are not declared."""
        declared = self.capabilities
        if isinstance(declared, Mapping):
            declared = declared.get(action or "")
        return None if declared is None else frozenset(declared)

    def all_capabilities(self) -> frozenset[str] | None:
        """Return the capabilities of all actions together; None if they are not declared."""
        declared = self.capabilities
        if isinstance(declared, Mapping):
            return frozenset(word for words in declared.values() for word in words)
        return None if declared is None else frozenset(declared)


_FIELD_TYPES: dict[str, tuple[Any, str]] = {
    "build": (Callable, "a function"),
    "staged": (bool, "True or False"),
    "isolate": (bool, "True or False"),
    "aliases": (tuple, "a collection of names"),
    "argument_aliases": (Mapping, "a mapping from aliases to arguments"),
    "path_arguments": (frozenset, "a collection of names"),
    "parameters": ((Mapping, NoneType), "a mapping"),
    "output": ((Mapping, type, NoneType), "a JSON Schema, a TypedDict or a model"),
    "description": ((str, NoneType), "text"),
    "invocation": ((Callable, NoneType), "a function"),
    "advertise": ((Callable, NoneType), "a function"),
    "asks": ((Callable, NoneType), "a function"),
    "fingerprint": ((str, NoneType), "text"),
    "records": (tuple, "a collection of models"),
}
"""The fields whose type is checked, each with its types and their description for the error."""


def _spec_faults(spec: ToolSpec[Any]) -> Iterator[str]:
    yield from _name_faults(spec)
    if not (isinstance(spec.policy, type) and issubclass(spec.policy, ToolPolicy)):
        yield f"policy is {spec.policy!r}, not a subclass of ToolPolicy"
    for field, (wanted, said) in _FIELD_TYPES.items():
        if not isinstance(getattr(spec, field), wanted):
            yield f"{field} is {getattr(spec, field)!r}, not {said}"
    if spec.kind not in KINDS:
        yield f"kind is {spec.kind!r}, not one of {', '.join(KINDS)}"
    if spec.safety not in SAFETY_LEVELS:
        yield f"safety is {spec.safety!r}, not one of {', '.join(SAFETY_LEVELS)}"
    if isinstance(spec.parameters, Mapping):
        if spec.parameters.get("type") != "object":
            yield "parameters is no JSON Schema of type 'object'"
        if not isinstance(spec.parameters.get("properties", {}), Mapping):
            yield "the properties of parameters are no mapping"
    if isinstance(spec.records, tuple):
        yield from (
            f"records names {one!r}, which has no store_kind" for one in spec.records if not _is_store_record(one)
        )
    yield from _word_faults(spec)


def _is_store_record(model: object) -> bool:
    return isinstance(model, type) and hasattr(model, "store_kind")


def _name_faults(spec: ToolSpec[Any]) -> Iterator[str]:
    aliases = spec.aliases if isinstance(spec.aliases, tuple) else ()
    for name in (spec.name, *aliases):
        if not _is_name(name):
            yield f"the name {name!r} does not match [A-Za-z0-9_-]{{1,64}}"
        elif name.lower() in RULE_PREFIXES and (name.lower(), spec.kind) != ("bash", "bash"):
            yield f"the name {name!r} is a prefix of the rule language"
    taken = {str(spec.name).lower(): "the tool's own name"}
    for alias in filter(_is_name, aliases):
        if role := taken.get(alias.lower()):
            yield f"the alias {alias!r} is {role}; upper and lower case do not count"
        taken.setdefault(alias.lower(), "given twice")
    if not (spec.group is None or _is_name(spec.group)):
        yield f"the group {spec.group!r} does not match [A-Za-z0-9_-]{{1,64}}"
    if isinstance(spec.argument_aliases, Mapping):
        yield from _argument_faults(spec.argument_aliases)


def _is_name(name: object) -> bool:
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def _argument_faults(aliases: Mapping[Any, Any]) -> Iterator[str]:
    for alias, argument in aliases.items():
        if not (isinstance(alias, str) and isinstance(argument, str)):
            yield f"the argument alias {alias!r} leads to {argument!r}; both are names"
        elif alias == argument or argument in aliases:
            yield f"the argument alias {alias!r} leads to {argument!r}, which is an alias itself"


def _word_faults(spec: ToolSpec[Any]) -> Iterator[str]:
    if spec.reasons is not None:
        yield from _set_faults("reasons", spec.reasons, REASON, "the reason {!r} is no short lower-case word")
    declared = spec.capabilities
    by_action: Mapping[Any, Any] = declared if isinstance(declared, Mapping) else {"": declared}
    for action, words in by_action.items():
        if not isinstance(action, str):
            yield f"capabilities names the action {action!r}, which is no text"
        if declared is not None:
            yield from _set_faults(
                "capabilities", words, _CAPABILITY, "the capability {!r} does not look like 'fs:read'"
            )


def _set_faults(field: str, words: object, pattern: re.Pattern[str], said: str) -> Iterator[str]:
    if isinstance(words, str):  # A collection too, of its letters.
        yield f"{field} is the text {words!r}; write a set"
    elif not isinstance(words, Collection):
        yield f"{field} is {words!r}; write a set"
    else:
        yield from (said.format(str(word)) for word in words if not pattern.fullmatch(str(word)))
