"""Import llm_agent's `config/profiles/NAME.yml`, whose tools have typed policies like those here.

Source: amcaughan/llm_agent, src/agent/tools/README.md, git.py and config/profiles.
"""

from pathlib import Path
from typing import Any, Final

from toolcharter_importer.draft import Draft, Installed, profile_name
from toolcharter_importer.source import Source

UNREAD_REASON: Final = "llm_agent has no such key, or a profile has no equal for it."
_NAMES: Final = {"git": "git", "list_dir": "list_files", "read_file": "read_file"}
_HOST: Final = "a profile does not set models and prompts; they belong to the agent's host."
_LEFT: Final = {
    "backend": _HOST,
    "model": _HOST,
    "system_prompt": _HOST,
    "task_templates": "a profile has no prompts; use skills or the host's own templates.",
    "token_budget": "`limits` count calls and characters, not tokens.",
    "logging": "every call is recorded; `events` sets how much is shown, and no setting hides a denial.",
}
_NUMBERS: Final = {"max_output_chars": 1, "max_files": 1, "max_since_chars": 1, "context_lines": 0}
"""The numbers of git's policy, with the least value that each may have here."""
_MOST_CONTEXT: Final = 20
_FLAGS: Final = {"enforce_prefix_for_writes": True, "allow_push": False, "allow_worktree_dirty": False}
_ACTIONS: Final = {
    "status": "status", "log": "log", "show": "show", "rev_parse": "rev_parse", "diff": "diff", "push": "push",
    "diff_since": "diff_since", "create_branch": "create_branch", "checkout": "checkout", "commit": "commit",
}  # fmt: skip


def read_profile(file: Path, installed: Installed, name: str | None) -> Draft:
    """Import one profile of llm_agent."""
    source = Source(file)
    source.mapping()
    draft = Draft(source, installed, name or profile_name(source, "name", default=file.stem))
    if description := source.text("description").strip():
        draft.keys["description"] = description
    for key, why in _LEFT.items():
        if source.value_at(key) is not None:
            source.leave_out(key, why=why)
    for tool in source.mapping("tools"):
        _take_tool(draft, source, tool)
    return draft


def _take_tool(draft: Draft, source: Source, tool: str) -> None:
    path = ("tools", tool)
    source.mapping(*path)
    if tool not in _NAMES:
        source.leave_out(*path, why="llm_agent has git, list_dir and read_file; write a plugin for another tool.")
        return
    policy = _git_policy(source, *path) if tool == "git" else {}
    if draft.add_tool(_NAMES[tool], policy, *path) and tool != "git":
        source.note_narrower(*path, why="in llm_agent it takes any path, but here only paths in the workspace.")


def _git_policy(source: Source, *path: str | int) -> dict[str, Any]:
    policy: dict[str, Any] = {}
    if source.value_at(*path, "allowed_actions") is not None:
        policy["allowed_actions"] = _actions(source, *path, "allowed_actions")
    if (prefix := source.value_at(*path, "managed_branch_prefix")) is not None:
        policy["managed_branch_prefix"] = source.text(*path, "managed_branch_prefix") if prefix else ""
    for key, least in _NUMBERS.items():
        if source.value_at(*path, key) is not None:
            _take_number(policy, source, least, *path, key)
    for key in _FLAGS:
        if source.value_at(*path, key) is not None:
            policy[key] = source.flag(*path, key, default=False)
    if policy.get("allow_push"):
        source.note_narrower(
            *path, "allow_push", why="llm_agent pushes to any remote; here, list the remotes in `allowed_remotes`."
        )
    return policy


def _actions(source: Source, *path: str | int) -> list[str]:
    found = []
    for number, written in enumerate(source.texts(*path)):
        action = _ACTIONS.get(written.strip().lower())
        if action is None:
            source.leave_out(*path, number, why="the tool `git` has no such action.")
        elif action not in found:
            found.append(action)
    return found


def _take_number(policy: dict[str, Any], source: Source, least: int, *path: str | int) -> None:
    """Import a number. llm_agent also accepts numbers written as text."""
    written = source.value_at(*path)
    value = int(written) if isinstance(written, str) and written.strip().isdecimal() else source.number(*path)
    if value < least:
        raise source.make_fault(
            *path, what=f"at least {least} is expected here.", fix="Correct the file; nothing was imported."
        )
    policy[str(path[-1])] = min(value, _MOST_CONTEXT) if path[-1] == "context_lines" else value
    source.mark_imported(*path)
    if policy[str(path[-1])] != value:
        source.note_narrower(*path, why=f"the maximum is {_MOST_CONTEXT}.")
