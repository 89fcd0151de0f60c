"""The extension `context_files`: shows context files and memory documents in the store as files of the workspace.

File tools see these files and each other's changes to them; programs see only the disk. For a caller without an agent,
all files are on the disk.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from typing_extensions import override

from toolcharter import Caller, Entry, ExtensionPolicy, ExtensionSpec, ToolRuntime, VirtualFile, VirtualFolder, hookimpl
from toolcharter_memory.caches import Cache
from toolcharter_memory.context import FILES, ContextFile, access_of, context_file
from toolcharter_memory.documents import MemoryWritePolicy
from toolcharter_memory.files import DocumentFile, Listing, listing_of
from toolcharter_memory.records import AgentContextFile, MemoryDocument, UserContextFile
from toolcharter_memory.scopes import memory_path

_FOLDERS = frozenset({"memory", "memory/daily", "memory/world"})


class ContextFilesPolicy(MemoryWritePolicy, ExtensionPolicy):
    """How far one profile lets file tools write to files in the store."""

    max_bytes: int = 262_144
    """The most that one call writes, in bytes of UTF-8."""
    allow_agent_files: bool = False
    """Whether callers without a user, or without an `agent_type`, may write the context files that all users of the
    agent read."""


class ContextFiles:
    """Routes paths for one toolbox."""

    def __init__(self, policy: ContextFilesPolicy) -> None:
        self._policy = policy
        self.contexts = Cache((AgentContextFile, UserContextFile))
        self.documents = Cache((MemoryDocument,))

    @hookimpl
    def route_path(self, path: str, caller: Caller, rt: ToolRuntime) -> VirtualFile | VirtualFolder | None:
        """Route the workspace's root, its context files and all paths of the memory."""
        if not caller.agent:
            return None
        if path == ".":
            return _Root(self, caller, rt)
        if (file := context_file(path)) is not None:
            return self.context(file, caller, rt)
        document = memory_path(path)
        if path not in _FOLDERS and document is None:
            return None
        if document is None or _may_be_folder(document):
            folder = document or path
            listing = listing_of(caller, rt, self.documents)
            if path in _FOLDERS or listing.has_below(folder):
                return _Folder(folder, listing)
        assert document is not None  # noqa: S101 - otherwise it was a folder; for the type checkers
        return DocumentFile(document, caller, rt, self._policy, self.documents)

    def context(self, file: str, caller: Caller, rt: ToolRuntime) -> ContextFile:
        """Return a context file as *caller* sees it."""
        access = access_of(caller, file, allow_agent_files=self._policy.allow_agent_files)
        return ContextFile(file, caller, rt, self._policy, access, self.contexts)


class _Folder(VirtualFolder):
    """A folder of the memory."""

    def __init__(self, path: str, listing: Listing) -> None:
        self._path = path
        self._listing = listing

    @override
    def entries(self) -> Iterable[Entry]:
        return self._listing.entries(self._path)


class _Root(VirtualFolder):
    """The workspace's root, with its context files and memory documents."""

    def __init__(self, files: ContextFiles, caller: Caller, rt: ToolRuntime) -> None:
        self._files = files
        self._caller = caller
        self._rt = rt

    @override
    def entries(self) -> Iterator[Entry]:
        for file in FILES:
            context = self._files.context(file, self._caller, self._rt)
            if context.exists():
                yield Entry(file, "file", len(context.read()))
        yield from listing_of(self._caller, self._rt, self._files.documents).entries("")


def _may_be_folder(path: str) -> bool:
    """Return whether a document's path could be a folder of other documents: its name has no suffix."""
    return "." not in path.rpartition("/")[2]


def build(workspace: Path, policy: ContextFilesPolicy) -> Any:  # noqa: ARG001 - the store is the profile's
    """Make the extension for one toolbox."""
    return ContextFiles(policy)


SPEC = ExtensionSpec("context_files", ContextFilesPolicy, build)
