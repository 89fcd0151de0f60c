"""The files that the guard depends on: those in which an agent's hooks are set or switched off.

The gate's inventory holds them, so no tool can change them under any profile. But a shell line runs as the user.
Therefore a line that mentions one of them is denied, in every mode. The names are matched in the line's text: a line
that builds a name while it runs is not found.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path

# In addition to the agents' settings files. Source: the agents' pages on settings and hooks.
HOOK_FILES = (
    *(".claude/settings.local.json", ".claude/hooks", ".claude/plugins", ".codex/hooks.json", ".codex/hooks"),
    *(".gemini/hooks", ".gemini/.env", ".gemini/extensions"),
    *("opencode.json", "opencode.jsonc", ".opencode", ".config/opencode"),
    *(".cursor/hooks", ".cursor/cli.json", ".github/hooks", ".github/copilot", ".copilot"),
)
_FOLDERS = (".claude", ".codex", ".gemini", ".cursor")
"""Folders that a line must not mention as a whole either, for example to remove or to enter them."""
_GUARD_PATTERNS = (
    r"\bstate/+toolcharter(?![\w-])",  # events, the record of installed hooks, sockets
    r"toolcharter(?:-\d+)?/+guard-[0-9a-f]{8}-",
    r"\btoolcharter[ \t]+guard[ \t]+(?:install|uninstall|serve)\b",
)
_FOLDER_VARIABLES = {
    ".claude": "CLAUDE_CONFIG_DIR",
    ".codex": "CODEX_HOME",
    ".config": "XDG_CONFIG_HOME",
    ".copilot": "COPILOT_HOME",
}
"""The variables by which a user moves such a folder."""
_UNQUOTED = str.maketrans("", "", "'\"\\")


def user_file(name: str) -> Path:
    """Return the user's file *name*: in the home folder, or in the folder that the environment sets for the agent."""
    first, _, rest = name.partition("/")
    moved = Path(os.environ.get(_FOLDER_VARIABLES.get(first, ""), ""))
    return moved / rest if moved.is_absolute() else Path.home() / name


def list_hook_files(project: Path) -> list[Path]:
    """Return the files of `HOOK_FILES`, both the user's and those of *project*."""
    return [file for name in HOOK_FILES for file in (user_file(name), Path.home() / name, project / name)]


class MentionFinder:
    """Finds the names of files that the guard depends on in shell lines.

    Args:
        settings: The agents' settings files, relative as in `HOOK_FILES`.
    """

    def __init__(self, settings: Iterable[str]) -> None:
        files = (re.escape(name).replace("/", "/+(?:\\./+)*") for name in (*HOOK_FILES, *settings))
        folders = "|".join(map(re.escape, _FOLDERS))
        whole = rf"(?<![\w-])(?:{folders})/*(?:\.\.?/*)*(?![\w./-])"
        self._pattern = re.compile(
            "|".join((*(f"(?<![\\w-]){name}(?![\\w-])" for name in files), whole, *_GUARD_PATTERNS)), re.IGNORECASE
        )

    def __call__(self, line: str) -> str | None:
        """Return the first such name in *line*; None if there is none."""
        found = self._pattern.search(line.translate(_UNQUOTED))
        return None if found is None else found[0]
