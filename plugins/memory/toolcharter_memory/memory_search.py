"""`memory_search`: find what was remembered, by its words."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypedDict

from pydantic import Field

from toolcharter import Reason, StoreTransaction, ToolError, ToolPolicy, ToolRuntime, ToolSpec
from toolcharter_memory import search
from toolcharter_memory.records import MemoryChunk
from toolcharter_memory.showing import Excerpt, ExcerptData, excerpt_data, shown

MAX_QUERY_CHARS = 1_000


class MemorySearchPolicy(ToolPolicy):
    """How far one profile lets `memory_search` go."""

    max_results: Annotated[int, Field(ge=1, le=50)] = 20
    """The most hits that a call may ask for."""
    min_score: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Hits below are never shown; a call may ask for more."""


class MemorySearchData(TypedDict):
    """The structured result."""

    hits: list[ExcerptData]


def build(workspace: Path, policy: MemorySearchPolicy, rt: ToolRuntime) -> Callable[..., str]:  # noqa: ARG001 - `rt.store`
    """Bind `memory_search` to one profile's policy."""

    def memory_search(
        query: str,
        maxResults: Annotated[int, Field(ge=1, le=50)] = 6,  # noqa: N803 - GoClaw's name of it
        minScore: Annotated[float, Field(ge=0, le=1)] = 0.0,  # noqa: N803 - as above
    ) -> str:
        """Search what was remembered: MEMORY.md and the notes in memory/. Use it before you answer from memory.

        Args:
            query: A few words, or a question.
            maxResults: How many hits at most.
            minScore: Leave out hits that fit less well, from 0 to 1.
        """
        ctx = rt.start("memory_search", query=query)
        if not query.strip() or len(query) > MAX_QUERY_CHARS:
            message = f"A query has words, and up to {MAX_QUERY_CHARS} characters."
            raise ToolError(message, reason=Reason.INVALID_ARGUMENTS)
        ctx.policy_passed()
        wanted, least = min(maxResults, policy.max_results), max(minScore, policy.min_score)

        def work(rows: StoreTransaction) -> list[Excerpt]:
            found = search.by_words(rows, rt.caller, query, wanted)
            return search.best(rows, rt.caller, found.values(), wanted, least)

        hits = rt.store.transact(work)
        data = MemorySearchData(hits=[excerpt_data(one) for one in hits])
        return ctx.ok(shown(hits) or "Nothing that was remembered fits.", data=data)

    return memory_search


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
