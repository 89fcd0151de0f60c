"""Vectors: texts are found by what they mean; who makes them may fail, lie or be away, and the words remain."""

import array
import json
import random
from collections.abc import Callable, Iterator
from secrets import token_hex
from typing import Any

import pytest
from tests.plugins.memory.conftest import ADA_FOR_KIM, Boxes
from tests.plugins.memory.endpoint import Endpoint, endpoint, meaning
from tests.plugins.memory.store_kinds import ON_BOTH_STORES
from tests.rows import each_row

from toolcharter import CORE_RECORDS, SecretRecord, ToolResult, open_store
from toolcharter_memory import cells
from toolcharter_memory.cells import Cells
from toolcharter_memory.embedding import Vector, decode_vector, dot, encode_vector, normalize
from toolcharter_memory.records import MemoryCell, MemoryChunk, Span
from toolcharter_memory.scopes import MemoryScope

Call = Callable[..., ToolResult]


@pytest.fixture
def server() -> Iterator[Endpoint]:
    with endpoint() as listening:
        yield listening


@pytest.fixture
def seat(box: Boxes) -> Callable[..., Call]:
    """Calls with vectors from an endpoint."""

    def sit(settings: dict[str, Any]) -> Call:
        policy = {"embeddings": settings}
        toolbox = box(
            {"memory": policy, "memory_search": policy, "write_file": {}}, extensions={"context_files": policy}
        )
        return lambda tool, **args: toolbox.for_caller(ADA_FOR_KIM).call(tool, args)

    return sit


def paths(result: ToolResult) -> list[str]:
    return [one["path"] for one in result.data["hits"]]


@ON_BOTH_STORES
def test_what_means_the_same_is_found(server: Endpoint, seat: Callable[..., Call]) -> None:
    """Without a word in common; a document that also has the word comes first."""
    call = seat(server.settings)
    call("memory", action="update_world", topic="tea", content="Kim likes tea.")
    call("memory", action="update_world", topic="car", content="The engine is loud.")
    call("write_file", path="memory/notes.md", content="A beverage for Lou.\n")

    by_meaning = call("memory_search", query="what to drink?", minScore=0.5)
    by_both = call("memory_search", query="drink beverage", minScore=0.5)

    assert sorted(paths(by_meaning)) == ["memory/notes.md", "memory/world/tea.md"]
    assert paths(by_both) == ["memory/notes.md", "memory/world/tea.md"]
    assert by_both.data["note"] is None
    expected = 1.2 * (0.3 * _one_of_two(4) + 0.7 * 1.0)
    assert by_both.data["hits"][0]["score"] == pytest.approx(expected, abs=0.02)


def _one_of_two(words: int) -> float:
    """The score of a text of so many words that holds one of two words once."""
    return 0.5 / (1 + 1.2 * (0.5 + 0.5 * words / 120))


def test_what_has_not_changed_is_not_asked_for_again(server: Endpoint, seat: Callable[..., Call]) -> None:
    """Neither chunks that stay, nor those that move."""
    call = seat(server.settings)
    first, second, third = (f"{word} {'x' * 900}" for word in ("tea", "car", "vault"))
    call("write_file", path="memory/a.md", content=f"{first}\n\n{second}\n")
    call("write_file", path="memory/a.md", content=f"{first}\n\n{second}\n\n{third}\n")
    call("write_file", path="memory/a.md", content=f"{third}\n\n{first}\n")

    assert [text.split()[0] for text in server.inputs] == ["tea", "car", "vault"]
    assert paths(call("memory_search", query="a vehicle", minScore=0.5)) == []
    assert paths(call("memory_search", query="some drink", minScore=0.5)) == ["memory/a.md"]


def test_the_key_is_a_secret_of_the_store(
    server: Endpoint, seat: Callable[..., Call], store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stands in no profile, and goes to the endpoint alone."""
    monkeypatch.setenv("TOOLCHARTER_STORE_KEY", token_hex(32))
    key = "-".join(("sk", "test", "x" * 24))
    with open_store(store_url) as handle:
        handle.bound("", CORE_RECORDS).put(SecretRecord(name="EMBEDDINGS", value=key))

    seat({**server.settings, "key": "secret:EMBEDDINGS"})("memory", action="reflect", content="tea")

    assert server.keys == [f"Bearer {key}"]


def _body(*vectors: Any) -> bytes:
    return json.dumps({"data": [{"index": number, "embedding": one} for number, one in enumerate(vectors)]}).encode()


@each_row(
    ("status", "body"),
    [
        (500, None),
        (302, None),
        (200, b"no JSON"),
        (200, b"[]"),
        (200, b"{}"),
        (200, b"[" * 100_000),
        (200, _body()),
        (200, _body([1.0], [1.0])),
        (200, _body("text")),
        (200, _body([])),
        (200, _body([0.0, 0.0])),
        (200, _body(["a"])),
        (200, _body([1e400])),
        (200, b'{"data": [{"index": 0, "embedding": [NaN]}]}'),
        (200, b'{"data": [{"index": 1, "embedding": [1]}]}'),
        (200, _body([1.0] * 5_000)),
    ],
    ids=str,
)
def test_who_fails_or_lies_costs_no_write_and_no_search(
    server: Endpoint, seat: Callable[..., Call], status: int, body: bytes | None
) -> None:
    """What was written is found by its words, and the answer says why by no more."""
    call = seat(server.settings)
    server.status, server.body = status, body

    written = call("memory", action="reflect", content="Kim likes tea.")
    found = call("memory_search", query="tea")

    assert written.outcome == "ok"
    assert paths(found) == ["MEMORY.md"]
    assert found.data["note"].startswith("searched by words alone: ")
    assert found.text.endswith(f"[{found.data['note']}]")


def test_a_vector_that_is_missing_comes_with_the_next_write(server: Endpoint, seat: Callable[..., Call]) -> None:
    """As soon as the endpoint is back."""
    call = seat(server.settings)
    server.status = 500
    call("memory", action="update_world", topic="a", content="Kim likes tea.")
    server.status = 200
    assert paths(call("memory_search", query="a drink", minScore=0.5)) == []

    call("memory", action="update_world", topic="a", content="Kim likes tea.")

    assert paths(call("memory_search", query="a drink", minScore=0.5)) == ["memory/world/a.md"]


def test_vectors_of_another_length_are_not_compared(server: Endpoint, seat: Callable[..., Call]) -> None:
    """A model that is exchanged behind its name finds nothing by meaning, and breaks nothing."""
    call = seat(server.settings)
    call("memory", action="update_world", topic="a", content="Kim likes tea.")
    server.body = _body([1.0, 0.0])

    assert paths(call("memory_search", query="a drink")) == []
    assert paths(call("memory_search", query="tea")) == ["memory/world/a.md"]
    assert call("memory", action="update_world", topic="b", content="Kim likes cars.").outcome == "ok"


@each_row(
    "changed",
    [
        {"key": "plain text"},
        {"key": "secret:"},
        {"url": "ftp://127.0.0.1"},
        {"url": "https://u:p@127.0.0.1/v1"},
        {"url": "https://127.0.0.1/v1?x=1"},
        {"dimensions": 0},
        {"extra": 1},
    ],
    ids=str,
)
def test_settings_that_cannot_be_meant(box: Boxes, changed: dict[str, Any]) -> None:
    """They stop the start."""
    settings = {"url": "https://127.0.0.1/v1", "model": "m", **changed}

    with pytest.raises(Exception, match="embeddings"):
        box({"memory_search": {"embeddings": settings}})


def test_a_private_endpoint_takes_a_policy(server: Endpoint, seat: Callable[..., Call]) -> None:
    """As every address that is not public."""
    call = seat({**server.settings, "allowed_private": []})

    found = call("memory_search", query="tea")

    assert "private_address" in found.data["note"]
    assert server.inputs == []


def test_vectors_are_packed_without_loss() -> None:
    """They are 32-bit floats on both sides."""
    vector = normalize(array.array("f", [3.0, 4.0]))
    assert decode_vector(encode_vector(vector)) == vector
    assert dot(vector, vector) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="zeros"):
        normalize(array.array("f", [0.0]))


@ON_BOTH_STORES
def test_cells_find_what_is_near_among_many(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Split as they grow, and looked through by the few nearest: the nearest is found, and most of the next."""
    monkeypatch.setattr(cells, "MAX_MEMBERS", 10)
    chance, place = random.Random(7), MemoryScope("agent:a", "user:u")
    topics = [_near(array.array("f", [0.0] * 24), chance, 1.0) for _ in range(20)]
    vectors = [_near(chance.choice(topics), chance, 0.2) for _ in range(150)]
    span = Span(start_line=1, author="", session="", trust="untrusted", written_at="")
    with open_store(store_url) as handle:
        store = handle.bound("", "toolcharter-memory")
        for start in range(0, len(vectors), 50):

            def add(rows: Any, start: int = start) -> int:
                kept = Cells(rows, place, "m")
                for number in range(start, start + 50):
                    kept.add(_chunk(place, number, span), vectors[number])
                return int(rows.count(MemoryCell))

            count = store.transact(add)

        def near(vector: Vector) -> list[int]:
            found = store.transact(lambda rows: Cells(rows, place, "m").find_nearest(vector, 5))
            return [int(one.chunk.number) for one in found]

        asked = [_near(chance.choice(topics), chance, 0.2) for _ in range(30)]
        exact = [sorted(range(150), key=lambda number: -dot(vectors[number], one))[:5] for one in asked]
        shared = sum(len({*near(one)} & {*best}) for one, best in zip(asked, exact, strict=True))
        assert store.transact(lambda rows: Cells(rows, place, "other").find_nearest(asked[0], 5)) == []
    assert 150 / 10 < count < 150 / 2
    assert shared > 0.9 * 5 * 30


def _near(vector: Vector, chance: random.Random, far: float) -> Vector:
    return normalize(array.array("f", (one + chance.gauss(0, far / 24**0.5) for one in vector)))


def _chunk(place: MemoryScope, number: int, span: Span) -> MemoryChunk:
    return MemoryChunk(
        agent=place.agent,
        owner=place.owner,
        path="memory/x.md",
        number=f"{number:05d}",
        start_line=1,
        end_line=1,
        text="x",
        span=span,
        place=place.digest,
        words="",
    )


def test_equal_vectors_are_split_in_halves(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is nothing to tell them apart by, and no cell may grow for ever."""
    monkeypatch.setattr(cells, "MAX_MEMBERS", 4)
    place = MemoryScope("agent:a", "user:u")
    span = Span(start_line=1, author="", session="", trust="untrusted", written_at="")
    vector = normalize(array.array("f", meaning("tea")))
    with open_store(store_url) as handle:
        store = handle.bound("", "toolcharter-memory")

        def add(rows: Any) -> list[int]:
            kept = Cells(rows, place, "m")
            for number in range(20):
                kept.add(_chunk(place, number, span), vector)
            return [one.record.count for one in rows.page(MemoryCell).records]

        assert max(store.transact(add)) <= 4
        assert len(store.transact(lambda rows: Cells(rows, place, "m").find_nearest(vector, 50))) > 8
