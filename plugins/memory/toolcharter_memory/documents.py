"""Reads and writes documents: scrubbed, bounded, with the author of each part.

A document and its chunks change in one transaction.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, NamedTuple

from pydantic import Field

from toolcharter import (
    Ask,
    Caller,
    Denied,
    StoreTransaction,
    StoreUnavailable,
    ToolError,
    ToolRuntime,
    scrub_text,
)
from toolcharter_memory.caches import WRITES
from toolcharter_memory.chunks import split_chunks
from toolcharter_memory.embedding import EmbeddingPolicy
from toolcharter_memory.indexing import add_vectors, chunk_key, write_chunks
from toolcharter_memory.records import MemoryChunk, MemoryDocument, Span, Trust
from toolcharter_memory.scopes import MemoryScope, scopes_of

MAX_AUTHOR_CHARS = 200
MAX_SPANS = 2_000
"""How many parts of different writers a document may have."""
_PAGE = 1_000


class MemoryWritePolicy(EmbeddingPolicy):
    """What one profile lets agents write to a memory."""

    unattended: bool = False
    """Whether `untrusted` text is written without asking a person. Every hit shows it as untrusted data; yet a web page
    that orders the model to remember something succeeds if the model obeys."""
    trust: Trust = "untrusted"
    """How written text is marked. `trusted` is for agents that read no text of strangers: no web pages, no mails, and
    no tools that return such text."""
    max_bytes: Annotated[int, Field(ge=1, le=500_000)] = 32_768
    """The most that one call writes, in bytes of UTF-8."""
    max_document_bytes: Annotated[int, Field(ge=1, le=500_000)] = 262_144
    """How large a document may become, in bytes of UTF-8."""
    max_documents: Annotated[int, Field(ge=1, le=100_000)] = 1_000
    """How many documents one memory may have. An agent's memory for a user and a user's world files are separate."""

    def asks_about(self, path: str) -> Ask | None:
        """Ask a person about a write to *path*, unless the policy waives it: a web page may have ordered the write."""
        if self.unattended or self.trust == "trusted":
            return None
        return Ask(MemoryWriteReason.OUTLIVES_SESSION, f"Text that is written to {path} outlives the session.")


class MemoryWriteReason(StrEnum):
    """Why nothing is written, or, for the last reason, why a person is asked."""

    CONTENT_TOO_LARGE = "content_too_large"
    DOCUMENT_TOO_LARGE = "document_too_large"
    MEMORY_FULL = "memory_full"
    OUTLIVES_SESSION = "outlives_session"


class Found(NamedTuple):
    """A document with the memory that it is in."""

    scope: MemoryScope
    document: MemoryDocument
    version: int


def find_document(rows: StoreTransaction, caller: Caller, path: str) -> Found | None:
    """Return the document at *path*: the user's own, or else the global one."""
    for scope in scopes_of(caller, path):
        stored = rows.get(MemoryDocument, *scope, path)
        if stored is not None:
            return Found(scope, stored.record, stored.version)
    return None


def documents_in(rows: StoreTransaction, scope: MemoryScope, prefix: str = "") -> Iterator[MemoryDocument]:
    """Yield the documents of one memory whose paths begin with *prefix*, by path."""
    after = ""
    while True:
        page = rows.page(MemoryDocument, where={"place": scope.digest}, after=after, limit=_PAGE)
        yield from (one.record for one in page.records if one.record.path.startswith(prefix))
        after = page.after
        if not after:
            return


class Writer(NamedTuple):
    """Who writes, and under which policy."""

    caller: Caller
    policy: MemoryWritePolicy

    def span(self, start_line: int) -> Span:
        """Return the span for text that is written now from *start_line* on."""
        caller = self.caller
        named = [f"agent {caller.agent}" if caller.agent else "", f"user {caller.user}" if caller.user else ""]
        return Span(
            start_line=start_line,
            author=_author_name(", ".join(filter(None, named)) or "unknown"),
            session=_author_name(caller.session or ""),
            trust=self.policy.trust,
            written_at=now().isoformat(timespec="seconds"),
        )


def now() -> datetime:
    """Return the current time, in UTC."""
    return datetime.now(UTC)


def _author_name(name: str) -> str:
    plain = name.replace("\0", " ").encode(errors="replace").decode()
    return scrub_text(plain)[0][:MAX_AUTHOR_CHARS]


def storable_content(text: str, policy: MemoryWritePolicy) -> str:
    """Return *text* without secrets, if it is not too large to be written.

    Raises:
        ToolError: `content_too_large`.
    """
    size = len(text.encode(errors="replace"))
    if size > policy.max_bytes:
        message = f"The content has {size} bytes; {policy.max_bytes} may be written at once."
        raise ToolError(message, reason=MemoryWriteReason.CONTENT_TOO_LARGE, hint="Keep what matters, in fewer words.")
    return scrub_text(text.replace("\0", " ").encode(errors="replace").decode())[0]


def write_document(
    rt: ToolRuntime, writer: Writer, path: str, change: Callable[[str | None], str], *, index: bool = True
) -> MemoryDocument:
    """Write the document at *path*, and its chunks if it is `.md`.

    Args:
        rt: Gives the store, and the network for vectors.
        writer: Who writes.
        path: The document's path.
        change: Makes the new content from the old content; None for a new document. It may raise to write nothing.
        index: Whether the chunks are written, too.

    Raises:
        ToolError: `document_too_large`, `memory_full`, and what *change* raises.
    """
    scope = scopes_of(writer.caller, path)[0]

    def work(rows: StoreTransaction) -> MemoryDocument:
        stored = rows.get(MemoryDocument, *scope, path)
        old = None if stored is None else stored.record
        seen = find_document(rows, writer.caller, path) if old is None else Found(scope, old, 0)
        before = None if seen is None else seen.document
        content = change(None if before is None else before.content)
        _require_room(rows, scope, writer.policy, content, is_new=old is None)
        spans = _merge_spans(before, content, writer)
        chunks = list(split_chunks(content, spans)) if index and path.endswith(".md") else []
        document = MemoryDocument(
            agent=scope.agent,
            owner=scope.owner,
            path=path,
            content=content,
            spans=spans,
            chunks=write_chunks(rows, scope, path, () if old is None else old.chunks, chunks),
            place=scope.digest,
        )
        rows.put(document)
        return document

    try:
        written = rt.store.transact(work)
    except StoreUnavailable:
        # A store without full-text search still keeps the document, but it cannot be searched.
        if not index:
            raise
        return write_document(rt, writer, path, change, index=False)
    WRITES.note()
    if writer.policy.embeddings is not None:
        # The document can be found by its words already; vectors that fail here are made when it is written again.
        with suppress(Denied, ToolError):
            add_vectors(rt, writer.policy.embeddings, written)
    return written


def delete_document(rows: StoreTransaction, scope: MemoryScope, path: str) -> bool:
    """Delete a document and its chunks, and return whether it existed."""
    stored = rows.get(MemoryDocument, *scope, path)
    if stored is None:
        return False
    for number in range(len(stored.record.chunks)):
        rows.delete(MemoryChunk, *scope, path, chunk_key(number))
    return rows.delete(MemoryDocument, *scope, path)


def _require_room(
    rows: StoreTransaction, scope: MemoryScope, policy: MemoryWritePolicy, content: str, *, is_new: bool
) -> None:
    size = len(content.encode())
    if size > policy.max_document_bytes:
        message = f"The document would have {size} bytes; {policy.max_document_bytes} are allowed."
        raise ToolError(message, reason=MemoryWriteReason.DOCUMENT_TOO_LARGE, hint="Write another document.")
    if is_new and rows.count(MemoryDocument, where={"place": scope.digest}) >= policy.max_documents:
        message = f"The memory has {policy.max_documents} documents, the maximum."
        raise ToolError(message, reason=MemoryWriteReason.MEMORY_FULL, hint="Delete or join some of them.")


def _merge_spans(before: MemoryDocument | None, content: str, writer: Writer) -> tuple[Span, ...]:
    """Return who wrote which lines of *content*.

    Text added at the end gets its writer's span. After any other change, the whole document is the writer's, and is
    untrusted if any of its parts was.
    """
    if before is None or not before.content:
        return (writer.span(1),)
    old = before.content
    if content == old:
        return before.spans
    starts_anew = old.endswith("\n") or content[len(old) : len(old) + 1] == "\n"
    if content.startswith(old) and starts_anew and len(before.spans) < MAX_SPANS:
        return (*before.spans, writer.span(old.count("\n") + (1 if old.endswith("\n") else 2)))
    span = writer.span(1)
    distrusted = any(one.trust == "untrusted" for one in before.spans)
    return (span.model_copy(update={"trust": "untrusted"}) if distrusted else span,)
