"""The common parts of the file tools: policies, argument aliases, and the formatting of names."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from pydantic import Field, field_validator

from toolcharter import Paths, ToolPolicy, ToolRuntime

Count = Annotated[int, Field(ge=1)]
PATH_ALIASES: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("directory", "dir", "file", "file_path", "filepath", "folder"), "path"),
)
MAX_LINE_CHARS = 500
_TOKEN_SIGNS = frozenset("+/=-_.")


class ProtectingPolicy(ToolPolicy):
    """The paths that one profile hides from a file tool."""

    protected: tuple[str, ...] = (".git", ".toolcharter")
    """Name globs, matched without case against every part of a resolved path; or paths of folders."""

    @field_validator("protected")
    @classmethod
    def _require_effect(cls, entries: tuple[str, ...]) -> tuple[str, ...]:
        for entry in entries:
            if not entry.strip("/") or ".." in entry.split("/"):
                raise ValueError(f"{entry!r} protects nothing; write a name such as '.env.*' or a folder's path")
        return entries


class FilesPolicy(ProtectingPolicy):
    """The paths that one profile lets a file tool read."""

    read_roots: tuple[Path, ...] = ()
    """Absolute folders outside the workspace that may be read as well; none by default."""

    @field_validator("read_roots")
    @classmethod
    def _require_absolute(cls, roots: tuple[Path, ...]) -> tuple[Path, ...]:
        for root in roots:
            if not root.is_absolute():
                raise ValueError(f"{str(root)!r} is not an absolute path")
        return roots

    def paths(self, rt: ToolRuntime) -> Paths:
        """Return the runtime's paths, narrowed by this policy."""
        return rt.paths.narrowed(read_roots=self.read_roots, protected=self.protected)


def effective_limit(limit: int, requested: int | None) -> int:
    """Return the smaller of the policy's *limit* and the number that the call asked for."""
    return limit if requested is None else min(limit, requested)


def to_valid_text(name: str) -> str:
    """Return *name* as text that JSON can carry: bytes that are not UTF-8 become U+FFFD."""
    return name.encode(errors="surrogateescape").decode(errors="replace")


def quote_unprintable(name: str) -> str:
    """Return *name* for a line of text: quoted if it has characters that do not print, such as a line break."""
    return name if name.isprintable() else repr(name)


def cut_between_tokens(text: str, limit: int) -> str:
    """Return at most *limit* characters of *text*, cut between tokens.

    The scrubber would not recognise half a secret.
    """
    if len(text) <= limit:
        return text
    end = limit
    while end and (text[end - 1].isalnum() or text[end - 1] in _TOKEN_SIGNS):
        end -= 1
    return text[: end or limit]
