"""`delete_file`: delete a file, a link or an empty folder."""

from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

from toolcharter import ToolRuntime, ToolSpec
from toolcharter_files.access import Access, AccessReason, ChangingPolicy
from toolcharter_files.common import PATH_ALIASES, quote_unprintable


class DeleteFilePolicy(ChangingPolicy):
    """How far one profile lets `delete_file` go."""


class DeleteFileData(TypedDict):
    """The structured result."""

    path: str
    kind: str
    """`file`, `link`, `folder` or `other`."""


def build(workspace: Path, policy: DeleteFilePolicy, rt: ToolRuntime) -> Callable[..., str]:  # noqa: ARG001 - `rt.paths`
    """Bind `delete_file` to one profile's policy."""
    access = Access(policy, rt)

    def delete_file(path: str) -> str:
        """Delete one file, one link or one empty folder of the workspace. This cannot be undone.

        Args:
            path: The file, link or folder to delete. A link is deleted itself, never its target.
        """
        ctx = rt.start("delete_file", path=path)
        with access.paths.open_place(path, "delete") as place:
            access.require_scope(place.path)
            ctx.policy_passed()
            place.delete()
            data = DeleteFileData(path=place.path, kind=place.kind)
        return ctx.ok(f"Deleted {quote_unprintable(data['path'])}", data=data)

    return delete_file


SPEC = ToolSpec(
    "delete_file",
    DeleteFilePolicy,
    build,
    reasons=AccessReason,
    capabilities={"fs:write"},
    safety="high",
    staged=True,
    group="fs",
    aliases=("remove_file",),
    argument_aliases=PATH_ALIASES,
    output=DeleteFileData,
)
