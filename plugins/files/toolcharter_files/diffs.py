"""What a change looks like, for the user: a unified diff, made in a child process if the texts are long.

The file has been written by then. A diff that takes too long is left out, and the call is as it was.
"""

from collections.abc import Callable

from toolcharter import ToolError, ToolRuntime
from toolcharter_files.common import cut_at_border
from toolcharter_files.edits import edit_changes, places, unified, whole_change

MAX_DIFF_CHARS = 20_000
SMALL_CHARS = 50_000
"""Texts of so many characters together take a few hundredths of a second, less than a child's answer would."""
LARGE_CHARS = 2_000_000
"""Longer texts are not compared."""
_CPU_S = 1.0


def diff_of(rt: ToolRuntime, make: Callable[..., str], *texts: str) -> str | None:
    """What *make*, a function of this module, says of *texts*; None if that is nothing or would take too long."""
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
    """The diff of replacing *old* by *new* wherever it stands in *text*."""
    # Each place takes a character or more of the lines that are shown as removed: of further ones nothing would be left.
    changes = edit_changes(text, old, new, places(text, old, MAX_DIFF_CHARS))
    return cut_diff(unified(path, text, text.replace(old, new), changes))


def diff_of_write(path: str, old: str, new: str) -> str:
    """The diff of writing *new* where *old* stood."""
    return cut_diff(unified(path, old, new, whole_change(old, new)))


def cut_diff(diff: str) -> str:
    """*diff*, cut if it is very long."""
    if len(diff) <= MAX_DIFF_CHARS:
        return diff
    return cut_at_border(diff, MAX_DIFF_CHARS) + "\n[truncated: the rest of the diff]"
