"""Virtual files: what an extension's `route_path` answers for paths whose content it keeps elsewhere than on the disk."""

from abc import ABC, abstractmethod
from collections.abc import Iterable

from toolcharter.api.call import Ask
from toolcharter.api.paths import Entry


class VirtualFile(ABC):
    """A file that lies on no disk. Methods are called while a call is under way; what they raise is the call's error.

    What is there by now may differ from what was read: `write` and `delete` are told what the tool has seen, and raise
    a `ToolError` with `changed_meanwhile` where that has changed.
    """

    asks: Ask | None = None
    """Why a person has to agree before the file is written or deleted; None if nobody has to."""

    def exists(self) -> bool:
        """Whether there is such a file."""
        return True

    @abstractmethod
    def read(self) -> bytes:
        """The content; of a file that does not exist an empty text, or a `ToolError` with `path_not_found`."""

    def write(self, data: bytes, before: bytes | None, /) -> None:
        """Make *data* the content. A file whose class has no such method may be read only.

        Args:
            data: All of it.
            before: The content that the tool has seen; None if there was no file.
        """
        raise NotImplementedError

    def delete(self, before: bytes, /) -> None:
        """Take the file away, whose content was *before*. Without such a method it may not be deleted."""
        raise NotImplementedError


class VirtualFolder(ABC):
    """A folder that holds virtual files, beside what lies there on the disk."""

    @abstractmethod
    def entries(self) -> Iterable[Entry]:
        """The virtual files and folders directly in it that exist, in any order."""
