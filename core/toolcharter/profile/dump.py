"""Converts a `Profile` back into the values of a file, with its parents merged in and without defaults.

Reading the result gives the same profile, except for the places.
"""

import re
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from toolcharter._lazy import lazy
from toolcharter.profile.model import Case, Limits, Profile, values_of
from toolcharter.profile.settings import DEFAULT_HIDDEN, Availability, Rate, Rates, Repeats, SessionGuards

if TYPE_CHECKING:
    import yaml
else:
    yaml = lazy("yaml")

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
"""Text that needs no quotes, unless the word has another meaning in YAML."""


def written(profile: Profile) -> dict[str, Any]:
    """Return the profile as plain values, with the keys of a file in order."""
    everything = {
        "profile": profile.name,
        "description": profile.description,
        "mode": None if profile.mode == "policy" else profile.mode,
        "tools": dict(profile.tools),
        "deny": values_of(profile.deny),
        "ask": values_of(profile.ask),
        "allow": values_of(profile.allow),
        "capabilities": _given(profile.capabilities),
        "availability": [_availability(entry) for entry in profile.availability],
        "toolsets": values_of(profile.toolsets),
        "groups": values_of(profile.groups),
        "approvals": _given(profile.approvals),
        "session_guards": _guards(profile.session_guards),
        "limits": _limits(profile),
        "notify": [_given(entry) for entry in profile.notify],
        "runner": profile.runner,
        "store": None if profile.store is None else profile.store.written(),
        "extensions": dict(profile.extensions),
        "plugins": dict(profile.plugins),
        "hidden": _hidden(profile),
        "events": _given(profile.events),
        "cases": [_case(case) for case in profile.cases],
        "missing_ok": list(profile.missing_ok),
    }
    return {
        key: value for key, value in everything.items() if value not in (None, [], {}) or (key, value) == ("hidden", [])
    }


def _hidden(profile: Profile) -> list[Any] | None:
    if profile.hidden == DEFAULT_HIDDEN:
        return None
    return [one.glob if one.containing is None else one._asdict() for one in profile.hidden]


def dump(profile: Profile) -> str:
    """Return the profile as YAML that our reader parses."""

    class Dumper(yaml.SafeDumper):
        """Quotes texts that YAML readers interpret differently, and never writes an alias."""

        @override
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: Any, value: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, None if _PLAIN.fullmatch(value) else '"')

    Dumper.add_representer(str, text)
    yaml_text: str = yaml.dump(
        written(profile), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120, default_flow_style=None
    )
    return yaml_text


def _given(setting: Any) -> dict[str, Any]:
    """Return the fields of a named tuple that differ from their defaults."""
    defaults = setting._field_defaults
    given = {
        name: value for name, value in setting._asdict().items() if name not in defaults or value != defaults[name]
    }
    return {name: value for name, value in values_of(given).items() if name != "place"}


def _availability(entry: Availability) -> dict[str, Any]:
    fields = _given(entry)
    callers = dict(fields.pop("callers", {}))
    callers = {name: value for name, value in callers.items() if value is not None}
    if entry.callers.depth is not None:
        callers["depth"] = ",".join(f"{sign}{number}" for sign, number in entry.callers.depth)
    return {"for": callers, **fields}


def _guards(memory: SessionGuards) -> dict[str, Any]:
    reading = _given(memory.read_before_write)
    lists = ("depends_on", "skip_duplicate", "after_call")
    streak = memory.read_streak
    exploring = {"exploring": _given(streak.exploring)} if streak.exploring != Repeats() else {}
    guards: dict[str, Any] = {
        "read_before_write": reading and {"mode": memory.read_before_write.mode, **reading},
        "repeated_calls": _given(memory.repeated_calls),
        "same_result": _given(memory.same_result),
        "no_progress": _given(memory.no_progress),
        "read_streak": {**_given(streak), **exploring},
        "cached_reads": _given(memory.cached_reads),
        **{key: [_given(item) for item in getattr(memory, key)] for key in lists},
    }
    return {key: value for key, value in guards.items() if value}


def _limits(profile: Profile) -> dict[str, Any]:
    limits, rates = profile.tool_limits, profile.rates
    names = [*limits, *(name for name in rates.tools if name not in limits)]
    tools = {name: _given(limits.get(name, Limits())) | _given(rates.tools.get(name, Rate())) for name in names}
    agents = {name: _given(rate) for name, rate in rates.agents.items()}
    below = {key: value for key, value in {"tools": tools, "agents": agents}.items() if value}
    return {**_given(profile.limits), **_given(rates.total), **below, **_given(Rates(per=rates.per, store=rates.store))}


def _case(case: Case) -> dict[str, Any]:
    fields = {name: getattr(case, name) for name in ("name", "tool", "args", "expect", "reason", "stage")}
    return {name: value for name, value in fields.items() if value not in (None, {})}
