"""`reload_tools`: have the folders of tools looked at again, so that what has been added can be called."""

from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

from toolcharter import Reload, ToolPolicy, ToolRuntime, ToolSpec


class ReloadPolicy(ToolPolicy):
    """Whether tools may appear is for the extensions that find them, each with its `extend`."""


class ReloadData(TypedDict):
    """The structured result."""

    discovered_tools: list[str]
    """All tools that are there beside those of plugins."""
    count: int
    directories_scanned: list[str]
    new: list[str]
    changed: list[str]
    """Each call of one of these asks a person."""
    gone: list[str]
    notes: list[str]
    """What was left out, and why."""


def build(workspace: Path, policy: ReloadPolicy, rt: ToolRuntime) -> Callable[[], str]:  # noqa: ARG001 - the form of a constructor
    """Bind `reload_tools` to one session."""

    def reload_tools() -> str:
        """Look at the tool folders again, and make the tools in them available from the next call on.

        Call it after a tool was written to disk. Tools that are new still need to be allowed by the profile.
        """
        ctx = rt.start("reload_tools")
        found = rt.reload()
        return ctx.ok(_told(found), data=data_of(found))

    return reload_tools


def data_of(found: Reload) -> ReloadData:
    """A reload as JSON types."""
    return {
        "discovered_tools": list(found.tools),
        "count": len(found.tools),
        "directories_scanned": list(found.folders),
        "new": list(found.new),
        "changed": list(found.changed),
        "gone": list(found.gone),
        "notes": list(found.notes),
    }


def _told(found: Reload) -> str:
    lines = [f"Discovered tools: {', '.join(found.tools) or 'none'}."]
    for label, names in (
        ("New", found.new),
        ("Changed, so that a person is asked", found.changed),
        ("Gone", found.gone),
    ):
        lines += [f"{label}: {', '.join(names)}."] if names else []
    return "\n".join((*lines, *found.notes))


SPEC = ToolSpec(
    "reload_tools",
    ReloadPolicy,
    build,
    reasons=(),
    capabilities={"registry:write"},
    safety="medium",
    group="runtime",
    output=ReloadData,
)
