"""Reads the ceilings of every profile: the administrator's file, the workspace's, the environment. Each only tightens.

If a file that exists or is named cannot be read, that is a fault, never "no policy".
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from toolcharter.errors import Fault
from toolcharter.profile.document import read_document
from toolcharter.profile.find import ProfileUnusable, read_bytes
from toolcharter.profile.forms import Cache
from toolcharter.profile.globs import GlobError, parse_glob
from toolcharter.profile.nodes import in_file_order
from toolcharter.profile.schema import CeilingFile, WorkspaceFile
from toolcharter.profile.settings import Capabilities, Ceiling

ADMIN_POLICY = "TOOLCHARTER_ADMIN_POLICY"
"""The variable that names the administrator's file."""
ALLOWED_PERMS = "ALLOWED_TOOL_PERMS"
"""The variable that lists the permitted capabilities; an empty text restricts nothing."""
WORKSPACE_POLICY = Path(".toolcharter", "policy.yaml")
"""The workspace's own file, relative to its root."""

_WORKSPACE_FIX = "Correct the file, or remove it."


def read_ceilings(workspace: Path | None, environ: Mapping[str, str]) -> tuple[tuple[Ceiling, ...], list[Fault]]:
    """Read the ceilings.

    Args:
        workspace: The folder that tools may touch, if there is one.
        environ: The environment.

    Returns:
        The ceilings of the administrator, the workspace and the environment, as far as they exist; and every fault. If
        there are faults, nothing must be built: the ceilings lack the parts at fault.
    """
    faults: list[Fault] = []
    found = (
        _read_admin_ceiling(environ, faults),
        _read_workspace_ceiling(workspace, faults),
        _read_environment_ceiling(environ, faults),
    )
    return tuple(ceiling for ceiling in found if ceiling is not None), faults


def _read_admin_ceiling(environ: Mapping[str, str], faults: list[Fault]) -> Ceiling | None:
    file = environ.get(ADMIN_POLICY)
    if file is None:
        return None
    if not os.path.isabs(file):
        what = f"{file!r} is not an absolute path." if file else "the variable is set, but empty."
        faults.append(Fault(ADMIN_POLICY, "", what, "Give the absolute path of a YAML file, or unset the variable."))
        return None
    found: list[Fault] = []
    ceiling = _read_ceiling_file(
        file, CeilingFile, found, "Give the path of a file that can be read, or unset the variable."
    )
    faults.extend(replace(fault, fix=f"{fault.fix} {ADMIN_POLICY} names this file.".lstrip()) for fault in found)
    return ceiling


def _read_workspace_ceiling(workspace: Path | None, faults: list[Fault]) -> Ceiling | None:
    if workspace is None:
        return None
    file = workspace / WORKSPACE_POLICY
    misspelt = file.with_suffix(".yml")
    if not _is_absent(file.parent) and os.path.isdir(file.parent) and not _is_absent(misspelt):
        faults.append(Fault(str(misspelt), "", "nothing reads it.", f"Name it {file.name!r}."))
    # A dangling link is not absent: the file was meant to exist.
    if _is_absent(file.parent) or (_is_absent(file) and os.path.isdir(file.parent)):
        return None
    real = os.path.realpath(file)
    if not Path(real).is_relative_to(os.path.realpath(workspace)):
        # Faults in it would quote lines of a file outside of the workspace.
        faults.append(Fault(str(file), "", "it leads out of the workspace.", _WORKSPACE_FIX))
        return None
    return _read_ceiling_file(str(file), WorkspaceFile, faults, _WORKSPACE_FIX)


def _is_absent(path: Path) -> bool:
    try:
        path.lstat()
    except FileNotFoundError:
        return True
    except OSError:
        return False  # It exists but is not accessible; opening it will report that.
    return False


def _read_ceiling_file(
    file: str, kind: type[CeilingFile | WorkspaceFile], faults: list[Fault], fix: str
) -> Ceiling | None:
    try:
        content = read_bytes(file)
    except ProfileUnusable as problem:
        faults.append(Fault(file, "", problem.what, fix))
        return None
    found: list[Fault] = []
    _, read = read_document(content, file, kind, Cache(), found, least="deny: []")
    faults.extend(in_file_order(found))
    return None if read is None else read.tightening.to_ceiling(file, read.notify)


def _read_environment_ceiling(environ: Mapping[str, str], faults: list[Fault]) -> Ceiling | None:
    text = environ.get(ALLOWED_PERMS, "").strip()
    if not text:
        return None
    patterns = tuple(pattern for part in text.split(",") if (pattern := part.strip()))
    for pattern in patterns:
        try:
            parse_glob(pattern)
        except GlobError as error:
            faults.append(Fault(ALLOWED_PERMS, "", f"{error}."))
    return Ceiling(ALLOWED_PERMS, capabilities=Capabilities(allow=patterns))
