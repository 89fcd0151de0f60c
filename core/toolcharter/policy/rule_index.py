"""Many globs at once: which of them match a subject, in time that hardly grows with their number.

Each distinct glob is filed under one thing that every subject it matches has: its whole text, how it begins, how it
ends, or a gram, some characters in a row, anywhere. A subject is looked up in these four places, and only
what is filed there is matched in full.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TypeAlias

from toolcharter.profile.globs import Glob

Gram: TypeAlias = tuple[str, ...]

_WIDTH = 4
"""Characters of a gram; of a shorter one only if the glob has no literal that long."""
_FEW = 8
"""So many globs that begin, or end, alike are matched one by one, since grams take a look at the whole subject."""


_Entry: TypeAlias = tuple[str, Glob, int]
"""A literal that says more than what the glob is filed under (most candidates fail it, and sooner), the glob, and its
ordinal: the first, if several globs have the same parts. A plain tuple: thousands are made while a toolbox is built."""
_Bucket: TypeAlias = Sequence[_Entry]
"""Ascending."""


class GlobIndex:
    """An immutable set of globs, numbered as they came; threads may share it.

    A look-up takes one `bisect` for each end of the subject and one dictionary access per character and width of gram
    in use; a gram is the glob's rarest among all globs, so that what they share does not count. What remains linear:
    globs that begin (or end) like the subject where more than a few of them do and have no rarer gram, and globs whose
    rarest gram is in the subject, even if most globs are made of the same few grams or the subject of theirs. They
    are matched in full, each in time linear in the subject: never slower than one glob after the other.

    Memory is proportional to the text of the globs.
    """

    __slots__ = ("_always", "_exact", "_grams", "_heads", "_repeats", "_size", "_tails")

    def __init__(self, globs: Sequence[Glob]) -> None:
        self._size = len(globs)
        self._repeats: dict[int, list[int]] = {}
        firsts: dict[tuple[str, ...], int] = {}
        for ordinal, glob in enumerate(globs):
            first = firsts.setdefault(glob.parts, ordinal)
            if first != ordinal:
                self._repeats.setdefault(first, []).append(ordinal)
        self._always = firsts.pop(("", ""), self._size)
        self._exact = {parts[0]: ordinal for parts, ordinal in firsts.items() if len(parts) == 1}
        filed = _Filed([(globs[ordinal], ordinal) for parts, ordinal in firsts.items() if len(parts) > 1])
        self._heads = _Heads(filed.heads)
        self._tails = _Heads(filed.tails)
        self._grams = [
            (width, {gram: bucket for gram, bucket in filed.grams.items() if len(gram) == width})
            for width in sorted(set(map(len, filed.grams)))
        ]

    def __len__(self) -> int:
        return self._size

    def first(self, subject: str) -> int | None:
        """The smallest ordinal whose glob matches *subject*."""
        best = min(self._always, self._exact.get(subject, self._size))
        for bucket in self._buckets(subject):
            for needed, glob, ordinal in bucket:
                if ordinal >= best:
                    break
                if needed in subject and glob.matches(subject):
                    best = ordinal
                    break
        return best if best < self._size else None

    def all(self, subject: str) -> list[int]:
        """The ordinals of all globs that match *subject*, ascending."""
        found = {self._always, self._exact.get(subject, self._size)} - {self._size}
        for bucket in self._buckets(subject):
            found.update(ordinal for needed, glob, ordinal in bucket if needed in subject and glob.matches(subject))
        return sorted(chain(found, *(self._repeats.get(ordinal, ()) for ordinal in found)))

    def _buckets(self, subject: str) -> list[_Bucket]:
        found = self._heads.of(subject)
        if self._tails:
            found += self._tails.of(subject[::-1])
        for width, grams in self._grams:
            # The intersection makes and looks up a gram per character without a step in Python.
            found += map(grams.__getitem__, grams.keys() & _windows(subject, width))
        return found


class _Heads:
    """What is filed under beginnings, found by one binary search.

    Of all beginnings that sort before the subject, only the last one and those that it begins with itself can be the
    subject's: whatever sorts between a beginning of the subject and the subject begins alike.
    """

    __slots__ = ("_chains", "_keys")

    def __init__(self, buckets: Mapping[str, _Bucket]) -> None:
        self._keys = sorted(buckets)
        self._chains: list[Sequence[tuple[str, _Bucket]]] = []
        nested: list[tuple[str, _Bucket]] = []
        for key in self._keys:
            while nested and not key.startswith(nested[-1][0]):
                nested.pop()
            nested.append((key, buckets[key]))
            self._chains.append(tuple(nested))

    def __len__(self) -> int:
        return len(self._keys)

    def of(self, subject: str) -> list[_Bucket]:
        """What is filed under a beginning of *subject*."""
        found: list[_Bucket] = []
        at = bisect_right(self._keys, subject)
        if at:
            for key, bucket in self._chains[at - 1]:
                if not subject.startswith(key):
                    break
                found.append(bucket)
        return found


class _Filed:
    """What is filed where, in the order of the ordinals."""

    __slots__ = ("grams", "heads", "tails")

    def __init__(self, distinct: Sequence[tuple[Glob, int]]) -> None:
        self.heads: defaultdict[str, list[_Entry]] = defaultdict(list)
        self.tails: defaultdict[str, list[_Entry]] = defaultdict(list)
        """Under the tail from its end to its beginning."""
        self.grams: defaultdict[Gram, list[_Entry]] = defaultdict(list)
        heads = Counter([glob.parts[0] for glob, _ in distinct])
        tails = Counter([glob.parts[-1] for glob, _ in distinct])
        # Every subject begins and ends with nothing: as if all globs, and more than a few, did alike.
        heads[""] = tails[""] = len(distinct) + _FEW
        common = {
            ordinal: _runs(glob.parts)
            for glob, ordinal in distinct
            if heads[glob.parts[0]] > _FEW and tails[glob.parts[-1]] > _FEW
        }
        counts = Counter(chain.from_iterable(common.values()))
        for glob, ordinal in distinct:
            parts = glob.parts
            head, tail = heads[parts[0]], tails[parts[-1]]
            run = min(common[ordinal], key=counts.__getitem__) if ordinal in common else ""
            if run and counts[run] < min(head, tail):
                needed = next(part for part in parts if run in part)
                self.grams[tuple(run)].append((needed, glob, ordinal))
            elif head <= max(tail, _FEW):
                self.heads[parts[0]].append((max(parts[1:], key=len), glob, ordinal))
            else:
                self.tails[parts[-1][::-1]].append((max(parts[:-1], key=len), glob, ordinal))


def _runs(parts: Sequence[str]) -> Sequence[str]:
    width = min(_WIDTH, max(map(len, parts)))
    return [part[at : at + width] for part in parts for at in range(len(part) - width + 1)]


def _windows(text: str, width: int) -> Iterable[Gram]:
    return zip(*(text, text[1:], text[2:], text[3:])[:width], strict=False)
