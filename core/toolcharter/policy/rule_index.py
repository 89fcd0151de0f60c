"""Matches many globs at once against a subject, in time that hardly grows with their number.

Each distinct glob is indexed by one property that all subjects it matches share: its whole text, a beginning, an end,
or a gram (some consecutive characters) anywhere. A subject is looked up by these four properties, and only the globs
found by them are matched in full.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TypeAlias

from toolcharter.profile.globs import Glob

Gram: TypeAlias = tuple[str, ...]

_WIDTH = 4
"""The characters of a gram. A shorter gram is used only if the glob has no literal of that length."""
_MAX_UNINDEXED = 8
"""Up to this many globs with a common beginning, or end, are matched one by one: grams scan the whole subject."""


_Entry: TypeAlias = tuple[str, Glob, int]
"""A literal that excludes most subjects fast, because the index does not use it yet; the glob; and the glob's ordinal,
the first one if several globs have the same parts. A plain tuple: building a toolbox makes thousands of them."""
_Bucket: TypeAlias = Sequence[_Entry]
"""In ascending order of ordinals."""


class GlobIndex:
    """An immutable set of globs, numbered in the given order; threads may share it.

    A look-up takes one `bisect` for each end of the subject, and one dictionary access per character and width of gram
    in use. The gram of a glob is its rarest among all globs, so that common parts do not matter. Two cases remain
    linear: globs that begin (or end) like the subject, if more than a few do and they have no rarer gram; and globs
    whose rarest gram is in the subject, even if most globs, or the subject, consist of the same few grams. These globs
    are matched in full, each in time linear in the subject: never slower than matching one glob after the other.

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
        indexed = _IndexBuckets([(globs[ordinal], ordinal) for parts, ordinal in firsts.items() if len(parts) > 1])
        self._heads = _PrefixIndex(indexed.heads)
        self._tails = _PrefixIndex(indexed.tails)
        self._grams = [
            (width, {gram: bucket for gram, bucket in indexed.grams.items() if len(gram) == width})
            for width in sorted(set(map(len, indexed.grams)))
        ]

    def __len__(self) -> int:
        return self._size

    def first(self, subject: str) -> int | None:
        """Return the smallest ordinal whose glob matches *subject*; None if no glob does."""
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
        """Return the ordinals of all globs that match *subject*, ascending."""
        found = {self._always, self._exact.get(subject, self._size)} - {self._size}
        for bucket in self._buckets(subject):
            found.update(ordinal for needed, glob, ordinal in bucket if needed in subject and glob.matches(subject))
        return sorted(chain(found, *(self._repeats.get(ordinal, ()) for ordinal in found)))

    def _buckets(self, subject: str) -> list[_Bucket]:
        found = self._heads.buckets_for(subject)
        if self._tails:
            found += self._tails.buckets_for(subject[::-1])
        for width, grams in self._grams:
            # The intersection makes and looks up a gram per character in C.
            found += map(grams.__getitem__, grams.keys() & _windows(subject, width))
        return found


class _PrefixIndex:
    """Globs by their beginnings, found by one binary search.

    Among all beginnings that sort before the subject, only the last one and its own beginnings can be beginnings of the
    subject: everything that sorts between a beginning of the subject and the subject has the same beginning.
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

    def buckets_for(self, subject: str) -> list[_Bucket]:
        """Return the globs that are indexed by a beginning of *subject*."""
        found: list[_Bucket] = []
        at = bisect_right(self._keys, subject)
        if at:
            for key, bucket in self._chains[at - 1]:
                if not subject.startswith(key):
                    break
                found.append(bucket)
        return found


class _IndexBuckets:
    """The buckets of the index, in the order of the ordinals."""

    __slots__ = ("grams", "heads", "tails")

    def __init__(self, distinct: Sequence[tuple[Glob, int]]) -> None:
        self.heads: defaultdict[str, list[_Entry]] = defaultdict(list)
        self.tails: defaultdict[str, list[_Entry]] = defaultdict(list)
        """By the end of the glob, reversed."""
        self.grams: defaultdict[Gram, list[_Entry]] = defaultdict(list)
        heads = Counter([glob.parts[0] for glob, _ in distinct])
        tails = Counter([glob.parts[-1] for glob, _ in distinct])
        # Every subject begins and ends with the empty text. Count it like a beginning that all globs share.
        heads[""] = tails[""] = len(distinct) + _MAX_UNINDEXED
        common = {
            ordinal: _candidate_grams(glob.parts)
            for glob, ordinal in distinct
            if heads[glob.parts[0]] > _MAX_UNINDEXED and tails[glob.parts[-1]] > _MAX_UNINDEXED
        }
        counts = Counter(chain.from_iterable(common.values()))
        for glob, ordinal in distinct:
            parts = glob.parts
            head, tail = heads[parts[0]], tails[parts[-1]]
            run = min(common[ordinal], key=counts.__getitem__) if ordinal in common else ""
            if run and counts[run] < min(head, tail):
                needed = next(part for part in parts if run in part)
                self.grams[tuple(run)].append((needed, glob, ordinal))
            elif head <= max(tail, _MAX_UNINDEXED):
                self.heads[parts[0]].append((max(parts[1:], key=len), glob, ordinal))
            else:
                self.tails[parts[-1][::-1]].append((max(parts[:-1], key=len), glob, ordinal))


def _candidate_grams(parts: Sequence[str]) -> Sequence[str]:
    width = min(_WIDTH, max(map(len, parts)))
    return [part[at : at + width] for part in parts for at in range(len(part) - width + 1)]


def _windows(text: str, width: int) -> Iterable[Gram]:
    return zip(*(text, text[1:], text[2:], text[3:])[:width], strict=False)
