"""The names of installed tools, which no registered tool can have."""

from functools import lru_cache
from importlib.metadata import entry_points

from toolcharter_service.registry.source_tools import SOURCE_TOOLS


@lru_cache(1)
def _installed_names() -> dict[str, str]:
    """Map the installed tools' names in lower case, and HDN's names for them, to the tools."""
    found = {entry.name.lower(): entry.name for entry in entry_points(group="toolcharter")}
    return found | {name: one.installed for name, one in SOURCE_TOOLS.items() if one.installed in found}


def find_installed(name: str) -> str | None:
    """Return the installed tool that *name* means. Only a toolbox knows aliases; it refuses them when it is loaded."""
    return _installed_names().get(name.lower())
