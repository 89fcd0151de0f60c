"""`Profile`: the effective profile, as the gate and the test runner read it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from toolcharter._lazy import lazy
from toolcharter.api.call import Stage, Verdict
from toolcharter.profile.field_types import Count, Flag, Seconds, StoreUrl
from toolcharter.profile.forms import form
from toolcharter.profile.names import same_tool
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
"""The runner that contains nothing and that no plugin provides."""
Truncate = Literal["head", "tail", "both"]


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


def smaller(one: Any, other: Any) -> Any:
    """The smaller of two limits, each of which may be None for none."""
    return min((value for value in (one, other) if value is not None), default=None)


@form("a mapping of limits")
class Limits(NamedTuple):
    """What one call may take; None where the profile is silent."""

    timeout_s: Seconds | None = None
    """After so many seconds the call ends with `timed_out`; a call within a call, with the one that made it at the latest."""
    max_output_chars: Count | None = None
    """Longer text for the model is cut, with a notice."""
    truncate: Truncate | None = None
    """Which part of a text that is too long is kept."""

    def within(self, outer: "Limits") -> "Limits":
        """Both together: the smaller number of each, and this `truncate` before that of *outer*."""
        return Limits(
            smaller(self.timeout_s, outer.timeout_s),
            smaller(self.max_output_chars, outer.max_output_chars),
            self.truncate or outer.truncate,
        )


def limits_of(tool_limits: Mapping[str, Limits], names: Iterable[str]) -> Limits:
    """The smallest of what is written for one tool, under its name or another that it answers to."""
    limits = Limits()
    for name in names:
        limits = limits.within(tool_limits.get(same_tool(name), Limits()))
    return limits


@form("a mapping")
class Events(NamedTuple):
    """How much events show, and whether a call needs them."""

    args: Literal["full", "shape", "none"] = "full"
    """How much of the arguments events show."""
    required: Flag = False
    """Whether a call that cannot be recorded is refused."""


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
    """The case's place, as `file:line:column`."""


@dataclass(frozen=True, slots=True)
class Profile:
    """One profile with all that it extends; policies as written, for the gate to validate."""

    name: str
    description: str | None = None
    tools: Mapping[str, dict[str, Any]] = field(default_factory=_nothing)
    extensions: Mapping[str, dict[str, Any]] = field(default_factory=_nothing)
    runner: str | None = None
    """Where programs run; None if the profile does not say, so that only bounded tools run any."""
    store: StoreUrl | None = None
    """Where tools keep records; None for the store of those who name none."""
    plugins: Mapping[str, str] = field(default_factory=_nothing)
    """Accepted versions by distribution, names as written."""
    limits: Limits = field(default_factory=Limits)
    tool_limits: Mapping[str, Limits] = field(default_factory=_nothing)
    """By tool, names in lower case."""
    events: Events = field(default_factory=Events)
    mode: Mode = "policy"
    deny: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    allow: tuple[Rule, ...] = ()
    capabilities: Capabilities = field(default_factory=Capabilities)
    availability: tuple[Availability, ...] = ()
    toolsets: Mapping[str, tuple[str, ...]] = field(default_factory=_nothing)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=_nothing)
    approvals: Approvals = field(default_factory=Approvals)
    session_guards: SessionGuards = field(default_factory=SessionGuards)
    rates: Rates = field(default_factory=Rates)
    notify: tuple[Notify, ...] = ()
    hidden: tuple[HiddenGlob, ...] = DEFAULT_HIDDEN
    """What no tool reads, and no program in a sandbox sees."""
    cases: tuple[Case, ...] = ()
    missing_ok: tuple[str, ...] = ()

    @property
    def all_extensions(self) -> Mapping[str, dict[str, Any]]:
        """Those that are written, and the runner, which need not be."""
        if self.runner is None or self.runner == HOST or self.runner in self.extensions:
            return self.extensions
        return {**self.extensions, self.runner: {}}

    def limits_for(self, *names: str) -> Limits:
        """The limits of the tool of these *names*: the smallest of those written for one of them and the profile's."""
        return limits_of(self.tool_limits, names).within(self.limits)

    def digest(
        self,
        policies: Mapping[str, Mapping[str, Any]],
        extensions: Mapping[str, Mapping[str, Any]],
        distributions: Mapping[str, str],
        ceilings: Sequence[Ceiling] = (),
        discovered: Mapping[str, str] = MappingProxyType({}),
    ) -> str:
        """SHA-256, in hexadecimal, of all that decides what this profile permits.

        Canonical JSON of the effective profile without its cases and description.

        Args:
            policies: By tool, JSON types, defaults filled in.
            extensions: By extension, the same.
            distributions: Versions of the loaded distributions by name.
            ceilings: What else holds: the administrator's file, the workspace's, the environment.
            discovered: The fingerprints of the tools that were discovered, by name.

        Raises:
            ValueError: A policy holds an infinite number or one that is none.
            TypeError: A policy holds something that is not JSON.
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
            "deny": values_of(self.deny),
            "ask": values_of(self.ask),
            "allow": values_of(self.allow),
            "capabilities": values_of(self.capabilities),
            "availability": values_of(self.availability),
            "toolsets": dict(self.toolsets),
            "groups": dict(self.groups),
            "approvals": values_of(self.approvals),
            "session_guards": values_of(self.session_guards),
            "rates": values_of(self.rates),
            "notify": values_of(self.notify),
            "hidden": values_of(self.hidden),
            "ceilings": values_of(tuple(ceilings)),
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
        """What this profile permits, to be compared with what it permits later; arguments as of `digest`."""
        base = {
            "runner": self.runner,
            "limits": self.limits._asdict(),
            "tool_limits": {name: limits._asdict() for name, limits in self.tool_limits.items()},
            "mode": self.mode,
            "capabilities": values_of(self.capabilities),
            "toolsets": dict(self.toolsets),
            "groups": dict(self.groups),
            "session_guards": values_of(self.session_guards),
            "rates": values_of(self.rates),
            "hidden": values_of(self.hidden),
            "ceilings": values_of(tuple(ceilings)),
        }
        return allowances.Allowance(
            base=digest_of(base),
            deny=tuple(map(canonical, values_of(self.deny))),
            ask=tuple(map(canonical, values_of(self.ask))),
            allow=tuple(map(canonical, values_of(self.allow))),
            extensions={name: digest_of(dict(policy)) for name, policy in extensions.items()},
            tools={name: digest_of([dict(policy), discovered.get(name)]) for name, policy in policies.items()},
        )


def canonical(value: Any) -> str:
    """JSON types as the one text that stands for them."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest_of(value: Any) -> str:
    """SHA-256 of JSON types, in hexadecimal."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def values_of(setting: Any) -> Any:
    """A setting as JSON types, without the places where it was written."""
    if isinstance(setting, Rule):
        return setting.plain()
    names = getattr(setting, "_fields", None)
    if names is not None:
        return {name: values_of(getattr(setting, name)) for name in names if name != "place"}
    if isinstance(setting, tuple):
        return [values_of(item) for item in setting]
    if isinstance(setting, Mapping):
        return {key: values_of(value) for key, value in setting.items()}
    return setting
