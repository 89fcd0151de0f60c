"""Import linggen's `agents/NAME.md`, whose front matter lists an agent's tools and permissions.

Source: linggen/linggen-agent, src/config.rs (`AgentSpec`, `AgentPolicy`) and doc/tools.md; linggen/linggen, doc/agent-spec.md.
"""

import re
from pathlib import Path
from typing import Any, Final

from toolcharter_importer.draft import Draft, Installed, profile_name
from toolcharter_importer.source import Note, Source

UNREAD_REASON: Final = "linggen has no such key, or a profile has no equal for it."
_HOST: Final = "a profile does not set models and prompts; they belong to the agent's host."
_OF_HOST: Final = {
    "aliases": "a profile has one name.",
    "default_lock_globs": "an agent locks paths by the tool `lock_paths`.",
    "idle_interval_secs": "write `extensions.scheduler.heartbeat_s`, and a HEARTBEAT.md.",
    "idle_prompt": "write `extensions.scheduler.heartbeat_s`, and a HEARTBEAT.md.",
    "internal": "the host decides who may speak to an agent.",
    "kind": "`availability` recognises subagents by their `depth`.",
    "model": _HOST,
    "personality": _HOST,
}
_TOOLS: Final = {
    "Glob": "glob", "Read": "read_file", "Grep": "grep", "Write": "write_file", "Edit": "edit_file", "Bash": "bash",
    "capture_screenshot": "capture_screenshot", "lock_paths": "lock_paths", "unlock_paths": "unlock_paths",
    "delegate_to_agent": "delegate_to_agent", "Task": "delegate_to_agent", "WebSearch": "web", "web_search": "web",
    "WebFetch": "web",
}  # fmt: skip
_ALL: Final = (
    "Glob", "Read", "Grep", "Write", "Edit", "Bash", "capture_screenshot", "lock_paths", "unlock_paths",
    "delegate_to_agent", "WebSearch",
)  # fmt: skip
"""The tools that `*` means in linggen, in addition to the tools of skills."""
_GRANTS: Final = {"patch": "Patch", "finalize": "Finalize", "finalizetask": "Finalize", "delegate": "Delegate"}
_WRITING: Final = frozenset({"write_file", "edit_file"})
_GLOB: Final = re.compile(r"[A-Za-z0-9_./*-]*\*[A-Za-z0-9_./*-]*")


def read_agent(file: Path, installed: Installed, name: str | None) -> Draft:
    """Import one agent."""
    source = Source(file)
    source.mapping()
    draft = Draft(source, installed, name or profile_name(source, "name", default=file.stem))
    if description := source.text("description").strip():
        draft.keys["description"] = description
    for key, why in _OF_HOST.items():
        if source.value_at(key) is not None:
            source.leave_out(key, why=why)
    grants, targets = _policy(source)
    writable = _writable(source)
    for number, tool in enumerate(source.texts("tools")):
        for one in _ALL if tool == "*" else (tool,):
            _take_tool(draft, one, grants, targets, writable, "tools", number)
        if tool == "*":
            source.note_narrower(
                "tools",
                number,
                why="in linggen it also includes all tools of skills; the profile lists only linggen's own tools.",
            )
    if "Finalize" in grants:
        draft.add_tool("finalize_task", {}, "policy")
    if source.body:
        draft.notes.append(Note(source.place(), "", "left out", f"the text is a prompt: {_HOST}"))
    return draft


def _policy(source: Source) -> tuple[set[str], list[str]]:
    """The agent's permissions, and the agents that it may start, from `policy`.

    `policy` is a list of permissions, or a mapping with `allow` and `delegate_targets`.
    """
    is_list = isinstance(source.value_at("policy"), list)
    path = ("policy",) if is_list else ("policy", "allow")
    if not is_list:
        source.mapping("policy")
    grants = set[str]()
    for number, written in enumerate(source.texts(*path)):
        if written.lower() not in _GRANTS:
            raise source.make_fault(
                *path, number, what="only Patch, Finalize and Delegate are known.", fix="Nothing was imported."
            )
        grants.add(_GRANTS[written.lower()])
    targets = [] if is_list else [one.strip() for one in source.texts("policy", "delegate_targets")]
    return grants, [one for one in targets if one] or ["*"]


def _writable(source: Source) -> list[str] | None:
    """The globs of the files that the agent may write; None for all files."""
    globs = source.texts("work_globs")
    found = []
    for number, glob in enumerate(globs):
        if not _GLOB.fullmatch(glob) or ".." in glob or glob.startswith("/"):
            source.leave_out(
                "work_globs",
                number,
                why="`writable` would read it differently; write the globs that you mean into `writable`.",
            )
            continue
        found.append("**" if glob == "**/*" else glob)
        if re.search(r"(?<!\*)\*(?!\*)", glob.replace("**/*", "")) and "/" in glob:
            source.note_narrower(
                "work_globs",
                number,
                why="in linggen a star also matches folders, but in `writable` only a part of one name.",
            )
    return found if globs else None


def _take_tool(
    draft: Draft, tool: str, grants: set[str], targets: list[str], writable: list[str] | None, *path: str | int
) -> None:
    source, ours = draft.source, _TOOLS.get(tool, "")
    policy: dict[str, Any] = dict(draft.keys.get("tools", {}).get(ours, {}))
    if not ours:
        source.leave_out(*path, why="it is a tool of linggen or of a skill; you can write a plugin for it.")
    elif ours in _WRITING and "Patch" not in grants:
        source.leave_out(*path, why="the `policy` has no `Patch`; without it, an agent may not write.")
    elif ours == "delegate_to_agent" and "Delegate" not in grants:
        source.leave_out(*path, why="the `policy` has no `Delegate`.")
    elif ours in _WRITING:
        draft.add_tool(ours, {} if writable is None else {"writable": writable}, *path)
    elif ours == "web":
        action = "fetch" if tool == "WebFetch" else "search"
        draft.add_tool(ours, {"allowed_actions": sorted({*policy.get("allowed_actions", ()), action})}, *path)
    elif ours == "delegate_to_agent":
        if draft.add_tool(ours, {"targets": targets}, *path):
            source.note_narrower(
                *path, why="a person is asked before an agent starts, and that agent cannot start others."
            )
    elif draft.add_tool(ours, {}, *path) and ours == "bash":
        source.note_narrower(
            *path, why="linggen runs 35 programs, some of them interpreters; here each needs a `bash:` rule."
        )
