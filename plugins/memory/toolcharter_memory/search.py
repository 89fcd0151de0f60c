"""Finds chunks by words and by vectors. The store finds the chunks with the words; this module scores all of them.

Source: 004, internal/store/pg/memory_search.go, for the weights and the user's copy.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from toolcharter import Caller, StoreTransaction
from toolcharter_memory.cells import Cells
from toolcharter_memory.chunks import words_of
from toolcharter_memory.embedding import Vector
from toolcharter_memory.excerpts import Excerpt
from toolcharter_memory.records import MemoryChunk, MemoryDocument
from toolcharter_memory.scopes import WORLD, MemoryScope, scopes_of

Key = tuple[str, str, str, str]
"""The key of a chunk."""
MAX_QUERY_WORDS = 16
"""How many different words of a query are used."""
TEXT_WEIGHT = 0.3
VECTOR_WEIGHT = 0.7
"""The weights of words and vectors. If only one of the two searches finds anything, it counts in full."""
PERSONAL_WEIGHT = 1.2
"""The factor for hits in the user's own memory."""
_SATURATION = 1.2
_LENGTH = 0.5
_USUAL_WORDS = 120
"""Parameters of BM25: the saturation of repeated words, the weight of a chunk's length, the usual length in words."""


def memories_of(caller: Caller) -> tuple[MemoryScope, ...]:
    """Return all memories that *caller* may search."""
    return (*scopes_of(caller, ""), *scopes_of(caller, WORLD))


def search_words(rows: StoreTransaction, caller: Caller, query: str, wanted: int) -> dict[Key, Excerpt]:
    """Return the chunks that contain words of *query*, by key, each with a score from 0 to 1.

    Args:
        rows: The transaction to search in.
        caller: Who searches.
        query: Plain words without operators.
        wanted: If fewer chunks than this contain all words, chunks with some of the words are added.
    """
    words = list(dict.fromkeys(words_of(query)))[:MAX_QUERY_WORDS]
    found: dict[Key, MemoryChunk] = {}
    for scope in memories_of(caller) if words else ():
        hits = _search_scope(rows, scope, words, 2 * wanted)
        if len(hits) < wanted and len(words) > 1:
            hits = [*hits, *(one for word in words for one in _search_scope(rows, scope, [word], 2 * wanted))]
        found |= {_key(one): one for one in hits}
    return {key: excerpt_of(one, text_score(one.text, words)) for key, one in found.items()}


def search_vector(
    rows: StoreTransaction, caller: Caller, model: str, vector: Vector, wanted: int
) -> dict[Key, Excerpt]:
    """Return the chunks whose vectors are near *vector*, by key, each with a score from 0 to 1."""
    near = (one for scope in memories_of(caller) for one in Cells(rows, scope, model).find_nearest(vector, 2 * wanted))
    return {_key(one.chunk): excerpt_of(one.chunk, one.score) for one in near}


def merge_hits(by_text: Mapping[Key, Excerpt], by_meaning: Mapping[Key, Excerpt]) -> list[Excerpt]:
    """Merge the hits of both searches, with one score for each chunk."""
    if not by_text or not by_meaning:
        return [*by_text.values(), *by_meaning.values()]
    scores: dict[Key, float] = {}
    for found, weight in ((by_text, TEXT_WEIGHT), (by_meaning, VECTOR_WEIGHT)):
        for key, one in found.items():
            scores[key] = scores.get(key, 0.0) + weight * (one.score or 0.0)
    return [(by_text.get(key) or by_meaning[key])._replace(score=score) for key, score in scores.items()]


def _key(chunk: MemoryChunk) -> Key:
    return chunk.agent, chunk.owner, chunk.path, chunk.number


def _search_scope(rows: StoreTransaction, scope: MemoryScope, words: Sequence[str], limit: int) -> list[MemoryChunk]:
    asked = " ".join(f"{scope.mark}{word}" for word in words)
    return [one.record for one in rows.search(MemoryChunk, asked, where={"place": scope.digest}, limit=limit)]


def text_score(text: str, words: Sequence[str]) -> float:
    """Score *text* against *words*: the mean of the words' saturated frequencies, from 0 to 1.

    Source: BM25 without the words' rarity, which a store does not report.
    """
    counted = Counter(words_of(text))
    length = _SATURATION * (1 - _LENGTH + _LENGTH * counted.total() / _USUAL_WORDS)
    return sum(counted[word] / (counted[word] + length) for word in words) / len(words)


def excerpt_of(chunk: MemoryChunk, score: float) -> Excerpt:
    """Convert a chunk to an excerpt."""
    scope = MemoryScope(chunk.agent, chunk.owner)
    return Excerpt(scope, chunk.path, chunk.start_line, chunk.end_line, chunk.text, chunk.span, score)


def best_hits(
    rows: StoreTransaction, caller: Caller, found: Iterable[Excerpt], limit: int, least: float
) -> list[Excerpt]:
    """Return the best of *found*. A global hit counts only if the user has no copy of the document."""
    scored = [
        one._replace(score=(one.score or 0.0) * (PERSONAL_WEIGHT if one.scope.is_personal else 1.0))
        for one in found
        if one.scope.is_personal or not _has_copy(rows, caller, one.path)
    ]
    scored = [one for one in scored if (one.score or 0.0) >= least]
    scored.sort(key=lambda one: (-(one.score or 0.0), one.path, one.start_line))
    return scored[:limit]


def _has_copy(rows: StoreTransaction, caller: Caller, path: str) -> bool:
    own = scopes_of(caller, path)[0]
    return own.is_personal and rows.get(MemoryDocument, *own, path) is not None
