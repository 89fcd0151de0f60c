"""The policy that the text tools share, and the reading of their text or file."""

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from pydantic import Field, field_validator

from toolcharter import Paths, Reason, ToolError, ToolPolicy, ToolRuntime

Count = Annotated[int, Field(ge=1)]
SOURCE_ALIASES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("file", "file_path", "filepath"), "path"),
        **dict.fromkeys(("content", "input", "stdin"), "text"),
    }
)


class SharedReason(StrEnum):
    """Why either tool fails."""

    TOO_LARGE = "too_large"
    TOO_COSTLY = "too_costly"


class TextPolicy(ToolPolicy):
    """What one profile lets a text tool read, and how much."""

    read_roots: tuple[Path, ...] = ()
    """Absolute folders outside the workspace that may be read as well; none by default."""
    protected: tuple[str, ...] = (".git", ".env", ".env.*", ".toolcharter")
    """Name globs, without case, for any part of a resolved path, and folders by their path."""
    max_bytes: Count = 1_000_000
    """The largest text or file that a call may give, in bytes of UTF-8."""
    max_time_s: Annotated[float, Field(gt=0)] = 5.0
    """How long a pattern or a query may take, in seconds; the call's own deadline if that is sooner."""

    @field_validator("read_roots")
    @classmethod
    def _absolute(cls, roots: tuple[Path, ...]) -> tuple[Path, ...]:
        for root in roots:
            if not root.is_absolute():
                raise ValueError(f"{str(root)!r} is not an absolute path")
        return roots

    @field_validator("protected")
    @classmethod
    def _protecting(cls, entries: tuple[str, ...]) -> tuple[str, ...]:
        for entry in entries:
            if not entry.strip("/") or ".." in entry.split("/"):
                raise ValueError(f"{entry!r} protects nothing; write a name such as '.env.*' or a folder's path")
        return entries

    def paths(self, rt: ToolRuntime) -> Paths:
        """Return the runtime's paths, narrowed by this policy."""
        return rt.paths.narrowed(read_roots=self.read_roots, protected=self.protected)

    def deadline(self, rt: ToolRuntime) -> float:
        """Return the deadline of the work, on `time.monotonic`'s clock."""
        return min(rt.deadline, time.monotonic() + self.max_time_s)


@contextmanager
def open_input(paths: Paths, text: str | None, path: str | None, limit: int) -> Generator[Callable[[], bytes]]:
    """Yield a function that reads the text or the file of a call. Access to the file is checked before.

    Raises:
        Denied: As `paths`.
        ToolError: `invalid_arguments`, unless exactly one of *text* and *path* is given; `too_large`; or as `paths`.
    """
    if text is not None and path is None:
        raw = text.encode()  # the gate lets no lone surrogate through
        yield lambda: _require_size(raw, "The text", limit)
    elif path is not None and text is None:
        with paths.open_file(path) as file:
            yield lambda: _require_size(file.read(limit + 1), f"{file.path!r}", limit)
    else:
        raise ToolError("Give either `text` or `path`.", reason=Reason.INVALID_ARGUMENTS)


def _require_size(raw: bytes, what: str, limit: int) -> bytes:
    if len(raw) > limit:
        raise ToolError(f"{what} has more than {limit} bytes.", reason=SharedReason.TOO_LARGE)
    return raw


def check_time(until: float) -> None:
    """Stop work that takes too long.

    Raises:
        ToolError: `timed_out`.
    """
    if time.monotonic() > until:
        raise ToolError("This took longer than the profile allows.", reason=Reason.TIMED_OUT, hint=NARROWER)


NARROWER = "Give less text, or a simpler pattern or query."
