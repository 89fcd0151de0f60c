"""`Profile`: the effective profile, as the gate and the test runner read it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from toolcharter.profile.nodes import Node, entries, items, plain
from toolcharter.profile.schema import same_tool
from toolcharter.spec.call import Stage, Verdict

Truncate = Literal["head", "tail", "both"]


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


class Limits(NamedTuple):
    """What one call may take; None where the profile is silent."""

    timeout_s: float | None = None
    max_output_chars: int | None = None
    truncate: Truncate | None = None
    """Which part of an output that is too long is kept."""

    def within(self, outer: "Limits") -> "Limits":
        """Both together: the smaller number of each, and this `truncate` before that of *outer*."""
        return Limits(
            _smaller(self.timeout_s, outer.timeout_s),
            _smaller(self.max_output_chars, outer.max_output_chars),
            self.truncate or outer.truncate,
        )


class Events(NamedTuple):
    """How much events show, and whether a call needs them."""

    args: Literal["full", "shape", "none"] = "full"
    required: bool = False
    """A call whose first events cannot be written does not run."""


@dataclass(frozen=True, slots=True)
class Case:
    """A call, and what the profile must decide about it."""

    tool: str
    args: Mapping[str, Any]
    expect: Verdict
    reason: str | None = None
    stage: Stage | None = None
    name: str | None = None
    place: str = field(default="", compare=False)
    """Where the case stands, as `file:line:column`."""


@dataclass(frozen=True, slots=True)
class Profile:
    """One profile with all that it extends; policies as written, for the gate to validate."""

    name: str
    description: str | None = None
    tools: Mapping[str, dict[str, Any]] = field(default_factory=_nothing)
    extensions: Mapping[str, dict[str, Any]] = field(default_factory=_nothing)
    plugins: Mapping[str, str] = field(default_factory=_nothing)
    """Accepted versions by distribution, names as written."""
    limits: Limits = field(default_factory=Limits)
    tool_limits: Mapping[str, Limits] = field(default_factory=_nothing)
    """By tool, names in lower case."""
    events: Events = field(default_factory=Events)
    cases: tuple[Case, ...] = ()
    missing_ok: tuple[str, ...] = ()

    def limits_for(self, tool: str) -> Limits:
        """The limits of *tool*: the smaller of its own and the profile's."""
        return self.tool_limits.get(same_tool(tool), Limits()).within(self.limits)

    def digest(
        self,
        policies: Mapping[str, Mapping[str, Any]],
        extensions: Mapping[str, Mapping[str, Any]],
        distributions: Mapping[str, str],
    ) -> str:
        """SHA-256, in hexadecimal, of all that decides what this profile permits.

        Canonical JSON of the effective profile without its cases and description.

        Args:
            policies: By tool, JSON types, defaults filled in.
            extensions: By extension, the same.
            distributions: Versions of the loaded distributions by name.

        Raises:
            ValueError: A policy holds an infinite number or one that is none.
            TypeError: A policy holds something that is not JSON.
        """
        import hashlib  # noqa: PLC0415 - with OpenSSL, 4 ms
        import json  # noqa: PLC0415 - not needed to read a profile

        effective = {
            "profile": self.name,
            "tools": {name: dict(policy) for name, policy in policies.items()},
            "extensions": {name: dict(policy) for name, policy in extensions.items()},
            "plugins": dict(self.plugins),
            "limits": self.limits._asdict(),
            "tool_limits": {name: limits._asdict() for name, limits in self.tool_limits.items()},
            "events": self.events._asdict(),
            "missing_ok": sorted(self.missing_ok),
            "distributions": dict(distributions),
        }
        text = json.dumps(effective, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()


def profile_from(node: Node) -> Profile:
    """Build the profile from a merged tree that fits the schema."""
    below = {key: plain(entry.node) for key, entry in entries(node).items()}
    own_limits = dict(below.get("limits", {}))
    tool_limits = {same_tool(name): _limits(values) for name, values in own_limits.pop("tools", {}).items()}
    cases = items(entries(node)["cases"].node) if "cases" in below else []
    return Profile(
        name=below.get("profile", ""),
        description=below.get("description"),
        tools=MappingProxyType(below.get("tools", {})),
        extensions=MappingProxyType(below.get("extensions", {})),
        plugins=MappingProxyType(below.get("plugins", {})),
        limits=_limits(own_limits),
        tool_limits=MappingProxyType(tool_limits),
        events=Events(**below.get("events", {})),
        cases=tuple(Case(**{"args": {}} | plain(case), place=str(case.place)) for case in cases),
        missing_ok=tuple(below.get("missing_ok", ())),
    )


def _limits(values: dict[str, Any]) -> Limits:
    timeout_s = values.get("timeout_s")
    # 30 and 30.0 are one limit and have one digest.
    seconds = None if timeout_s is None else float(timeout_s)
    return Limits(seconds, values.get("max_output_chars"), values.get("truncate"))


def _smaller(one: Any, other: Any) -> Any:
    return min((value for value in (one, other) if value is not None), default=None)
