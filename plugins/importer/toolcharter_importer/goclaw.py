"""Import GoClaw's `config.json`: its pipeline of allow and deny lists becomes `availability`.

Source: nextlevelbuilder/goclaw, docs/03-tools-system.md, internal/config/config.go and internal/tools/policy.go.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from toolcharter_importer import goclaw_parts as parts
from toolcharter_importer.draft import Draft, Installed, to_name
from toolcharter_importer.source import Source

UNREAD_REASON: Final = "GoClaw has no such key, or a profile has no equal for it."
_TOOLSETS: Final = ("full", "coding", "messaging", "minimal")
_BASE: Final = "base"
_NATIVE: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "read_file": ("read_file", {}),
    "write_file": ("write_file", {}),
    "edit_file": ("edit_file", {}),
    "list_files": ("list_files", {}),
    "search": ("grep", {}),
    "glob": ("glob", {}),
    "exec": ("bash", {}),
    "process": ("background_process", {"allow_input": True}),
    "web_search": ("web", {}),
    "web_fetch": ("web", {}),
    "memory_search": ("memory_search", {}),
    "memory_get": ("memory_get", {}),
    "sessions_list": ("sessions_list", {}),
    "sessions_history": ("sessions_history", {}),
    "sessions_send": ("sessions_send", {}),
    "sessions_spawn": ("sessions_spawn", {}),
    "subagents": ("subagents", {}),
    "session_status": ("session_status", {}),
    "canvas": ("canvas", {}),
    "cron": ("cron", {"allowed_actions": ["status", "list", "add", "update", "remove", "run", "runs"]}),
    "gateway": ("gateway", {}),
    "message": ("message", {}),
    "nodes": ("nodes", {}),
    "agents_list": ("agents_list", {}),
    "skill_search": ("skill_search", {}),
    "image": ("image", {}),
    "tts": ("tts", {}),
    "spawn": ("spawn", {}),
}
"""GoClaw's own tools; for each, the corresponding tool here and its default policy."""
_SUBAGENTS: Final = {
    "archiveAfterMinutes": "archive_after_min",
    "maxChildrenPerAgent": "max_children",
    "maxConcurrent": "max_concurrent",
    "maxSpawnDepth": "max_depth",
}
_WEB: Final = {"web_search": "search", "web_fetch": "fetch"}
_GROUPS: Final = (
    "fs",
    "runtime",
    "web",
    "memory",
    "sessions",
    "ui",
    "automation",
    "messaging",
    "nodes",
    "goclaw",
    "mcp",
)
_LEFT: Final = {
    "bindings": "the agent's channels decide who speaks to which agent.",
    "channels": "the agent's channel decides who may send it messages.",
    "cron": "the tool `cron` has its own settings: `max_jobs`, `timezone`, `grace_s`.",
    "data_dir": "records are kept in the profile's `store`.",
    "database": "records are kept in the profile's `store`.",
    "gateway": "the service has its own configuration: `toolcharter serve --config`.",
    "providers": "a profile does not set models and their keys.",
    "sessions": "the agent's host keeps the sessions.",
    "tailscale": "the service has its own configuration.",
    "telemetry": "`--events` sets the sink for events, for example `otel:`.",
    "tts": "the tool `tts` has its own policy.",
}


def read_config(file: Path, installed: Installed, name: str | None) -> Draft:
    """Import a configuration into one profile: `availability` distinguishes its agents and providers."""
    source = Source(file)
    source.mapping()
    draft = Draft(source, installed, name or to_name(file.stem))
    _leave_out_others(source)
    source.mapping("tools")
    draft.keys["tools"] = {}
    _take_native(draft)
    _take_memory(draft, source)
    _take_subagents(draft, source)
    _take_pipeline(draft, source)
    parts.take_approval(draft, source)
    parts.take_servers(draft, source)
    parts.take_limits(draft, source)
    return draft


def _leave_out_others(source: Source) -> None:
    for key, why in _LEFT.items():
        if source.value_at(key) is not None:
            source.leave_out(key, why=why)
    source.mapping("agents")
    for key in source.mapping("agents", "defaults"):
        if key not in {"memory", "subagents"}:
            why = "a profile does not set models, workspaces and contexts; it names a `runner` for programs."
            source.leave_out("agents", "defaults", key, why=why)


def _take_native(draft: Draft) -> None:
    """List every tool that GoClaw registers and that is installed here; the pipeline decides who sees it."""
    tools = draft.keys["tools"]
    for name, policy in _NATIVE.values():
        if name in draft.installed.tools:
            tools[name] = dict(policy)
    if draft.source.flag("tools", "browser", "enabled", default=False) and "browser" in draft.installed.tools:
        tools["browser"] = {}


def _take_memory(draft: Draft, source: Source) -> None:
    path = ("agents", "defaults", "memory")
    source.mapping(*path)
    if not source.flag(*path, "enabled", default=True):
        for name in ("memory_search", "memory_get"):
            draft.keys["tools"].pop(name, None)


def _take_subagents(draft: Draft, source: Source) -> None:
    """Import the limits of subagents into the policies of the tools that start them."""
    path = ("agents", "defaults", "subagents")
    source.mapping(*path)
    limits = {ours: number for theirs, ours in _SUBAGENTS.items() if (number := source.number(*path, theirs)) > 0}
    for name in ("sessions_spawn", "spawn", "subagents"):
        if limits and name in draft.keys["tools"]:
            draft.keys["tools"][name] = dict(limits)
    if source.value_at(*path, "model") is not None:
        source.leave_out(*path, "model", why="the tools that start subagents have `model` in their policies.")


def _take_pipeline(draft: Draft, source: Source) -> None:
    entries = list(_level_entries(draft, source, {}, "tools"))
    for agent in source.mapping("agents", "list"):
        _leave_agent(draft, source, agent)
        entries += _level_entries(draft, source, {"agent": agent}, "agents", "list", agent, "tools")
    depth = source.number("agents", "defaults", "subagents", "maxSpawnDepth", default=1) or 1
    entries.append({"for": {"depth": ">=1"}, "deny": ["toolset:subagent-deny"]})
    entries.append({"for": {"depth": f">={depth}"}, "deny": ["toolset:leaf-deny"]})
    draft.append_missing("availability", entries)
    if draft.keys["tools"].get("web", {}).get("allowed_actions") == []:
        del draft.keys["tools"]["web"]


def _leave_agent(draft: Draft, source: Source, agent: str) -> None:
    for key in source.mapping("agents", "list", agent):
        path = ("agents", "list", agent, key)
        if key == "skills" and "skills" in draft.installed.extensions:
            of_agents = draft.keys.setdefault("extensions", {}).setdefault("skills", {}).setdefault("agents", {})
            of_agents[agent] = source.texts(*path)
        elif key != "tools":
            source.leave_out(*path, why="a profile only sets which tools an agent gets.")


def _level_entries(draft: Draft, source: Source, who: dict[str, str], *path: str | int) -> Iterator[dict[str, Any]]:
    """Yield the entries of one level of the pipeline: for all callers, for an agent, for a provider, or for both."""
    source.mapping(*path)
    if any("*" in name for name in who.values()):
        raise source.make_fault(
            *path, what="a name contains a star.", fix="In a profile it would match any text. Nothing was imported."
        )
    yield from _profile_entries(source, who, *path)
    for key, item in (("allow", "tools"), ("deny", "deny"), ("alsoAllow", "also_allow")):
        names = _names(draft, source, item, *path, key)
        if item == "also_allow" and names and source.value_at("tools", "deny"):
            source.note_narrower(*path, key, why="in a profile it cannot undo a deny.")
        if source.items(*path, key):
            yield {**_for_condition(who), item: names}
    for provider in source.mapping(*path, "byProvider"):
        yield from _level_entries(draft, source, {**who, "provider": provider}, *path, "byProvider", provider)


def _profile_entries(source: Source, who: dict[str, str], *path: str | int) -> Iterator[dict[str, Any]]:
    name = source.text(*path, "profile")
    if not name:
        return
    if name not in _TOOLSETS:
        fix = f"There are {', '.join(_TOOLSETS)}; GoClaw treats any other name as `full`. Nothing was imported."
        raise source.make_fault(*path, "profile", what="there is no such profile.", fix=fix)
    if "agent" in who:
        source.note_narrower(
            *path, "profile", why="GoClaw ignores the profile of an agent, but in a profile it narrows the tools."
        )
    entry = {**_for_condition(who), "tools": [f"toolset:{name}"]}
    if not who:
        yield {"name": _BASE, **entry}
    elif "agent" not in who and source.value_at("tools", "profile"):
        yield {**_for_condition(who), "replaces": _BASE, "tools": [f"toolset:{name}"]}
    else:
        yield entry


def _for_condition(who: dict[str, str]) -> dict[str, Any]:
    return {"for": {fact: _with_lower_case(name) for fact, name in who.items()}} if who else {}


def _with_lower_case(name: str) -> str | list[str]:
    """A name in lower case as well: GoClaw converts agents' names to lower case, but profiles are case-sensitive."""
    return name if name == name.lower() else [name, name.lower()]


def _names(draft: Draft, source: Source, item: str, *path: str | int) -> list[str]:
    """The items of a list under their names here. Of a list that grants, unknown names are left out.

    An unknown name in a list that denies may be a server's tool, and is denied for all servers.
    """
    found: list[str] = []
    for number, written in enumerate(source.texts(*path)):
        known = _installed_name(draft, written)
        if known is not None:
            found += _translate_web(draft, source, item, *path, number) if written in _WEB else [known]
        elif item == "deny":
            found += _in_servers(written)
            source.note_narrower(
                *path, number, why="no installed tool has this name; servers' tools that end with it are denied."
            )
        else:
            source.leave_out(*path, number, why="no installed plugin provides a tool or group of this name.")
    return list(dict.fromkeys(found))


def _translate_web(draft: Draft, source: Source, item: str, *path: str | int) -> list[str]:
    """Translate `web_search` and `web_fetch`: here, they are actions of one tool, with one policy for all callers."""
    action = _WEB[source.text(*path)]
    named = {*source.texts(*path[:-1]), "group:web" if item == "deny" else ""}
    both = named >= set(_WEB) or named & {"group:web", "group:goclaw"}
    web = draft.keys["tools"]["web"]
    kept = {action} if item != "deny" else {*_WEB.values()} - {action}
    if not both:
        web["allowed_actions"] = [one for one in web.get("allowed_actions", _WEB.values()) if one in kept]
        source.note_narrower(
            *path, why="searching and fetching are one tool, `web`, with the same actions for all callers."
        )
    return ["web"] if both or item != "deny" else []


def _installed_name(draft: Draft, written: str) -> str | None:
    group = written.removeprefix("group:")
    if group != written:
        servers = draft.source.value_at("tools", "mcp_servers") or {}
        return written if group in _GROUPS or group.removeprefix("mcp:") in servers else None
    name = _NATIVE.get(written, (written, {}))[0]
    return name if name in draft.installed.tools else None


def _in_servers(written: str) -> list[str]:
    name = to_name(written.rpartition("__")[2].removeprefix("group:"))
    return [f"mcp__*{name}"]
