"""`make_dir`: make a folder and its missing parents."""

from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

from toolcharter import ToolRuntime, ToolSpec
from toolcharter_files.access import Access, AccessReason, ChangingPolicy
from toolcharter_files.common import PATH_ALIASES, quote_unprintable


class MakeDirPolicy(ChangingPolicy):
    """How far one profile lets `make_dir` go."""


class MakeDirData(TypedDict):
    """The structured result."""

    path: str
    created: bool


def build(workspace: Path, policy: MakeDirPolicy, rt: ToolRuntime) -> Callable[..., str]:  # noqa: ARG001 - `rt.paths`
    """Bind `make_dir` to one profile's policy."""
    access = Access(policy, rt)

    def make_dir(path: str) -> str:
        """Make a folder in the workspace, and its missing parents. The call succeeds if the folder exists already.

        Args:
            path: The folder, relative to the workspace.
        """
        ctx = rt.start("make_dir", path=path)
        with access.paths.open_place(path, "make") as place:
            access.require_scope_for_folder(place.path)
            ctx.policy_passed()
            place.make_folder()
            data = MakeDirData(path=place.path, created=place.kind == "missing")
        summary = "Made folder" if data["created"] else "The folder exists already"
        return ctx.ok(f"{summary}: {quote_unprintable(data['path'])}", data=data)

    return make_dir


SPEC = ToolSpec(
    "make_dir",
    MakeDirPolicy,
    build,
    reasons=AccessReason,
    capabilities={"fs:write"},
    safety="low",
    staged=True,
    group="fs",
    aliases=("create_directory", "make_directory"),
    argument_aliases=PATH_ALIASES,
    output=MakeDirData,
)
