"""Finds the vectors near a vector without scanning all: each is in a cell, and only the nearest cells are searched.

A cell that becomes too large is split in two by its members' distances (2-means). So a search reads the centre of each
cell and the members of a few cells, however many vectors there are. This is an inverted file, as in vector databases,
which grows by one split at a time.
"""

from collections.abc import Iterator, Sequence
from heapq import nlargest
from typing import NamedTuple

from toolcharter import StoreTransaction
from toolcharter_memory.embedding import Vector, decode_vector, dot, encode_vector, normalize
from toolcharter_memory.records import MemoryCell, MemoryChunk
from toolcharter_memory.scopes import MemoryScope

MAX_MEMBERS = 256
"""How many vectors a cell has at most; a larger cell is split."""
PROBES = 8
"""How many cells a search looks through; with fewer cells it looks through all."""
_ROUNDS = 4
_PAGE = 1_000


class Neighbor(NamedTuple):
    """A chunk with its similarity to the searched vector."""

    chunk: MemoryChunk
    score: float
    """The cosine of the angle between the two vectors, or 0 if it is negative."""


class Cells:
    """The cells of one memory for one model of vectors, within a transaction."""

    def __init__(self, rows: StoreTransaction, scope: MemoryScope, model: str) -> None:
        self._rows = rows
        self._scope = scope
        self._model = model
        self._kept = {one.number: one for one in self._pages()}
        self._centres = {number: decode_vector(one.centre) for number, one in self._kept.items()}

    def add(self, chunk: MemoryChunk, vector: Vector) -> None:
        """Store *chunk* with its vector in the nearest cell, and split the cell if it has become too large."""
        number = self._nearest_cell(vector)
        if number is None:
            number = self._create_cell(vector)
        cell = self._kept[number] = self._kept[number].model_copy(update={"count": self._kept[number].count + 1})
        self._rows.put(cell)
        self._rows.put(chunk.model_copy(update={"vector": encode_vector(vector), "cell": self._cell_name(number)}))
        if cell.count > MAX_MEMBERS:
            self._split(number)

    def find_nearest(self, vector: Vector, wanted: int) -> list[Neighbor]:
        """Return the *wanted* chunks that are nearest to *vector*, nearest first."""
        fitting = [number for number, centre in self._centres.items() if len(centre) == len(vector)]
        chosen = nlargest(PROBES, fitting, key=lambda number: dot(self._centres[number], vector))
        scored = (
            Neighbor(chunk, max(0.0, dot(found, vector))) for number in chosen for chunk, found in self._members(number)
        )
        return nlargest(wanted, scored, key=lambda one: one.score)

    def _pages(self) -> Iterator[MemoryCell]:
        after = ""
        while True:
            page = self._rows.page(MemoryCell, where={"scope": self._cell_name("")}, after=after, limit=_PAGE)
            yield from (one.record for one in page.records)
            after = page.after
            if not after:
                return

    def _cell_name(self, number: str) -> str:
        return f"{self._scope.digest}-{self._model}-{number}"

    def _nearest_cell(self, vector: Vector) -> str | None:
        fitting = [number for number, centre in self._centres.items() if len(centre) == len(vector)]
        return max(fitting, key=lambda number: dot(self._centres[number], vector), default=None)

    def _create_cell(self, centre: Vector) -> str:
        number = f"{len(self._kept):06d}"
        self._centres[number] = centre
        self._kept[number] = MemoryCell(
            agent=self._scope.agent,
            owner=self._scope.owner,
            model=self._model,
            number=number,
            scope=self._cell_name(""),
            centre=encode_vector(centre),
            count=0,
        )
        return number

    def _members(self, number: str) -> list[tuple[MemoryChunk, Vector]]:
        page = self._rows.page(MemoryChunk, where={"cell": self._cell_name(number)}, limit=_PAGE)
        return [(one.record, decode_vector(one.record.vector)) for one in page.records]

    def _split(self, number: str) -> None:
        """Split a cell in two, or only correct its count if members have been deleted or overwritten."""
        members = self._members(number)
        if len(members) <= MAX_MEMBERS:
            self._recount(number, len(members))
            return
        near, far = _split_vectors([vector for _, vector in members])
        other = self._create_cell(_centre([members[index][1] for index in far]))
        self._centres[number] = _centre([members[index][1] for index in near])
        for index in far:
            self._rows.put(members[index][0].model_copy(update={"cell": self._cell_name(other)}))
        self._recount(number, len(near))
        self._recount(other, len(far))

    def _recount(self, number: str, count: int) -> None:
        changed = {"count": count, "centre": encode_vector(self._centres[number])}
        self._kept[number] = self._kept[number].model_copy(update=changed)
        self._rows.put(self._kept[number])


def _split_vectors(vectors: Sequence[Vector]) -> tuple[list[int], list[int]]:
    """Return the indexes of *vectors* in two non-empty groups, by which of two centres is nearer."""
    one = vectors[0]
    other = min(vectors, key=lambda vector: dot(vector, one))
    near, far = list(range(0, len(vectors), 2)), list(range(1, len(vectors), 2))
    for _ in range(_ROUNDS):
        sides = [dot(vector, one) >= dot(vector, other) for vector in vectors]
        if all(sides) or not any(sides):
            break  # All vectors are alike: any two halves will do.
        near = [index for index, is_near in enumerate(sides) if is_near]
        far = [index for index, is_near in enumerate(sides) if not is_near]
        one, other = _centre([vectors[index] for index in near]), _centre([vectors[index] for index in far])
    return near, far


def _centre(vectors: Sequence[Vector]) -> Vector:
    summed = [sum(column) for column in zip(*vectors, strict=True)]
    try:
        return normalize(type(vectors[0])("f", summed))
    except ValueError:
        return vectors[0]  # The vectors cancel each other out.
