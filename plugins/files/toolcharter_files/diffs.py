"""The unified diff that shows a change to the user, made in a child process if the texts are long.

The diff is made after the file is written. If it takes too long, it is left out, and the call still succeeds.
"""

from collections.abc import Callable

from toolcharter import ToolError, ToolRuntime
from toolcharter_files.common import cut_between_tokens
from toolcharter_files.edits import edit_changes, find_occurrences, format_unified_diff, whole_change

MAX_DIFF_CHARS = 20_000
SMALL_CHARS = 50_000
"""Up to this many characters in all texts together, a diff takes a few hundredths of a second. A child process would
take longer to answer."""
LARGE_CHARS = 2_000_000
"""Texts with more characters together are not compared."""
_CPU_S = 1.0


def compute_diff(rt: ToolRuntime, make: Callable[..., str], *texts: str) -> str | None:
    """Return what *make*, a function of this module, returns for *texts*; None if it is empty or takes too long."""
    size = sum(map(len, texts))
    if size <= SMALL_CHARS:
        return make(*texts) or None
    if size > LARGE_CHARS:
        return None
    try:
        found: str = rt.compute(f"{__name__}:{make.__name__}", *texts, cpu_s=_CPU_S)
    except ToolError:
        return None
    return found or None


def diff_of_edit(path: str, text: str, old: str, new: str) -> str:
    """Return the diff for replacing *old* by *new* everywhere in *text*."""
    # Each place adds at least one character to the removed lines: the limit would cut off all further places.
    changes = edit_changes(text, old, new, find_occurrences(text, old, MAX_DIFF_CHARS))
    return cut_diff(format_unified_diff(path, text, text.replace(old, new), changes))


def diff_of_write(path: str, old: str, new: str) -> str:
    """Return the diff for replacing the whole text *old* by *new*."""
    return cut_diff(format_unified_diff(path, old, new, whole_change(old, new)))


def cut_diff(diff: str) -> str:
    """Return at most `MAX_DIFF_CHARS` characters of *diff*, and say if it was cut."""
    if len(diff) <= MAX_DIFF_CHARS:
        return diff
    return cut_between_tokens(diff, MAX_DIFF_CHARS) + "\n[truncated: the rest of the diff]"
