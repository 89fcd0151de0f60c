"""`reload_tools`: discover the tools in the folders again, so that new tools can be called."""

from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

from toolcharter import Reload, ToolPolicy, ToolRuntime, ToolSpec


class ReloadPolicy(ToolPolicy):
    """No settings: the extensions that discover tools have the switch `extend`."""


class ReloadData(TypedDict):
    """The structured result."""

    discovered_tools: list[str]
    """All tools in addition to those of plugins."""
    count: int
    directories_scanned: list[str]
    new: list[str]
    changed: list[str]
    """Tools whose files have changed; each call of one of them needs a person's approval."""
    gone: list[str]
    notes: list[str]
    """The tools and folders that were left out, with the reasons."""


def build(workspace: Path, policy: ReloadPolicy, rt: ToolRuntime) -> Callable[[], str]:  # noqa: ARG001 - the form of a constructor
    """Bind `reload_tools` to one session."""

    def reload_tools() -> str:
        """Search the tool folders again; the tools in them are available from the next call on.

        Call this after writing a tool to disk. The profile still has to allow new tools.
        """
        ctx = rt.start("reload_tools")
        found = rt.reload()
        return ctx.ok(_reload_text(found), data=reload_data(found))

    return reload_tools


def reload_data(found: Reload) -> ReloadData:
    """Return a reload as JSON types."""
    return {
        "discovered_tools": list(found.tools),
        "count": len(found.tools),
        "directories_scanned": list(found.folders),
        "new": list(found.new),
        "changed": list(found.changed),
        "gone": list(found.gone),
        "notes": list(found.notes),
    }


def _reload_text(found: Reload) -> str:
    lines = [f"Discovered tools: {', '.join(found.tools) or 'none'}."]
    for label, names in (
        ("New", found.new),
        ("Changed, so a person is asked before each call", found.changed),
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
