"""Import Duragent's `policy.yaml` of one tier, and `agent.yaml` with the policies of all three tiers.

Source: giosakti/duragent, book/src/guides/tools-and-policies.md; crates/duragent/src/agent/policy.rs and spec.rs.
"""

import os
from pathlib import Path
from typing import Any, Final

from toolcharter_importer import duragent_hooks, patterns
from toolcharter_importer.draft import Draft, Installed, profile_name, to_name
from toolcharter_importer.source import Source

API: Final = "duragent/v1alpha1"
UNREAD_REASON: Final = "Duragent has no such key in this file, or a profile has no equal for it."
_MODES: Final = ("dangerous", "ask", "restrict")
_HOST: Final = "a profile does not set models and prompts; they belong to the agent's host."
_BUILT_IN: Final[dict[str, dict[str, Any]]] = {
    "bash": {},
    "background_process": {"allow_input": True},
    "memory": {},
    "reload_tools": {},
    "schedule": {"allowed_actions": ["create", "list", "cancel"]},
    "session": {},
    "web": {},
}
_OF_HOST: Final = {
    "access": "the agent's channel decides who may send it messages.",
    "instructions": _HOST,
    "model": _HOST,
    "soul": _HOST,
    "system_prompt": _HOST,
}


def read_policy(file: Path, installed: Installed, name: str | None) -> Draft:
    """Import one `policy.yaml`: a profile with rules and without tools, for other profiles to extend."""
    source = Source(file)
    draft = Draft(source, installed, name or to_name(file.stem))
    if not _take_policy(draft, source):
        source.note_narrower(
            why="without `mode`, Duragent uses `dangerous`, a profile `policy`; write `mode: dangerous` to keep it."
        )
    _finish_rules(draft, source.texts("allow"))
    return draft


def read_agent(file: Path, installed: Installed, name: str | None) -> Draft:
    """Import `agent.yaml` with the policies of its workspace, of its folder and of its user."""
    source = Source(file)
    draft = Draft(
        source, installed, name or profile_name(source, "metadata", "name", default=file.absolute().parent.name)
    )
    _require_kind(source, "Agent")
    _take_metadata(draft, source)
    source.mapping("spec")
    for key, why in _OF_HOST.items():
        if source.value_at("spec", key) is not None:
            source.leave_out("spec", key, why=why)
    _take_memory(draft, source)
    for number, _ in enumerate(source.items("spec", "tools")):
        _take_tool(draft, source, number, file.parent)
    _take_session(draft, source)
    _take_found_tools(draft, file.parent)
    duragent_hooks.take_hooks(draft, source)
    _take_tiers(draft, file.parent)
    return draft


def _take_metadata(draft: Draft, source: Source) -> None:
    source.mapping("metadata")
    if description := source.text("metadata", "description").strip():
        draft.keys["description"] = description
    for key in ("version", "labels"):
        if source.value_at("metadata", key) is not None:
            source.leave_out("metadata", key, why="a profile has only a name and a description.")


def _take_memory(draft: Draft, source: Source) -> None:
    if source.value_at("spec", "memory") is None:
        return
    source.mapping("spec", "memory")
    draft.add_tool("memory", {}, "spec", "memory")
    if source.value_at("spec", "memory", "backend") is not None:
        source.leave_out("spec", "memory", "backend", why="memories are records of the profile's `store`.")


def _take_session(draft: Draft, source: Source) -> None:
    source.mapping("spec", "session")
    context = ("spec", "session", "context")
    source.mapping(*context)
    cut = source.text(*context, "tool_result_truncation")
    if cut in {"head", "tail", "both"}:
        draft.keys.setdefault("limits", {})["truncate"] = cut
    elif cut:
        source.leave_out(*context, "tool_result_truncation", why="only `head`, `tail` and `both` are known.")
    if source.value_at(*context, "max_tool_result_tokens") is not None:
        source.leave_out(
            *context, "max_tool_result_tokens", why="`limits.max_output_chars` counts characters, not tokens."
        )


def _take_tool(draft: Draft, source: Source, number: int, folder: Path) -> None:
    path = ("spec", "tools", number)
    source.mapping(*path)
    kind, name = source.text(*path, "type"), source.text(*path, "name")
    if kind == "builtin" and name in _BUILT_IN:
        if draft.add_tool(name, dict(_BUILT_IN[name]), *path):
            _narrow_built_in(draft, name, *path)
    elif kind == "cli" and name:
        _take_cli(draft, source, number, folder)
    elif kind == "mcp":
        source.leave_out(
            *path, why="list the server in `extensions.mcp_bridge.servers`; Duragent has no format for servers yet."
        )
    else:
        source.leave_out(*path, why="Duragent has no such tool.")


def _narrow_built_in(draft: Draft, name: str, *path: str | int) -> None:
    if name == "schedule":
        draft.source.note_narrower(
            *path, why="jobs can only send messages; `allow_tasks: true` also lets them start agents."
        )
    if name == "reload_tools":
        draft.keys.setdefault("extensions", {}).setdefault("cli_tools", {})["extend"] = True


def _take_cli(draft: Draft, source: Source, number: int, folder: Path) -> None:
    path = ("spec", "tools", number)
    name, command = source.text(*path, "name"), source.text(*path, "command")
    if to_name(name) != name:
        source.leave_out(*path, why="the name of a tool may only have letters, digits, `_` and `-`, at most 64.")
        return
    program = folder / command
    if not command or not program.is_file():
        source.leave_out(*path, why="the command does not exist beside the agent's file.")
        return
    tool: dict[str, Any] = {"command": os.path.abspath(program)}  # noqa: PTH100 - as it is written, links and all
    if description := source.text(*path, "description"):
        tool["description"] = description
    if readme := source.text(*path, "readme"):
        if (folder / readme).is_file():
            tool["readme"] = os.path.abspath(folder / readme)  # noqa: PTH100 - as above
        else:
            source.leave_out(*path, "readme", why="the file does not exist beside the agent's file.")
    draft.declare_tool(name, tool, *path)


def _take_found_tools(draft: Draft, folder: Path) -> None:
    """Import `tools/NAME/run` beside the agent: Duragent discovers these tools without a setting."""
    tools = folder / "tools"
    if tools.is_dir() and "cli_tools" in draft.installed.extensions:
        found = draft.keys.setdefault("extensions", {}).setdefault("cli_tools", {})
        found |= {"extend": True, "agent_folders": [str(tools.absolute())]}


def _take_tiers(draft: Draft, folder: Path) -> None:
    """Merge the policies of the workspace, the agent and its user: all lists, and the mode of the last with one."""
    has_mode, allowed = False, list[str]()
    for file in _tiers(folder):
        tier = Source(file)
        has_mode = _take_policy(draft, tier) or has_mode
        allowed += tier.texts("allow")
        draft.notes += tier.finish(UNREAD_REASON)
    if not has_mode:
        why = (
            "no policy of this agent has a `mode`: Duragent uses `dangerous` then, but a profile uses `policy`; write "
            "`mode: dangerous` to keep it."
        )
        draft.source.note_narrower(why=why)
    _finish_rules(draft, allowed)


def _tiers(folder: Path) -> list[Path]:
    above = [parent / ".duragent" / "policy.yaml" for parent in (folder.parent, *folder.absolute().parents[1:3])]
    above += [parent / "policy.yaml" for parent in folder.absolute().parents[:3] if parent.name == ".duragent"]
    workspace = [file for file in above if file.is_file()][:1]
    own = [folder / "policy.yaml", folder / "policy.local.yaml"]
    return workspace + [file for file in own if file.is_file()]


def _require_kind(source: Source, kind: str) -> None:
    """Refuse a file of another version or kind: Duragent does not read it, and its meaning is not known."""
    source.mapping()
    for key, wanted in (("apiVersion", API), ("kind", kind)):
        if source.text(key, default=wanted) != wanted:
            raise source.make_fault(key, what=f"{wanted!r} is expected here.", fix="Nothing was imported.")


def _take_policy(draft: Draft, source: Source) -> bool:
    """Import the rules of one tier; return whether it has a mode."""
    _require_kind(source, "Policy")
    mode = source.text("mode")
    if mode and mode not in _MODES:
        raise source.make_fault(
            "mode", what=f"there are {', '.join(_MODES)}.", fix="Correct the file; nothing was imported."
        )
    if mode:
        draft.keys["mode"] = mode
    denied = source.texts("deny")
    draft.append_missing("deny", [rule for pattern in denied for rule in patterns.deny_rules(pattern)])
    draft.append_missing("deny", [rule for pattern in denied for rule in patterns.line_rules(pattern)])
    for number, pattern in enumerate(source.texts("allow")):
        _take_allow(draft, source, number, pattern)
    _take_notify(draft, source)
    return bool(mode)


def _take_allow(draft: Draft, source: Source, number: int, pattern: str) -> None:
    rules = patterns.allow_rules(pattern)
    draft.append_missing("allow", rules)
    if not rules:
        source.leave_out("allow", number, why="no tool of a profile can have a name that it matches.")
    elif patterns.permits_spawning(pattern):
        why = "programs that `background_process` spawns need `bash:` rules, as command lines do."
        source.note_narrower("allow", number, why=why)
    elif not (pattern.endswith("*") and rules == [pattern]):
        source.note_narrower(
            "allow", number, why="in Duragent it matches any part of the text, but a rule must match the whole text."
        )


def _take_notify(draft: Draft, source: Source) -> None:
    source.mapping("notify")
    if not source.flag("notify", "enabled", default=False):
        for key in ("patterns", "deliveries"):
            if source.value_at("notify", key):
                source.leave_out("notify", key, why="notifications are not enabled.")
            source.items("notify", key)
        return
    found = [rule for pattern in source.texts("notify", "patterns") or ["*"] for rule in patterns.deny_rules(pattern)]
    deliveries = source.items("notify", "deliveries")
    draft.append_missing("notify", [{"match": found}] if not deliveries else [])
    for number, _ in enumerate(deliveries):
        _take_delivery(draft, source, number, found)


def _take_delivery(draft: Draft, source: Source, number: int, found: list[Any]) -> None:
    path = ("notify", "deliveries", number)
    source.mapping(*path)
    kind, url = source.text(*path, "type"), source.text(*path, "url")
    if kind == "log":
        draft.append_missing("notify", [{"match": found}])
    elif kind == "webhook" and "webhook" not in draft.installed.extensions:
        source.leave_out(*path, why="the plugin toolcharter-webhook is not installed.")
    elif kind == "webhook" and url.startswith(("http://", "https://")):
        draft.append_missing("notify", [{"match": found, "deliver": "webhook", "url": url}])
    else:
        source.leave_out(*path, why="only `log`, and `webhook` with an http or https URL, are known.")


def _finish_rules(draft: Draft, patterns_of_allow: list[str]) -> None:
    """Add the rules that depend on all tiers: who may spawn programs, and which names may be missing."""
    mode = draft.keys.get("mode")
    if mode in {"ask", "restrict"} and not any(map(patterns.permits_spawning, patterns_of_allow)):
        # A `bash:` rule also covers spawned programs here. In Duragent they are calls of another tool.
        draft.append_missing("ask" if mode == "ask" else "deny", [f"{patterns.BACKGROUND}:spawn"])
    _require_names(draft)


def _require_names(draft: Draft) -> None:
    """Add names in rules that no plugin provides to `missing_ok`."""
    declared = draft.keys.get("extensions", {}).get("cli_tools", {}).get("tools", {})
    rules = [rule for key in ("deny", "ask", "allow") for rule in draft.keys.get(key, ()) if isinstance(rule, str)]
    rules += duragent_hooks.rules_of(draft)
    known = {one.lower() for one in (*draft.installed.tools, *declared)}
    named = dict.fromkeys(map(patterns.literal_name, rules))
    draft.append_missing("missing_ok", [name for name in named if name is not None and name.lower() not in known])
