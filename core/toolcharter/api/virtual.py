"""Virtual files, which an extension's `route_path` returns for paths whose content it keeps outside the disk."""

from abc import ABC, abstractmethod
from collections.abc import Iterable

from toolcharter.api.call import Ask
from toolcharter.api.paths import Entry


class VirtualFile(ABC):
    """A file that is not on the disk. The gate calls its methods during a tool call; their exceptions fail that call.

    The content may have changed since the tool read it. So `write` and `delete` get the content that the tool has seen,
    and must raise a `ToolError` with `changed_meanwhile` if the current content differs.
    """

    asks: Ask | None = None
    """Why a person has to approve a write or deletion of the file; None if no approval is needed."""

    def exists(self) -> bool:
        """Whether there is such a file."""
        return True

    @abstractmethod
    def read(self) -> bytes:
        """Return the content; for a missing file, return empty bytes or raise `ToolError` with `path_not_found`."""

    def write(self, data: bytes, before: bytes | None, /) -> None:
        """Replace the content by *data*. A file whose class does not override this method is read-only.

        Args:
            data: The whole new content.
            before: The content that the tool has seen; None if there was no file.
        """
        raise NotImplementedError

    def delete(self, before: bytes, /) -> None:
        """Delete the file; *before* is the content that the tool has seen. Without an override it cannot be deleted."""
        raise NotImplementedError


class VirtualFolder(ABC):
    """A folder that contains virtual files, in addition to its entries on the disk."""

    @abstractmethod
    def entries(self) -> Iterable[Entry]:
        """Return the existing virtual files and folders directly in this folder, in any order."""
