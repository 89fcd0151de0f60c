"""What is kept in the store: documents as they were written, and their chunks, which searches find."""

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict

from toolcharter import RecordKind, StoreRecord

Trust = Literal["trusted", "untrusted"]


class Span(BaseModel):
    """Who wrote a part of a document."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    start_line: int
    """Counted from 1; the part goes to the line before that of the next one."""
    author: str
    session: str
    trust: Trust
    written_at: str
    """In UTC, as ISO 8601 writes it."""


class ChunkMark(BaseModel):
    """What is known of a chunk without reading it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    digest: str
    """Of all that the chunk holds but its vector."""
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
    """Counted from 0, in five digits."""
    start_line: int
    end_line: int
    text: str
    span: Span
    place: str
    words: str
    """Those of the text, each with the memory's mark before it: a search for one meets no other memory's."""
    vector: str = ""
    """Of 32-bit floats, in base64, of length 1; empty without an embedding."""
    cell: str = ""
    """Where vectors near it lie; empty without one."""

    store_kind: ClassVar[RecordKind] = RecordKind(
        "memory_chunks", ("agent", "owner", "path", "number"), indexed=("place", "cell"), full_text=("words",)
    )


class MemoryCell(StoreRecord):
    """Vectors of one memory and one model that lie near each other."""

    agent: str
    owner: str
    model: str
    number: str
    scope: str
    """The memory and the model, by which all cells of both are found."""
    centre: str
    count: int
    """Of its members, those that are gone by now included."""

    store_kind: ClassVar[RecordKind] = RecordKind(
        "memory_cells", ("agent", "owner", "model", "number"), indexed=("scope",)
    )


class AgentContextFile(StoreRecord):
    """A file such as `SOUL.md` as all users of an agent have it."""

    agent: str
    file: str
    content: str
    span: Span

    store_kind: ClassVar[RecordKind] = RecordKind("agent_context_files", ("agent", "file"))


class UserContextFile(StoreRecord):
    """The same of one user."""

    agent: str
    user: str
    file: str
    content: str
    span: Span

    store_kind: ClassVar[RecordKind] = RecordKind("user_context_files", ("agent", "user", "file"))
