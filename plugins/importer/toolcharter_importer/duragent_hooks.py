"""Turn Duragent's tool hooks into `session_guards`: those of `agent.yaml`, and the built-in hooks of its tools.

In Duragent a pattern is `TOOL:ACTION`, or `TOOL` for a tool without actions, and must match as a whole. A hook of the
agent replaces a tool's hook with the same pattern.
Source: giosakti/duragent, crates/duragent/src/tools/hooks.rs and agent/spec_eval.rs.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from toolcharter_importer.draft import Draft
from toolcharter_importer.source import Source

_PATTERN: Final = re.compile(r"([A-Za-z0-9_-]{1,64})(?::([A-Za-z0-9_*-]+))?")
_WITH_ACTIONS: Final = frozenset({"background_process", "memory", "schedule", "session", "web"})
"""Tools whose calls always have an action in Duragent: a pattern without an action matches none of them."""
_NO_TOOLS: Final = frozenset({"builtin", "cli", "mcp", "custom", "group", "cap"})
"""Words that begin a rule for a kind of tools in a profile, and are not tools in Duragent."""
_DOES_NOTHING_WITHOUT: Final = {"depends_on": "prior", "skip_duplicate": "match_args"}
_PRIOR: Final = "in Duragent any earlier call suffices, but a guard needs one that succeeded."
_AGAIN: Final = "a guard permits the call again after any call that may have effects."
_OF_TOOLS: Final[dict[str, dict[str, list[dict[str, Any]]]]] = {
    "memory": {"skip_duplicate": [{"match": "memory:recall", "args": ["days"]}]},
    "background_process": {
        "depends_on": [
            {
                "match": "background_process:send_keys",
                "needs": "background_process:capture",
                "args": ["handle"],
            }
        ],
        "after_call": [
            {
                "match": "background_process:capture",
                "message": "This is the screen as it is now. Let your next action follow from it.",
            },
            {
                "match": {"rule": "background_process:spawn", "when": {"wait": {"not": {"const": True}}}},
                "message": "If the process has to be monitored, start a watcher for it.",
            },
        ],
    },
}
"""The built-in hooks of Duragent's tools, as session guards."""


def take_hooks(draft: Draft, source: Source) -> None:
    """Import the guards and messages of `spec.hooks`, and the tools' built-in hooks that they do not replace."""
    path = ("spec", "hooks")
    source.mapping(*path)
    written = set[tuple[str, str]]()
    for number, _ in enumerate(source.items(*path, "before_tool")):
        written.add(("before", _take_before(draft, source, *path, "before_tool", number)))
    for number, _ in enumerate(source.items(*path, "after_tool")):
        written.add(("after", _take_after(draft, source, *path, "after_tool", number)))
    for tool in draft.keys.get("tools", {}):
        for key, guards in _OF_TOOLS.get(tool, {}).items():
            when = "after" if key == "after_call" else "before"
            _add(draft, key, (one for one in guards if (when, _rule(one["match"])) not in written))


def rules_of(draft: Draft) -> Iterator[str]:
    """Yield the rules in the draft's session guards."""
    for guards in draft.keys.get("session_guards", {}).values():
        yield from (_rule(guard[key]) for guard in guards for key in ("match", "needs") if key in guard)


def _rule(match: Any) -> str:
    return str(match["rule"] if isinstance(match, dict) else match)


def _add(draft: Draft, key: str, found: Iterator[dict[str, Any]]) -> None:
    for guard in found:
        draft.keys.setdefault("session_guards", {}).setdefault(key, []).append(guard)


def _take_before(draft: Draft, source: Source, *path: str | int) -> str:
    """Import one guard; return its pattern."""
    source.mapping(*path)
    pattern, kind = source.text(*path, "match"), source.text(*path, "type")
    args = source.texts(*path, "match_args")
    prior, arg = source.text(*path, "prior"), source.text(*path, "match_arg")
    if kind not in _DOES_NOTHING_WITHOUT:
        raise source.make_fault(
            *path, "type", what="only depends_on and skip_duplicate are known.", fix="Nothing was imported."
        )
    if (kind == "depends_on" and not prior) or (kind == "skip_duplicate" and not args):
        source.note_missing(*path, why=f"without `{_DOES_NOTHING_WITHOUT[kind]}` it does nothing in Duragent.")
    elif _matches(draft, source, pattern, *path, "match"):
        guard: dict[str, Any] = {"match": pattern}
        if kind == "depends_on":
            guard |= {"needs": _reachable_prior(source, prior, *path, "prior")} | ({"args": [arg]} if arg else {})
            source.note_narrower(*path, why=_PRIOR)
        else:
            guard["args"] = args
            source.note_missing(*path, why=_AGAIN)
        _add(draft, kind, iter([guard]))
    return pattern


def _take_after(draft: Draft, source: Source, *path: str | int) -> str:
    """Import one message; return its pattern."""
    source.mapping(*path)
    pattern, message = source.text(*path, "match"), source.text(*path, "message")
    unless = source.mapping(*path, "unless")
    for key in unless:
        source.mark_imported(*path, "unless", key)
    if _names_tools(pattern) and _matches(draft, source, pattern, *path, "match"):
        when = {key: {"not": {"const": value}} for key, value in unless.items()}
        _add(
            draft,
            "after_call",
            iter([{"match": {"rule": pattern, "when": when} if when else pattern, "message": message}]),
        )
    elif not _names_tools(pattern):
        source.note_missing(*path, "match", why="in a profile, a message needs the name of a tool.")
    return pattern


def _matches(draft: Draft, source: Source, pattern: str, *path: str | int) -> bool:
    """Return whether *pattern* matches calls of one of the agent's tools.

    Raises:
        ConfigurationError: The pattern does not name a single tool, so that its guard would be lost.
    """
    if not _names_tools(pattern):
        raise source.make_fault(
            *path, what="in a profile, a guard needs the name of a tool.", fix="Write a guard for each tool."
        )
    tool, _, action = pattern.partition(":")
    programs = draft.keys.get("extensions", {}).get("cli_tools", {})
    if tool not in {*draft.keys.get("tools", {}), *programs.get("tools", {})} and not programs.get("extend"):
        source.note_missing(*path, why="the agent has no tool of this name.")
    elif bool(action) == (tool in _WITH_ACTIONS):
        return True
    else:
        source.note_missing(*path, why="in Duragent, no call of the tool matches it.")
    return False


def _reachable_prior(source: Source, prior: str, *path: str | int) -> str:
    """Return *prior* if a call in Duragent can match it.

    Raises:
        ConfigurationError: No call can. Duragent's guard then refuses each call, but the profile's guard would not.
    """
    tool, _, action = prior.partition(":")
    if not _names_tools(prior) or bool(action) != (tool in _WITH_ACTIONS):
        what = "no call in Duragent can match it, so the guard refuses each call."
        raise source.make_fault(*path, what=what, fix="Write TOOL:ACTION, or TOOL for a tool without actions.")
    return prior


def _names_tools(pattern: str) -> bool:
    found = _PATTERN.fullmatch(pattern)
    return found is not None and found[1] not in _NO_TOOLS
