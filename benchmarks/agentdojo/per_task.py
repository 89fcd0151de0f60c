"""Makes profiles from a user task's own calls: the best that a policy for this one task could achieve."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from suites import Call


def of_names(calls: Sequence[Call]) -> dict[str, Any]:
    """Return a profile that allows the tools of *calls*, with any arguments."""
    return _profile(calls, sorted({tool for tool, _ in calls}))


def of_arguments(calls: Sequence[Call], schemas: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return a profile that allows exactly *calls*, with their arguments."""
    rules: dict[str, Any] = {}
    for tool, args in calls:
        names = schemas[tool].get("properties", {})
        values = {name: args.get(name, names[name].get("default")) for name in names}
        when = {name: {"const": value} for name, value in values.items()}
        rules[json.dumps([tool, values])] = {"rule": tool, "when": when} if when else tool
    return _profile(calls, list(rules.values()))


def write(profile: Mapping[str, Any], path: Path) -> None:
    """Write the profile as JSON, which is YAML."""
    path.write_text(json.dumps(profile, indent=1))


def _profile(calls: Sequence[Call], allow: list[Any]) -> dict[str, Any]:
    return {"profile": "task", "tools": {}, "missing_ok": sorted({tool for tool, _ in calls}), "allow": allow}
