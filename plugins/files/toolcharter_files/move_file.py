"""`move_file`: move or rename a file, a folder or a link."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, TypedDict

from toolcharter import OpenPlace, ToolRuntime, ToolSpec
from toolcharter_files.access import Access, AccessReason, ChangingPolicy
from toolcharter_files.common import PATH_ALIASES, quote_unprintable


class MoveFilePolicy(ChangingPolicy):
    """How far one profile lets `move_file` go."""

    allow_overwrite: bool = False
    """Whether a call may replace an existing file at the new path."""


class MoveFileData(TypedDict):
    """The structured result."""

    path: str
    to: str


def build(workspace: Path, policy: MoveFilePolicy, rt: ToolRuntime) -> Callable[..., str]:  # noqa: ARG001 - `rt.paths`
    """Bind `move_file` to one profile's policy."""
    access = Access(policy, rt)

    def move_file(path: str, to: str, overwrite: bool = False) -> str:  # noqa: FBT001, FBT002 - called by name
        """Move or rename a file, a folder or a link within the workspace. Missing folders are made.

        Args:
            path: The file, folder or link to move. A link is moved itself, not its target.
            to: The new path, including the new name.
            overwrite: Replace an existing file at the new path, if the profile allows that.
        """
        ctx = rt.start("move_file", path=path, to=to, overwrite=overwrite)
        use: Literal["write", "receive"] = "write" if overwrite and policy.allow_overwrite else "receive"
        with access.paths.open_place(path, "move") as source, access.paths.open_place(to, use) as target:
            access.require_scope(*_moved_names(source, source.path), *_moved_names(source, target.path))
            if source.kind == "folder":
                rt.leases.require_free(target.path, below=True)
            ctx.policy_passed()
            source.move(target)
            data = MoveFileData(path=source.path, to=target.path)
        return ctx.ok(f"Moved {quote_unprintable(data['path'])} to {quote_unprintable(data['to'])}", data=data)

    return move_file


SPEC = ToolSpec(
    "move_file",
    MoveFilePolicy,
    build,
    reasons=AccessReason,
    capabilities={"fs:write"},
    safety="medium",
    staged=True,
    group="fs",
    path_arguments=("path", "to"),
    aliases=("rename_file",),
    argument_aliases={
        **PATH_ALIASES,
        **dict.fromkeys(("source", "src", "from", "old_path"), "path"),
        **dict.fromkeys(("destination", "dest", "dst", "target", "new_path"), "to"),
    },
    output=MoveFileData,
)


def _moved_names(source: OpenPlace, top: str) -> Iterator[str]:
    """Yield *top* and the path below it of everything that is moved."""
    yield top
    for name in source.below():
        yield f"{top}/{name}"
