"""`memory_search`: what fits is found, the best first, and nothing but what the caller may see."""

from typing import Any

from tests.plugins.memory.conftest import Boxes, Call
from tests.plugins.memory.store_kinds import ON_BOTH_STORES
from tests.rows import each_row

from toolcharter import Caller

NOBODY = Caller(agent="ada")


def found(call: Call, query: str, **args: Any) -> list[tuple[str, str]]:
    """Path and last line of each hit."""
    hits = call("memory_search", query=query, **args).data["hits"]
    return [(one["path"], one["text"].rpartition("\n")[2]) for one in hits]


@ON_BOTH_STORES
def test_words_are_found_without_case_and_accents(call: Call) -> None:
    """And each hit says where it stands, who wrote it and how well it fits."""
    call("memory", action="reflect", content="# Tea\n\nZoë prefers Darjeeling.\n\nLou does not.")

    result = call("memory_search", query="zoe darjeeling")

    (hit,) = result.data["hits"]
    assert 0 < hit.pop("score") <= 1.2
    hit.pop("written_at")
    assert hit == {
        "path": "MEMORY.md",
        "start_line": 1,
        "end_line": 5,
        "text": "# Tea\n\nZoë prefers Darjeeling.\n\nLou does not.",
        "scope": "personal",
        "author": "agent ada, user kim",
        "session": "s1",
        "trust": "untrusted",
    }
    assert (
        "'MEMORY.md', lines 1-5, personal, untrusted: written by 'agent ada, user kim' in session 's1'" in result.text
    )


@ON_BOTH_STORES
def test_those_with_all_words_come_before_those_with_some(call: Call) -> None:
    """A question holds words that no note has; they keep nothing from being found."""
    call("memory", action="update_world", topic="both", content="The vault is blue.")
    call("memory", action="update_world", topic="one", content="The sky is blue today, and so is the sea.")
    call("memory", action="update_world", topic="none", content="Nothing of it.")

    assert [path for path, _ in found(call, "blue vault?")] == ["memory/world/both.md", "memory/world/one.md"]


@ON_BOTH_STORES
def test_operators_are_words(call: Call) -> None:
    """Nothing in a query is an operator of any store's."""
    call("memory", action="reflect", content="plain words and NOT operators")

    for query in (
        'words" OR "x',
        "words AND (",
        "NEAR(words",
        "word*",
        "place : words",
        "words & !plain | <->",
        "'; DROP",
    ):
        assert found(call, f"{query} plain") == [("MEMORY.md", "plain words and NOT operators")]


def test_the_users_own_counts_more_and_hides_the_global(call: Call) -> None:
    """The same text in two documents: the personal one first, by a fifth; of the same path only that."""
    call("memory", NOBODY, action="update_world", topic="b", content="tea at five")
    call("memory", action="update_world", topic="c", content="tea at five")
    call("memory", NOBODY, action="reflect", content="tea for all")
    call("memory", action="reflect", content="no such drink")

    hits = call("memory_search", query="tea").data["hits"]

    assert [(one["path"], one["scope"]) for one in hits] == [
        ("memory/world/c.md", "personal"),
        ("memory/world/b.md", "global"),
    ]
    assert abs(hits[0]["score"] / hits[1]["score"] - 1.2) < 1e-9


def test_what_was_written_over_is_not_found(call: Call) -> None:
    """Chunks go with the text that they are of."""
    long = "\n\n".join(f"old paragraph {number} {'x' * 400}" for number in range(8))
    call("memory", action="reflect", content=long)
    assert len(found(call, "old paragraph", maxResults=20)) == 4

    call("memory", action="reflect", content="new")

    assert found(call, "old paragraph", maxResults=20) == []
    assert found(call, "new") == [("MEMORY.md", "new")]


def test_as_many_hits_as_asked_for_and_permitted(box: Boxes) -> None:
    """Six by default; the policy and the score bound what a call asks for."""
    toolbox = box({"memory": {}, "memory_search": {"max_results": 8}}).for_caller(Caller(agent="ada", user="kim"))
    for number in range(10):
        toolbox.call("memory", {"action": "update_world", "topic": f"t{number}", "content": "tea " * (number + 1)})

    def count(**args: Any) -> int:
        return len(toolbox.call("memory_search", {"query": "tea", **args}).data["hits"])

    assert (count(), count(maxResults=2), count(maxResults=20), count(max_results=3)) == (6, 2, 8, 3)
    assert (count(maxResults=20, minScore=1), count(maxResults=20, minScore=0.9)) == (7, 8)


@each_row("query", ["", "  ", "x" * 1001])
def test_queries_without_words(call: Call, query: str) -> None:
    """An error, not everything."""
    result = call("memory_search", query=query)

    assert (result.outcome, result.reason) == ("error", "invalid_arguments")


def test_a_query_of_signs_finds_nothing(call: Call) -> None:
    """It holds no word."""
    call("memory", action="reflect", content="?")

    assert call("memory_search", query="?!").text == "Nothing in the memory matches."
