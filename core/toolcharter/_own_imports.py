"""Makes libraries search the user's own folder last, by a meta path finder that `import toolcharter` installs first.

Python puts a script's folder, or the current folder for `python -m`, at the head of `sys.path`. A file that a program
has written there may have the name of a module that the gate, or a library of the gate, imports. The user's own code
still imports from there as usual. This module imports only modules that are built into Python or frozen, so that no
file of that folder can replace one of them.
"""

import os
import sys
from _frozen_importlib_external import PathFinder

TYPE_CHECKING = False  # as `typing` has it, but `typing` is not frozen
if TYPE_CHECKING:
    from _frozen_importlib import ModuleSpec
    from collections.abc import Sequence
    from types import FrameType, ModuleType

CORE = "toolcharter"
_IMPORT_SYSTEM = "<frozen importlib"
_STANDARD_LIBRARY = f"{os.path.dirname(os.__file__)}/"


class OwnFolderLast:
    """A meta path finder. It prefers other folders in imports by the gate, its libraries and Python's own modules.

    Args:
        own: Entries of `sys.path`.
    """

    def __init__(self, own: "Sequence[str]") -> None:
        self._own = frozenset(own)
        self._folders = tuple(f"{folder}/" for folder in self._own if folder)

    def find_spec(
        self, name: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        """Find a module outside the user's own folders.

        Returns:
            None if the user's code imports it, if it is a submodule, or if only the user's folders have it.
        """
        if path is not None or self._is_for_own_code():
            return None
        found = PathFinder.find_spec(name, [entry for entry in sys.path if entry not in self._own], target)
        return found if found is not None and found.loader is not None else None

    def _is_for_own_code(self) -> bool:
        """Whether the user's code began the import: no code of the gate is nearer to the import on the stack."""
        frame: FrameType | None = sys._getframe(2)  # pyright: ignore[reportPrivateUsage] - `inspect` would have to be imported
        is_nearest = True
        while frame is not None:
            file = frame.f_code.co_filename
            if not file.startswith(_IMPORT_SYSTEM):
                name = _module_name(frame)
                if name.startswith(CORE) or (is_nearest and _is_standard_library(frame)):
                    return False
                if file.startswith(tuple(f"{folder}{name}{end}" for folder in self._folders for end in "./")):
                    return True
                is_nearest = False
            frame = frame.f_back
        return True


def _module_name(frame: "FrameType") -> str:
    """Return the top-level name of the module whose code a frame runs; for `python -m`, of the module that it runs."""
    spec = frame.f_globals.get("__spec__")
    name = spec.name if spec is not None else str(frame.f_globals.get("__name__", ""))
    return str(name).partition(".")[0]


def _is_standard_library(frame: "FrameType") -> bool:
    """Whether the import is at the top of a module of the standard library, which imports other such modules there."""
    file = frame.f_code.co_filename
    is_installed = "/site-packages/" in file or "/dist-packages/" in file
    return frame.f_code.co_name == "<module>" and file.startswith(_STANDARD_LIBRARY) and not is_installed


def import_own_last() -> None:
    """Install the finder, if Python was started with a script's folder or the current one on `sys.path`."""
    try:
        current = os.getcwd()
    except OSError:  # the folder is gone
        current = ""
    programs = os.path.dirname(sys.executable)  # installed commands lie here, but no modules
    first = [] if sys.flags.safe_path else sys.path[:1]
    own = [entry for entry in dict.fromkeys((*first, "", current)) if entry in sys.path and entry != programs]
    if own and PathFinder in sys.meta_path:
        sys.meta_path.insert(sys.meta_path.index(PathFinder), OwnFolderLast((*own, current)))
