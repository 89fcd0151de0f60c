"""Files that something else runs later: start-up files of shells, timetables, hooks, keys that let people in."""

import re
from typing import NamedTuple

from toolcharter.guards.shell.floor.context import REMOTE_SHELL, Scene
from toolcharter.guards.shell.floor.interpreters import of_timetable

# Source: bash(1), "INVOCATION"; zsh(1), "STARTUP/SHUTDOWN FILES"; fish(1); ksh(1); githooks(5); environ(7); systemd.unit(5).
_SHELL_FILES = re.compile(
    r"(?:.*/)?\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|zlogout"
    r"|kshrc|mkshrc|cshrc|tcshrc|login|logout|xinitrc|xprofile|xsessionrc|inputrc)"
    r"|/etc/(?:profile|bash\.bashrc|bashrc|zshrc|zprofile|zshenv|environment|rc\.local|profile\.d/.*|init\.d/.*|zsh/.*)"
    r"|(?:.*/)?\.config/(?:fish/.*|autostart/.*|systemd/user/.*)|/etc/systemd/.*|/etc/udev/rules\.d/.*"
    r"|(?:.*/)?\.git/hooks/.*|/etc/ld\.so\.preload"
)
_TIMETABLES = re.compile(r"/etc/(?:ana)?crontab|/etc/cron[^/]*/.*|/var/spool/cron.*")
_KEYS = re.compile(r"(?:.*/)?\.ssh/(?:authorized_keys2?|rc)")


class Made(NamedTuple):
    """What a file holds."""

    why: str | None = None
    """Why running it is catastrophic, whatever it says."""
    text: str | None = None
    """What it says, if that stands in the script."""


def started_later(scene: Scene, made: dict[str, Made]) -> str | None:
    """Why one of the files *made* so far, by their paths, is catastrophic though the script runs none of them."""
    return next((why for path, holds in made.items() if (why := _started(scene, path, holds)) is not None), None)


def _started(scene: Scene, path: str, holds: Made) -> str | None:
    if holds.why is not None and _KEYS.fullmatch(path):
        return REMOTE_SHELL
    is_timetable = _TIMETABLES.fullmatch(path) is not None
    if not (is_timetable or _SHELL_FILES.fullmatch(path)):
        return None
    if holds.text is None:
        return holds.why
    return of_timetable(scene, holds.text) if is_timetable else scene.of_text(holds.text)
