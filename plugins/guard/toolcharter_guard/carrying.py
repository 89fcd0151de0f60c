"""What carries the guard: the files in which an agent is told to ask it, or not to, and where those files lie.

The gate's inventory holds them, so that no tool changes them under any profile. A shell line runs as the user, though, and
so a line that names one of them is denied here, in every mode. It is found by its letters: a line that builds the name as
it runs is not.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path

# Beside the agents' settings files. Source: the agents' pages on settings and hooks.
CARRYING = (
    *(".claude/settings.local.json", ".claude/hooks", ".claude/plugins", ".codex/hooks.json", ".codex/hooks"),
    *(".gemini/hooks", ".gemini/.env", ".gemini/extensions"),
    *("opencode.json", "opencode.jsonc", ".opencode", ".config/opencode"),
    *(".cursor/hooks", ".cursor/cli.json", ".github/hooks", ".github/copilot", ".copilot"),
)
_FOLDERS = (".claude", ".codex", ".gemini", ".cursor")
"""Of which a line must not name the whole, either, to remove or to enter it."""
_OWN = (
    r"\bstate/+toolcharter(?![\w-])",  # events, the record of what was installed, sockets
    r"toolcharter(?:-\d+)?/+guard-[0-9a-f]{8}-",
    r"\btoolcharter[ \t]+guard[ \t]+(?:install|uninstall|serve)\b",
)
_MOVED = {
    ".claude": "CLAUDE_CONFIG_DIR",
    ".codex": "CODEX_HOME",
    ".config": "XDG_CONFIG_HOME",
    ".copilot": "COPILOT_HOME",
}
"""The variables by which a user puts such a folder elsewhere."""
_UNQUOTED = str.maketrans("", "", "'\"\\")


def of_user(name: str) -> Path:
    """The file *name* of the user's home, where the environment does not put the agent's folder elsewhere."""
    first, _, rest = name.partition("/")
    moved = Path(os.environ.get(_MOVED.get(first, ""), ""))
    return moved / rest if moved.is_absolute() else Path.home() / name


def carrying(project: Path) -> list[Path]:
    """The files of `CARRYING`, of the user and of *project*."""
    return [file for name in CARRYING for file in (of_user(name), Path.home() / name, project / name)]


class Mentions:
    """Finds names of what carries the guard in shell lines.

    Args:
        settings: The agents' settings files, as `CARRYING` has such names.
    """

    def __init__(self, settings: Iterable[str]) -> None:
        files = (re.escape(name).replace("/", "/+(?:\\./+)*") for name in (*CARRYING, *settings))
        folders = "|".join(map(re.escape, _FOLDERS))
        whole = rf"(?<![\w-])(?:{folders})/*(?:\.\.?/*)*(?![\w./-])"
        self._found = re.compile(
            "|".join((*(f"(?<![\\w-]){name}(?![\\w-])" for name in files), whole, *_OWN)), re.IGNORECASE
        )

    def __call__(self, line: str) -> str | None:
        """The name that *line* has; None if it has none."""
        found = self._found.search(line.translate(_UNQUOTED))
        return None if found is None else found[0]
