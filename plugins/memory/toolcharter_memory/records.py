"""The records in the store: documents as they were written, their chunks for searches, and context files."""

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict

from toolcharter import RecordKind, StoreRecord

Trust = Literal["trusted", "untrusted"]


class Span(BaseModel):
    """Who wrote a part of a document."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    start_line: int
    """The first line, counted from 1; the part ends before the first line of the next part."""
    author: str
    session: str
    trust: Trust
    written_at: str
    """The time in UTC, in ISO 8601."""


class ChunkMark(BaseModel):
    """A chunk's digest and state, kept in its document."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    digest: str
    """A hash of the chunk without its vector."""
    has_vector: bool


class MemoryDocument(StoreRecord):
    """One file of a memory, such as `memory/daily/2026-11-25.md`."""

    agent: str
    owner: str
    path: str
    content: str
    spans: tuple[Span, ...]
    chunks: tuple[ChunkMark, ...]
    place: str
    """The memory that it belongs to: the digest of `agent` and `owner`."""

    store_kind: ClassVar[RecordKind] = RecordKind("memory_documents", ("agent", "owner", "path"), indexed=("place",))


class MemoryChunk(StoreRecord):
    """A part of a document that searches find."""

    agent: str
    owner: str
    path: str
    number: str
    """The chunk's number, counted from 0, in five digits."""
    start_line: int
    end_line: int
    text: str
    span: Span
    place: str
    words: str
    """The text's words, each after the memory's mark, so that a search finds no words of another memory."""
    vector: str = ""
    """A vector of length 1 as 32-bit floats in base64; empty without an embedding."""
    cell: str = ""
    """The cell that the vector is in; empty without a vector."""

    store_kind: ClassVar[RecordKind] = RecordKind(
        "memory_chunks", ("agent", "owner", "path", "number"), indexed=("place", "cell"), full_text=("words",)
    )


class MemoryCell(StoreRecord):
    """A group of vectors of one memory and one model that are near each other."""

    agent: str
    owner: str
    model: str
    number: str
    scope: str
    """The memory and the model, for finding all their cells."""
    centre: str
    count: int
    """The number of its members, which may include members that no longer exist."""

    store_kind: ClassVar[RecordKind] = RecordKind(
        "memory_cells", ("agent", "owner", "model", "number"), indexed=("scope",)
    )


class AgentContextFile(StoreRecord):
    """A file such as `SOUL.md` for all users of an agent."""

    agent: str
    file: str
    content: str
    span: Span

    store_kind: ClassVar[RecordKind] = RecordKind("agent_context_files", ("agent", "file"))


class UserContextFile(StoreRecord):
    """A file such as `SOUL.md` for one user of an agent."""

    agent: str
    user: str
    file: str
    content: str
    span: Span

    store_kind: ClassVar[RecordKind] = RecordKind("user_context_files", ("agent", "user", "file"))
