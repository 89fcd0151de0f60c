"""The write scope: which paths a profile lets its tools change. The path guard checks the locks of other owners."""

from collections.abc import Callable
from enum import StrEnum

from pydantic import field_validator

from toolcharter import Denied, ToolRuntime
from toolcharter_files.common import ProtectingPolicy, to_valid_text
from toolcharter_files.globs import MAX_GLOBS, Glob, InvalidGlob, compile_matcher, escape_glob
from toolcharter_files.overlap import common_path
from toolcharter_files.policy import parse_writable, require_meaningful


class AccessReason(StrEnum):
    """Why a tool that changes files refuses. The path guard adds reasons of its own."""

    OUTSIDE_WRITE_SCOPE = "outside_write_scope"


class ChangingPolicy(ProtectingPolicy):
    """What one profile lets a tool change."""

    writable: tuple[str, ...] = ("**",)
    """Globs of the paths that may be changed, relative to the workspace; all by default. A folder's name covers the
    folder and everything below it."""

    @field_validator("writable")
    @classmethod
    def _require_usable(cls, globs: tuple[str, ...]) -> tuple[str, ...]:
        if len(globs) > MAX_GLOBS:
            raise ValueError(f"there are more than {MAX_GLOBS} globs")
        try:
            compile_matcher(parse_writable(globs))
            for glob in globs:
                require_meaningful(glob)
        except InvalidGlob as error:
            raise ValueError(f"{error}; write one such as 'src/**'") from error
        return globs


class Access:
    """The paths that one tool may change under its policy."""

    def __init__(self, policy: ChangingPolicy, rt: ToolRuntime) -> None:
        self._scope = parse_writable(policy.writable)
        self._in_scope: Callable[[str], bool] = compile_matcher(self._scope) if self._scope else lambda _: False
        self.paths = rt.paths.narrowed(protected=policy.protected)

    def require_scope(self, *names: str) -> None:
        """Refuse *names* unless the policy lets the tool change each of them.

        Raises:
            Denied: `outside_write_scope`.
        """
        for name in names:
            if not self._in_scope(to_valid_text(name)):
                raise _outside_scope(name)

    def require_scope_for_folder(self, name: str) -> None:
        """Refuse to make the folder *name* unless the policy lets the tool change it or some path below it.

        Raises:
            Denied: `outside_write_scope`.
        """
        below = Glob(".", f"{escape_glob(name)}/**", anchored=True)
        if not self._in_scope(name) and not any(common_path(glob, below) is not None for glob in self._scope):
            raise _outside_scope(name)


def _outside_scope(name: str) -> Denied:
    return Denied(AccessReason.OUTSIDE_WRITE_SCOPE, f"The profile does not allow changes to {name!r}.")
