"""Read, add and remove the hook's entry in an agent's settings. All other settings stay as they are."""

import json
import os
import re
import shlex
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from toolcharter_guard.hook_files import MentionFinder, list_hook_files, user_file
from toolcharter_guard.opencode import plugin_file

MARK = "toolcharter guard hook"
"""A part of each command of the guard, by which its entries are recognised."""
TIMEOUT_S = 60
RECORD_FILE = "guard-installed.json"
"""The file in the state folder with the entries that `guard install` has written; a change is noticed by it."""
_OFF_SETTINGS: Mapping[str, Sequence[tuple[str, bool]]] = {
    "claude-code": [("disableAllHooks", True)],
    "codex": [("features.hooks", False), ("features.codex_hooks", False)],
    "gemini": [("hooksConfig.enabled", False)],
    "copilot": [("disableAllHooks", True)],
}
"""Settings with which an agent runs no hooks, by their paths, with their values."""
_OFF_SETTING_FILES: Mapping[str, Sequence[str]] = {
    "claude-code": [".claude/settings.local.json"],
    "copilot": [".github/copilot/settings.json", ".github/copilot/settings.local.json", ".copilot/settings.json"],
}
"""Files that may have such settings, in addition to the agent's settings file; the user's or in the project."""
_BEGIN, _END = "# toolcharter guard: begin", "# toolcharter guard: end"


class SettingsError(Exception):
    """The settings cannot be read or written, so they are not changed."""


class SettingsLocation(NamedTuple):
    """Where an agent keeps its settings, and how the entry is written there."""

    user: str
    """Below the home folder."""
    project: str
    """Below the project's folder."""
    edit: Callable[[str, str | None], str]
    """`(text, command) -> text`; without a command the entry is removed."""
    note: str = ""
    """What the agent does if the hook itself fails; shown after the installation."""


def settings_path(agent: str, project: Path | None) -> Path:
    """Return the settings file of *agent*: the user's, or the file of *project*."""
    location = LOCATIONS[agent]
    return user_file(location.user) if project is None else project / location.project


def guard_files(project: Path) -> list[Path]:
    """Return all files that the guard depends on, or that can switch it off, for any agent in *project*.

    The gate's inventory holds them, so no tool can change them.
    """
    files = [settings_path(agent, where) for agent in LOCATIONS for where in (None, project)]
    return [state_folder() / RECORD_FILE, *files, *list_hook_files(project)]


def find_entries(agent: str, file: Path) -> list[str]:
    """Return the guard's entries in *file* as texts; a text changes with its entry.

    Raises:
        SettingsError: As for `compute_edit`.
    """
    before, _ = compute_edit(agent, file, None)
    text = before or ""
    if agent == "codex":
        head, begin, rest = text.partition(_BEGIN)
        stray = [line.strip() for line in head.splitlines() if MARK in line]
        return [*stray, rest.partition(_END)[0].strip()] if begin else stray
    if agent == "opencode":
        return [text] if text else []
    hooks: Mapping[str, list[Any]] = _parse_json(text).get("hooks", {})
    named = ((event, json.dumps(each, sort_keys=True)) for event, entries in hooks.items() for each in entries)
    return [f"{event}: {found}" for event, found in named if MARK in found]


def find_command(entries: Sequence[str]) -> str | None:
    """Return the command line of the hook in the guard's *entries*, for a shell; None if there is none."""
    for found in entries:
        text = found.partition(": ")[2] if not found.startswith(("[[", "//")) else found
        for candidate in _commands(text):
            if MARK in candidate:
                return candidate
    return None


def _commands(text: str) -> Iterator[str]:
    words = re.search(r"^const words = (\[.*\]) // ", text, re.MULTILINE)
    if words is not None:
        yield shlex.join(json.loads(words[1]))
    elif text.startswith("[["):
        for groups in tomllib.loads(text).get("hooks", {}).values():
            yield from (hook["command"] for group in groups for hook in group["hooks"])
    else:
        data: Mapping[str, Any] = json.loads(text)
        for hook in data.get("hooks", [data]):
            yield from (value for value in hook.values() if isinstance(value, str))


def find_off_setting(agent: str, file: Path, project: Path) -> str | None:
    """Return a setting with which *agent* runs no hooks in *project*; None if no file that it reads has such a setting.

    *file* is the settings file with the hook. A setting of another file is returned with that file's path.
    """
    location = LOCATIONS[agent]
    names = _OFF_SETTING_FILES.get(agent, ())
    others = [settings_path(agent, None), project / location.project, *(user_file(name) for name in names)]
    for where in dict.fromkeys([file, *others, *(project / name for name in names)]):
        try:
            text = where.read_text()
            data: Mapping[str, Any] = tomllib.loads(text) if agent == "codex" else _parse_json(text)
        except (OSError, ValueError):
            continue
        for path, off in _OFF_SETTINGS.get(agent, ()):
            value: Any = data
            for key in path.split("."):
                value = value.get(key) if isinstance(value, Mapping) else None
            if value is off:
                return f"{path} = {json.dumps(off)}" + ("" if where == file else f" in {where}")
    return None


def recorded_entries() -> dict[str, list[str]]:
    """Return the entries that `guard install` has written, by settings file."""
    try:
        data = _parse_json((state_folder() / RECORD_FILE).read_text())
    except (OSError, ValueError):
        return {}
    return {str(file): list(entries) for file, entries in data.items()}


def record_entries(file: Path, entries: list[str]) -> None:
    """Record the *entries* that were written to *file*; without entries, forget the file."""
    known = recorded_entries()
    known.pop(str(file), None)
    if entries:
        known[str(file)] = entries
    target = state_folder() / RECORD_FILE
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _replace(target, _dump_json(known), target)


def state_folder() -> Path:
    """Return the folder for the default event file and the record of `guard install`."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser(), "toolcharter")


def hook_command(program: Sequence[str], agent: str, profile: str, workspace: Path | None, events: str) -> str:
    """Return the command line of the hook."""
    words = [*program, *MARK.split(), agent, "--profile", profile, "--events", events]
    words += [] if workspace is None else ["--workspace", str(workspace)]
    return shlex.join(words)


def compute_edit(agent: str, file: Path, command: str | None) -> tuple[str | None, str]:
    """Return the text of *file* before and after a change; the first is None if the file does not exist.

    Args:
        agent: The agent of the settings.
        file: The settings file.
        command: The hook's command; None to remove the guard's entry.

    Raises:
        SettingsError: The file cannot be read or parsed.
    """
    try:
        before = file.read_text()
    except FileNotFoundError:
        before = None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: {getattr(error, 'strerror', None) or 'is not text'}") from None
    try:
        return before, LOCATIONS[agent].edit(before or "", command)
    except (ValueError, TypeError, AttributeError) as error:
        raise SettingsError(f"{file}: it is left as it is, because it cannot be edited: {error}") from None


def write(file: Path, before: str | None, after: str) -> Path | None:
    """Replace *file* atomically; return its backup, or None if there was no file.

    Raises:
        SettingsError: Another process has changed the file since *before* was read, or it cannot be written.
    """
    backup = None
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        now = file.read_text() if file.exists() else None
        if now != before:
            raise SettingsError(f"{file}: another process has changed it in the meantime; nothing was written")
        if before is not None:
            backup = file.with_name(f"{file.name}.before-toolcharter")
            _replace(backup, before, file)
        _replace(file, after, file)
    except OSError as error:
        raise SettingsError(f"{error.filename or file}: {error.strerror}") from None
    return backup


def _replace(file: Path, text: str, like: Path) -> None:
    mode = like.stat().st_mode & 0o777 if like.exists() else 0o600
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=".toolcharter-")
    try:
        with os.fdopen(handle, "w") as new:
            os.fchmod(new.fileno(), mode)
            new.write(text)
            new.flush()
            os.fsync(new.fileno())
        os.replace(name, os.path.realpath(file))  # noqa: PTH105 - through a link, as dotfile managers make them
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _parse_json(text: str) -> dict[str, Any]:
    data: Any = json.loads(text) if text.strip() else {}
    if not isinstance(data, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - the class that json raises
    known: dict[str, Any] = data
    return known


def _dump_json(settings: Mapping[str, Any]) -> str:
    return json.dumps(settings, indent=2, ensure_ascii=False) + "\n"


def _grouped_editor(*events: tuple[str, dict[str, Any]]) -> Callable[[str, str | None], str]:
    """Edit hooks in the form of Claude Code and Gemini: each event has groups, each with a matcher and its hooks."""

    def edit(text: str, command: str | None) -> str:
        settings = _parse_json(text)
        hooks = settings.setdefault("hooks", {})
        for event, extra in events:
            groups = [group for group in hooks.get(event, []) if MARK not in json.dumps(group)]
            if command is not None:
                groups.append({"matcher": "*", "hooks": [{"type": "command", "command": command, **extra}]})
            hooks[event] = groups
            if not groups:
                del hooks[event]
        if not hooks:
            del settings["hooks"]
        return _dump_json(settings)

    return edit


def _flat_editor(*events: tuple[str, dict[str, Any]], key: str = "command") -> Callable[[str, str | None], str]:
    """Edit hooks in the form of Cursor and Copilot: each event has a list of commands."""

    def edit(text: str, command: str | None) -> str:
        settings = _parse_json(text) or {"version": 1}
        hooks = settings.setdefault("hooks", {})
        for event, extra in events:
            entries = [entry for entry in hooks.get(event, []) if MARK not in json.dumps(entry)]
            if command is not None:
                kind = {"type": "command"} if key == "bash" else {}
                entries.append({**kind, key: command, **extra})
            hooks[event] = entries
            if not entries:
                del hooks[event]
        return _dump_json(settings)

    return edit


def _edit_codex(text: str, command: str | None) -> str:
    """Edit a block of TOML between two marks at the end of the file. The text before it stays byte for byte."""
    others = tomllib.loads(text)
    head, begin, rest = text.partition(f"{_BEGIN}\n")
    if begin:
        _, end, tail = rest.partition(f"{_END}\n")
        if not end:
            raise ValueError(f"the line {_END!r} is missing")
        text = head + tail
    if command is None:
        return text
    tables = "\n".join(
        f'[[hooks.{event}]]\nmatcher = "*"\n\n[[hooks.{event}.hooks]]\ntype = "command"\n'
        f"command = {json.dumps(command)}\ntimeout = {TIMEOUT_S}\n"
        for event in ("PreToolUse", "PostToolUse")
    )
    block = f"{_BEGIN}\n{tables}{_END}\n"
    gap = "" if not text or text.endswith("\n") else "\n"
    after = f"{text}{gap}{block}"
    now = tomllib.loads(after)  # raises if a table of the same name cannot be added to
    if {key: value for key, value in now.items() if key != "hooks"} != {
        key: value for key, value in others.items() if key != "hooks"
    }:
        raise ValueError("the entry would change other settings")
    return after


def _edit_opencode(text: str, command: str | None) -> str:
    """Write or empty the guard's own plugin file."""
    if text and MARK not in text:
        raise ValueError("the guard has not written it")
    if command is None:
        return ""
    return plugin_file(shlex.split(command), MARK, TIMEOUT_S)


_LATE = "If the hook fails or is late, the agent lets the call through. The guard answers its own errors with a denial."
LOCATIONS: Mapping[str, SettingsLocation] = {
    "claude-code": SettingsLocation(
        ".claude/settings.json",
        ".claude/settings.json",
        _grouped_editor(
            ("PreToolUse", {"timeout": TIMEOUT_S, "onFailure": "block"}),
            ("PostToolUse", {"timeout": TIMEOUT_S}),
            ("PostToolUseFailure", {"timeout": TIMEOUT_S}),
        ),
        "`onFailure: block` (Claude Code 2.1.295 and later) denies a call whose hook fails or is late.",
    ),
    "codex": SettingsLocation(
        ".codex/config.toml",
        ".codex/config.toml",
        _edit_codex,
        f"{_LATE} Codex runs a hook only once its user has trusted it: start Codex and confirm.",
    ),
    "gemini": SettingsLocation(
        ".gemini/settings.json",
        ".gemini/settings.json",
        _grouped_editor(("BeforeTool", {"timeout": TIMEOUT_S * 1000}), ("AfterTool", {"timeout": TIMEOUT_S * 1000})),
        _LATE,
    ),
    "opencode": SettingsLocation(
        ".config/opencode/plugin/toolcharter-guard.js",
        ".opencode/plugin/toolcharter-guard.js",
        _edit_opencode,
        "The plugin file denies a call if the guard gives no answer.",
    ),
    "cursor": SettingsLocation(
        ".cursor/hooks.json",
        ".cursor/hooks.json",
        _flat_editor(
            ("preToolUse", {"timeout": TIMEOUT_S, "failClosed": True}),
            ("postToolUse", {"timeout": TIMEOUT_S}),
            ("postToolUseFailure", {"timeout": TIMEOUT_S}),
        ),
        "`failClosed` denies a call whose hook fails or is late.",
    ),
    "copilot": SettingsLocation(
        ".copilot/hooks/toolcharter.json",
        ".github/hooks/toolcharter.json",
        _flat_editor(
            *((event, {"timeoutSec": TIMEOUT_S}) for event in ("preToolUse", "postToolUse", "postToolUseFailure")),
            key="bash",
        ),
        "Copilot denies a call if the hook fails, and lets it through if the hook is late.",
    ),
}
MENTION_FINDER = MentionFinder(name for location in LOCATIONS.values() for name in (location.user, location.project))
"""Finds mentions of files that the guard depends on in a shell line."""
