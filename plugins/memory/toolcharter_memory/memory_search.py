"""`memory_search`: searches the memory by words and, if an endpoint makes vectors, by meaning."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypedDict

from pydantic import Field

from toolcharter import Denied, Reason, StoreTransaction, ToolError, ToolRuntime, ToolSpec
from toolcharter_memory import search
from toolcharter_memory.embedding import EmbeddingPolicy, Vector, embed
from toolcharter_memory.excerpts import Excerpt, ExcerptData, excerpt_data, excerpts_text
from toolcharter_memory.records import MemoryChunk

MAX_QUERY_CHARS = 1_000


class MemorySearchPolicy(EmbeddingPolicy):
    """How far one profile lets `memory_search` go."""

    max_results: Annotated[int, Field(ge=1, le=50)] = 20
    """The most hits that a call may ask for."""
    min_score: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Hits with a lower score are never shown; a call may require a higher score."""


class MemorySearchData(TypedDict):
    """The structured result."""

    hits: list[ExcerptData]
    note: str | None
    """Why only words were searched although the profile names an endpoint for vectors."""


def build(workspace: Path, policy: MemorySearchPolicy, rt: ToolRuntime) -> Callable[..., str]:  # noqa: ARG001 - `rt.store`
    """Bind `memory_search` to one profile's policy."""

    def memory_search(
        query: str,
        maxResults: Annotated[int, Field(ge=1, le=50)] = 6,  # noqa: N803 - GoClaw's name for it
        minScore: Annotated[float, Field(ge=0, le=1)] = 0.0,  # noqa: N803 - as above
    ) -> str:
        """Search what was remembered: MEMORY.md and the notes in memory/. Use it before you answer from memory.

        Args:
            query: A few words, or a question.
            maxResults: How many hits at most.
            minScore: Leave out hits with a lower score, from 0 to 1.
        """
        ctx = rt.start("memory_search", query=query)
        if not query.strip() or len(query) > MAX_QUERY_CHARS:
            message = f"A query has words, and up to {MAX_QUERY_CHARS} characters."
            raise ToolError(message, reason=Reason.INVALID_ARGUMENTS)
        ctx.policy_passed()
        wanted, least = min(maxResults, policy.max_results), max(minScore, policy.min_score)

        vector, note = _vector_of(rt, policy, query)
        model = "" if policy.embeddings is None else policy.embeddings.digest

        def work(rows: StoreTransaction) -> list[Excerpt]:
            by_text = search.search_words(rows, rt.caller, query, wanted)
            by_meaning = {} if vector is None else search.search_vector(rows, rt.caller, model, vector, wanted)
            return search.best_hits(rows, rt.caller, search.merge_hits(by_text, by_meaning), wanted, least)

        hits = rt.store.transact(work)
        data = MemorySearchData(hits=[excerpt_data(one) for one in hits], note=note)
        text = excerpts_text(hits) or "Nothing in the memory matches."
        return ctx.ok(text if note is None else f"{text}\n[{note}]", data=data)

    return memory_search


def _vector_of(rt: ToolRuntime, policy: MemorySearchPolicy, query: str) -> tuple[Vector | None, str | None]:
    """Return the vector of *query*, or why there is none."""
    if policy.embeddings is None:
        return None, None
    try:
        (vector,) = embed(rt, policy.embeddings, [query])
    except (Denied, ToolError) as error:
        return None, f"searched by words alone: {error}"
    return vector, None


SPEC = ToolSpec(
    "memory_search",
    MemorySearchPolicy,
    build,
    reasons=(),
    capabilities={"memory:read"},
    safety="low",
    staged=True,
    group="memory",
    argument_aliases={"max_results": "maxResults", "min_score": "minScore"},
    output=MemorySearchData,
    records=(MemoryChunk,),
)
