"""Replace text exactly, and show the change as a unified diff. Pure, and linear in the size of the file."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

CONTEXT = 3
"""How many unchanged lines are shown around a change, as in diff(1)."""
_NO_NEWLINE = "\\ No newline at end of file\n"


class Change(NamedTuple):
    """A range of lines, counted from 0, and the lines that replace it."""

    start: int
    end: int
    """The line after the last one of the range."""
    lines: list[str]


def find_occurrences(text: str, old: str, most: int | None = None) -> list[int]:
    """Return the offsets of *old* in *text*, in order and without overlaps; at most *most* of them."""
    found, at = list[int](), text.find(old)
    while at >= 0 and len(found) != most:
        found.append(at)
        at = text.find(old, at + len(old))
    return found


def line_numbers(text: str, offsets: Sequence[int]) -> list[int]:
    """Return the line, counted from 1, of each of *offsets*. The offsets must ascend."""
    numbers, line, at = list[int](), 1, 0
    for offset in offsets:
        line += text.count("\n", at, offset)
        at = offset
        numbers.append(line)
    return numbers


def format_unified_diff(path: str, old: str, new: str, changes: Sequence[Change]) -> str:
    """Return the change of a file as a unified diff; empty if nothing changed.

    Source: POSIX, diff, "Diff -u Output Format".
    """
    before = split_lines(old)
    hunks = "".join(_hunk(before, group, shift) for group, shift in _hunk_groups(changes))
    if not hunks:
        return ""
    first = f"a/{path}" if old else "/dev/null"
    second = f"b/{path}" if new else "/dev/null"
    return f"--- {first}\n+++ {second}\n{hunks}"


def whole_change(old: str, new: str) -> list[Change]:
    """Return the difference of two texts as one change, without their common first and last lines; empty if equal."""
    change = trim_change(split_lines(old), Change(0, len(split_lines(old)), split_lines(new)))
    return [change] if change else []


def edit_changes(text: str, old: str, new: str, offsets: Sequence[int]) -> list[Change]:
    """Return the changes for replacing *old* by *new* in *text*, in order.

    Args:
        text: The text before the change.
        old: The text to replace.
        new: The text that replaces it.
        offsets: The offsets of *old*, as `find_occurrences` finds them.
    """
    before = split_lines(text)
    starts = [0, *accumulate(map(len, before))]
    changes = list[Change]()
    for first, last in _merge_blocks(starts, [(offset, offset + len(old)) for offset in offsets]):
        lines = split_lines(text[starts[first] : starts[last + 1]].replace(old, new))
        change = trim_change(before, Change(first, last + 1, lines))
        changes += [change] if change else []
    return changes


def _merge_blocks(starts: Sequence[int], spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The first and last line that each of *spans* touches; spans that share a line are merged."""
    blocks = list[tuple[int, int]]()
    for start, end in spans:
        # The line after a span belongs to it: the replacement may join the two lines.
        first, last = (min(bisect_right(starts, at), len(starts) - 1) - 1 for at in (start, end))
        if blocks and first <= blocks[-1][1]:
            blocks[-1] = (blocks[-1][0], last)
        else:
            blocks.append((first, last))
    return blocks


def split_lines(text: str) -> list[str]:
    """Split *text* into lines and keep their line feeds. No other character ends a line."""
    lines = [f"{line}\n" for line in text.split("\n")]
    return [*lines[:-1], lines[-1][:-1]] if lines[-1] != "\n" else lines[:-1]


def trim_change(before: Sequence[str], change: Change) -> Change | None:
    """Return *change* without the unchanged lines at its start and end; None if no line changes."""
    start, end, lines = change
    head = 0
    while start + head < end and head < len(lines) and before[start + head] == lines[head]:
        head += 1
    tail = 0
    while end - tail > start + head and len(lines) - tail > head and before[end - 1 - tail] == lines[-1 - tail]:
        tail += 1
    kept = Change(start + head, end - tail, lines[head : len(lines) - tail])
    return kept if kept.start < kept.end or kept.lines else None


def _hunk_groups(changes: Sequence[Change]) -> Iterator[tuple[list[Change], int]]:
    """Yield the changes of each hunk, and by how many lines earlier hunks have shifted it."""
    group, shift, moved = list[Change](), 0, 0
    for change in changes:
        if group and change.start - group[-1].end > 2 * CONTEXT:
            yield group, shift
            group, shift = [], moved
        group.append(change)
        moved += len(change.lines) - (change.end - change.start)
    if group:
        yield group, shift


def _hunk(before: Sequence[str], group: Sequence[Change], shift: int) -> str:
    start, end = max(0, group[0].start - CONTEXT), min(len(before), group[-1].end + CONTEXT)
    body, at, added = list[str](), start, 0
    for change in group:
        body += [f" {line}" for line in before[at : change.start]]
        body += [f"-{line}" for line in before[change.start : change.end]]
        body += [f"+{line}" for line in change.lines]
        added += len(change.lines) - (change.end - change.start)
        at = change.end
    body += [f" {line}" for line in before[at:end]]
    marked = "".join(line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}" for line in body)
    return f"@@ -{_format_range(start, end - start)} +{_format_range(start + shift, end - start + added)} @@\n{marked}"


def _format_range(start: int, count: int) -> str:
    # An empty range has the number of the line before it.
    return f"{start + (count > 0)}" if count == 1 else f"{start + (count > 0)},{count}"
