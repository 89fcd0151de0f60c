"""What git is given: numbers, settings, formats, ranges, references."""

import re
from typing import Final

_MAX_DIGITS: Final = 4
_HARMLESS_SETTING: Final = re.compile(
    r"\^?(?:user|core|remote|branch|alias|init|pull|push|merge|mergetool|diff|difftool|color|commit|fetch|rebase|log|status|submodule"
    r"|lfs|gc|rerere|tag|i18n|format|gpg|advice|column|grep|help|pager|interactive|add|clone|checkout|stash|feature"
    r"|extensions|worktree|blame|transfer|receive|safe|apply|index|pack|protocol|versionsort|maintenance|author|committer)"
    r"(?:$|\\?\.[^|]*)",
    re.IGNORECASE,
)
_CHANGE_REFLOG: Final = frozenset({"expire", "delete", "drop", "write", "migrate"})


def git_count(text: str) -> str | None:
    """Values of `git tag -n`: a number of lines.

    None for a small number.

    Source: git 2.39, `builtin/tag.c`: minus one, which is also what large numbers wrap to, makes a tag instead of listing.
    """
    is_small = text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS
    return None if is_small else "is no small number of lines"


def git_key(text: str) -> str | None:
    """Settings that `git config --get` prints: those of sections that hold no passwords, headers or cookies.

    None if it is about none that is secret.

    Source: git 2.39, git-config(1).
    """
    return None if _HARMLESS_SETTING.fullmatch(text) else "may hold what is secret"


def git_pretty(text: str) -> str | None:
    """Formats of git's `--format` and `--pretty`: harmless unless they look at a signature, which starts gpg.

    None if it only shows what the repository holds.

    Source: git-log(1) of git 2.39, "PRETTY FORMATS", `%G?` and its like; git-for-each-ref(1) of git 2.43, `signature`.
    """
    is_asking = "%G" in text or "%(signature" in text or "%(*signature" in text
    return "looks at a signature, which starts gpg" if is_asking else None


def git_range(text: str) -> str | None:
    """Values of `git log -L`: lines or a function, a colon, and a file of the commit.

    None for a file that lies in the work tree by its letters.

    Source: git 2.39, git-log(1), "-L".
    """
    path = text.rpartition(":")[2]
    return "leads elsewhere" if path.startswith("/") or ".." in path.split("/") else None


def git_reflog(text: str) -> str | None:
    """Operands of `git reflog`: a reference to show, or the name of a subcommand that changes the log.

    None for what is looked at.

    Source: git-reflog(1) of git 2.39 and 2.51.
    """
    if text in _CHANGE_REFLOG:
        return "changes the log"
    if text.startswith(("/", "../")) or "/../" in text:
        return "may lie outside the workspace"
    return None


def git_since(text: str) -> str | None:
    """Commits that jest and vitest hand to git as a word: one that begins with a dash would be an option of git.

    None for what can be no option.

    Source: Jest 30.5, `--changedSince`; Vitest 4.1, `--changed`.
    """
    return "would be an option of git" if text.startswith("-") else None
