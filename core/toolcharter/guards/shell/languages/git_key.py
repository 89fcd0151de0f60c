"""Settings that `git config --get` prints: those of sections that hold no passwords, headers or cookies.

Source: git 2.39, git-config(1).
"""

import re
from typing import Final

_PLAIN: Final = re.compile(
    r"\^?(?:user|core|remote|branch|alias|init|pull|push|merge|mergetool|diff|difftool|color|commit|fetch|rebase|log|status|submodule"
    r"|lfs|gc|rerere|tag|i18n|format|gpg|advice|column|grep|help|pager|interactive|add|clone|checkout|stash|feature"
    r"|extensions|worktree|blame|transfer|receive|safe|apply|index|pack|protocol|versionsort|maintenance|author|committer)"
    r"(?:$|\\?\.[^|]*)",
    re.IGNORECASE,
)


def objection(text: str) -> str | None:
    """Why the setting, or the pattern of settings, *text* has to be named; None if it is about none that is secret."""
    return None if _PLAIN.fullmatch(text) else "may hold what is secret"
