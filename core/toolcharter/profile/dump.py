"""Converts a `Profile` back into the values of a file, with its parents merged in and without defaults.

Reading the result gives the same profile, except for the places.
"""

import re
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from toolcharter._lazy import lazy
from toolcharter.profile.model import Case, Limits, Profile, to_json_values
from toolcharter.profile.settings import DEFAULT_HIDDEN, Availability, Rate, Rates, Repeats, SessionGuards

if TYPE_CHECKING:
    import yaml
else:
    yaml = lazy("yaml")

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
"""Text that needs no quotes, unless the word has another meaning in YAML."""


def profile_values(profile: Profile) -> dict[str, Any]:
    """Return the profile as plain values, with the keys of a file in order."""
    everything = {
        "profile": profile.name,
        "description": profile.description,
        "mode": None if profile.mode == "policy" else profile.mode,
        "tools": dict(profile.tools),
        "deny": to_json_values(profile.deny),
        "ask": to_json_values(profile.ask),
        "allow": to_json_values(profile.allow),
        "capabilities": _without_defaults(profile.capabilities),
        "availability": [_dump_availability(entry) for entry in profile.availability],
        "toolsets": to_json_values(profile.toolsets),
        "groups": to_json_values(profile.groups),
        "approvals": _without_defaults(profile.approvals),
        "session_guards": _dump_guards(profile.session_guards),
        "limits": _dump_limits(profile),
        "notify": [_without_defaults(entry) for entry in profile.notify],
        "runner": profile.runner,
        "store": None if profile.store is None else profile.store.to_plain(),
        "extensions": dict(profile.extensions),
        "plugins": dict(profile.plugins),
        "hidden": _dump_hidden(profile),
        "events": _without_defaults(profile.events),
        "cases": [_dump_case(case) for case in profile.cases],
        "missing_ok": list(profile.missing_ok),
    }
    return {
        key: value for key, value in everything.items() if value not in (None, [], {}) or (key, value) == ("hidden", [])
    }


def _dump_hidden(profile: Profile) -> list[Any] | None:
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
        profile_values(profile), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120, default_flow_style=None
    )
    return yaml_text


def _without_defaults(setting: Any) -> dict[str, Any]:
    """Return the fields of a named tuple that differ from their defaults."""
    defaults = setting._field_defaults
    given = {
        name: value for name, value in setting._asdict().items() if name not in defaults or value != defaults[name]
    }
    return {name: value for name, value in to_json_values(given).items() if name != "place"}


def _dump_availability(entry: Availability) -> dict[str, Any]:
    fields = _without_defaults(entry)
    callers = dict(fields.pop("callers", {}))
    callers = {name: value for name, value in callers.items() if value is not None}
    if entry.callers.depth is not None:
        callers["depth"] = ",".join(f"{sign}{number}" for sign, number in entry.callers.depth)
    return {"for": callers, **fields}


def _dump_guards(memory: SessionGuards) -> dict[str, Any]:
    reading = _without_defaults(memory.read_before_write)
    lists = ("depends_on", "skip_duplicate", "after_call")
    streak = memory.read_streak
    exploring = {"exploring": _without_defaults(streak.exploring)} if streak.exploring != Repeats() else {}
    guards: dict[str, Any] = {
        "read_before_write": reading and {"mode": memory.read_before_write.mode, **reading},
        "repeated_calls": _without_defaults(memory.repeated_calls),
        "same_result": _without_defaults(memory.same_result),
        "no_progress": _without_defaults(memory.no_progress),
        "read_streak": {**_without_defaults(streak), **exploring},
        "cached_reads": _without_defaults(memory.cached_reads),
        **{key: [_without_defaults(item) for item in getattr(memory, key)] for key in lists},
    }
    return {key: value for key, value in guards.items() if value}


def _dump_limits(profile: Profile) -> dict[str, Any]:
    limits, rates = profile.tool_limits, profile.rates
    names = [*limits, *(name for name in rates.tools if name not in limits)]
    tools = {
        name: _without_defaults(limits.get(name, Limits())) | _without_defaults(rates.tools.get(name, Rate()))
        for name in names
    }
    agents = {name: _without_defaults(rate) for name, rate in rates.agents.items()}
    below = {key: value for key, value in {"tools": tools, "agents": agents}.items() if value}
    return {
        **_without_defaults(profile.limits),
        **_without_defaults(rates.total),
        **below,
        **_without_defaults(Rates(per=rates.per, store=rates.store)),
    }


def _dump_case(case: Case) -> dict[str, Any]:
    fields = {name: getattr(case, name) for name in ("name", "tool", "args", "expect", "reason", "stage")}
    return {name: value for name, value in fields.items() if value not in (None, {})}
