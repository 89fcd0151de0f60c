"""The policy of the sandbox. Only the profile chooses readable roots, never the model."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator

from toolcharter import ExtensionPolicy, ProcessLimits


class BwrapPolicy(ExtensionPolicy):
    """The content of the sandbox in addition to the workspace, and the limits of its programs."""

    network: bool = False
    """Whether programs that ask for the network get the host's network. Without it, each program has only its own
    loopback."""
    read_roots: tuple[Annotated[Path, Field(strict=False)], ...] = ()
    """Absolute paths of folders or files that programs may read in addition to the system's. Home folders are not in
    the sandbox unless they are listed here."""
    tmp_bytes: int = Field(default=256 * 1024**2, ge=4096)
    """The size of `/tmp` and of `/dev/shm` each, in bytes. They are empty when a program starts."""
    limits: ProcessLimits = ProcessLimits(memory_bytes=None, processes=None, open_files=None, file_bytes=None)
    """Upper limits for all programs; a tool may only set lower ones."""

    @field_validator("read_roots")
    @classmethod
    def _are_absolute(cls, roots: tuple[Path, ...]) -> tuple[Path, ...]:
        for root in roots:
            if not root.is_absolute() or ".." in root.parts or root == Path("/"):
                message = f"{str(root)!r} is not an absolute path below /"
                raise ValueError(message)
        return roots
