"""The policy of the sandbox. Only the profile chooses readable roots, never the model."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator

from toolcharter import ExtensionPolicy, ProcessLimits


class BwrapPolicy(ExtensionPolicy):
    """The content of the sandbox in addition to the workspace, and the limits of its programs."""

    network: bool = False
    """Whether programs that ask for the network get the host's. Others, and all others, have only a loopback of
    their own."""
    read_roots: tuple[Annotated[Path, Field(strict=False)], ...] = ()
    """Folders or files beside the system that programs may read, by absolute paths. Nothing below a home is there
    unless it is named here."""
    tmp_bytes: int = Field(default=256 * 1024**2, ge=4096)
    """Of `/tmp` and of `/dev/shm`, each. They are empty at the start of each program, and gone with it."""
    limits: ProcessLimits = ProcessLimits(memory_bytes=None, processes=None, open_files=None, file_bytes=None)
    """What no program may exceed, whatever its tool allows it."""

    @field_validator("read_roots")
    @classmethod
    def _are_absolute(cls, roots: tuple[Path, ...]) -> tuple[Path, ...]:
        for root in roots:
            if not root.is_absolute() or ".." in root.parts or root == Path("/"):
                message = f"{str(root)!r} is no absolute path below the root of the file system"
                raise ValueError(message)
        return roots
