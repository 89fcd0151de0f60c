"""Replacing text exactly, and the change as a unified diff. Pure, and linear in the size of the file."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

CONTEXT = 3
"""Lines around a change, as diff(1) shows them."""
_NO_NEWLINE = "\\ No newline at end of file\n"


class Change(NamedTuple):
    """Lines of a text, counted from 0, and what stands there instead."""

    start: int
    end: int
    """Behind the last."""
    lines: list[str]


def places(text: str, old: str, most: int | None = None) -> list[int]:
    """Where *old* stands in *text*, from the beginning, without overlaps; the first *most* of them."""
    found, at = list[int](), text.find(old)
    while at >= 0 and len(found) != most:
        found.append(at)
        at = text.find(old, at + len(old))
    return found


def line_numbers(text: str, offsets: Sequence[int]) -> list[int]:
    """The line, counted from 1, of each of *offsets*, which ascend."""
    numbers, line, at = list[int](), 1, 0
    for offset in offsets:
        line += text.count("\n", at, offset)
        at = offset
        numbers.append(line)
    return numbers


def unified(path: str, old: str, new: str, changes: Sequence[Change]) -> str:
    """The change of a file as a unified diff; empty if nothing changed.

    Source: POSIX, diff, "Diff -u Output Format".
    """
    before = lines_of(old)
    hunks = "".join(_hunk(before, group, shift) for group, shift in _groups(changes))
    if not hunks:
        return ""
    first = f"a/{path}" if old else "/dev/null"
    second = f"b/{path}" if new else "/dev/null"
    return f"--- {first}\n+++ {second}\n{hunks}"


def whole_change(old: str, new: str) -> list[Change]:
    """The one change between two texts: without the lines that they begin and end with alike."""
    change = trimmed(lines_of(old), Change(0, len(lines_of(old)), lines_of(new)))
    return [change] if change else []


def edit_changes(text: str, old: str, new: str, offsets: Sequence[int]) -> list[Change]:
    """The changes, in order, of replacing *old* by *new* at *offsets* of *text*, all that `places` finds."""
    before = lines_of(text)
    starts = [0, *accumulate(map(len, before))]
    changes = list[Change]()
    for first, last in _blocks(starts, [(offset, offset + len(old)) for offset in offsets]):
        lines = lines_of(text[starts[first] : starts[last + 1]].replace(old, new))
        change = trimmed(before, Change(first, last + 1, lines))
        changes += [change] if change else []
    return changes


def _blocks(starts: Sequence[int], spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The lines that *spans* touch, first and last; those that share a line are one."""
    blocks = list[tuple[int, int]]()
    for start, end in spans:
        # The line behind a span belongs to it: it may be joined to what comes before.
        first, last = (min(bisect_right(starts, at), len(starts) - 1) - 1 for at in (start, end))
        if blocks and first <= blocks[-1][1]:
            blocks[-1] = (blocks[-1][0], last)
        else:
            blocks.append((first, last))
    return blocks


def lines_of(text: str) -> list[str]:
    """The lines of *text* with their ends; only a line feed ends one."""
    lines = [f"{line}\n" for line in text.split("\n")]
    return [*lines[:-1], lines[-1][:-1]] if lines[-1] != "\n" else lines[:-1]


def trimmed(before: Sequence[str], change: Change) -> Change | None:
    """*change* without the lines at its borders that stay as they are; None if that is all of it."""
    start, end, lines = change
    head = 0
    while start + head < end and head < len(lines) and before[start + head] == lines[head]:
        head += 1
    tail = 0
    while end - tail > start + head and len(lines) - tail > head and before[end - 1 - tail] == lines[-1 - tail]:
        tail += 1
    kept = Change(start + head, end - tail, lines[head : len(lines) - tail])
    return kept if kept.start < kept.end or kept.lines else None


def _groups(changes: Sequence[Change]) -> Iterator[tuple[list[Change], int]]:
    """The changes of each hunk, and how far lines have moved before it."""
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
    return f"@@ -{_range(start, end - start)} +{_range(start + shift, end - start + added)} @@\n{marked}"


def _range(start: int, count: int) -> str:
    # Of no lines the number is that of the line before.
    return f"{start + (count > 0)}" if count == 1 else f"{start + (count > 0)},{count}"
