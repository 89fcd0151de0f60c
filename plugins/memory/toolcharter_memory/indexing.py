"""Updates a document's chunks in the store. Unchanged chunks stay, and with them their vectors."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from toolcharter import StoreTransaction, ToolRuntime
from toolcharter_memory.cells import Cells
from toolcharter_memory.chunks import Chunk, words_of
from toolcharter_memory.embedding import Embeddings, Vector, embed
from toolcharter_memory.records import ChunkMark, MemoryChunk, MemoryDocument
from toolcharter_memory.scopes import MemoryScope

CHUNKS_AT_ONCE = 64
"""How many vectors one transaction adds at most."""


class _StoredVector(NamedTuple):
    """The vector of a text, and the cell that it is in."""

    vector: str
    cell: str


_NO_VECTOR = _StoredVector("", "")


def write_chunks(
    rows: StoreTransaction, scope: MemoryScope, path: str, before: Sequence[ChunkMark], chunks: Sequence[Chunk]
) -> tuple[ChunkMark, ...]:
    """Write the chunks of a document that have changed, and return the marks of all its chunks."""
    changed = [
        number for number, chunk in enumerate(chunks) if number >= len(before) or before[number].digest != chunk.digest
    ]
    gone = range(len(chunks), len(before))
    vectors = _vectors_by_text(
        rows, scope, path, [number for number in (*changed, *gone) if number < len(before)], before
    )
    marks = list(before[: len(chunks)])
    for number in changed:
        chunk = chunks[number]
        kept = vectors.get(chunk.text, _NO_VECTOR)
        rows.put(
            MemoryChunk(
                agent=scope.agent,
                owner=scope.owner,
                path=path,
                number=chunk_key(number),
                start_line=chunk.start_line,
                end_line=chunk.end_line,
                text=chunk.text,
                span=chunk.span,
                place=scope.digest,
                words=" ".join(f"{scope.mark}{word}" for word in words_of(chunk.text)),
                vector=kept.vector,
                cell=kept.cell,
            )
        )
        marks[number : number + 1] = [ChunkMark(digest=chunk.digest, has_vector=bool(kept.vector))]
    for number in gone:
        rows.delete(MemoryChunk, *scope, path, chunk_key(number))
    return tuple(marks)


def _vectors_by_text(
    rows: StoreTransaction, scope: MemoryScope, path: str, numbers: Sequence[int], marks: Sequence[ChunkMark]
) -> Mapping[str, _StoredVector]:
    """Return the vectors of chunks that will be overwritten, by text: a text that has moved keeps its vector."""
    found: dict[str, _StoredVector] = {}
    for number in numbers:
        if marks[number].has_vector:
            stored = rows.get(MemoryChunk, *scope, path, chunk_key(number))
            if stored is not None:
                found[stored.record.text] = _StoredVector(stored.record.vector, stored.record.cell)
    return found


def add_vectors(rt: ToolRuntime, settings: Embeddings, document: MemoryDocument) -> None:
    """Request the vectors that a document's chunks lack, and store them.

    Raises:
        ToolError: The endpoint gave no vectors, or the transaction kept conflicting with other writers.
        Denied: The endpoint may not be reached, or the store is unavailable.
    """
    scope, path = MemoryScope(document.agent, document.owner), document.path
    missing = [number for number, mark in enumerate(document.chunks) if not mark.has_vector]
    for start in range(0, len(missing), CHUNKS_AT_ONCE):
        numbers = missing[start : start + CHUNKS_AT_ONCE]
        texts = rt.store.transact(partial(_distinct_texts, scope=scope, path=path, numbers=numbers))
        vectors = dict(zip(texts, embed(rt, settings, texts), strict=True))
        rt.store.transact(
            partial(_store_vectors, scope=scope, path=path, model=settings.digest, numbers=numbers, vectors=vectors)
        )


def _distinct_texts(rows: StoreTransaction, scope: MemoryScope, path: str, numbers: Sequence[int]) -> list[str]:
    """Return the distinct texts of the chunks that still exist."""
    found = (rows.get(MemoryChunk, *scope, path, chunk_key(number)) for number in numbers)
    return list(dict.fromkeys(one.record.text for one in found if one is not None))


def _store_vectors(
    rows: StoreTransaction,
    scope: MemoryScope,
    path: str,
    model: str,
    numbers: Sequence[int],
    vectors: Mapping[str, Vector],
) -> None:
    """Add vectors to the chunks whose text is still the one that the vector was made from."""
    stored = rows.get(MemoryDocument, *scope, path)
    if stored is None:
        return
    cells, marks = Cells(rows, scope, model), list(stored.record.chunks)
    for number in numbers:
        chunk = rows.get(MemoryChunk, *scope, path, chunk_key(number))
        vector = None if chunk is None else vectors.get(chunk.record.text)
        if chunk is not None and vector is not None and number < len(marks):
            cells.add(chunk.record, vector)
            marks[number] = marks[number].model_copy(update={"has_vector": True})
    rows.put(stored.record.model_copy(update={"chunks": tuple(marks)}))


def chunk_key(number: int) -> str:
    """Format *number* for the key of a chunk."""
    return f"{number:05d}"
