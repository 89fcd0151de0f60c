"""Finding chunks by their words. The store says which hold them; how well they fit is reckoned here, alike for every store.

Source: 004, internal/store/pg/memory_search.go, for the weights and the user's copy.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from toolcharter import Caller, StoreTransaction
from toolcharter_memory.cells import Cells
from toolcharter_memory.chunks import words_of
from toolcharter_memory.embedding import Vector
from toolcharter_memory.places import WORLD, Place, places_of
from toolcharter_memory.records import MemoryChunk, MemoryDocument
from toolcharter_memory.showing import Excerpt

Key = tuple[str, str, str, str]
"""Of a chunk."""
MAX_QUERY_WORDS = 16
"""How many different words of a query count."""
TEXT_WEIGHT = 0.3
VECTOR_WEIGHT = 0.7
"""What words and vectors count together; where only one of the two has found anything, it counts alone."""
PERSONAL = 1.2
"""How much more the user's own counts."""
_SATURATION = 1.2
_LENGTH = 0.5
_USUAL_WORDS = 120
"""Of BM25: how soon a word's repetition counts no more, how much a chunk's length does, and a usual length in words."""


def memories_of(caller: Caller) -> tuple[Place, ...]:
    """Every memory that *caller* may look into, the user's own first."""
    return (*places_of(caller, ""), *places_of(caller, WORLD))


def by_words(rows: StoreTransaction, caller: Caller, query: str, wanted: int) -> dict[Key, Excerpt]:
    """Chunks that hold words of *query*, by their key; each with a score from 0 to 1.

    Args:
        rows: Where.
        caller: Who asks.
        query: Plain words; nothing in it is an operator.
        wanted: Where fewer chunks than this hold all words, those with some are looked for, too.
    """
    words = list(dict.fromkeys(words_of(query)))[:MAX_QUERY_WORDS]
    found: dict[Key, MemoryChunk] = {}
    for place in memories_of(caller) if words else ():
        hits = _search(rows, place, words, 2 * wanted)
        if len(hits) < wanted and len(words) > 1:
            hits = [*hits, *(one for word in words for one in _search(rows, place, [word], 2 * wanted))]
        found |= {_key(one): one for one in hits}
    return {key: excerpt_of(one, text_score(one.text, words)) for key, one in found.items()}


def by_vector(rows: StoreTransaction, caller: Caller, model: str, vector: Vector, wanted: int) -> dict[Key, Excerpt]:
    """Chunks whose vectors are near *vector*, by their key; each with a score from 0 to 1."""
    near = (one for place in memories_of(caller) for one in Cells(rows, place, model).near(vector, 2 * wanted))
    return {_key(one.chunk): excerpt_of(one.chunk, one.score) for one in near}


def together(by_text: Mapping[Key, Excerpt], by_meaning: Mapping[Key, Excerpt]) -> list[Excerpt]:
    """What both have found, with one score for each."""
    if not by_text or not by_meaning:
        return [*by_text.values(), *by_meaning.values()]
    scores: dict[Key, float] = {}
    for found, weight in ((by_text, TEXT_WEIGHT), (by_meaning, VECTOR_WEIGHT)):
        for key, one in found.items():
            scores[key] = scores.get(key, 0.0) + weight * (one.score or 0.0)
    return [(by_text.get(key) or by_meaning[key])._replace(score=score) for key, score in scores.items()]


def _key(chunk: MemoryChunk) -> Key:
    return chunk.agent, chunk.owner, chunk.path, chunk.number


def _search(rows: StoreTransaction, place: Place, words: Sequence[str], limit: int) -> list[MemoryChunk]:
    asked = " ".join(f"{place.mark}{word}" for word in words)
    return [one.record for one in rows.search(MemoryChunk, asked, where={"place": place.digest}, limit=limit)]


def text_score(text: str, words: Sequence[str]) -> float:
    """How well *text* fits *words*: the mean over them of how much each is there, from 0 to 1.

    Source: BM25 without the words' rarity, which a store does not tell.
    """
    counted = Counter(words_of(text))
    length = _SATURATION * (1 - _LENGTH + _LENGTH * counted.total() / _USUAL_WORDS)
    return sum(counted[word] / (counted[word] + length) for word in words) / len(words)


def excerpt_of(chunk: MemoryChunk, score: float) -> Excerpt:
    """A chunk as it is shown."""
    place = Place(chunk.agent, chunk.owner)
    return Excerpt(place, chunk.path, chunk.start_line, chunk.end_line, chunk.text, chunk.span, score)


def best(rows: StoreTransaction, caller: Caller, found: Iterable[Excerpt], limit: int, least: float) -> list[Excerpt]:
    """The best of *found*: what is global counts only where the user has no copy of the document."""
    scored = [
        one._replace(score=(one.score or 0.0) * (PERSONAL if one.place.is_personal else 1.0))
        for one in found
        if one.place.is_personal or not _has_copy(rows, caller, one.path)
    ]
    scored = [one for one in scored if (one.score or 0.0) >= least]
    scored.sort(key=lambda one: (-(one.score or 0.0), one.path, one.start_line))
    return scored[:limit]


def _has_copy(rows: StoreTransaction, caller: Caller, path: str) -> bool:
    own = places_of(caller, path)[0]
    return own.is_personal and rows.get(MemoryDocument, *own, path) is not None
