"""Where plugins may come from: the site directories of the running interpreter.

Nothing else on `sys.path` is trusted: the current folder, the workspace and `PYTHONPATH` are
where an agent, or the repository it works on, can put a file.
"""

import os
import site
import sys
import sysconfig
from collections.abc import Iterable


def site_dirs() -> frozenset[str]:
    """The site directories of this interpreter, links resolved, whether or not they exist.

    Source: `site.getsitepackages`, `site.getusersitepackages` where it is enabled, and the
    schemes `purelib` and `platlib` of `sysconfig`.
    """
    found = {*site.getsitepackages(), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    if site.ENABLE_USER_SITE:
        found.add(site.getusersitepackages())
    return frozenset(map(os.path.realpath, found))


def search_path(entries: Iterable[str] | None = None) -> tuple[str, ...]:
    """`sys.path` as absolute names, links resolved, each once, in its order."""
    return tuple(dict.fromkeys(map(os.path.realpath, sys.path if entries is None else entries)))


def is_within(path: str, folder: str) -> bool:
    """Whether *path* is *folder* or lies below it; both absolute, links resolved."""
    return os.path.commonpath([path, folder]) == folder
