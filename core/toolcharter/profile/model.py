"""`Profile`: the effective profile, as the gate and the test runner read it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from toolcharter._lazy import lazy
from toolcharter.api.call import Stage, Verdict
from toolcharter.profile.field_types import Count, Flag, Seconds, StoreUrl
from toolcharter.profile.forms import form
from toolcharter.profile.names import fold_tool_name
from toolcharter.profile.rules import Rule
from toolcharter.profile.settings import (
    DEFAULT_HIDDEN,
    Approvals,
    Availability,
    Capabilities,
    Ceiling,
    HiddenGlob,
    Mode,
    Notify,
    Rates,
    SessionGuards,
)

if TYPE_CHECKING:
    import hashlib
    import json

    from toolcharter.api import allowance as allowances
    from toolcharter.api.allowance import Allowance
else:
    allowances = lazy("toolcharter.api.allowance")
    hashlib = lazy("hashlib")
    json = lazy("json")

HOST = "host"
"""The runner that does not contain programs. No plugin provides it."""
Truncate = Literal["head", "tail", "both"]


def _empty_mapping() -> Mapping[str, Any]:
    return MappingProxyType({})


def smaller_limit(one: Any, other: Any) -> Any:
    """Return the smaller of two limits; None means no limit."""
    return min((value for value in (one, other) if value is not None), default=None)


@form("a mapping of limits")
class Limits(NamedTuple):
    """The limits of one call; None for a limit that the profile does not set."""

    timeout_s: Seconds | None = None
    """After so many seconds the call ends with `timed_out`. A nested call ends no later than the call that made it."""
    max_output_chars: Count | None = None
    """Longer text for the model is cut, with a notice."""
    truncate: Truncate | None = None
    """Which part of a longer text is kept."""

    def within(self, outer: "Limits") -> "Limits":
        """Combine both: the smaller of each number, and this `truncate` before that of *outer*."""
        return Limits(
            smaller_limit(self.timeout_s, outer.timeout_s),
            smaller_limit(self.max_output_chars, outer.max_output_chars),
            self.truncate or outer.truncate,
        )


def combine_limits(tool_limits: Mapping[str, Limits], names: Iterable[str]) -> Limits:
    """Return the smallest limits that are written for one tool, under its name or one of its aliases."""
    limits = Limits()
    for name in names:
        limits = limits.within(tool_limits.get(fold_tool_name(name), Limits()))
    return limits


@form("a mapping")
class Events(NamedTuple):
    """How much of a call events show, and whether a call that they cannot record is refused."""

    args: Literal["full", "shape", "none"] = "full"
    """How much of the arguments events show."""
    required: Flag = False
    """Whether a call that cannot be recorded is refused."""


@dataclass(frozen=True, slots=True)
class Case:
    """A call, and the decision that the profile must make about it."""

    tool: str
    args: Mapping[str, Any]
    expect: Verdict
    reason: str | None = None
    stage: Stage | None = None
    name: str | None = None
    place: str = field(default="", compare=False)
    """The case's place, as `file:line:column`."""


@dataclass(frozen=True, slots=True)
class Profile:
    """One profile with all that it extends. Policies are as written; the gate validates them."""

    name: str
    description: str | None = None
    tools: Mapping[str, dict[str, Any]] = field(default_factory=_empty_mapping)
    extensions: Mapping[str, dict[str, Any]] = field(default_factory=_empty_mapping)
    runner: str | None = None
    """The place where programs run; None if the profile names none, so that only bounded tools run programs."""
    store: StoreUrl | None = None
    """The place where tools keep records; None for the default store."""
    plugins: Mapping[str, str] = field(default_factory=_empty_mapping)
    """Accepted versions by distribution, names as written."""
    limits: Limits = field(default_factory=Limits)
    tool_limits: Mapping[str, Limits] = field(default_factory=_empty_mapping)
    """By tool, names in lower case."""
    events: Events = field(default_factory=Events)
    mode: Mode = "policy"
    deny: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    allow: tuple[Rule, ...] = ()
    capabilities: Capabilities = field(default_factory=Capabilities)
    availability: tuple[Availability, ...] = ()
    toolsets: Mapping[str, tuple[str, ...]] = field(default_factory=_empty_mapping)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=_empty_mapping)
    approvals: Approvals = field(default_factory=Approvals)
    session_guards: SessionGuards = field(default_factory=SessionGuards)
    rates: Rates = field(default_factory=Rates)
    notify: tuple[Notify, ...] = ()
    hidden: tuple[HiddenGlob, ...] = DEFAULT_HIDDEN
    """The files that no tool reads, and no program in a sandbox sees."""
    cases: tuple[Case, ...] = ()
    missing_ok: tuple[str, ...] = ()

    @property
    def all_extensions(self) -> Mapping[str, dict[str, Any]]:
        """The written extensions, and the runner, which need not be written."""
        if self.runner is None or self.runner == HOST or self.runner in self.extensions:
            return self.extensions
        return {**self.extensions, self.runner: {}}

    def limits_for(self, *names: str) -> Limits:
        """Return the limits of the tool with these *names*: the smallest of those for a name and the profile's."""
        return combine_limits(self.tool_limits, names).within(self.limits)

    def digest(
        self,
        policies: Mapping[str, Mapping[str, Any]],
        extensions: Mapping[str, Mapping[str, Any]],
        distributions: Mapping[str, str],
        ceilings: Sequence[Ceiling] = (),
        discovered: Mapping[str, str] = MappingProxyType({}),
    ) -> str:
        """Return the SHA-256, in hexadecimal, of everything that decides what this profile permits.

        It is computed from canonical JSON of the effective profile without its cases and description.

        Args:
            policies: The tools' policies by tool, as JSON types with defaults filled in.
            extensions: The extensions' policies by extension, likewise.
            distributions: Versions of the loaded distributions by name.
            ceilings: The ceilings: the administrator's file, the workspace's, the environment.
            discovered: The fingerprints of the discovered tools, by name.

        Raises:
            ValueError: A policy holds an infinite number or NaN.
            TypeError: A policy holds a value that is not JSON.
        """
        effective = {
            "profile": self.name,
            "tools": {name: dict(policy) for name, policy in policies.items()},
            "extensions": {name: dict(policy) for name, policy in extensions.items()},
            "runner": self.runner,
            "plugins": dict(self.plugins),
            "limits": self.limits._asdict(),
            "tool_limits": {name: limits._asdict() for name, limits in self.tool_limits.items()},
            "events": self.events._asdict(),
            "mode": self.mode,
            "deny": to_json_values(self.deny),
            "ask": to_json_values(self.ask),
            "allow": to_json_values(self.allow),
            "capabilities": to_json_values(self.capabilities),
            "availability": to_json_values(self.availability),
            "toolsets": dict(self.toolsets),
            "groups": dict(self.groups),
            "approvals": to_json_values(self.approvals),
            "session_guards": to_json_values(self.session_guards),
            "rates": to_json_values(self.rates),
            "notify": to_json_values(self.notify),
            "hidden": to_json_values(self.hidden),
            "ceilings": to_json_values(tuple(ceilings)),
            "missing_ok": sorted(self.missing_ok),
            "distributions": dict(distributions),
            **({} if self.store is None else {"store": self.store.without_password()}),
            **({"discovered": dict(discovered)} if discovered else {}),
        }
        return digest_of(effective)

    def allowance(
        self,
        policies: Mapping[str, Mapping[str, Any]],
        extensions: Mapping[str, Mapping[str, Any]],
        ceilings: Sequence[Ceiling] = (),
        discovered: Mapping[str, str] = MappingProxyType({}),
    ) -> "Allowance":
        """Summarise what this profile permits, to compare it with a later profile; arguments as for `digest`."""
        base = {
            "runner": self.runner,
            "limits": self.limits._asdict(),
            "tool_limits": {name: limits._asdict() for name, limits in self.tool_limits.items()},
            "mode": self.mode,
            "capabilities": to_json_values(self.capabilities),
            "toolsets": dict(self.toolsets),
            "groups": dict(self.groups),
            "session_guards": to_json_values(self.session_guards),
            "rates": to_json_values(self.rates),
            "hidden": to_json_values(self.hidden),
            "ceilings": to_json_values(tuple(ceilings)),
        }
        return allowances.Allowance(
            base=digest_of(base),
            deny=tuple(map(canonical_json, to_json_values(self.deny))),
            ask=tuple(map(canonical_json, to_json_values(self.ask))),
            allow=tuple(map(canonical_json, to_json_values(self.allow))),
            extensions={name: digest_of(dict(policy)) for name, policy in extensions.items()},
            tools={name: digest_of([dict(policy), discovered.get(name)]) for name, policy in policies.items()},
        )


def canonical_json(value: Any) -> str:
    """Return JSON types as canonical text: equal values give equal texts."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest_of(value: Any) -> str:
    """Return the SHA-256 of JSON types, in hexadecimal."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def to_json_values(setting: Any) -> Any:
    """Convert a setting to JSON types, without the places where it was written."""
    if isinstance(setting, Rule):
        return setting.plain()
    names = getattr(setting, "_fields", None)
    if names is not None:
        return {name: to_json_values(getattr(setting, name)) for name in names if name != "place"}
    if isinstance(setting, tuple):
        return [to_json_values(item) for item in setting]
    if isinstance(setting, Mapping):
        return {key: to_json_values(value) for key, value in setting.items()}
    return setting
