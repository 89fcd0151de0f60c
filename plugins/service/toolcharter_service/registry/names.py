"""The names that no registered tool can have."""

from functools import lru_cache
from importlib.metadata import entry_points

from toolcharter_service.registry.source_tools import SOURCE_TOOLS


@lru_cache(1)
def _installed() -> dict[str, str]:
    """The installed tools by their names without case, and by HDN's names for them."""
    found = {entry.name.lower(): entry.name for entry in entry_points(group="toolcharter")}
    return found | {name: one.installed for name, one in SOURCE_TOOLS.items() if one.installed in found}


def taken_name(name: str) -> str | None:
    """The installed tool that *name* stands for; aliases that a toolbox alone knows are told when it is loaded."""
    return _installed().get(name.lower())
